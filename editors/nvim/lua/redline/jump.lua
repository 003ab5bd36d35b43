--- Going from hunk to hunk, over files.
local M = {}

local api = vim.api

--- Goes to the next or previous hunk, over the files of all proposals.
---@param direction 1|-1
function M.jump(direction)
  local hunks = require('redline.review').shown()
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

-- A window for the file: not the chat's, or another that is not for files.
local function window()
  if vim.bo.buftype == '' and api.nvim_win_get_config(0).relative == '' then
    return
  end
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if vim.bo[api.nvim_win_get_buf(win)].buftype == '' and api.nvim_win_get_config(win).relative == '' then
      return api.nvim_set_current_win(win)
    end
  end
  vim.cmd('topleft vsplit')
end

--- Shows a hunk in the current window.
---@param h redline.Hunk
function M.go(h)
  vim.cmd("normal! m'")
  local buf = h.buf
  if buf < 0 then
    buf = vim.uri_to_bufnr(h.uri)
  end
  if api.nvim_get_current_buf() ~= buf then
    window()
    vim.bo[buf].buflisted = true
    if api.nvim_get_current_buf() ~= buf then
      -- 'hidden' or not: a changed buffer stays loaded, and nothing is asked.
      -- It may fail, as when the user quits where Neovim asks about a swap file.
      local ok, err = pcall(vim.cmd.buffer, { args = { tostring(buf) }, mods = { hide = true } })
      if api.nvim_get_current_buf() ~= buf then
        local why = not ok and not tostring(err):find('E325', 1, true) and ': ' .. tostring(err) or ''
        return vim.notify('Redline: ' .. vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ':~:.') .. ' was not opened' .. why, vim.log.levels.WARN)
      end
    end
    require('redline.client').attach(buf)
    require('redline.marks').refresh(buf)
  end
  local marks = require('redline.marks')
  local line = math.min((marks.place(buf, h.key) or h.line) + 1, api.nvim_buf_line_count(buf))
  api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd('normal! zv')
  -- The virtual lines below belong to what is to be seen.
  local below = math.min(#marks.lines_of(h.hunk.newText) + marks.height(h.hunk), api.nvim_win_get_height(0) - 2)
  local room = api.nvim_win_get_height(0) - vim.fn.winline()
  if below > room then
    vim.cmd('normal! zz')
  end
end

return M
