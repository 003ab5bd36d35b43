--- A file and what it would be with all its undecided hunks, side by side.
local M = {}

local api = vim.api

-- By the document's buffer: the scratch buffer with the proposed text.
local views = {}

--- The text of the buffer with its pending hunks applied.
---@param buf integer
---@return string[]
function M.proposed(buf)
  local lines = api.nvim_buf_get_lines(buf, 0, -1, false)
  if #lines == 1 and lines[1] == "" then
    lines = {}
  end
  local hunks = require('redline.review').hunks(buf)
  table.sort(hunks, function(a, b)
    return a.line < b.line
  end)
  local marks = require('redline.marks')
  local out, at = {}, 0
  for _, h in ipairs(hunks) do
    if h.hunk.state == 'pending' and h.line >= at then
      vim.list_extend(out, lines, at + 1, h.line)
      vim.list_extend(out, marks.lines_of(h.hunk.newText))
      at = h.line + marks.height(h.hunk)
    end
  end
  vim.list_extend(out, lines, at + 1, #lines)
  return out
end

local function fill(buf, scratch)
  vim.bo[scratch].modifiable = true
  api.nvim_buf_set_lines(scratch, 0, -1, false, M.proposed(buf))
  vim.bo[scratch].modifiable = false
  vim.bo[scratch].modified = false
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
end

--- Opens the view of the current buffer, or of the first file with hunks, in a tab.
function M.open()
  local review = require('redline.review')
  local buf = api.nvim_get_current_buf()
  if #review.hunks(buf) == 0 then
    local h = review.hunks()[1]
    if not h then
      return vim.notify('Redline: there is nothing to review')
    end
    buf = h.buf > 0 and h.buf or vim.uri_to_bufnr(h.file.uri)
    vim.fn.bufload(buf)
    require('redline.client').attach(buf)
  end
  close(buf)
  local scratch = api.nvim_create_buf(false, true)
  vim.bo[scratch].bufhidden = 'wipe'
  api.nvim_buf_set_name(scratch, 'redline://proposed/' .. vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ':~:.'))
  fill(buf, scratch)
  vim.bo[scratch].filetype = vim.bo[buf].filetype
  vim.cmd.tabnew({ mods = { silent = true } })
  local empty = api.nvim_get_current_buf()
  api.nvim_win_set_buf(0, buf)
  if api.nvim_buf_is_valid(empty) and empty ~= buf then
    api.nvim_buf_delete(empty, { force = true })
  end
  local win = api.nvim_get_current_win()
  vim.cmd.diffthis()
  vim.cmd('rightbelow vsplit')
  api.nvim_win_set_buf(0, scratch)
  vim.cmd.diffthis()
  vim.wo[0][0].winbar = 'as proposed (q closes)'
  api.nvim_set_current_win(win)
  views[buf] = { scratch = scratch, tab = api.nvim_get_current_tabpage() }
  vim.keymap.set('n', 'q', function()
    close(buf)
  end, { buffer = scratch, desc = 'Redline: close the diff' })
  api.nvim_create_autocmd('BufWipeout', {
    buffer = scratch,
    once = true,
    callback = function()
      views[buf] = nil
      if api.nvim_win_is_valid(win) then
        api.nvim_win_call(win, function()
          vim.cmd('diffoff')
        end)
      end
    end,
  })
end

--- Brings the views up to date; those with nothing left to decide are closed.
function M.refresh()
  for buf, v in pairs(vim.deepcopy(views)) do
    if not api.nvim_buf_is_valid(buf) or not api.nvim_buf_is_valid(v.scratch) then
      views[buf] = nil
    elseif #require('redline.review').hunks(buf) == 0 then
      close(buf)
    else
      fill(buf, v.scratch)
    end
  end
end

return M
