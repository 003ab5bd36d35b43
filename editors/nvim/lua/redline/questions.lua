--- The server's questions to the user, asked with vim.ui one after the other.
---
--- A question comes at any time, and a choice takes the keys that are typed. So it is
--- put when the user is in Normal mode; while they type, a message says that it waits.
local M = {}

---@class redline.Question
---@field session? string
---@field brief string
---@field ask fun(done: fun(value: any))
---@field finish fun(value: any)

---@type redline.Question[]
local queue = {}
---@type redline.Question?
local asking
local waiting_for_mode = false

local note = require('redline.say').note

local step

-- Reports whether a choice would take keys that are meant for something else.
local function busy()
  local mode = vim.api.nvim_get_mode()
  return mode.blocking or not vim.startswith(mode.mode, 'n') or mode.mode:find('^no')
end

local function wait_for_mode(q)
  if waiting_for_mode then
    return
  end
  waiting_for_mode = true
  require('redline.chat').title()
  require('redline.session').changed()
  require('redline.say').brief(q.brief .. ' It is asked when you leave Insert mode.', vim.log.levels.WARN)
  vim.api.nvim_create_autocmd('ModeChanged', {
    group = vim.api.nvim_create_augroup('redline.questions', {}),
    pattern = '*:n',
    once = true,
    callback = function()
      waiting_for_mode = false
      vim.schedule(step)
    end,
  })
end

function step()
  local q = queue[1]
  if asking or not q then
    return
  end
  if busy() then
    return wait_for_mode(q)
  end
  table.remove(queue, 1)
  asking = q
  -- A choice may keep the screen from being drawn: what led to it is shown first.
  require('redline.page').flush()
  require('redline.chat').title()
  vim.cmd.redraw()
  local ok, err = pcall(q.ask, q.finish)
  if not ok then
    if not tostring(err):find('Keyboard interrupt', 1, true) then -- CTRL-C leaves it, as <Esc> does
      note(tostring(err), vim.log.levels.ERROR)
    end
    q.finish(nil)
  end
end

--- Puts a question when no other one is open, and returns what the user made of it; nil
--- when they left it, or when it does not matter any more. It must run in a coroutine,
--- as Neovim's handlers of requests do.
local function await(session, brief, ask)
  local co = assert(coroutine.running(), 'redline: a question outside of a coroutine')
  local answered, value, suspended = false, nil, false
  local q = { session = session, brief = brief, ask = ask }
  function q.finish(v)
    if answered then
      return
    end
    answered, value = true, v
    if asking == q then
      asking = nil
      vim.schedule(step)
    end
    if suspended then
      suspended = false
      coroutine.resume(co)
    end
  end
  queue[#queue + 1] = q
  step()
  if not answered then
    suspended = true
    coroutine.yield()
  end
  return value
end

--- How many questions wait, the one that is being asked included.
---@return integer
function M.count()
  return #queue + (asking and 1 or 0)
end

--- The question that waits for Normal mode, in short.
---@return string?
function M.waiting()
  return waiting_for_mode and queue[1] and queue[1].brief or nil
end

--- Takes back the questions of a session whose turn has ended; all of them without one.
---@param session? string
function M.forget(session)
  local list = queue
  queue = {}
  for _, q in ipairs(list) do
    if session and q.session ~= session then
      queue[#queue + 1] = q
    else
      q.finish(nil)
    end
  end
end

-- The choice that refuses and says why.
local explain = { label = 'Reject, and tell why…', explain = true }

local function refusal(options)
  for _, o in ipairs(options) do
    if o.kind == 'reject' then
      return o
    end
  end
end

local function files(uris)
  return table.concat(
    vim.tbl_map(function(u)
      return vim.fn.fnamemodify(vim.uri_to_fname(u), ':~:.')
    end, uris),
    ', '
  )
end

-- What is being asked for: all that decides whether it may be done, in a few lines.
local function prompt(p)
  local subject = p.subject or {}
  local lines = { 'Redline: ' .. p.title }
  if subject.command and not p.title:find(subject.command, 1, true) then
    vim.list_extend(lines, vim.split('  ' .. subject.command:gsub('\n', '\n  '), '\n'))
  end
  if subject.directory then
    local dir = vim.uri_to_fname(subject.directory)
    if dir ~= require('redline.client').root() then
      lines[#lines + 1] = '  in ' .. vim.fn.fnamemodify(dir, ':~')
    end
  end
  if subject.unsaved and #subject.unsaved > 0 then
    lines[#lines + 1] = '  These are saved first: ' .. files(subject.unsaved)
  end
  if not subject.command and p.detail and p.detail ~= '' then
    for line in vim.gsplit(p.detail, '\n') do
      if line ~= '' and not vim.startswith(line, '```') then
        lines[#lines + 1] = '  ' .. line
      end
      if #lines > 10 then
        lines[#lines + 1] = '  …'
        break
      end
    end
  elseif subject.type == 'path' and p.detail then
    -- The question is about trust as well.
    lines[#lines + 1] = '  ' .. vim.trim(p.detail:match('[^\n]*$') or '')
  end
  return table.concat(lines, '\n')
end

--- Answers agent/approve. Walking away from the choice is a refusal.
---@param p table
---@return table
function M.approve(p)
  local no = refusal(p.options)
  local items = vim.list_extend({}, p.options)
  if no and p.turnId and p.callId and not vim.endswith(p.callId, '.trust') then
    items[#items + 1] = explain
  end
  local chosen = await(p.sessionId, p.title:gsub('[.?]$', '') .. '?', function(done)
    vim.ui.select(items, {
      prompt = prompt(p),
      kind = 'redline.approve',
      format_item = function(o)
        return o.label
      end,
    }, function(o)
      if not (o and o.explain) then
        return done(o)
      end
      vim.ui.input({ prompt = 'Why not, or what instead? ' }, function(text)
        done({ optionId = no.optionId, feedback = text and vim.trim(text) ~= '' and text or nil })
      end)
    end)
  end) or no
  return { optionId = chosen and chosen.optionId or 'reject', feedback = chosen and chosen.feedback or nil }
end

--- Answers agent/ask.
---@param p table
---@return table
function M.ask(p)
  local options = {}
  for _, o in ipairs(p.options or {}) do
    options[#options + 1] = type(o) == 'table' and o.label or o
  end
  local answer = await(p.sessionId, p.question, function(done)
    if #options > 0 then
      return vim.ui.select(options, { prompt = 'Redline asks: ' .. p.question, kind = 'redline.ask' }, done)
    end
    vim.ui.input({ prompt = 'Redline asks: ' .. p.question .. ' ' }, done)
  end)
  return { answer = answer or '' }
end

return M
