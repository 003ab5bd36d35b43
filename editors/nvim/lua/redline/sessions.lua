--- The sessions of this folder: list, take up, fork, delete.
local client = require('redline.client')
local session = require('redline.session')

local M = {}

local note = require('redline.say').note

-- Seconds since 1970 of an RFC 3339 time in UTC.
local function seconds(text)
  local y, mo, d, h, mi, s = text:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  if not y then
    return os.time()
  end
  local function at(t)
    return os.time({ year = t.year, month = t.month, day = t.day, hour = t.hour, min = t.min, sec = t.sec, isdst = false })
  end
  local now = os.time()
  local shift = at(os.date('*t', now)) - at(os.date('!*t', now))
  return at({ year = y, month = mo, day = d, hour = h, min = mi, sec = s }) + shift
end

--- How long ago a time is, in words.
---@param text string RFC 3339
---@return string
function M.ago(text)
  local s = math.max(0, os.time() - seconds(text))
  for _, unit in ipairs({ { 86400, 'day' }, { 3600, 'hour' }, { 60, 'minute' } }) do
    local n = math.floor(s / unit[1])
    if n > 0 then
      return ('%d %s%s ago'):format(n, unit[2], n == 1 and '' or 's')
    end
  end
  return 'just now'
end

--- A session in one line.
---@param info table
---@return string
function M.line(info)
  local title = info.title ~= '' and info.title or 'Untitled'
  if vim.fn.strchars(title) > 60 then
    title = vim.fn.strcharpart(title, 0, 59) .. '…'
  end
  local words = { ('%d %s'):format(info.turns, info.turns == 1 and 'turn' or 'turns'), M.ago(info.updatedAt) }
  if info.running then
    words[#words + 1] = 'working'
  end
  if session.current and info.sessionId == session.current.id then
    words[#words + 1] = 'this one'
  end
  return ('%s (%s)'):format(title, table.concat(words, ', '))
end

-- Calls fn with the sessions, the latest first; an empty one that was never used is
-- left out.
local function list(fn)
  client.request('agent/session/list', {}, function(err, result)
    if err then
      return session.fail(err.message)
    end
    fn(vim.tbl_filter(function(i)
      return i.turns > 0 or i.running or (session.current and i.sessionId == session.current.id)
    end, result.sessions))
  end)
end

local function pick(prompt, fn)
  list(function(sessions)
    if #sessions == 0 then
      return note('there is no session yet')
    end
    vim.ui.select(sessions, { prompt = prompt, kind = 'redline.session', format_item = M.line }, function(info)
      if info then
        fn(info)
      end
    end)
  end)
end

-- Takes up a session: with the server's help unless it is open here.
local function take(id)
  local s = session.all[id]
  if s and s.open and s.seq > 0 then
    return session.select(s)
  end
  require('redline.page').show(id)
  session.resume(id, function(taken, err)
    if taken then
      session.select(taken)
      return require('redline.page').flush()
    end
    session.fail(err.message)
    if session.current then
      require('redline.chat').show_session(session.current)
    end
  end)
end

--- Lets the user choose a session, and takes it up.
function M.pick()
  pick('Session', function(info)
    take(info.sessionId)
  end)
end

--- Takes up the session with that title or ID, or the last one.
---@param name? string
function M.resume(name)
  list(function(sessions)
    for _, info in ipairs(sessions) do
      local is = info.sessionId == name or info.title == name
      local current = session.current and info.sessionId == session.current.id
      if is or (not name and not current) then
        return take(info.sessionId)
      end
    end
    note(name and ('there is no session %q'):format(name) or 'there is no other session yet', vim.log.levels.WARN)
  end)
end

--- The titles of the sessions, for completion.
---@return string[]
function M.titles()
  local names
  if not client.get() then
    return {}
  end
  client.request('agent/session/list', {}, function(_, result)
    names = vim.tbl_map(function(i)
      return i.title
    end, result and result.sessions or {})
  end)
  vim.wait(500, function()
    return names ~= nil
  end, 10)
  return vim.tbl_filter(function(t)
    return t ~= ''
  end, names or {})
end

--- Goes on in a copy of the current session; with here, in one that ends before the
--- prompt at the cursor of the chat.
---@param here? boolean
function M.fork(here)
  local s = session.current
  if not s then
    return note('there is no session to copy yet', vim.log.levels.WARN)
  end
  local before
  if here then
    local page = require('redline.page')
    local block = page.buffer() == vim.api.nvim_get_current_buf() and page.block_at(vim.fn.line('.'))
    before = block and block.turn
    if not before then
      return note('put the cursor of the chat on the prompt that the copy is to end before', vim.log.levels.WARN)
    end
  end
  client.request('agent/session/fork', { sessionId = s.id, beforeTurnId = before }, function(err, info)
    if err then
      return session.fail(err.message)
    end
    take(info.sessionId)
    note('this is a copy; the other session stays as it is')
  end)
end

--- Deletes a session that the user chooses, after asking.
function M.delete()
  pick('Delete which session?', function(info)
    vim.ui.select({ 'Keep it', 'Delete it for good' }, {
      prompt = 'Delete ' .. M.line(info) .. '?',
      kind = 'redline.delete',
    }, function(_, i)
      if i ~= 2 then
        return
      end
      client.request('agent/session/delete', { sessionId = info.sessionId }, function(err)
        if err then
          return session.fail(err.message)
        end
        session.all[info.sessionId] = nil
        if session.current and session.current.id == info.sessionId then
          session.current = nil
          require('redline.page').show('')
          session.changed()
        end
        require('redline.page').forget(info.sessionId)
        note('the session is deleted')
      end)
    end)
  end)
end

--- Summarises the older part of the conversation, so that there is room again.
function M.compress()
  session.ready(function(s)
    if not s then
      return
    end
    client.request('agent/session/compress', { sessionId = s.id }, function(err, result)
      if err then
        return session.fail(err.message)
      end
      if not result.compressed then
        note('the conversation is too short to be compressed')
      else
        note(('compressed from %d to %d tokens'):format(result.tokensBefore, result.tokensAfter))
      end
    end)
  end)
end

--- Shows what the session has used.
function M.usage()
  local s = session.current
  if not s then
    return note('there is no session yet')
  end
  client.request('agent/usage/get', { sessionId = s.id }, function(err, u)
    if err then
      return session.fail(err.message)
    end
    local bar = require('redline.bar')
    local out = {}
    local function add(...)
      out[#out + 1] = (...):format(select(2, ...))
    end
    add('%d requests, %s tokens: %s in (%s of them cached), %s out, %s thoughts', u.requests, bar.tokens(u.totalTokens),
      bar.tokens(u.inputTokens), bar.tokens(u.cachedTokens), bar.tokens(u.outputTokens), bar.tokens(u.thoughtTokens))
    if type(u.costUsd) == 'number' then
      add('about %s%s', bar.dollars(u.costUsd), u.pricesOf and ' at list prices of ' .. u.pricesOf or '')
    end
    if u.contextTokens > 0 and u.contextWindow > 0 then
      add('the conversation takes up %s of %s tokens (%d %%)', bar.tokens(u.contextTokens), bar.tokens(u.contextWindow),
        math.ceil(u.contextTokens * 100 / u.contextWindow))
    end
    for _, m in ipairs(#u.models > 1 and u.models or {}) do
      add('  %s: %d requests, %s tokens%s', m.model, m.requests, bar.tokens(m.totalTokens),
        type(m.costUsd) == 'number' and ', ' .. bar.dollars(m.costUsd) or '')
    end
    note(table.concat(out, '\n'))
  end)
end

return M
