--- A file and what it would be with all its undecided hunks, side by side. On the
--- proposed side hunks are decided like in the file, and changed by editing them.
local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('redline.diffview')

---@class redline.View
---@field buf integer the document
---@field scratch integer the buffer with the proposed text
---@field tab integer
---@field parts {h: redline.Hunk, mark: integer, lines: string[]}[] the hunks on the proposed side, with their lines as proposed
---@field rest string[] the other lines there
---@field decide fun(decision: string, reason?: string, lines?: integer[])

-- By the document's buffer.
---@type table<integer, redline.View>
local views = {}

--- The text of the buffer with its pending hunks applied, and where each hunk is in it.
---@param buf integer
---@param own table<string, string[]> other lines for hunks, by their keys
---@return string[] lines, {h: redline.Hunk, first: integer, height: integer, lines: string[]}[]
local function proposed(buf, own)
  local lines = api.nvim_buf_get_lines(buf, 0, -1, false)
  if #lines == 1 and lines[1] == '' then
    lines = {}
  end
  local marks = require('redline.marks')
  local out, at, parts = {}, 0, {}
  for _, h in ipairs(require('redline.review').hunks(buf)) do
    if h.hunk.state == 'pending' and h.line >= at and not (h.hunk.whole and h.file.op == 'rename') then
      vim.list_extend(out, lines, at + 1, h.line)
      local new = marks.lines_of(h.hunk.newText)
      local shown = own[h.key] or new
      parts[#parts + 1] = { h = h, first = #out, height = #shown, lines = new }
      vim.list_extend(out, shown)
      at = h.line + marks.height(h.hunk)
    end
  end
  return vim.list_extend(out, lines, at + 1, #lines), parts
end

-- The lines that stand for a part now, and from which line on, 0-based.
local function now(v, part)
  local m = api.nvim_buf_get_extmark_by_id(v.scratch, ns, part.mark, { details = true })
  local last = m[3].end_row or m[1]
  return api.nvim_buf_get_lines(v.scratch, m[1], last, false), m[1], last
end

local function edited(v, part)
  local lines = now(v, part)
  return not vim.deep_equal(lines, part.lines) and lines or nil
end

-- The lines that belong to no part.
local function outside(lines, parts, where)
  local out, from = {}, 0
  for _, p in ipairs(parts) do
    local first, last = where(p)
    vim.list_extend(out, lines, from + 1, first)
    from = last
  end
  return vim.list_extend(out, lines, from + 1, #lines)
end

-- Whether the proposed side was changed only in hunks.
local function only_hunks(v)
  local rest = outside(api.nvim_buf_get_lines(v.scratch, 0, -1, false), v.parts, function(p)
    local _, first, last = now(v, p)
    return first, last
  end)
  if #rest == 1 and rest[1] == '' and #v.rest == 0 then
    rest = {}
  end
  return vim.deep_equal(rest, v.rest)
end

-- Shows what is proposed now. What was changed in hunks stays changed.
---@param v redline.View
local function fill(v)
  local own = {}
  if vim.bo[v.scratch].modified then
    if not only_hunks(v) then
      return -- nothing of it is lost; writing says what to do
    end
    for _, part in ipairs(v.parts) do
      own[part.h.key] = edited(v, part)
    end
  end
  local lines, parts = proposed(v.buf, own)
  local levels = vim.bo[v.scratch].undolevels
  vim.bo[v.scratch].undolevels = -1 -- nothing to undo to
  api.nvim_buf_set_lines(v.scratch, 0, -1, false, lines)
  vim.bo[v.scratch].undolevels = levels
  vim.bo[v.scratch].modified = false
  api.nvim_buf_clear_namespace(v.scratch, ns, 0, -1)
  v.parts = {}
  v.rest = outside(lines, parts, function(p)
    return p.first, p.first + p.height
  end)
  local count = api.nvim_buf_line_count(v.scratch)
  for i, p in ipairs(parts) do
    v.parts[i] = {
      h = p.h,
      lines = p.lines,
      mark = api.nvim_buf_set_extmark(v.scratch, ns, math.min(p.first, count), 0, {
        end_row = math.min(p.first + p.height, count),
        end_col = 0,
        strict = false,
        right_gravity = false,
        end_right_gravity = true,
      }),
    }
    api.nvim_buf_set_extmark(v.scratch, ns, math.min(p.first, count - 1), 0, {
      virt_text = { { (' %d/%d %s'):format(i, #parts, require('redline.paint').counts(p.h.hunk)), 'RedlineHint' } },
      virt_text_pos = require('redline.marks').label_pos,
    })
    if own[p.h.key] then
      vim.bo[v.scratch].modified = true
    end
  end
end

local function text_of(part, lines)
  local hunk = part.h.hunk
  local like = hunk.newText ~= '' and hunk.newText or hunk.oldText
  local eol = like:find('\r\n', 1, true) and '\r\n' or '\n'
  local text = table.concat(lines, eol)
  -- The last line of a file may have no end; one that is put before others needs it.
  return (#lines == 0 or like:sub(-1) ~= '\n') and text or text .. eol
end

-- The decision on a part: as it was changed, where that was done.
local function decision_on(v, part, decision, reason)
  local target = { hunkId = part.h.id }
  local own = decision == 'accept' and edited(v, part)
  if own then
    return { target = target, decision = 'amend', newText = text_of(part, own) }
  end
  return { target = target, decision = decision, reason = reason }
end

-- Decides parts, those of a proposal in one request.
local function send(v, parts, decision, reason)
  local by = {}
  for _, part in ipairs(parts) do
    local id = part.h.proposal.proposalId
    by[id] = by[id] or { p = part.h.proposal, decisions = {} }
    table.insert(by[id].decisions, decision_on(v, part, decision, reason))
  end
  for _, b in pairs(by) do
    require('redline.review').resolve(b.p, b.decisions)
  end
end

local function at_lines(v, first, last)
  return vim.tbl_filter(function(part)
    local _, from, to = now(v, part)
    if from == to then
      return first <= from and last >= from - 1
    end
    return first < to and last >= from
  end, v.parts)
end

-- Takes what was changed on the proposed side. Only hunks can be changed there: other
-- lines are the document's, and are to be changed in it.
local function write(v)
  if not only_hunks(v) then
    return vim.notify('Redline: only hunks can be changed here; change other lines in the file', vim.log.levels.WARN)
  end
  local parts = vim.tbl_filter(function(part)
    return edited(v, part)
  end, v.parts)
  if #parts == 0 then
    vim.bo[v.scratch].modified = false
    return vim.notify('Redline: no hunk was changed')
  end
  send(v, parts, 'accept')
end

local function close(buf)
  local v = views[buf]
  views[buf] = nil
  if not v then
    return
  end
  if api.nvim_tabpage_is_valid(v.tab) and #api.nvim_list_tabpages() > 1 then
    vim.cmd.tabclose(api.nvim_tabpage_get_number(v.tab))
  end
  if api.nvim_buf_is_valid(v.scratch) then
    api.nvim_buf_delete(v.scratch, { force = true })
  end
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_call(win, function()
      vim.cmd('diffoff')
    end)
  end
  vim.schedule(function()
    require('redline.marks').refresh(buf)
  end)
end

-- The keys, as a winbar.
local function hint()
  local keys, out = require('redline.config').get().keys, { 'proposed' }
  for _, name in ipairs({ 'accept', 'reject' }) do
    if keys[name] then
      out[#out + 1] = vim.fn.keytrans(require('redline.maps').keycode(keys[name])) .. ' ' .. name
    end
  end
  out[#out + 1] = 'edit, :w amend'
  out[#out + 1] = 'q close'
  return table.concat(out, ' · '):gsub('%%', '%%%%') .. '%<'
end

local function document()
  local review = require('redline.review')
  local buf = api.nvim_get_current_buf()
  if #review.hunks(buf) > 0 then
    return buf
  end
  local h = review.hunks()[1]
  if not h then
    return
  end
  buf = h.buf > 0 and h.buf or vim.uri_to_bufnr(h.uri)
  require('redline.load').buffer(buf)
  vim.bo[buf].buflisted = true
  require('redline.client').attach(buf)
  return buf
end

--- Opens the view of the current buffer, or of the first file with hunks, in a tab.
function M.open()
  local buf = document()
  if not buf then
    return vim.notify('Redline: there is nothing to review')
  end
  if #select(2, proposed(buf, {})) == 0 then
    return vim.notify('Redline: there are no lines to compare here; :Redline amend merges a conflict')
  end
  local line = buf == api.nvim_get_current_buf() and api.nvim_win_get_cursor(0)[1]
  close(buf)
  local scratch = api.nvim_create_buf(false, true)
  local v = { buf = buf, scratch = scratch, parts = {}, rest = {} }
  vim.bo[scratch].buftype = 'acwrite'
  vim.bo[scratch].bufhidden = 'wipe'
  api.nvim_buf_set_name(scratch, 'redline://proposed/' .. vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ':~:.'))
  v.decide = function(decision, reason, lines)
    local first, last = api.nvim_win_get_cursor(0)[1], nil
    first, last = lines and lines[1] or first, lines and lines[2] or first
    local parts = at_lines(v, first - 1, last - 1)
    if #parts == 0 then
      return vim.notify('Redline: there is no hunk here; ]c goes to one')
    end
    send(v, parts, decision, reason)
  end
  fill(v)
  vim.cmd('tab split')
  api.nvim_win_set_buf(0, buf)
  local win = api.nvim_get_current_win()
  v.tab = api.nvim_get_current_tabpage()
  views[buf] = v
  vim.cmd('rightbelow vsplit')
  api.nvim_win_set_buf(0, scratch)
  vim.bo[scratch].filetype = vim.bo[buf].filetype
  vim.cmd.diffthis()
  -- Both have one, or the lines would not be side by side.
  vim.wo[0][0].winbar = hint()
  vim.wo[win][0].winbar = 'as it is'
  local unmap = require('redline.maps').decide(scratch)
  vim.keymap.set('n', 'q', function()
    close(buf)
  end, { buffer = scratch, desc = 'Redline: close the diff' })
  api.nvim_create_autocmd('BufWriteCmd', {
    buffer = scratch,
    callback = function()
      write(v)
    end,
  })
  api.nvim_create_autocmd('BufWipeout', {
    buffer = scratch,
    once = true,
    callback = function()
      unmap()
      if views[buf] == v then
        views[buf] = nil
      end
      vim.schedule(function()
        if api.nvim_win_is_valid(win) then
          vim.wo[win][0].winbar = ''
          api.nvim_win_call(win, function()
            vim.cmd('diffoff')
          end)
        end
        if api.nvim_buf_is_valid(buf) then
          require('redline.marks').refresh(buf)
        end
      end)
    end,
  })
  api.nvim_set_current_win(win)
  vim.cmd.diffthis()
  if line then
    api.nvim_win_set_cursor(win, { math.min(line, api.nvim_buf_line_count(buf)), 0 })
  end
  vim.cmd('diffupdate')
  require('redline.marks').refresh(buf)
end

--- The view of a buffer, if it is the proposed side of one.
---@param scratch integer
---@return redline.View?
function M.of(scratch)
  for _, v in pairs(views) do
    if v.scratch == scratch then
      return v
    end
  end
end

--- Whether the hunks of a buffer are to be seen in its view, which is in front.
---@param buf integer
---@return boolean
function M.covers(buf)
  local v = views[buf]
  return v ~= nil and v.tab == api.nvim_get_current_tabpage()
end

--- Brings the views up to date; those with nothing left to decide are closed.
function M.refresh()
  for _, buf in ipairs(vim.tbl_keys(views)) do
    local v = views[buf]
    if not api.nvim_buf_is_valid(buf) or not api.nvim_buf_is_valid(v.scratch) then
      views[buf] = nil
    elseif #require('redline.review').hunks(buf) == 0 and not vim.bo[v.scratch].modified then
      close(buf)
    else
      fill(v)
    end
  end
end

api.nvim_create_autocmd('TabEnter', {
  group = api.nvim_create_augroup('redline.diffview', {}),
  desc = 'Redline: hunks are drawn in the file, or shown in its view',
  callback = function()
    for buf in pairs(views) do
      require('redline.marks').refresh(buf)
    end
  end,
})

return M
