--- `:checkhealth redline`: what is there, what is missing, and what to do about it.
local M = {}

local api = vim.api
local health = vim.health

-- The version of the protocol that this plugin speaks.
local protocol = 1

---@param cmd string[]
---@return vim.SystemCompleted? out, string? err
local function run(cmd)
  local config = require('redline.config')
  local ok, out = pcall(function()
    return vim.system(cmd, { text = true, timeout = 10000, env = config.get().env, cwd = config.root() }):wait()
  end)
  if not ok then
    return nil, tostring(out)
  end
  return out
end

local function neovim()
  health.start('redline: Neovim')
  local v = tostring(vim.version())
  if vim.fn.has('nvim-0.10') == 0 then
    health.error('Neovim ' .. v .. ' is too old', { 'install Neovim 0.10 or newer' })
    return false
  end
  health.ok('Neovim ' .. v)
  if #api.nvim_get_runtime_file('plugin/redline.lua', true) > 1 then
    health.warn('the plugin is on the runtimepath more than once, and one hides the other', api.nvim_get_runtime_file('plugin/redline.lua', true))
  end
  if vim.fn.exists(':Redline') ~= 2 then
    health.warn(':Redline is not there', {
      'the file plugin/redline.lua was not loaded; with a plugin manager that loads late, name the command: cmd = "Redline"',
    })
  end
  local tags = api.nvim_get_runtime_file('doc/redline.txt', false)[1]
  if tags and #vim.fn.getcompletion('redline-review', 'help') == 0 then
    health.warn(':help redline has no tags yet', { ':helptags ' .. vim.fs.dirname(tags) })
  end
  return true
end

-- What in the user's settings stands in the way of a review.
local function settings()
  health.start('redline: settings')
  local config = require('redline.config')
  local fine = true
  local function warn(...)
    fine = false
    health.warn(...)
  end
  for name, lhs in pairs(config.get().keys) do
    local m = lhs and vim.fn.maparg(lhs, 'n', false, true) or {}
    local desc = m.desc or ''
    if m.lhs and not vim.startswith(desc, 'Redline') then
      warn(
        ('%s is mapped already (%s), so it does not %s'):format(lhs, desc ~= '' and desc or m.rhs or 'a function', name == 'diff' and 'show the diff' or name),
        { ('set another key: require("redline").setup({ keys = { %s = "…" } }), or map <Plug>(redline-%s)'):format(name, name) }
      )
    end
  end
  if not vim.o.autoread and #api.nvim_get_autocmds({ event = 'FileChangedShell' }) > 0 then
    warn("'autoread' is off and you have FileChangedShell autocommands: they decide what becomes of files that commands of the agent change", {
      'set autoread, or handle v:fcs_reason "changed" there',
    })
  end
  if vim.o.signcolumn == 'no' then
    warn("'signcolumn' is \"no\": hunks have no signs", { 'set signcolumn=auto' })
  end
  for _, c in ipairs(vim.lsp.get_clients({ name = 'redline' })) do
    if c.id ~= (require('redline.client').get() or {}).id and c.initialized then
      warn('another language client is called redline too, and shows the same hunks its own way', {
        'do not start the server with vim.lsp.config or nvim-lspconfig beside this plugin',
      })
    end
  end
  if fine then
    health.ok('nothing is in the way of the maps, signs and reloading')
  end
end

local advice = {
  ['sign-in'] = {
    ':Redline login, or `redline auth login` in a terminal',
    'or set GEMINI_API_KEY in the environment that Neovim starts in, or in a file .env of the project',
  },
  trust = { 'if you know what is in the folder: `redline trust add` in it' },
  git = { 'install git' },
  bash = { 'install bash' },
}

-- What the program itself finds; it knows settings, credentials and tools.
local function doctor(exe)
  local out, err = run({ exe, 'doctor' })
  if not out or out.stdout == '' then
    return health.warn('`redline doctor` says nothing: ' .. (err or vim.trim(out.stderr or '')), { 'update the server' })
  end
  for line in vim.gsplit(out.stdout, '\n', { trimempty = true }) do
    local mark, what, text = line:match('^(%S+)%s+(.-)%s%s+(.*)$')
    if not mark then
      mark, what, text = line:match('^(%S+)%s+(%S+)%s+(.*)$')
    end
    local words = what and what .. ': ' .. text or line
    if mark == 'ok' then
      health.ok(words)
    elseif mark == 'WRONG' then
      health.error(words, advice[what])
    else
      health.warn(words, advice[what])
    end
  end
end

---@return boolean found
local function server()
  health.start('redline: server')
  local cmd = require('redline.config').get().cmd
  if vim.fn.executable(cmd[1]) == 0 then
    health.error(('the server %q is not there'):format(cmd[1]), {
      'put the program redline on the PATH that Neovim starts with',
      'or name it: require("redline").setup({ cmd = { "/path/to/redline", "serve" } })',
    })
    return false
  end
  local out, err = run({ cmd[1], 'version' })
  if not out or out.code ~= 0 then
    health.error(('%s does not say its version: %s'):format(vim.fn.exepath(cmd[1]), err or vim.trim(out.stderr or '')), {
      'this is not the program redline, or not for this machine; see cmd in :help redline-settings',
    })
    return false
  end
  health.ok(('%s: %s'):format(vim.fn.exepath(cmd[1]), vim.trim(out.stdout)))
  doctor(cmd[1])
  return true
end

-- Asks the running server, starting it if need be.
---@return any result, string? err
local function ask(method)
  local answer, problem
  require('redline.client').request(method, {}, function(err, result)
    answer, problem = result, err and err.message
  end)
  vim.wait(10000, function()
    return answer ~= nil or problem ~= nil
  end, 10)
  return answer, problem or (answer == nil and 'no answer within 10 seconds' or nil)
end

local function connection()
  health.start('redline: connection')
  local client = require('redline.client')
  health.info('folder: ' .. (client.root() or require('redline.config').root()))
  local status, err = ask('agent/auth/status')
  local c = client.get()
  if not c then
    return health.error('the server does not start: ' .. (err or ''), { 'see :LspLog', 'try it in a terminal: redline doctor' })
  end
  local ext = vim.tbl_get(c.server_capabilities or {}, 'experimental', 'redline') or {}
  local speaks = ('the server speaks version %s of the protocol, this plugin %d'):format(ext.version or '?', protocol)
  if ext.version == protocol then
    health.ok(speaks)
  elseif ext.version and ext.minVersion and ext.minVersion <= protocol and ext.version > protocol then
    health.warn(speaks .. '; that works, but not all it can do is used', { 'update the plugin' })
  else
    health.error(speaks, { 'update what is older' })
  end
  health.ok('the server runs (' .. (vim.fn.exists(':LspInfo') == 2 and ':LspInfo' or ':checkhealth vim.lsp') .. ')')
  if not status then
    health.warn('it does not say how the model is reached: ' .. err)
  elseif status.signedIn then
    local from = { environment = 'from the environment', saved = 'saved on this machine', client = 'given for this run' }
    health.ok(vim.trim(('signed in: %s %s'):format(status.method or '', from[status.source] or status.source or '')))
  else
    health.error(status.message or 'not signed in', advice['sign-in'])
  end
end

function M.check()
  if not neovim() then
    return
  end
  settings()
  if server() then
    connection()
  end
end

return M
