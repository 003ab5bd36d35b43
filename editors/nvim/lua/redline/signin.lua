--- How the model is reached: signing in and out.
---
--- A key is typed where it is not shown, handed to the server, and kept nowhere here:
--- not in a history, a register, a message or the log of the language client.
local client = require('redline.client')

local M = {}

local methods = {
  { id = 'gemini-api-key', label = 'Gemini API key', detail = 'from aistudio.google.com/apikey' },
  { id = 'oauth-personal', label = 'Login with Google', detail = 'in the browser; needs an OAuth client of your own' },
  { id = 'vertex-ai', label = 'Vertex AI', detail = 'a Google Cloud project' },
  { id = 'cloud-shell', label = 'Cloud Shell', detail = 'or a machine of Google Cloud' },
}

-- The request ID of the login that runs.
local running

local note = require('redline.say').note

local function name_of(id)
  for _, m in ipairs(methods) do
    if m.id == id then
      return m.label
    end
  end
  return id
end

--- A status in one sentence.
---@param st table
---@return string
function M.sentence(st)
  if not st.signedIn then
    return 'not signed in. ' .. (st.message or '') .. '\n:Redline login signs in.'
  end
  local of = {}
  for _, k in ipairs({ 'account', 'tier', 'project', 'location' }) do
    if st[k] and st[k] ~= '' then
      of[#of + 1] = st[k]
    end
  end
  local from = { environment = 'from the environment', saved = 'saved on this machine', client = 'for this server only', default = 'application default credentials' }
  if from[st.source] then
    of[#of + 1] = from[st.source]
  end
  return ('signed in by %s%s.'):format(name_of(st.method or 'its settings'), #of > 0 and ' (' .. table.concat(of, ', ') .. ')' or '')
end

--- Tells how the model is reached.
function M.status()
  client.request('agent/auth/status', {}, function(err, st)
    if err then
      return note(err.message, vim.log.levels.ERROR)
    end
    note(M.sentence(st), st.signedIn and vim.log.levels.INFO or vim.log.levels.WARN)
  end)
end

-- Runs fn, which sends a secret, while the language client logs nothing.
local function unlogged(fn)
  local log = require('vim.lsp.log')
  local level = log.get_level()
  log.set_level(vim.log.levels.OFF)
  local ok, err = pcall(fn)
  log.set_level(level)
  if not ok then
    error(err, 0)
  end
end

local function login(params, again)
  running = (running or 0) + 1
  local this = running
  client.ready(function(_, problem)
    if problem then
      return note(problem, vim.log.levels.ERROR)
    end
    unlogged(function()
      client.request('agent/auth/login', params, function(err, st)
        if this ~= running then
          return -- another one has taken its place
        end
        running = nil
        if not err then
          return note(M.sentence(st))
        end
        note(err.message, vim.log.levels.ERROR)
        if again and type(err.data) == 'table' and err.data.kind == 'auth' then
          again()
        end
      end)
    end)
  end)
end

-- Asks for a key until one is good, or none is typed.
local function with_key()
  local ok, key = pcall(vim.fn.inputsecret, 'Gemini API key: ')
  vim.cmd.redraw()
  key = ok and vim.trim(key) or ''
  if key == '' then
    return note('no key was typed, so nothing has changed')
  end
  login({ method = 'gemini-api-key', apiKey = key, keep = 'saved' }, with_key)
end

-- A project of Google Cloud is told to the server by its environment.
local function with_vertex()
  local env = require('redline.config').get().env
  local project = env.GOOGLE_CLOUD_PROJECT or vim.env.GOOGLE_CLOUD_PROJECT
  vim.ui.input({ prompt = 'Google Cloud project: ', default = project or '' }, function(id)
    if not id or vim.trim(id) == '' then
      return
    end
    vim.ui.input({ prompt = 'Location: ', default = env.GOOGLE_CLOUD_LOCATION or vim.env.GOOGLE_CLOUD_LOCATION or 'global' }, function(place)
      if not place or vim.trim(place) == '' then
        return
      end
      local more = { GOOGLE_CLOUD_PROJECT = vim.trim(id), GOOGLE_CLOUD_LOCATION = vim.trim(place), GOOGLE_GENAI_USE_VERTEXAI = 'true' }
      client.restart(more, function(err)
        if err then
          return note(err, vim.log.levels.ERROR)
        end
        login({ method = 'vertex-ai' })
        note('to keep this, put GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION into env of setup(), or into a .env file')
      end)
    end)
  end)
end

local function with_google()
  note('the browser opens. If it ends at a code or a page that cannot be shown, :Redline login code takes its address.')
  login({ method = 'oauth-personal' })
end

--- Hands over what the browser ended with.
function M.code()
  local ok, code = pcall(vim.fn.inputsecret, 'The code, or the address that the browser ended at: ')
  vim.cmd.redraw()
  if not ok or vim.trim(code) == '' then
    return
  end
  unlogged(function()
    client.request('agent/auth/complete', { code = vim.trim(code) }, function(err)
      if err then
        note(err.message, vim.log.levels.ERROR)
      end
    end)
  end)
end

local ways = { ['gemini-api-key'] = with_key, ['oauth-personal'] = with_google, ['vertex-ai'] = with_vertex }

--- Signs in, by a way that the user chooses unless it is named.
---@param method? string
function M.login(method)
  if method == 'code' then
    return M.code()
  end
  if method then
    if not vim.tbl_contains(M.names(), method) then
      -- It may be a key, which has no business in a message or in the history.
      vim.fn.histdel('cmd', [[\v^\s*Redline\s+login\s+\V]] .. vim.fn.escape(method, [[\]]))
      return note('login takes a way to sign in (<Tab>); a key is asked for, and is never a part of the command', vim.log.levels.ERROR)
    end
    if ways[method] then
      return ways[method]()
    end
    return login({ method = method })
  end
  vim.ui.select(methods, {
    prompt = 'How shall Redline reach the model?',
    kind = 'redline.login',
    format_item = function(m)
      return ('%s (%s)'):format(m.label, m.detail)
    end,
  }, function(m)
    if m then
      M.login(m.id)
    end
  end)
end

--- What login takes.
---@return string[]
function M.names()
  local out = { 'code' }
  for _, m in ipairs(methods) do
    out[#out + 1] = m.id
  end
  return out
end

--- Signs out.
function M.logout()
  client.request('agent/auth/logout', {}, function(err)
    if err then
      return note(err.message, vim.log.levels.ERROR)
    end
    client.request('agent/auth/status', {}, function(_, st)
      -- What the environment brings is not forgotten by signing out.
      note(st and st.signedIn and 'what was saved is forgotten; ' .. M.sentence(st) or 'you are signed out')
    end)
  end)
end

return M
