--- A session's transcript as blocks of Markdown lines, kept without a buffer, so
--- that the chat can be closed and opened at any time.
---
--- Thoughts, tool calls and notices are block quotes; the first two fold.
local M = {}

---@class redline.Block
---@field kind 'user'|'head'|'text'|'thought'|'tool'|'notice'|'plan'
---@field id? string
---@field lines string[]
---@field turn? string the turn it is of
---@field places? {path: string, line?: integer}[] what it is about; lines are 1-based
---@field call? table a tool call's last event
---@field live? string what a call has printed so far
---@field due? number when a failed request is tried again, as vim.uv.now()
---@field tight? boolean no blank line follows
---@field drawn? integer how many of its lines the buffer has, the blank one after it included; the page's
---@field keep? integer how many of these are still right; the page's

---@class redline.Transcript
---@field blocks redline.Block[]
---@field by table<string, redline.Block>
---@field changed table<redline.Block, true> not in the buffer yet
local Transcript = {}
Transcript.__index = Transcript

-- More lines of one call's output than this are not shown; the last ones are.
local max_output = 200

---@return redline.Transcript
function M.new()
  return setmetatable({ blocks = {}, by = {}, changed = {} }, Transcript)
end

local function split(text)
  return vim.split((text:gsub('\r\n?', '\n')), '\n', { plain = true })
end

local function quoted(text)
  return vim.tbl_map(function(l)
    return l == '' and '>' or '> ' .. l
  end, split(text))
end

