--- A session's transcript as blocks of Markdown lines, kept without a buffer, so
--- that the chat can be closed and opened at any time.
---
--- Thoughts, tool calls and notices are block quotes, which is what the chat folds.
local M = {}

---@class redline.Block
---@field kind 'user'|'text'|'thought'|'tool'|'notice'|'prompt'
---@field id? string
---@field lines string[]
---@field closed? boolean nothing is appended any more

---@class redline.Transcript
---@field blocks redline.Block[]
---@field by table<string, redline.Block>
local Transcript = {}
Transcript.__index = Transcript

-- More lines of one call's output than this are not shown; the last ones are.
local max_output = 200

---@return redline.Transcript
function M.new()
  return setmetatable({ blocks = {}, by = {} }, Transcript)
end

local function split(text)
  return vim.split((text:gsub('\r\n?', '\n')), '\n', { plain = true })
end

local function quoted(text)
  return vim.tbl_map(function(l)
    return l == '' and '>' or '> ' .. l
  end, split(text))
end

--- What an event did to the transcript: a new block at the end, text after a
--- block's last line, or a block with other lines.
---@alias redline.Change {op: 'add'|'append'|'replace', index: integer, old?: integer} old is how many lines the block had

---@return redline.Change
function Transcript:add(block)
  self.blocks[#self.blocks + 1] = block
  if block.id then
    self.by[block.id] = block
  end
  return { op = 'add', index = #self.blocks }
end

function Transcript:index(block)
  for i = #self.blocks, 1, -1 do
    if self.blocks[i] == block then
      return i
    end
  end
end

function Transcript:replace(block, lines)
  local old = #block.lines
  block.lines = lines
  return { op = 'replace', index = self:index(block), old = old }
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
  block.lines[n] = block.lines[n] .. more[1]
  vim.list_extend(block.lines, more, 2)
  return { op = 'append', index = self:index(block), old = n }
end

--- A notice of our own.
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

local function call_lines(ev, output)
  local head = ('> %s %s'):format(marks[ev.status] or '·', (ev.title or ev.name):gsub('%s*\n.*', ' …'))
  local at = ev.locations and ev.locations[1]
  if at then
    local path = vim.fn.fnamemodify(vim.uri_to_fname(at.uri), ':~:.')
    if not head:find(path, 1, true) and not head:find(vim.fs.basename(path), 1, true) then
      head = head .. ' ' .. path
    end
    if at.line and at.line > 0 then
      head = head .. ':' .. (at.line + 1)
    end
  end
  local lines = { head }
  output = output and output:gsub('\n+$', '') or ''
  if ev.display and output == ev.display and #output <= 60 and not output:find('\n') and output ~= '' then
    lines[1] = head .. ': ' .. output
  elseif output ~= '' then
    local body = quoted(output)
    if #body > max_output then
      lines[2] = ('> … %d lines before'):format(#body - max_output)
    end
    vim.list_extend(lines, body, math.max(1, #body - max_output + 1))
  end
  return lines
end

local function ended(ev)
  if ev.status == 'failed' then
    return 'error', ev.error and ev.error.message or 'the turn failed'
  elseif ev.status == 'limit' then
    return 'warning', ev.error and ev.error.message or 'the limit of steps was reached; ask again to go on'
  elseif ev.status == 'cancelled' then
    return 'info', 'cancelled'
  end
end

function Transcript:text(kind, ev)
  local id = kind .. ':' .. ev.messageId
  local last = self.blocks[#self.blocks]
  -- What the model says after a tool call goes below it, though the message is one.
  if last and last.id == id then
    return self:append(last, ev.text)
  end
  if kind == 'text' then
    return self:add({ kind = kind, id = id, lines = split(ev.text) })
  end
  local lines = quoted(ev.text)
  table.insert(lines, 1, '> *Thought:* ' .. (ev.subject or ''))
  return self:add({ kind = kind, id = id, lines = lines })
end

--- Takes an event; nil when it shows nothing.
---@return redline.Change?
function Transcript:event(ev)
  local t = ev.type
  if t == 'message/user' then
    local lines = { '## You', '' }
    return self:add({ kind = 'user', lines = vim.list_extend(lines, split(vim.trim(ev.text))) })
  elseif t == 'message/delta' then
    return self:text('text', ev)
  elseif t == 'thought/delta' then
    return self:text('thought', ev)
  elseif t == 'tool/updated' then
    local block = self.by[ev.callId]
    local output = ev.display ~= '' and ev.display or nil
    if not output and (ev.status == 'failed' or ev.kind == 'execute') then
      output = ev.output
    end
    if not block then
      return self:add({ kind = 'tool', id = ev.callId, call = ev, lines = call_lines(ev, output) })
    end
    block.call = ev
    return self:replace(block, call_lines(ev, output or block.live))
  elseif t == 'tool/output' then
    local block = self.by[ev.callId]
    if block then
      block.live = (block.live or '') .. ev.text
      if #block.live > 64 * 1024 then
        block.live = block.live:sub(-48 * 1024):gsub('^[\128-\191]+', '')
      end
      return self:replace(block, call_lines(block.call, block.live))
    end
  elseif t == 'turn/ended' then
    local level, text = ended(ev)
    return level and self:notice(level, text)
  elseif t == 'retry' then
    return self:notice('warning', ('%s; trying again in %.1f s (attempt %d)'):format(ev.reason, ev.delayMs / 1000, ev.attempt))
  elseif t == 'notice' then
    return self:notice(ev.level or 'info', ev.text)
  elseif t == 'model/changed' then
    return self:notice('info', ('the model is %s now: %s'):format(ev.model, ev.reason or ''))
  elseif t == 'loop/detected' then
    return self:notice('warning', 'the model repeats itself')
  elseif t == 'plan/updated' then
    local lines = {}
    for _, e in ipairs(ev.entries or {}) do
      lines[#lines + 1] = ('- [%s] %s'):format(e.status == 'completed' and 'x' or ' ', e.content)
    end
    local block = self.by.plan
    if block then
      return self:replace(block, lines)
    end
    return self:add({ kind = 'notice', id = 'plan', lines = lines })
  end
end

--- All lines, with a blank one after each block.
---@return string[]
function Transcript:lines()
  local out = {}
  for _, b in ipairs(self.blocks) do
    vim.list_extend(out, b.lines)
    out[#out + 1] = ''
  end
  return out
end

--- The 0-based line a block starts in.
---@param index integer
---@return integer
function Transcript:start(index)
  local n = 0
  for i = 1, index - 1 do
    n = n + #self.blocks[i].lines + 1
  end
  return n
end

--- How many lines all blocks take.
---@return integer
function Transcript:height()
  return self:start(#self.blocks + 1)
end

return M
