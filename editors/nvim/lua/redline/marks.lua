--- Hunks shown in the buffers they are for, as extmarks; the text is untouched.
---
--- Drawing is incremental: a hunk that looks as before is left alone, since its marks
--- move along with the text by themselves. In a buffer with very many hunks only those
--- near a window are drawn; of the others the places are kept.
local config = require('redline.config')
local paint = require('redline.paint')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('redline.review')

---@class redline.Drawn
---@field h redline.Hunk
---@field hunk table the wire's hunk as it was drawn
---@field i integer the how manieth of the buffer it is
---@field n integer and of how many
---@field busy boolean
---@field label? string
---@field place integer the mark at the hunk's first line, or at the last line of the buffer
---@field below boolean the hunk is below that line
---@field label_id? integer
---@field ids? integer[] the marks it is drawn with; nil: not drawn

-- By buffer: the hunks, the maps that are ours, and how wide things were.
---@type table<integer, {drawn: table<string, redline.Drawn>, unmap: fun(), look: redline.Look}>
local shown = {}

-- Where the label never covers text.
M.label_pos = vim.fn.has('nvim-0.11') == 1 and 'eol_right_align' or 'eol'

-- With more hunks in a buffer, those far from every window are not drawn.
local many = 100

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
    RedlineSignApplied = 'DiagnosticInfo',
  }) do
    api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

highlights()
local group = api.nvim_create_augroup('redline.marks', {})
api.nvim_create_autocmd('ColorScheme', { group = group, callback = highlights })

M.lines_of = paint.lines_of

--- How many lines of the document a hunk stands for.
---@param hunk table
---@return integer
function M.height(hunk)
  if hunk.state == 'pending' then
    return paint.count(hunk.oldText)
  end
  local r = hunk.range
  return r['end'].line - r.start.line + (r['end'].character > 0 and 1 or 0)
end

local function sign(h)
  local signs, hunk = config.get().signs, h.hunk
  if h.applied then
    return signs.applied or signs.change, 'RedlineSignApplied'
  elseif hunk.state == 'conflict' then
    return signs.conflict, 'RedlineSignConflict'
  elseif hunk.oldText == '' then
    return signs.add, 'RedlineSignAdd'
  elseif hunk.newText == '' then
    return signs.delete, 'RedlineSignDelete'
  end
  return signs.change, 'RedlineSignChange'
end

-- How wide and with which tabs virtual lines of the buffer are made: they fit the
-- narrowest window that shows it.
---@param last? redline.Look
---@return redline.Look
local function look_of(buf, last)
  local width
  local wins = vim.fn.win_findbuf(buf)
  if last and #wins == 0 then
    return last -- nobody sees it
  end
  -- The signs that come make a column for them.
  local column = not last and table.concat(vim.tbl_values(config.get().signs)) ~= '' and 2 or 0
  for _, win in ipairs(wins) do
    local info = vim.fn.getwininfo(win)[1]
    if info and vim.wo[win].wrap then
      local more = vim.startswith(vim.wo[win].signcolumn, 'auto') and column or 0
      width = math.min(width or math.huge, info.width - info.textoff - more)
    end
  end
  return { tabstop = vim.bo[buf].tabstop, width = width and math.max(width, 10), columns = vim.o.columns }
end

