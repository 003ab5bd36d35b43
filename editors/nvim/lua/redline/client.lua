--- The server's process as an LSP client of Neovim.
local config = require('redline.config')

local M = {}

local new = vim.fn.has('nvim-0.11') == 1

---@type integer?
local id
local root
-- What waits for the end of the initialization.
local waiting = {}
-- Set while the server ends because we asked it to.
local stopping = false
-- What is to be called when the server answers, or ends before it does.
---@type table<integer, fun(err?: table, result?: any)>
local asked = {}
local last_asked = 0
-- What is to be done when the server has ended.
---@type fun()?
local after_exit
-- More environment for the server than the settings have.
local more_env = {}
-- A server that has not answered `initialize` after so many milliseconds is none.
local patience = 20000

local group = vim.api.nvim_create_augroup('redline.client', {})

local function stopped(c)
  if new then
    return c:is_stopped()
  end
  return c.is_stopped()
end

---@return vim.lsp.Client? the running client, initialized
function M.get()
  local c = id and vim.lsp.get_client_by_id(id)
  if c and c.initialized and not stopped(c) and not stopping then
    return c
  end
end

---@return string? the folder the server was started in
function M.root()
  return root
end

local function under(path)
  return root and (path == root or vim.startswith(path, root == '/' and '/' or root .. '/'))
end

--- Reports whether the server should know the text of a buffer.
local function wanted(buf)
  if not vim.api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= '' then
    return false
  end
  local name = vim.api.nvim_buf_get_name(buf)
  if name == '' or name:match('^%a[%w+.-]+://') or not under(name) then
    return false
  end
  -- An empty buffer of a file that is not there is a blank line to the server: a file
  -- that has been taken. It is told when something is typed.
  local empty = vim.api.nvim_buf_line_count(buf) == 1 and vim.api.nvim_buf_get_offset(buf, 1) <= 1
  return not empty or vim.bo[buf].modified or vim.uv.fs_stat(name) ~= nil
end

--- Tells the server of a buffer, unless it is none of its business.
---@param buf integer
function M.attach(buf)
  if M.get() and wanted(buf) then
    vim.lsp.buf_attach_client(buf, id)
  end
end

local function watch()
  vim.api.nvim_clear_autocmds({ group = group })
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost', 'BufWritePost', 'BufModifiedSet' }, {
    group = group,
    desc = 'Redline: tell the server of the buffer',
    callback = function(args)
      M.attach(args.buf)
      if args.event == 'BufModifiedSet' then
        return -- it looks as before
      end
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(args.buf) then
          require('redline.marks').refresh(args.buf)
        end
      end)
    end,
  })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    M.attach(buf)
  end
end

local function capabilities()
  local caps = vim.lsp.protocol.make_client_capabilities()
  local function marker()
    return vim.empty_dict()
  end
  caps.experimental = vim.tbl_extend('force', caps.experimental or {}, {
    redline = {
      version = 1,
      proposals = { changes = marker() },
      approve = marker(),
      ask = marker(),
      editor = {
        diagnostics = marker(),
        definition = marker(),
        references = marker(),
        symbols = marker(),
        hover = marker(),
        rename = marker(),
        openBuffers = marker(),
        save = marker(),
        format = marker(),
      },
    },
  })
  return caps
end

local function handlers()
  local h = {
    ['workspace/applyEdit'] = require('redline.apply').handler,
    ['agent/event'] = function(_, params)
      require('redline.session').event(params)
    end,
    ['agent/approve'] = function(_, params)
      return require('redline.questions').approve(params)
    end,
    ['agent/ask'] = function(_, params)
      return require('redline.questions').ask(params)
    end,
  }
  for method, answer in pairs(require('redline.editor').requests) do
    h['editor/' .. method] = function(_, params, ctx)
      local ok, result, err = pcall(answer, params, ctx)
      if not ok then
        return nil, { code = -32603, message = tostring(result) }
      end
      return result, err
    end
  end
  return h
