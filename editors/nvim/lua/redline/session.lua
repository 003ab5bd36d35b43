--- Sessions: what was said and what goes on, as the server's events tell it.
local client = require('redline.client')
local config = require('redline.config')

local M = {}

---@class redline.Session
---@field id string
---@field title string
---@field mode string
---@field model string
---@field running boolean
---@field seq integer the last event's number
---@field state string what the statusline says: idle, waiting, thinking, answering, tool, retry, confirm
---@field open boolean the running server has it
---@field queue {text: string, context: table[]}[] prompts for when the turn has ended
---@field sent? {text: string, context?: table[]} the last prompt
---@field saying? string[] what was said to the running turn and has not reached the model
---@field usage? table
---@field ended? integer how many turns ended
---@field replaying? boolean its events are those of the past

---@type table<string, redline.Session>
M.all = {}
---@type redline.Session?
M.current = nil

-- Who waits for a session: set between the wish and the server's answer.
---@type fun(s?: redline.Session)[]?
local starting
-- The session to take up again after the server ended.
---@type redline.Session?
local lost

--- Tells everybody who shows the state.
function M.changed()
  vim.api.nvim_exec_autocmds('User', { pattern = 'RedlineStatus', modeline = false })
  vim.cmd.redrawstatus({ bang = true })
end

--- Takes what the server says of a session.
---@param info table
---@return redline.Session
function M.adopt(info)
  local s = M.all[info.sessionId] or { id = info.sessionId, seq = 0, state = 'idle', queue = {} }
  s.title, s.mode, s.model = info.title, info.mode, info.model
  s.running = info.running == true
  s.turns, s.updated, s.folders, s.open = info.turns, info.updatedAt, info.folders, true
  M.all[s.id] = s
  return s
end

--- Makes a session the current one, and shows it.
---@param s redline.Session
function M.select(s)
  M.current = s
  lost = nil
  require('redline.chat').show_session(s)
  M.changed()
end

-- Hands the session, or that there is none, to those who wait.
local function started(s)
  local list = starting or {}
  starting = nil
  for _, f in ipairs(list) do
    f(s)
  end
end

--- Starts a new session and calls fn with it; with nil when there is none, of which the
--- user is told.
---@param fn? fun(s?: redline.Session)
function M.new(fn)
  local opts = config.get()
  client.request('agent/session/new', { mode = opts.mode, model = opts.model }, function(err, info)
    local s
    if err then
      M.fail(err.message)
    else
      s = M.adopt(info)
      M.select(s)
    end
    if fn then
      fn(s)
    end
    started(s)
  end)
end

--- Takes up a session, with all that was said, and calls fn with it when the server
--- has it; with nil and the error otherwise.
---@param id string
---@param fn fun(s?: redline.Session, err?: table)
function M.resume(id, fn)
  local s = M.all[id] or { id = id, seq = 0, state = 'idle', queue = {}, title = '', mode = 'default', model = '' }
  M.all[id] = s
  s.replaying = true
  client.request('agent/session/resume', { sessionId = id, afterSeq = s.seq }, function(err, info)
    s.replaying = nil
    require('redline.review').flush()
    if err then
      if s.seq == 0 then
        M.all[id] = nil
      end
      return fn(nil, err)
    end
    fn(M.adopt(info))
  end)
end

