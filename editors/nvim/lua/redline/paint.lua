--- What a hunk looks like: the virtual lines of text that is not in the buffer, and the
--- parts of lines that changed. Nothing here touches a buffer.
local words = require('redline.words')

local M = {}

-- More lines of one hunk than this are not drawn; `:Redline diff` has them all.
M.max_lines = 400

local strwidth = vim.fn.strdisplaywidth

---@param text string
---@return string[] without line ends
function M.lines_of(text)
  if text == '' then
    return {}
  end
  local lines = vim.split((text:gsub('\r\n', '\n')), '\n', { plain = true })
  if lines[#lines] == '' then
    lines[#lines] = nil
  end
  return lines
end

--- How many lines lines_of would return; it is asked for far more often than the text.
---@param text string
---@return integer
function M.count(text)
  local n, at = 0, 1
  while true do
    local found = text:find('\n', at, true)
    if not found then
      return at <= #text and n + 1 or n
    end
    n, at = n + 1, found + 1
  end
end

--- `-1 +3`, without what is zero.
---@param hunk table
---@return string
function M.counts(hunk)
  local old, new = M.count(hunk.oldText), M.count(hunk.newText)
  local out = {}
  if old > 0 then
    out[#out + 1] = '-' .. old
  end
  if new > 0 then
    out[#out + 1] = '+' .. new
  end
  return table.concat(out, ' ')
end

--- What a hunk does to the file itself; nil for a change of lines.
---@param file table
---@param hunk table
---@return string?
function M.operation(file, hunk)
  if not hunk.whole then
    return
  end
  if file.op == 'rename' then
    return 'rename to ' .. vim.fn.fnamemodify(vim.uri_to_fname(file.newUri), ':~:.')
  end
  return ({ delete = 'delete this file', create = 'new file' })[file.op]
end

-- A tab is one cell in virtual text, and a control character would be sent as it is.
local function plain_text(text, column, tabstop)
  if not text:find('[%c]') then
    return text, column + strwidth(text, column)
  end
  local out = {}
  for part, tab in text:gmatch('([^\t]*)(\t?)') do
    if part:find('%c') then
      part = vim.fn.strtrans(part)
    end
    column = column + strwidth(part, column)
    out[#out + 1] = part
    if tab ~= '' then
      local width = tabstop - column % tabstop
      out[#out + 1] = (' '):rep(width)
      column = column + width
    end
  end
  return table.concat(out), column
end

-- Cuts the parts of one line into lines of at most width cells.
local function wrap(parts, width)
  local out, line, column = {}, {}, 0
  for _, p in ipairs(parts) do
    local text = p[1]
    if column + strwidth(text) <= width then
      line[#line + 1] = p
      column = column + strwidth(text)
    else
      local from = 0
      local chars = vim.fn.split(text, '\\zs')
      local piece = {}
      for _, c in ipairs(chars) do
        local w = strwidth(c)
        if column + w > width then
          line[#line + 1] = { table.concat(piece), p[2] }
          out[#out + 1] = line
          line, column, piece = {}, 0, {}
        end
        piece[#piece + 1] = c
        column = column + w
        from = from + #c
      end
      line[#line + 1] = { table.concat(piece), p[2] }
    end
  end
  out[#out + 1] = line
  return out, column
end

---@class redline.Look
---@field tabstop integer
---@field width? integer cells to wrap at; nil: lines are cut at the window's edge
---@field columns integer how far the background goes

--- A text as virtual lines.
---@param lines string[]
---@param marked table<integer, integer[][]> the changed parts of lines
---@param groups string[] highlight of the line, and of changed parts
---@param look redline.Look
---@param out table[] the virtual lines so far
local function virtual(lines, marked, groups, look, out)
  for i = 1, math.min(#lines, M.max_lines) do
    local text = lines[i]
    local parts, column, at = {}, 0, 0
    local function add(to, group)
      if to > at then
        local shown
        shown, column = plain_text(text:sub(at + 1, to), column, look.tabstop)
        parts[#parts + 1] = { shown, group }
        at = to
      end
    end
    for _, r in ipairs(marked[i] or {}) do
      add(r[1], groups[1])
      add(r[2], groups[2])
    end
    add(#text, groups[1])
    local rows, last = { parts }, column
    if look.width and column > look.width then
      rows, last = wrap(parts, look.width)
    end
    -- The background goes to the window's edge and is cut there.
    table.insert(rows[#rows], { (' '):rep(math.max(1, look.columns - last)), groups[1] })
    vim.list_extend(out, rows)
  end
  if #lines > M.max_lines then
    out[#out + 1] = { { ('… %d more lines; :Redline diff shows all'):format(#lines - M.max_lines), 'RedlineHint' } }
  end
end

---@class redline.Picture
---@field virt table[] virtual lines
---@field above boolean they belong above the hunk's lines
---@field group? string highlight of the lines in the buffer
---@field words table<integer, integer[][]> changed parts of the lines in the buffer, by index from 1
---@field word_group string

--- How a hunk under review is drawn: the lines in the buffer would go, the virtual lines
--- below would come.
---@param hunk table
---@param look redline.Look
---@return redline.Picture
function M.review(hunk, look)
  local old, new = M.lines_of(hunk.oldText), M.lines_of(hunk.newText)
  local out = { virt = {}, above = false, words = {}, word_group = 'RedlineDeleteText' }
  if hunk.state == 'conflict' then
    out.group = 'RedlineConflict'
    -- Yours is in the buffer; what it was, and what was wanted, follow.
    local why = hunk.reason and hunk.reason ~= '' and hunk.reason or 'these lines were changed meanwhile'
    local hint = function(text)
      out.virt[#out.virt + 1] = { { text, 'RedlineHint' } }
    end
    hint('redline: ' .. why:gsub('^the user ', 'you ') .. '; your text stays')
    if #old > 0 then
      hint('was:')
      virtual(old, {}, { 'RedlineDelete', 'RedlineDeleteText' }, look, out.virt)
    end
    hint(#new > 0 and 'proposed:' or 'proposed: nothing in its place')
    virtual(new, {}, { 'RedlineAdd', 'RedlineAddText' }, look, out.virt)
    return out
  end
  out.group = 'RedlineDelete'
  local marked = {}
  for i, j in pairs(words.pairs(old, new)) do
    if old[i] ~= new[j] then
      out.words[i], marked[j] = words.changed(old[i], new[j])
    end
  end
  virtual(new, marked, { 'RedlineAdd', 'RedlineAddText' }, look, out.virt)
  return out
end

--- How a hunk is drawn that was applied: the lines in the buffer came, the virtual lines
--- above went.
---@param hunk table
---@param look redline.Look
---@return redline.Picture
function M.applied(hunk, look)
  local old, new = M.lines_of(hunk.oldText), M.lines_of(hunk.final or hunk.newText)
  local out = { virt = {}, above = true, group = 'RedlineAdd', words = {}, word_group = 'RedlineAddText' }
  local marked = {}
  for i, j in pairs(words.pairs(old, new)) do
    if old[i] ~= new[j] then
      marked[i], out.words[j] = words.changed(old[i], new[j])
    end
  end
  virtual(old, marked, { 'RedlineDelete', 'RedlineDeleteText' }, look, out.virt)
  return out
end

return M
