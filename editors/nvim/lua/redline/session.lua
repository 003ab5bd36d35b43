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
---@field usage? table
---@field ended? integer how many turns ended

---@type table<string, redline.Session>
M.all = {}
---@type redline.Session?
M.current = nil

-- Set between the wish for a session and the server's answer.
local starting
-- The session to take up again after the server ended unexpectedly.
local lost

local function changed()
  vim.api.nvim_exec_autocmds('User', { pattern = 'RedlineStatus', modeline = false })
  vim.cmd.redrawstatus({ bang = true })
end

local function adopt(info)
  local s = M.all[info.sessionId] or { id = info.sessionId, seq = 0, state = 'idle' }
  s.title, s.mode, s.model = info.title, info.mode, info.model
  s.running = info.running == true
  s.turns, s.updated = info.turns, info.updatedAt
  M.all[s.id] = s
  return s
end

local function select(s)
  M.current = s
  require('redline.chat').show_session(s)
  changed()
end

--- Starts a new session and calls fn with it.
---@param fn? fun(s: redline.Session)
function M.new(fn)
  local opts = config.get()
  client.request('agent/session/new', { mode = opts.mode, model = opts.model }, function(err, info)
    local list = starting or {}
    starting = nil
    if err then
      return M.fail(err.message)
    end
    local s = adopt(info)
    select(s)
    if fn then
      fn(s)
    end
    for _, f in ipairs(list) do
      f(s)
    end
  end)
end

--- Calls fn with the current session, making one if there is none.
---@param fn fun(s: redline.Session)
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
  lost = nil
  if not again then
    return M.new()
  end
  again.replaying = true
  client.request('agent/session/resume', { sessionId = again.id, afterSeq = again.seq }, function(err, info)
    again.replaying = false
    require('redline.review').flush()
    if err then
      M.all[again.id] = nil
      return M.new()
    end
    local list = starting
    starting = nil
    select(adopt(info))
    for _, f in ipairs(list) do
      f(M.current)
    end
  end)
end

--- Tells of something that went wrong, in the chat and as a message.
---@param text string
function M.fail(text)
  text = text:gsub('^Redline: ', '')
  require('redline.chat').notice('error', text)
  vim.notify('Redline: ' .. text, vim.log.levels.ERROR)
end

--- Sends a prompt. While a turn runs it goes into that turn.
---@param text string
---@param context? table[]
function M.prompt(text, context)
  M.ready(function(s)
    local method, params = 'agent/prompt', { sessionId = s.id, text = text, context = context }
    if s.running and not (context and #context > 0) then
      method, params = 'agent/steer', { sessionId = s.id, text = text }
    end
    client.request(method, params, function(err)
      if err and method == 'agent/steer' then
        -- The turn ended meanwhile.
        return client.request('agent/prompt', { sessionId = s.id, text = text, context = context }, function(e)
          if e then
            M.fail(e.message)
          end
        end)
      end
      if err then
        M.fail(err.message)
      end
    end)
  end)
end

--- Ends the running turn.
function M.cancel()
  if M.current and client.get() then
    client.request('agent/cancel', { sessionId = M.current.id })
  end
end

--- Changes mode or model of the current session.
---@param change {mode?: string, model?: string}
function M.configure(change)
  M.ready(function(s)
    client.request('agent/session/configure', vim.tbl_extend('error', { sessionId = s.id }, change), function(err, info)
      if err then
        return M.fail(err.message)
      end
      adopt(info)
      require('redline.chat').title()
      changed()
    end)
  end)
end

--- Lets the user take up another session of this server.
function M.pick()
  client.request('agent/session/list', {}, function(err, result)
    if err then
      return M.fail(err.message)
    end
    local list = result.sessions
    if #list == 0 then
      return vim.notify('Redline: there is no session yet')
    end
    vim.ui.select(list, {
      prompt = 'Session',
      kind = 'redline.session',
      format_item = function(i)
        return ('%s (%d turns, %s)'):format(i.title ~= '' and i.title or 'Untitled', i.turns, i.updatedAt)
      end,
    }, function(info)
      if not info then
        return
      end
      local s = adopt(info)
      local chat = require('redline.chat')
      if s.seq > 0 then
        return select(s)
      end
      chat.show_session(s)
      s.replaying = true
      client.request('agent/session/resume', { sessionId = s.id, afterSeq = 0 }, function(e)
        s.replaying = false
        require('redline.review').flush()
        if e then
          return M.fail(e.message)
        end
        select(s)
      end)
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
    s = { id = p.sessionId, seq = 0, state = 'idle', title = '', mode = 'default', model = '' }
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
  if t == 'turn/started' then
    s.running, s.state = true, 'waiting'
  elseif t == 'turn/ended' then
    s.running, s.state, s.ended = false, 'idle', (s.ended or 0) + 1
  elseif states[t] then
    s.state = states[t]
  elseif t == 'tool/updated' then
    local busy = { running = 'tool', pending = 'tool', confirming = 'confirm' }
    s.state = busy[ev.status] or 'waiting'
    if ev.kind == 'execute' and (ev.status == 'completed' or ev.status == 'failed') and not s.replaying then
      require('redline.reload').check()
    end
  elseif t == 'retry' then
    s.state = 'retry'
  elseif t == 'usage/updated' then
    s.usage = ev.usage
  elseif t == 'model/changed' then
    s.model = ev.model
  elseif t == 'proposal/updated' then
    require('redline.review').update(ev.proposal, s.replaying)
  end
  require('redline.chat').event(s, ev)
  if t == 'turn/ended' then
    M.ended(s, ev)
  end
  if s.state ~= before or t == 'proposal/updated' then
    changed()
  end
end

function M.ended(s, ev)
  if s.replaying then
    return
  end
  if ev.status == 'failed' or ev.status == 'limit' then
    local message = ev.error and ev.error.message or ('the turn ended: ' .. ev.status)
    vim.notify('Redline: ' .. message, vim.log.levels.ERROR)
  end
  require('redline.reload').check()
end

--- The server has ended. why is nil when it was asked to.
---@param why? string
function M.lost(why)
  lost = M.current
  for _, s in pairs(M.all) do
    s.running, s.state = false, 'idle'
  end
  M.current = nil
  require('redline.review').clear()
  if why then
    M.fail(why .. '. The next prompt starts it again.')
  end
  changed()
end

return M
