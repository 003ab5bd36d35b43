--- `:checkhealth redline`
local M = {}

local health = vim.health

local function version(cmd)
  local ok, out = pcall(function()
    return vim.system({ cmd, 'version' }, { text = true, timeout = 5000 }):wait()
  end)
  if not ok then
    return nil, tostring(out)
  end
  if out.code ~= 0 then
    return nil, vim.trim(out.stderr or '')
  end
  return vim.trim(out.stdout)
end

local function sign_in(client)
  local answer, problem
  client.request('agent/auth/status', {}, function(err, result)
    answer, problem = result, err
  end)
  vim.wait(5000, function()
    return answer ~= nil or problem ~= nil
  end, 10)
  if problem then
    health.warn('the server does not say how the model is reached: ' .. problem.message)
  elseif not answer then
    health.warn('the server did not answer within 5 seconds')
  elseif answer.signedIn then
    health.ok('signed in: ' .. (answer.method or ''))
  else
    health.error(answer.message or 'not signed in', { 'set GEMINI_API_KEY in the environment that Neovim starts in, or a .env file' })
  end
end

function M.check()
  health.start('redline')
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim 0.10 or newer is needed')
    return
  end
  local config = require('redline.config')
  local cmd = config.get().cmd
  if vim.fn.executable(cmd[1]) == 0 then
    health.error(('the server %q is not there'):format(cmd[1]), {
      'put the program redline on the PATH',
      'or set cmd: require("redline").setup({ cmd = { "/path/to/redline", "serve" } })',
    })
    return
  end
  local v, err = version(cmd[1])
  if v then
    health.ok(('server %s: %s'):format(vim.fn.exepath(cmd[1]), v))
  else
    health.error(('the server %q does not say its version: %s'):format(cmd[1], err))
    return
  end
  health.info('folder: ' .. (require('redline.client').root() or config.root()))
  local client = require('redline.client')
  -- Whether a key is there is known to the server alone.
  local ready, problem
  client.ready(function(c, e)
    ready, problem = c, e
  end)
  vim.wait(5000, function()
    return ready ~= nil or problem ~= nil
  end, 10)
  if not ready then
    health.error(problem or 'the server did not start within 5 seconds', { 'see :LspLog' })
    return
  end
  health.ok('the server runs (:checkhealth vim.lsp)')
  sign_in(client)
end

return M
