--- What differs inside lines: which lines of two texts belong together, and which
--- words of them changed. Everything here is pure; columns are bytes from 0.
local M = {}

local diff = vim.text and vim.text.diff or vim.diff

-- Longer lines are shown as changed as a whole, and so are hunks with more lines.
local max_bytes, max_lines = 1000, 200

-- The code point of the UTF-8 character that begins with byte i, and its length.
local function decode(s, i)
  local c = s:byte(i)
  if c < 0x80 then
    return c, 1
  end
  local n = c >= 0xF0 and 4 or c >= 0xE0 and 3 or 2
  local code = c % (n == 4 and 0x08 or n == 3 and 0x10 or 0x20)
  for k = i + 1, math.min(i + n - 1, #s) do
    code = code * 64 + s:byte(k) % 64
  end
  return code, n
end

-- What never stands alone: combining marks, joiners, variation selectors, skin tones.
local function joins(code)
  return code >= 0x300 and code <= 0x36F
    or code == 0x200D
    or code >= 0xFE00 and code <= 0xFE0F
    or code >= 0x1F3FB and code <= 0x1F3FF
end

--- Cuts a line into words, runs of blanks, and single other characters. Scripts that
--- put no blanks between words (from CJK on) are cut into characters.
---@param s string
---@return string[]
function M.split(s)
  local out, kind, i = {}, nil, 1
  local glue = false -- after a joiner: what follows belongs to it
  while i <= #s do
    local code, n = decode(s, i)
    local now = (code == 32 or code == 9) and 'blank'
      or (code == 95 or code >= 48 and code <= 57 or code >= 65 and code <= 90 or code >= 97 and code <= 122) and 'word'
      or code >= 0xC0 and code < 0x2000 and 'word'
      or nil
    local char = s:sub(i, i + n - 1)
    if #out > 0 and (glue or joins(code) or now and now == kind) then
      out[#out] = out[#out] .. char
    else
      out[#out + 1] = char
      kind = now
    end
    glue = code == 0x200D
    i = i + n
  end
  return out
end

local function ranges(tokens, first, count, starts, out)
  if count == 0 then
    return
  end
  local from, to = starts[first], starts[first + count]
  local last = out[#out]
  out[#out + 1] = { from, to }
  -- Two changed words with a blank between them are one change.
  if last and first > 1 and last[2] == starts[first - 1] and tokens[first - 1]:find('^%s+$') then
    out[#out] = nil
    last[2] = to
  end
end

local function positions(tokens)
  local out, at = {}, 0
  for i, t in ipairs(tokens) do
    out[i] = at
    at = at + #t
  end
  out[#tokens + 1] = at
  return out
end

--- The changed parts of two lines, as {from, to} pairs; nil when they have so little in
--- common that marking parts would say nothing.
---@param old string
---@param new string
---@return integer[][]? old, integer[][]? new
function M.changed(old, new)
  if #old > max_bytes or #new > max_bytes then
    return
  end
  local a, b = M.split(old), M.split(new)
  if #a == 0 or #b == 0 then
    return
  end
  local indices = diff(table.concat(a, '\n') .. '\n', table.concat(b, '\n') .. '\n', { result_type = 'indices' })
  local pa, pb = positions(a), positions(b)
  local outa, outb, lost = {}, {}, 0
  for _, h in ipairs(indices) do
    ranges(a, h[1], h[2], pa, outa)
    ranges(b, h[3], h[4], pb, outb)
    for i = h[1], h[1] + h[2] - 1 do
      lost = lost + (a[i]:find('%S') and #a[i] or 0)
    end
  end
  local solid = #old:gsub('%s', '')
  if solid > 0 and lost > solid * 0.7 then
    return
  end
  return outa, outb
end

--- Which line of new stands for which line of old.
---@param old string[]
---@param new string[]
---@return table<integer, integer> by the index in old, both from 1
function M.pairs(old, new)
  local out = {}
  if #old == 0 or #new == 0 or #old > max_lines or #new > max_lines then
    return out
  end
  if #old == #new then
    for i = 1, #old do
      out[i] = i
    end
    return out
  end
  local indices = diff(table.concat(old, '\n') .. '\n', table.concat(new, '\n') .. '\n', { result_type = 'indices', linematch = true })
  for _, h in ipairs(indices) do
    if h[2] == h[4] then
      for i = 0, h[2] - 1 do
        out[h[1] + i] = h[3] + i
      end
    end
  end
  return out
end

return M
