--- Symbols of the user's language servers, to name in a prompt.
local M = {}

local api = vim.api

---@class redline.Symbol
---@field name string with the names of what it is in, as in Type.method
---@field kind string
---@field uri string
---@field path string short
---@field range table of the whole symbol; only its lines count

-- So many milliseconds a language server has, since completion waits for it.
local patience = 700

local function kind_of(s)
  return vim.lsp.protocol.SymbolKind[s.kind] or 'Symbol'
end

local function add(out, s, uri, name)
  local range = s.location and s.location.range or s.range
  uri = s.location and s.location.uri or uri
  if not range or not uri then
    return
  end
  out[#out + 1] = {
    name = name,
    kind = kind_of(s),
    uri = uri,
    path = vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.'),
    range = range,
  }
end

local function walk(out, list, uri, prefix)
  for _, s in ipairs(list) do
    local name = s.name:gsub('%s+', '')
    name = prefix and prefix .. '.' .. name or name
    add(out, s, uri, name)
    walk(out, s.children or {}, uri, name)
  end
end

local function results(buf, method, params)
  local out = {}
  for id, answer in pairs(vim.lsp.buf_request_sync(buf, method, params, patience) or {}) do
    local c = vim.lsp.get_client_by_id(id)
    if c and c.name ~= 'redline' and type(answer.result) == 'table' then
      vim.list_extend(out, answer.result)
    end
  end
  return out
end

local function supported(buf, method)
  return #vim.tbl_filter(function(c)
    return c.name ~= 'redline'
  end, vim.lsp.get_clients({ bufnr = buf, method = method })) > 0
end

--- The symbols of the file the user was in last, and those of the workspace, whose
--- names have a text in them; upper and lower case are the same.
---@param name string
---@return redline.Symbol[]
function M.list(name)
  local buf = require('redline.context').last_file()
  if not buf or not api.nvim_buf_is_loaded(buf) then
    return {}
  end
  local all, uri = {}, vim.uri_from_bufnr(buf)
  if supported(buf, 'textDocument/documentSymbol') then
    walk(all, results(buf, 'textDocument/documentSymbol', { textDocument = { uri = uri } }), uri)
  end
  if name ~= '' and supported(buf, 'workspace/symbol') then
    for _, s in ipairs(results(buf, 'workspace/symbol', { query = name })) do
      add(all, s, nil, (s.name:gsub('%s+', '')))
    end
  end
  local out, seen = {}, {}
  for _, s in ipairs(all) do
    local key = s.uri .. '#' .. s.range.start.line
    if not seen[key] and s.name:lower():find(name:lower(), 1, true) then
      seen[key] = true
      out[#out + 1] = s
    end
  end
  return out
end

--- A symbol as a context item.
---@param s redline.Symbol
---@return table
function M.item(s)
  return {
    kind = 'symbol',
    uri = s.uri,
    name = s.name,
    range = { start = { line = s.range.start.line, character = 0 }, ['end'] = { line = s.range['end'].line + 1, character = 0 } },
  }
end

--- The symbol of that name as a context item.
---@param name string
---@return table?
function M.named(name)
  for _, s in ipairs(M.list(name)) do
    if s.name == name then
      return M.item(s)
    end
  end
end

--- Lets the user choose a symbol to go with the next prompt.
---@param name? string
function M.pick(name)
  local list = M.list(name or '')
  if #list == 0 then
    return vim.notify('Redline: no language server of the last file knows such a symbol', vim.log.levels.WARN)
  end
  vim.ui.select(list, {
    prompt = 'Symbol',
    kind = 'redline.symbol',
    format_item = function(s)
      return ('%s %s  %s:%d'):format(s.kind, s.name, s.path, s.range.start.line + 1)
    end,
  }, function(s)
    if s then
      require('redline.chat').open({ items = { M.item(s) } })
    end
  end)
end

return M