--- Calls fn with the current session, taking up or making one if there is none. fn gets
--- nil when that fails; the user is told then.
---@param fn fun(s?: redline.Session)
function M.ready(fn)
  if M.current and client.get() then
    return fn(M.current)
  end
  if starting then
    starting[#starting + 1] = fn
    return
  end
  starting = { fn }
  local again = lost
  if not again then
    return M.new()
  end
  M.resume(again.id, function(s, err)
    if s then
      M.select(s)
      return started(s)
    end
    if not client.get() then
      M.fail(err.message) -- the server is not there; the session is still to be taken up
      return started()
    end
    -- Taken by another Neovim, or never written: what was said here stays to be read.
    lost = nil
    require('redline.chat').notice('warning', 'The session could not be taken up again (' .. err.message .. '); a new one begins.')
    M.new()
  end)
end

--- Tells of something that went wrong, in the chat and as a message.
---@param text string
function M.fail(text)
  text = text:gsub('^Redline: ', '')
  require('redline.chat').notice('error', text)
  require('redline.say').brief(text, vim.log.levels.ERROR)
end

local function send(s, text, context)
  -- Until the server says so itself: two prompts in a row are not both a new turn.
  local before = s.running
  s.running, s.sent = true, { text = text, context = context }
  client.request('agent/prompt', { sessionId = s.id, text = text, context = context }, function(err)
    if not err then
      return
    end
    if err.message:find('a turn is running', 1, true) then
      -- Another prompt was faster: this one is the next.
      table.insert(s.queue, 1, { text = text, context = context })
      s.running = true
      require('redline.chat').title()
      return M.changed()
    end
    s.running = before
    require('redline.chat').give_back(text, context)
    M.fail(err.message)
    require('redline.chat').title()
  end)
end

local function enqueue(s, text, context)
  table.insert(s.queue, { text = text, context = context })
  require('redline.chat').title()
  M.changed()
end

local function heard(s, text)
  for i, t in ipairs(s.saying or {}) do
    if vim.trim(t) == vim.trim(text) then
      return table.remove(s.saying, i)
    end
  end
end

local function steer(s, text, context)
  local whole = text
  if context and #context > 0 then
    whole = text .. '\n\n' .. require('redline.context').as_text(context)
  end
  -- It is shown as said when the model gets it, which is after its step.
  s.saying = s.saying or {}
  table.insert(s.saying, whole)
  client.request('agent/steer', { sessionId = s.id, text = whole }, function(err)
    if err then
      heard(s, whole)
      -- The turn ended meanwhile; what was queued may have begun the next one.
      M.prompt(text, context, 'queue')
    end
  end)
  require('redline.chat').title()
end

--- Sends a prompt. While a turn runs it goes into that turn; what cannot (an image, a
--- slash command) waits for its end, as does everything with how = 'queue'.
---@param text string
---@param context? table[]
---@param how? 'queue'
function M.prompt(text, context, how)
  M.ready(function(s)
    if not s then
      return require('redline.chat').give_back(text, context)
    end
    if not s.running then
      return send(s, text, context)
    end
    local whole = vim.startswith(text, '/') or not require('redline.context').as_text(context or {})
    if how == 'queue' or whole then
      return enqueue(s, text, context)
    end
    steer(s, text, context)
  end)
end

-- Sends what was queued while the turn ran.
local function next_queued(s)
  local q = table.remove(s.queue, 1)
  if q then
    send(s, q.text, q.context)
  end
end

--- Ends the running turn.
function M.cancel()
  if M.current and client.get() then
    client.request('agent/cancel', { sessionId = M.current.id })
  end
end

--- Changes mode, model or time of review of the current session.
---@param change {mode?: string, model?: string, reviewAt?: string}
---@param fn? fun() called when that is done
function M.configure(change, fn)
  M.ready(function(s)
    if not s then
      return
    end
    client.request('agent/session/configure', vim.tbl_extend('error', { sessionId = s.id }, change), function(err, info)
      if err then
        return M.fail(err.message)
      end
      M.adopt(info)
      require('redline.chat').title()
      M.changed()
      if fn then
        fn()
      end
    end)
  end)
end

local states = {
  ['message/delta'] = 'answering',
  ['thought/delta'] = 'thinking',
  ['message/user'] = 'waiting',
}

--- Takes an event of the server.
---@param p {sessionId: string, seq: integer, turnId?: string, event: table}
function M.event(p)
  local s = M.all[p.sessionId]
  if not s then
    -- Its creation is not answered yet, or a command of the server made it.
    s = { id = p.sessionId, seq = 0, state = 'idle', queue = {}, title = '', mode = 'default', model = '', open = true }
    M.all[s.id] = s
    if not M.current then
      M.current = s
    end
  end
  if p.seq <= s.seq then
    return -- replayed, and known
  end
  s.seq = p.seq
  local ev, before = p.event, s.state
  local t = ev.type
  if t ~= 'retry' and t ~= 'usage/updated' then
    s.retry_at = nil
  end
  if t == 'turn/started' then
    s.running, s.state = true, 'waiting'
  elseif t == 'turn/ended' then
    s.running, s.state, s.ended, s.saying = false, 'idle', (s.ended or 0) + 1, nil
  elseif states[t] then
    s.state = states[t]
    if t == 'message/user' then
      heard(s, ev.text)
    end
  elseif t == 'tool/updated' then
    local busy = { running = 'tool', pending = 'tool', confirming = 'confirm' }
    s.state = busy[ev.status] or 'waiting'
    if ev.kind == 'execute' and (ev.status == 'completed' or ev.status == 'failed') and not s.replaying then
      require('redline.reload').check()
    end
  elseif t == 'retry' then
    s.state, s.retry_at = 'retry', vim.uv.now() + ev.delayMs
  elseif t == 'usage/updated' then
    s.usage = ev.usage
  elseif t == 'model/changed' then
    s.model = ev.model
  elseif t == 'proposal/updated' then
    require('redline.review').update(ev.proposal, s.replaying)
  elseif t == 'proposal/changed' then
    require('redline.review').change(ev.change, s.replaying)
  end
  require('redline.chat').event(s, ev, p.turnId)
  if t == 'turn/ended' then
    M.ended(s, ev)
  end
  if s.state ~= before or vim.startswith(t, 'proposal/') then
    M.changed()
  end
end

--- What there is to do at the end of a turn.
---@param s redline.Session
---@param ev table
function M.ended(s, ev)
  if s.replaying then
    return
  end
  require('redline.questions').forget(s.id)
  if ev.status == 'failed' or ev.status == 'limit' then
    local _, text = require('redline.transcript').why_ended(ev)
    require('redline.say').brief(text, vim.log.levels.ERROR)
    if ev.error and ev.error.kind == 'auth' and s.sent then
      require('redline.chat').give_back(s.sent.text, s.sent.context) -- to be sent again after signing in
    end
  end
  require('redline.reload').check()
  if #s.queue > 0 then
    if ev.status == 'completed' then
      next_queued(s)
    else
      -- Whoever stopped the turn may not want the rest either.
      local q = table.remove(s.queue, 1)
      require('redline.chat').give_back(q.text, q.context)
    end
  end
end

--- The server has ended. why is nil when it was asked to; again says that it is being
--- started again, and the current session is taken up then.
---@param why? string
---@param again? boolean
function M.lost(why, again)
  lost = M.current or lost
  for _, s in pairs(M.all) do
    s.running, s.state, s.open, s.retry_at = false, 'idle', false, nil
  end
  M.current = nil
  require('redline.review').clear()
  require('redline.questions').forget()
  if why then
    M.fail(why .. (again and '. It is started again.' or '. The next prompt starts it again.'))
  end
  M.changed()
end

--- Takes the session up again that the server had when it ended.
function M.recover()
  if not lost then
    return
  end
  M.ready(function(s)
    if s then
      require('redline.chat').notice('info', 'The server runs again; the session goes on.')
    end
  end)
end

return M