end

-- Neovim tells a server of the diagnostics it has itself reported; what there is to
-- fix was reported by others.
local function with_diagnostics(params)
  local buf = vim.uri_to_bufnr(params.textDocument.uri)
  local diagnostic = require('redline.editor').diagnostic
  local found = {}
  for _, d in ipairs(vim.diagnostic.get(buf)) do
    if d.lnum <= params.range['end'].line and (d.end_lnum or d.lnum) >= params.range.start.line then
      found[#found + 1] = diagnostic(d)
    end
  end
  local context = vim.tbl_extend('force', params.context or {}, { diagnostics = found })
  return vim.tbl_extend('force', params, { context = context })
end

---@param client vim.lsp.Client
local function tell_diagnostics(client)
  local request = client.request
  client.request = function(...)
    local args = { ... }
    -- Called with the client before the method, or without in older versions.
    local m = type(args[1]) == 'string' and 1 or 2
    if args[m] == 'textDocument/codeAction' then
      args[m + 1] = with_diagnostics(args[m + 1])
    end
    return request(unpack(args, 1, select('#', ...)))
  end
end

local function finish(err)
  local list = waiting
  waiting = {}
  for _, f in ipairs(list) do
    f(err)
  end
end

local function missing(cmd)
  return ('the server %q is not there. Put it on the PATH or set cmd in require("redline").setup(); :checkhealth redline says more.'):format(
    cmd[1]
  )
end

-- Why a server of another version is of no use; nil when it is of use.
local function other_version(result)
  local ext = vim.tbl_get(result.capabilities or {}, 'experimental', 'redline')
  local name = vim.tbl_get(result, 'serverInfo', 'name')
  if not ext then
    return ('%q is no redline server%s; see cmd in :help redline-settings'):format(
      config.get().cmd[1],
      name and name ~= 'redline' and ' but ' .. name or ''
    )
  elseif ext.minVersion > 1 then
    return 'the server is newer than this plugin; update the plugin (:checkhealth redline says more)'
  elseif ext.version < 1 then
    return 'the server is older than this plugin; update the server (:checkhealth redline says more)'
  end
end

-- The server has ended, or is given up: those who wait hear of it.
local function ended(why)
  local list = asked
  asked = {}
  for _, f in pairs(list) do
    f({ code = -32099, message = why })
  end
  finish(why)
end

local function exited(code, signal)
  id = nil
  vim.api.nvim_clear_autocmds({ group = group })
  if stopping or vim.v.exiting ~= vim.NIL then
    local go_on = after_exit
    local why = type(stopping) == 'string' and stopping or 'the server was stopped'
    after_exit, stopping = nil, false
    require('redline.session').lost()
    if not go_on then
      return ended(why)
    end
    local list = waiting -- they wait for the next one
    waiting = {}
    ended(why)
    waiting = list
    return go_on()
  end
  local how = signal ~= 0 and ('by signal %d'):format(signal) or ('with code %d'):format(code)
  if #waiting > 0 then
    -- Not even started: another time would be no better.
    return ended(('the server %q ended %s before it was ready; :checkhealth redline and :LspLog say more'):format(config.get().cmd[1], how))
  end
  local wait = require('redline.restarts').died(vim.uv.now())
  local why = ('the server ended %s; see :LspLog'):format(how)
  require('redline.session').lost(why, wait ~= nil)
  ended(why)
  if wait then
    vim.defer_fn(function()
      if not id then
        require('redline.session').recover()
      end
    end, wait)
  end
end

local function start()
  local opts = config.get()
  if vim.fn.executable(opts.cmd[1]) == 0 then
    return finish(missing(opts.cmd))
  end
  root = config.root()
  stopping = false
  local env = vim.tbl_extend('force', opts.env, more_env)
  local conf = {
    name = 'redline',
    cmd = opts.cmd,
    cmd_cwd = root,
    cmd_env = next(env) and env or nil,
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = vim.fs.basename(root) } },
    capabilities = capabilities(),
    handlers = handlers(),
    -- Staleness is judged by versions, so the server hears of each change at once.
    flags = { debounce_text_changes = 0 },
    on_init = function(client, result)
      tell_diagnostics(client)
      -- Neovim does not count the client as initialized before this returns.
      vim.schedule(function()
        if client.id ~= id then
          return
        end
        local wrong = other_version(result)
        if wrong then
          M.stop(wrong, true)
          return finish(wrong)
        end
        watch()
        finish()
      end)
    end,
    on_exit = function(code, signal, gone)
      vim.schedule(function()
        if gone == id then
          exited(code, signal)
        end
      end)
    end,
  }
  local ok
  if new then
    ok, id = pcall(vim.lsp.start, conf, { attach = false })
  else
    ok, id = pcall(vim.lsp.start_client, conf)
  end
  if not ok or not id then
    local why = ok and 'see :LspLog' or tostring(id)
    id = nil
    return finish('the server could not be started: ' .. why)
  end
  local this = id
  vim.defer_fn(function()
    local c = vim.lsp.get_client_by_id(this)
    if id == this and c and not c.initialized then
      local why = ('%q does not answer as a language server; see cmd in :help redline-settings'):format(opts.cmd[1])
      M.stop(why)
      finish(why)
    end
  end, patience)
