--- Hunks shown in the buffer they are for: the lines that would go are highlighted,
--- the lines that would come are virtual lines below them. The text is untouched.
local config = require('redline.config')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('redline.review')

-- For each buffer with hunks: the extmark of each hunk, and the maps that are ours.
local shown = {}

-- More lines of one hunk than this are not drawn; `:Redline diff` has them all.
local max_lines = 400

local function highlights()
  for name, link in pairs({
    RedlineAdd = 'DiffAdd',
    RedlineAddText = 'DiffText',
    RedlineDelete = 'DiffDelete',
    RedlineDeleteText = 'DiffText',
    RedlineConflict = 'DiffChange',
    RedlineHint = 'NonText',
    RedlineSignAdd = 'Added',
    RedlineSignChange = 'Changed',
    RedlineSignDelete = 'Removed',
    RedlineSignConflict = 'DiagnosticWarn',
  }) do
    api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

highlights()
api.nvim_create_autocmd('ColorScheme', { group = api.nvim_create_augroup('redline.marks', {}), callback = highlights })

---@param text string
---@return string[]
local function lines_of(text)
  if text == '' then
    return {}
  end
  local lines = vim.split((text:gsub('\r\n', '\n')), '\n', { plain = true })
  if lines[#lines] == '' then
    lines[#lines] = nil
  end
  return lines
end

M.lines_of = lines_of

--- How many lines of the document a hunk stands for.
---@param hunk table
---@return integer
function M.height(hunk)
  if hunk.state == 'conflict' then
    local r = hunk.range
    return r['end'].line - r.start.line + (r['end'].character > 0 and 1 or 0)
  end
  return #lines_of(hunk.oldText)
end

--- The byte counts of what two lines have in common at their ends, never splitting
--- a character.
local function common(a, b)
  local n = math.min(#a, #b)
  local head = 0
  while head < n and a:byte(head + 1) == b:byte(head + 1) do
    head = head + 1
  end
  local function inside(s, i) -- byte i+1 continues a character
    local c = s:byte(i + 1)
    return c and c >= 0x80 and c < 0xC0
  end
  while head > 0 and (inside(a, head) or inside(b, head)) do
    head = head - 1
  end
  local tail = 0
  while tail < n - head and a:byte(#a - tail) == b:byte(#b - tail) do
    tail = tail + 1
  end
  while tail > 0 and (inside(a, #a - tail) or inside(b, #b - tail)) do
    tail = tail - 1
  end
  return head, tail
end

-- Virtual text shows a tab as one cell.
local function expander(tabstop)
  return function(text, column)
    local out = {}
    for part, tab in text:gmatch('([^\t]*)(\t?)') do
      column = column + vim.fn.strdisplaywidth(part)
      out[#out + 1] = part
      if tab ~= '' then
        local width = tabstop - column % tabstop
        out[#out + 1] = (' '):rep(width)
        column = column + width
      end
    end
    return table.concat(out), column
  end
end

--- The virtual lines of a hunk's new text.
local function virtual(buf, hunk)
  local expand = expander(vim.bo[buf].tabstop)
  local new, old = lines_of(hunk.newText), lines_of(hunk.oldText)
  local alike = hunk.state == 'pending' and #new == #old
  local conflict = hunk.state == 'conflict'
  local plain = conflict and 'RedlineConflict' or 'RedlineAdd'
  local out = {}
  if conflict then
    out[1] = { { 'redline: these lines were changed meanwhile and stay as they are; proposed were:', 'RedlineHint' } }
  end
  for i = 1, math.min(#new, max_lines) do
    local parts, column = {}, 0
    local function add(text, hl)
      if text ~= '' then
        text, column = expand(text, column)
        parts[#parts + 1] = { text, hl }
      end
    end
    if alike and new[i] ~= old[i] then
      local head, tail = common(old[i], new[i])
      add(new[i]:sub(1, head), plain)
      add(new[i]:sub(head + 1, #new[i] - tail), 'RedlineAddText')
      add(new[i]:sub(#new[i] - tail + 1), plain)
    else
      add(new[i], plain)
    end
    -- Up to the edge of the window; what is longer is cut there.
    parts[#parts + 1] = { (' '):rep(math.max(1, vim.o.columns - column)), plain }
    out[#out + 1] = parts
  end
  if #new > max_lines then
    out[#out + 1] = { { ('… %d more lines; :Redline diff shows all'):format(#new - max_lines), 'RedlineHint' } }
  end
  return out
end

local function sign(hunk)
  local signs = config.get().signs
  if hunk.state == 'conflict' then
    return signs.conflict, 'RedlineSignConflict'
  elseif hunk.oldText == '' then
    return signs.add, 'RedlineSignAdd'
  elseif hunk.newText == '' then
    return signs.delete, 'RedlineSignDelete'
  end
  return signs.change, 'RedlineSignChange'
end

local function draw(buf, hunk, label)
  local count = api.nvim_buf_line_count(buf)
  local first = math.min(hunk.range.start.line, count)
  local height = math.min(M.height(hunk), count - first)
  local conflict = hunk.state == 'conflict'
  local text, sign_hl = sign(hunk)
  if text == '' then
    text = nil
  end
  local row = math.min(first, count - 1)
  local id = api.nvim_buf_set_extmark(buf, ns, row, 0, {
    end_row = height > 0 and first + height or nil,
    end_col = height > 0 and 0 or nil,
    strict = false,
    hl_group = height > 0 and (conflict and 'RedlineConflict' or 'RedlineDelete') or nil,
    hl_eol = height > 0 or nil,
    virt_text = { { label, 'RedlineHint' } },
    virt_text_pos = 'right_align',
    priority = 90,
    undo_restore = false,
  })
  -- A mark over several lines would put its sign on the line after them too.
  for i = 0, text and math.min(math.max(height, 1), max_lines) - 1 or -1 do
    api.nvim_buf_set_extmark(buf, ns, math.min(first + i, count - 1), 0, {
      sign_text = text,
      sign_hl_group = sign_hl,
      priority = 90,
      undo_restore = false,
    })
  end
  local old, new = lines_of(hunk.oldText), lines_of(hunk.newText)
  if not conflict and #old == #new and #old <= max_lines then
    local now = api.nvim_buf_get_lines(buf, first, first + height, false)
    for i = 1, height do
      if now[i] == old[i] and old[i] ~= new[i] then
        local head, tail = common(old[i], new[i])
        if head + tail < #old[i] then
          api.nvim_buf_set_extmark(buf, ns, first + i - 1, head, {
            end_col = #old[i] - tail,
            hl_group = 'RedlineDeleteText',
            priority = 95,
            undo_restore = false,
          })
        end
      end
    end
  end
  local lines = virtual(buf, hunk)
  if #lines == 0 then
    return id
  end
  local above = height == 0 and first == 0 and not (count == 1 and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == '')
  local at = math.max(0, math.min(first + height, count) - 1)
  api.nvim_buf_set_extmark(buf, ns, at, 0, {
    virt_lines = lines,
    virt_lines_above = above,
    -- The lines go with the text above them, also when a line is put in between.
    right_gravity = false,
    undo_restore = false,
  })
  if above then
    -- Lines above the first one are out of sight until one scrolls up.
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      api.nvim_win_call(win, function()
        if vim.fn.line('w0') == 1 then
          vim.fn.winrestview({ topline = 1, topfill = math.min(#lines, api.nvim_win_get_height(win) - 1) })
        end
      end)
    end
  end
  return id
end

local actions = {
  next = { 'next', 'next hunk' },
  prev = { 'prev', 'previous hunk' },
  accept = { 'accept', 'accept the hunk' },
  reject = { 'reject', 'reject the hunk' },
  amend = { 'amend', 'amend the hunk' },
  diff = { 'diff', 'show as a diff' },
}

-- Sets the maps of some actions, in a buffer or everywhere, except where the user
-- has one, and returns what takes them away again.
local function map(names, buf)
  local mine = {}
  for _, action in ipairs(names) do
    local lhs = config.get().keys[action]
    local a = actions[action]
    local taken = false
    for _, m in ipairs(lhs and (buf and api.nvim_buf_get_keymap(buf, 'n') or api.nvim_get_keymap('n')) or {}) do
      taken = taken or vim.keycode(lhs:gsub('<LocalLeader>', (vim.g.maplocalleader or '\\'):gsub('%%', '%%%%'))) == vim.keycode(m.lhs)
    end
    if lhs and not taken then
      vim.keymap.set('n', lhs, '<Cmd>Redline ' .. a[1] .. '<CR>', { buffer = buf, desc = 'Redline: ' .. a[2] })
      mine[#mine + 1] = lhs
    end
  end
  return function()
    for _, lhs in ipairs(mine) do
      pcall(vim.keymap.del, 'n', lhs, { buffer = buf })
    end
  end
end

-- Takes away the maps that go from hunk to hunk; nil while there are none.
local leave

--- Puts the maps that go from hunk to hunk, over files too, in place or takes them
--- away.
---@param on boolean
function M.navigation(on)
  if on and not leave then
    leave = map({ 'next', 'prev' })
  elseif not on and leave then
    leave()
    leave = nil
  end
end

--- Draws the hunks of a buffer anew.
---@param buf integer
function M.refresh(buf)
  if not api.nvim_buf_is_loaded(buf) then
    shown[buf] = nil
    return
  end
  local hunks = require('redline.review').hunks(buf)
  if #hunks == 0 and not shown[buf] then
    return
  end
  api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  if #hunks == 0 then
    shown[buf].unmap()
    shown[buf] = nil
    return
  end
  local s = shown[buf] or { unmap = map({ 'accept', 'reject', 'amend', 'diff' }, buf) }
  s.places = {}
  shown[buf] = s
  for i, h in ipairs(hunks) do
    local busy = h.proposal.state == 'applying' and ' …' or ''
    s.places[h.id] = draw(buf, h.hunk, ('redline %d/%d%s'):format(i, #hunks, busy))
  end
end

--- Where the hunks of a buffer stand now, also before the server has said so.
---@param buf integer
---@return table<string, integer> 0-based lines by hunk ID
function M.places(buf)
  local out = {}
  local s = shown[buf]
  for id, mark in pairs(s and s.places or {}) do
    local pos = api.nvim_buf_get_extmark_by_id(buf, ns, mark, {})
    out[id] = pos[1]
  end
  return out
end

--- Goes to the next or previous undecided hunk, over the files of all proposals.
---@param direction 1|-1
function M.jump(direction)
  local review = require('redline.review')
  local hunks = review.hunks()
  if #hunks == 0 then
    return vim.notify('Redline: there is nothing to review')
  end
  local buf, line = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1] - 1
  local last = api.nvim_buf_line_count(buf) - 1
  local target
  local here = {}
  for i, h in ipairs(hunks) do
    if h.buf == buf then
      here[#here + 1] = i
      local at = math.min(h.line, last)
      if direction > 0 and at > line and not target then
        target = i
      elseif direction < 0 and at < line then
        target = i
      end
    end
  end
  if not target then
    -- Over the edge of the file: to the next one, and round.
    if #here == 0 then
      target = direction > 0 and 1 or #hunks
    else
      target = direction > 0 and here[#here] + 1 or here[1] - 1
      target = (target - 1) % #hunks + 1
    end
  end
  M.go(hunks[target])
end

--- Shows a hunk in the current window.
---@param h redline.Hunk
function M.go(h)
  vim.cmd("normal! m'")
  local buf = h.buf
  if buf < 0 then
    buf = vim.uri_to_bufnr(h.file.uri)
  end
  if api.nvim_get_current_buf() ~= buf then
    local keep = vim.bo.buftype ~= ''
    if keep then
      -- Not in the chat's window, or another that is not for files.
      for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
        if vim.bo[api.nvim_win_get_buf(win)].buftype == '' and api.nvim_win_get_config(win).relative == '' then
          api.nvim_set_current_win(win)
          keep = false
          break
        end
      end
    end
    if keep then
      vim.cmd('topleft vsplit')
    end
    vim.bo[buf].buflisted = true
    if api.nvim_get_current_buf() ~= buf then
      vim.cmd.buffer({ args = { tostring(buf) }, mods = { keepalt = false } })
    end
    require('redline.client').attach(buf)
    M.refresh(buf)
  end
  local line = math.min((M.places(buf)[h.id] or h.line) + 1, api.nvim_buf_line_count(buf))
  api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd('normal! zv')
  -- The virtual lines below belong to what is to be seen.
  local below = math.min(#lines_of(h.hunk.newText) + M.height(h.hunk), api.nvim_win_get_height(0) - 2)
  local room = api.nvim_win_get_height(0) - vim.fn.winline()
  if below > room then
    vim.cmd('normal! zz')
  end
end

return M