local function mark(buf, ids, row, col, opts)
  opts.undo_restore = false
  opts.strict = false
  ids[#ids + 1] = api.nvim_buf_set_extmark(buf, ns, row, col, opts)
end

-- Lines above the first one are out of sight until one scrolls up.
local function uncover(buf, n)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_call(win, function()
      if vim.fn.line('w0') == 1 then
        vim.fn.winrestview({ topline = 1, topfill = math.min(n, api.nvim_win_get_height(win) - 1) })
      end
    end)
  end
end

-- Draws a hunk at first, and returns the marks.
local function draw(buf, h, first, look)
  local ids, hunk = {}, h.hunk
  local count = api.nvim_buf_line_count(buf)
  local height = math.min(M.height(hunk), count - first)
  local picture = h.applied and paint.applied(hunk, look) or paint.review(hunk, look)
  local row = math.min(first, count - 1)
  if height > 0 and picture.group then
    mark(buf, ids, first, 0, { end_row = first + height, end_col = 0, hl_group = picture.group, hl_eol = true, priority = 90 })
  end
  local text, sign_hl = sign(h)
  if text ~= '' then
    -- To the start of the last line, and not of the line after it: that would have it too.
    local last = math.min(first + math.max(height, 1), count) - 1
    mark(buf, ids, row, 0, { end_row = last > row and last or nil, end_col = last > row and 0 or nil, sign_text = text, sign_hl_group = sign_hl, priority = 90 })
  end
  if next(picture.words) then
    local now = api.nvim_buf_get_lines(buf, first, first + height, false)
    local drawn_for = paint.lines_of(h.applied and (hunk.final or hunk.newText) or hunk.oldText)
    for i, parts in pairs(picture.words) do
      if now[i] == drawn_for[i] then
        for _, r in ipairs(parts) do
          mark(buf, ids, first + i - 1, r[1], { end_col = r[2], hl_group = picture.word_group, priority = 95 })
        end
      end
    end
  end
  if #picture.virt > 0 then
    local blank = count == 1 and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ''
    local above = picture.above or height == 0 and first == 0 and not blank
    local at = above and row or math.max(0, math.min(first + height, count) - 1)
    if above and first >= count and count > 0 then
      above = false -- lines that went from the end of the file
    end
    -- Lines below go with the text above them, also when a line is put in between.
    mark(buf, ids, at, 0, { virt_lines = picture.virt, virt_lines_above = above, right_gravity = above })
    if above and at == 0 then
      uncover(buf, #picture.virt)
    end
  end
  return ids
end

local function erase(buf, d)
  for _, id in ipairs(d.ids or {}) do
    api.nvim_buf_del_extmark(buf, ns, id)
  end
  d.ids = nil
end

local function forget(buf, d)
  erase(buf, d)
  for _, id in ipairs({ d.place, d.label_id }) do
    api.nvim_buf_del_extmark(buf, ns, id)
  end
end

local function label(buf, h, d, row)
  local parts = { ('redline %d/%d'):format(d.i, d.n), paint.operation(h.file, h.hunk) }
  if #h.hunk.oldText + #h.hunk.newText > 400 then
    parts[#parts + 1] = paint.counts(h.hunk) -- it does not fit the eye
  end
  if h.applied then
    table.insert(parts, 2, 'applied')
  elseif h.hunk.state == 'conflict' then
    table.insert(parts, 2, 'conflict')
  end
  if d.busy then
    parts[#parts + 1] = '…'
  end
  local text = table.concat(parts, ' ')
  if d.label ~= text then
    d.label = text
    d.label_id = api.nvim_buf_set_extmark(buf, ns, row, 0, {
      id = d.label_id,
      virt_text = { { ' ' .. text, h.hunk.whole and 'RedlineDelete' or h.hunk.state == 'conflict' and 'RedlineSignConflict' or 'RedlineHint' } },
      virt_text_pos = M.label_pos,
      hl_mode = 'combine',
      priority = 90,
      undo_restore = false,
    })
  end
end

local function same_look(a, b)
  return a.tabstop == b.tabstop and a.width == b.width and a.columns == b.columns
end

local function same_hunk(a, b)
  return a.state == b.state and a.oldText == b.oldText and a.newText == b.newText and a.final == b.final and a.reason == b.reason
end

-- The rows that windows show, and as much again on both sides.
local function near(buf)
  local out = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local info = vim.fn.getwininfo(win)[1]
    out[#out + 1] = { info.topline - 1 - info.height, info.botline + info.height }
  end
  return function(first, height)
    for _, r in ipairs(out) do
      if first <= r[2] and first + height >= r[1] then
        return true
      end
    end
    return false
  end
end

-- Whether the places that the server names are those of the buffer as it is.
local function current(buf, h)
  local version = h.file.base and h.file.base.version
  return type(version) ~= 'number' or version == (vim.lsp.util.buf_versions[buf] or version)
end

local watching

local function watch()
  if watching then
    return
  end
  watching = true
  local function all(args)
    for buf, s in pairs(shown) do
      if args.event ~= 'WinScrolled' or s.lazy then
        M.refresh(buf)
      end
    end
  end
  api.nvim_create_autocmd({ 'WinScrolled', 'VimResized', 'WinResized' }, { group = group, callback = all })
  api.nvim_create_autocmd('OptionSet', { group = group, pattern = { 'wrap', 'tabstop' }, callback = all })
  api.nvim_create_autocmd({ 'BufWinEnter', 'TextChanged', 'InsertLeave' }, {
    group = group,
    callback = function(args)
      local s = shown[args.buf]
      -- Of typing the server tells, except where the hunk is decided already.
      if s and (args.event == 'BufWinEnter' or s.applied) then
        M.refresh(args.buf)
      end
    end,
  })
  api.nvim_create_autocmd({ 'BufReadPost', 'BufUnload' }, {
    group = group,
    desc = 'Redline: reading a file anew takes its marks away',
    callback = function(args)
      local s = shown[args.buf]
      if s then
        if api.nvim_buf_is_valid(args.buf) then
          api.nvim_buf_clear_namespace(args.buf, ns, 0, -1)
        end
        s.drawn = {}
        if args.event == 'BufUnload' then
          s.unmap()
          shown[args.buf] = nil
        end
      end
    end,
  })
end

local function hide(buf)
  local s = shown[buf]
  if s then
    shown[buf] = nil
    s.unmap()
    api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  end
end

--- Draws the hunks of a buffer.
---@param buf integer
---@param hunks? redline.Hunk[] those of the buffer, where they are known already
function M.refresh(buf, hunks)
  if not api.nvim_buf_is_loaded(buf) then
    shown[buf] = nil
    return
  end
  hunks = hunks or require('redline.review').shown(buf)
  if #hunks == 0 then
    return hide(buf)
  end
  watch()
  local s = shown[buf]
  if not s then
    s = { drawn = {}, unmap = require('redline.maps').decide(buf) }
    shown[buf] = s
  end
  local look = look_of(buf, s.look)
  local anew = not s.look or not same_look(look, s.look)
  s.look, s.lazy, s.applied = look, #hunks > many, false
  local close = s.lazy and near(buf)
  local away = require('redline.diffview').covers(buf) -- that view shows them its own way
  local gone = s.drawn
  local drawn = {}
  local count = api.nvim_buf_line_count(buf)
  for i, h in ipairs(hunks) do
    local d = gone[h.key]
    s.applied = s.applied or h.applied
    gone[h.key] = nil
    local at = d and api.nvim_buf_get_extmark_by_id(buf, ns, d.place, {})[1]
    local first = math.min(h.hunk.range.start.line, count)
    if at and not current(buf, h) then
      first = at + (d.below and 1 or 0)
    end
    local row, below = math.min(first, count - 1), first >= count
    if not at or at ~= row or d.below ~= below then
      if d then
        forget(buf, d)
      end
      d = { below = below, place = api.nvim_buf_set_extmark(buf, ns, row, 0, { undo_restore = false }) }
    end
    local busy = h.proposal.state == 'applying'
    local wanted = not away and (not close or close(first, M.height(h.hunk)))
    if d.ids and (anew or not wanted or not same_hunk(d.hunk, h.hunk)) then
      erase(buf, d)
    end
    d.h, d.hunk, d.busy, d.i, d.n = h, h.hunk, busy, i, #hunks
    if wanted and not d.ids then
      d.ids = draw(buf, h, first, look)
    end
    if wanted then
      label(buf, h, d, row)
    elseif d.label_id then
      api.nvim_buf_del_extmark(buf, ns, d.label_id)
      d.label, d.label_id = nil, nil
    end
    drawn[h.key] = d
  end
  for _, d in pairs(gone) do
    forget(buf, d)
  end
  s.drawn = drawn
end

--- Draws whether hunks of a proposal are on their way into a buffer, where nothing else
--- has changed.
---@param buf integer
---@param p table
function M.busy(buf, p)
  for _, d in pairs(shown[buf] and shown[buf].drawn or {}) do
    if d.h.proposal.proposalId == p.proposalId then
      d.h.proposal, d.busy = p, p.state == 'applying'
      if d.label_id then
        label(buf, d.h, d, api.nvim_buf_get_extmark_by_id(buf, ns, d.place, {})[1])
      end
    end
  end
end

--- Where a hunk stands in a buffer now, also before the server has said so.
---@param buf integer
---@param key string
---@return integer? line 0-based; nil where it is not shown
function M.place(buf, key)
  local d = shown[buf] and shown[buf].drawn[key]
  if d then
    local at = api.nvim_buf_get_extmark_by_id(buf, ns, d.place, {})[1]
    return at and at + (d.below and 1 or 0)
  end
end

return M