end

--- Calls fn(client, err) once the server runs, starting it if need be.
---@param fn fun(client?: vim.lsp.Client, err?: string)
function M.ready(fn)
  local c = M.get()
  if c then
    return fn(c)
  end
  waiting[#waiting + 1] = function(err)
    fn(not err and M.get() or nil, err)
  end
  if stopping and id then
    after_exit = after_exit or start
  elseif #waiting == 1 then
    start()
  end
end

--- Sends a request. fn(err, result) gets LSP's error object or a message as `err`.
---@param method string
---@param params table
---@param fn? fun(err?: table, result?: any)
function M.request(method, params, fn)
  M.ready(function(client, err)
    if not client then
      err = { code = 0, message = err or 'the server does not run' }
      return fn and fn(err) or vim.notify('Redline: ' .. err.message, vim.log.levels.ERROR)
    end
    if next(params) == nil then
      params = vim.empty_dict()
    end
    last_asked = last_asked + 1
    local n = last_asked
    local function done(e, result)
      if not asked[n] then
        return -- told already that the server has ended
      end
      asked[n] = nil
      if fn then
        fn(e, result)
      elseif e then
        vim.notify('Redline: ' .. e.message, vim.log.levels.ERROR)
      end
    end
    asked[n] = done
    if new then
      client:request(method, params, done)
    else
      client.request(method, params, done)
    end
  end)
end

local function stop(c, force)
  if new then
    c:stop(force)
  else
    c.stop(force)
  end
end

--- Ends the server, by force when it never answered or is not one of ours, or when it has
--- not ended some time after it was asked to.
---@param why? string for those who wait for it
---@param force? boolean
function M.stop(why, force)
  stopping = why or true
  local this = id
  local c = id and vim.lsp.get_client_by_id(id)
  if not c then
    return
  end
  force = force or not c.initialized
  stop(c, force)
  if not force then
    vim.defer_fn(function()
      if id == this then
        stop(c, true)
      end
    end, 5000)
  end
end

--- Ends the server if it runs, starts it with more environment, and calls fn, with an
--- error when that fails.
---@param env table<string, string> also for later starts
---@param fn fun(err?: string)
function M.restart(env, fn)
  more_env = vim.tbl_extend('force', more_env, env)
  local function go()
    if #waiting > 0 then
      start()
    end
    M.ready(function(_, err)
      fn(err)
    end)
  end
  if not id then
    return go()
  end
  after_exit = go
  M.stop()
end

return M