---@param block redline.Block
---@return redline.Block
function Transcript:add(block)
  -- What the agent does goes below a heading of its own.
  local answer = block.kind ~= 'user' and block.kind ~= 'notice' and block.kind ~= 'head'
  if answer and self.asked then
    self.asked = false
    self:add({ kind = 'head', lines = { '## Redline' }, turn = block.turn })
  elseif block.kind == 'user' then
    self.asked = true
  end
  local last = self.blocks[#self.blocks]
  if last and last.kind == 'tool' and block.kind == 'tool' then
    last.tight = true
    self:replace(last, last.lines, #last.lines)
  end
  self.blocks[#self.blocks + 1] = block
  if block.id then
    self.by[block.id] = block
  end
  self.changed[block] = true
  return block
end

-- Gives a block other lines, of which the first `same` are as before.
function Transcript:replace(block, lines, same)
  block.lines = lines
  block.keep = math.min(block.keep or 0, same or 0)
  self.changed[block] = true
  return block
end

-- Appends text to a block whose lines end where the text goes on.
function Transcript:append(block, text)
  local more = split(text)
  if block.kind ~= 'text' then
    for i = 2, #more do
      more[i] = '> ' .. more[i]
    end
  end
  local n = #block.lines
  block.keep = math.min(block.keep or 0, n - 1)
  block.lines[n] = block.lines[n] .. more[1]
  vim.list_extend(block.lines, more, 2)
  self.changed[block] = true
  return block
end

--- A notice of our own, or of the server.
---@param level string
---@param text string
---@return redline.Block
function Transcript:notice(level, text)
  local lines = quoted(text)
  lines[1] = ('> **%s:** %s'):format(level:sub(1, 1):upper() .. level:sub(2), lines[1]:sub(3))
  return self:add({ kind = 'notice', lines = lines })
end

local marks = {
  pending = '…',
  confirming = '?',
  running = '…',
  completed = '✓',
  failed = '✗',
  rejected = '✗',
  cancelled = '–',
}

local function short(path)
  return vim.fn.fnamemodify(path, ':~:.')
end

local function places(ev)
  local out = {}
  for _, at in ipairs(ev.locations or {}) do
    local ok, path = pcall(vim.uri_to_fname, at.uri)
    if ok then
      out[#out + 1] = { path = path, line = at.line and at.line > 0 and at.line + 1 or nil }
    end
  end
  return out
end

-- The lines of a call: what it is, what came of it when that is short, and its output.
local function call_lines(ev, at, output)
  local head = ('> %s %s'):format(marks[ev.status] or '·', ((ev.title or ev.name):gsub('%s*\n.*', ' …')))
  if at[1] then
    local path = short(at[1].path)
    if not head:find(path, 1, true) and not head:find(vim.fs.basename(path), 1, true) then
      head = head .. ' ' .. path
    end
    if at[1].line then
      head = head .. ':' .. at[1].line
    end
  end
  local lines = { head }
  output = output and output:gsub('\n+$', '') or ''
  local result = vim.trim(ev.display or '')
  if result ~= '' and #result <= 60 and not result:find('\n') then
    lines[1] = head .. ': ' .. result
    output = output ~= result and output or ''
  end
  if output ~= '' then
    local body = quoted(output)
    if #body > max_output then
      lines[2] = ('> … %d lines before'):format(#body - max_output)
    end
    vim.list_extend(lines, body, math.max(1, #body - max_output + 1))
  end
  -- The other files it is about can be gone to as well.
  for i = 2, #at do
    local line = '> ' .. short(at[i].path) .. (at[i].line and ':' .. at[i].line or '')
    if not output:find(vim.fs.basename(at[i].path), 1, true) then
      lines[#lines + 1] = line
    end
  end
  return lines
end

--- Why a turn did not complete, in the user's words, with what to do about it.
---@param ev table
---@return string? level
---@return string? text
function M.why_ended(ev)
  local text = ev.error and ev.error.message
  if ev.status == 'failed' then
    text = text or 'the turn failed'
    if ev.error and ev.error.kind == 'auth' then
      text = text .. '\nOr sign in with :Redline login; :Redline status says how the model is reached.'
    end
    return 'error', text
  elseif ev.status == 'limit' then
    return 'warning', text or 'the limit of steps was reached; ask again to go on'
  elseif ev.status == 'cancelled' then
    return 'info', text and text ~= '' and text or 'cancelled'
  end
end

function Transcript:text(kind, ev, turn)
  local id = kind .. ':' .. ev.messageId
  local last = self.blocks[#self.blocks]
  -- What the model says after a tool call goes below it, though the message is one.
  if last and last.id == id then
    return self:append(last, ev.text)
  end
  if kind == 'text' then
    return self:add({ kind = kind, id = id, turn = turn, lines = split(ev.text) })
  end
  local lines = quoted((ev.text:gsub('^\n+', '')))
  table.insert(lines, 1, '> *Thought:* ' .. (ev.subject or ''))
  return self:add({ kind = kind, id = id, turn = turn, lines = lines })
end

function Transcript:call(ev, turn)
  local block = self.by[ev.callId]
  local output = ev.display ~= '' and ev.display or nil
  if ev.kind == 'execute' then
    -- What it printed stays, as the user has seen it, below how it ended.
    output = block and block.live or ev.output or output
  elseif not output and ev.status == 'failed' then
    output = ev.output
  end
  local at = places(ev)
  if not block then
    return self:add({ kind = 'tool', id = ev.callId, call = ev, places = at, turn = turn, lines = call_lines(ev, at, output) })
  end
  block.call, block.places = ev, at
  return self:replace(block, call_lines(ev, at, output))
end

function Transcript:output(ev)
  local block = self.by[ev.callId]
  if not block then
    return
  end
  block.live = (block.live or '') .. ev.text
  if #block.live > 64 * 1024 then
    block.live = block.live:sub(-48 * 1024):gsub('^[\128-\191]+', '')
  end
  return self:replace(block, call_lines(block.call, block.places, block.live), 1)
end

local ends = { in_progress = '  ← now', cancelled = '  (cancelled)' }

function Transcript:plan(ev, turn)
  local lines, done = {}, 0
  for _, e in ipairs(ev.entries or {}) do
    lines[#lines + 1] = ('- [%s] %s%s'):format(e.status == 'completed' and 'x' or ' ', e.content, ends[e.status] or '')
    done = done + (e.status == 'completed' and 1 or 0)
  end
  self.steps = #lines > 0 and { done = done, all = #lines } or nil
  table.insert(lines, 1, ('**Plan** %d of %d done'):format(done, #lines))
  local block = self.by.plan
  -- A later turn's plan stands where that turn is.
  if block and block.turn == turn then
    return self:replace(block, lines)
  end
  return self:add({ kind = 'plan', id = 'plan', turn = turn, lines = lines })
end

--- Takes an event; nil when it shows nothing. Events that the server explains with a
--- notice beside them (another model, a compressed conversation) show as that.
---@param ev table
---@param turn? string
---@return redline.Block?
function Transcript:event(ev, turn)
  local t = ev.type
  if self.waiting and t ~= 'usage/updated' then
    self.waiting.due = nil
    self.waiting = nil
  end
  if t == 'message/user' then
    local lines = { '## You', '' }
    return self:add({ kind = 'user', turn = turn, lines = vim.list_extend(lines, split(vim.trim(ev.text))) })
  elseif t == 'message/delta' then
    return self:text('text', ev, turn)
  elseif t == 'thought/delta' then
    return self:text('thought', ev, turn)
  elseif t == 'tool/updated' then
    if ev.name == 'write_todos' and ev.status ~= 'failed' then
      return -- the plan itself is shown
    end
    return self:call(ev, turn)
  elseif t == 'tool/output' then
    return self:output(ev)
  elseif t == 'turn/ended' then
    local level, text = M.why_ended(ev)
    return level and self:notice(level, text)
  elseif t == 'retry' then
    local block = self:notice('warning', ('%s (attempt %d)'):format(ev.reason, ev.attempt))
    block.due = vim.uv.now() + ev.delayMs
    self.waiting = block
    return block
  elseif t == 'notice' then
    return self:notice(ev.level or 'info', ev.text)
  elseif t == 'loop/detected' then
    return self:notice('warning', 'the model repeats itself')
  elseif t == 'plan/updated' then
    return self:plan(ev, turn)
  end
end

--- The lines of a block from one on, with the blank one after it; they count as drawn.
---@param block redline.Block
---@param from integer
---@return string[]
function M.draw(block, from)
  local out = vim.list_slice(block.lines, from)
  local tight = block.tight or (#block.lines > 1 and block.lines[#block.lines] == '')
  if not tight then
    out[#out + 1] = ''
  end
  -- A block of one line is no fold: when it grows, its first line is told anew.
  block.keep = #block.lines > 1 and #block.lines or 0
  block.drawn = #block.lines + (tight and 0 or 1)
  return out
end

--- All lines; they count as drawn.
---@return string[]
function Transcript:lines()
  local out = {}
  for _, b in ipairs(self.blocks) do
    vim.list_extend(out, M.draw(b, 1))
  end
  self.changed = {}
  return out
end

return M
