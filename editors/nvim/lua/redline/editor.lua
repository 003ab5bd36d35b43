--- What the agent may ask of the editor: the answers of the language servers and
--- tools the user has, in LSP's shapes.
local M = {}

local api = vim.api

--- Runs start(resume) and waits for resume, in the coroutine of a request's handler.
local function await(start)
  local co = assert(coroutine.running(), 'redline: a request outside of a coroutine')
  local done, suspended, values = false, false, nil
  start(function(...)
    if done then
      return
    end
    done, values = true, { n = select('#', ...), ... }
    if suspended then
      coroutine.resume(co)
    end
  end)
  if not done then
    suspended = true
    coroutine.yield()
  end
  return unpack(values, 1, values.n)
end

local function load(uri)
  local buf = vim.uri_to_bufnr(uri)
  require('redline.load').buffer(buf)
  return buf
end

local function others(buf, method)
  return vim.tbl_filter(function(c)
    local supports
    if vim.fn.has('nvim-0.11') == 1 then
      supports = c:supports_method(method, buf)
    else
      supports = c.supports_method(method, { bufnr = buf })
    end
    return c.name ~= 'redline' and supports
  end, vim.lsp.get_clients({ bufnr = buf }))
end

--- The results of all language servers of a buffer that know a method.
---@return {client: vim.lsp.Client, result: any}[]
local function ask(buf, method, params)
  local clients = others(buf, method)
  if #clients == 0 then
    return {}
  end
  return await(function(resume)
    local left, out = #clients, {}
    for _, c in ipairs(clients) do
      local function answer(err, result)
        if not err and result and result ~= vim.NIL then
          out[#out + 1] = { client = c, result = result }
        end
        left = left - 1
        if left == 0 then
          resume(out)
        end
      end
      local sent
      if vim.fn.has('nvim-0.11') == 1 then
        sent = c:request(method, params(c), answer, buf)
      else
        sent = c.request(method, params(c), answer, buf)
      end
      if not sent then
        answer({ message = 'gone' })
      end
    end
  end)
end

--- A position of our server as another server counts.
local function convert(buf, position, from, to)
  if from == to then
    return position
  end
  local line = api.nvim_buf_get_lines(buf, position.line, position.line + 1, false)[1] or ''
  local byte = from == 'utf-8' and math.min(position.character, #line) or vim.lsp.util._get_line_byte_from_position(buf, position, from)
  local before = line:sub(1, byte)
  local character = #before
  if to ~= 'utf-8' then
    local utf32, utf16 = vim.str_utfindex(before)
    character = to == 'utf-16' and utf16 or utf32
  end
  return { line = position.line, character = character }
end

local function encoding(ctx)
  return vim.lsp.get_client_by_id(ctx.client_id).offset_encoding
end

local function at(method, more)
  return function(p, ctx)
    local buf = load(p.uri)
    return ask(buf, method, function(c)
      local position = convert(buf, p.position, encoding(ctx), c.offset_encoding)
      return vim.tbl_extend('force', { textDocument = { uri = p.uri }, position = position }, more and more(p) or {})
    end),
      buf
  end
end

local function locations(method, more)
  local query = at(method, more)
  return function(p, ctx)
    local out = {}
    for _, answer in ipairs((query(p, ctx))) do
      local list = vim.islist(answer.result) and answer.result or { answer.result }
      for _, l in ipairs(list) do
        out[#out + 1] = { uri = l.uri or l.targetUri, range = l.range or l.targetSelectionRange }
      end
    end
    return out
  end
end

--- A diagnostic of Neovim as LSP has it.
---@param d vim.Diagnostic
function M.diagnostic(d)
  if d.user_data and d.user_data.lsp then
    local l = d.user_data.lsp
    if l.range and l.message then
      return l
    end
  end
  return {
    range = {
      start = { line = d.lnum, character = d.col },
      ['end'] = { line = d.end_lnum or d.lnum, character = d.end_col or d.col },
    },
    severity = d.severity,
    message = d.message,
    source = d.source,
    code = d.code,
  }
end

--- Waits until diagnostics (of buf) have come and been quiet for a moment, at most ms.
local function quiet(buf, ms)
  await(function(resume)
    local calm = vim.uv.new_timer()
    local limit = vim.uv.new_timer()
    local auto
    local function finish()
      if auto then
        pcall(api.nvim_del_autocmd, auto)
        auto = nil
        calm:close()
        limit:close()
        resume()
      end
    end
    auto = api.nvim_create_autocmd('DiagnosticChanged', {
      callback = function(args)
        if not buf or args.buf == buf then
          calm:start(300, 0, vim.schedule_wrap(finish))
        end
      end,
    })
    limit:start(math.min(ms, 10000), 0, vim.schedule_wrap(finish))
  end)
end

-- Whether anybody is there who may report something: a language server of the buffer, or
-- a linter, which has its namespace.
local function reported(buf)
  for _, ns in pairs(vim.diagnostic.get_namespaces()) do
    if not ns.name:find('%.lsp%.redline%.') then
      return true
    end
  end
  for _, c in ipairs(vim.lsp.get_clients({ bufnr = buf })) do
    if c.name ~= 'redline' then
      return true
    end
  end
  return false
end

local function diagnostics(p)
  local buf = p.uri and vim.uri_to_bufnr(p.uri) or nil
  if p.waitMs and p.waitMs > 0 and reported(buf) then
    quiet(buf, p.waitMs)
  end
  local by = {}
  for _, d in ipairs(vim.diagnostic.get(buf)) do
    by[d.bufnr] = by[d.bufnr] or {}
    table.insert(by[d.bufnr], M.diagnostic(d))
  end
  if buf and not by[buf] then
    by[buf] = {}
  end
  local items = {}
  for b, list in pairs(by) do
    items[#items + 1] = {
      uri = vim.uri_from_bufnr(b),
      version = api.nvim_buf_is_loaded(b) and require('redline.apply').version(b) or vim.NIL,
      diagnostics = list,
    }
  end
  return { items = items }
end

local function hover(p, ctx)
  local parts = {}
  for _, answer in ipairs((at('textDocument/hover')(p, ctx))) do
    vim.list_extend(parts, vim.lsp.util.convert_input_to_markdown_lines(answer.result.contents))
  end
  return { contents = { kind = 'markdown', value = table.concat(parts, '\n') } }
end

local function symbols(p)
  local out = {}
  if p.uri then
    local found = ask(load(p.uri), 'textDocument/documentSymbol', function()
      return { textDocument = { uri = p.uri } }
    end)
    for _, answer in ipairs(found) do
      vim.list_extend(out, answer.result)
    end
    return out
  end
  local seen = {}
  for _, c in ipairs(vim.lsp.get_clients({ method = 'workspace/symbol' })) do
    local buf = next(c.attached_buffers)
    if buf and c.name ~= 'redline' and not seen[c.id] then
      for _, answer in
        ipairs(ask(buf, 'workspace/symbol', function()
          return { query = p.query or '' }
        end))
      do
        if not seen[answer.client.id] then
          seen[answer.client.id] = true
          vim.list_extend(out, answer.result, 1, math.min(#answer.result, 200))
        end
      end
    end
  end
  return out
end

local function rename(p, ctx)
  local found = at('textDocument/rename', function()
    return { newName = p.newName }
  end)(p, ctx)
  local best = found[1]
  if not best then
    return nil, { code = -32803, message = 'no language server renames here' }
  end
  if best.result.documentChanges then
    return best.result
  end
  local changes = {}
  for uri, edits in pairs(best.result.changes or {}) do
    changes[#changes + 1] = { textDocument = { uri = uri, version = vim.NIL }, edits = edits }
  end
  return { documentChanges = changes }
end

local function open_buffers()
  local out = {}
  local current = api.nvim_get_current_buf()
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and api.nvim_buf_get_name(buf) ~= '' then
      out[#out + 1] = {
        uri = vim.uri_from_bufnr(buf),
        version = require('redline.apply').version(buf),
        languageId = vim.bo[buf].filetype,
        dirty = vim.bo[buf].modified,
        visible = #vim.fn.win_findbuf(buf) > 0,
        active = buf == current,
      }
    end
  end
  return { buffers = out }
end

local function save(p)
  local saved, failed = {}, {}
  for _, uri in ipairs(p.uris) do
    local buf = vim.uri_to_bufnr(uri)
    local ok = api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ''
    if ok and vim.bo[buf].modified then
      ok = pcall(api.nvim_buf_call, buf, function()
        -- No bang: a file that changed on disk, or is read-only, is the user's to decide.
        vim.cmd('silent lockmarks update ++p')
      end) and not vim.bo[buf].modified
    end
    table.insert(ok and saved or failed, uri)
  end
  return { saved = saved, failed = failed }
end

local function format(p)
  local buf = load(p.uri)
  local found = ask(buf, 'textDocument/formatting', function()
    return {
      textDocument = { uri = p.uri },
      options = { tabSize = vim.lsp.util.get_effective_tabstop(buf), insertSpaces = vim.bo[buf].expandtab },
    }
  end)
  return found[1] and found[1].result or {}
end

M.requests = {
  diagnostics = diagnostics,
  definition = locations('textDocument/definition'),
  references = locations('textDocument/references', function()
    return { context = { includeDeclaration = true } }
  end),
  symbols = symbols,
  hover = hover,
  rename = rename,
  openBuffers = open_buffers,
  save = save,
  format = format,
}

return M
