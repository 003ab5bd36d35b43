--- A window to change the text of a hunk before it is accepted, or to merge it with what
--- was typed in its place.
local M = {}

local api = vim.api

local mine, sep, theirs = '<<<<<<< yours', '=======', '>>>>>>> proposed'

---@param text string
---@return string[] lines, string eol
local function split(text)
  local eol = text:find('\r\n', 1, true) and '\r\n' or '\n'
  local lines = vim.split((text:gsub('\r\n', '\n')), '\n', { plain = true })
  if lines[#lines] == '' and #lines > 1 then
    lines[#lines] = nil
  end
  return lines, eol
end

-- The lines of the document that a hunk in conflict stands for.
local function yours(h)
  return api.nvim_buf_get_lines(h.buf, h.line, h.line + require('redline.marks').height(h.hunk), false)
end

-- Puts merged lines in the place of a conflict, as an edit of the user's own; the hunk is
-- closed by that.
local function merge(h, lines)
  for _, mark in ipairs({ mine, sep, theirs }) do
    if vim.tbl_contains(lines, mark) then
      vim.notify(('Redline: there is still %q; leave only the lines that you want'):format(mark), vim.log.levels.WARN)
      return false
    end
  end
  local review = require('redline.review')
  for _, now in ipairs(review.hunks(h.buf)) do
    if now.key == h.key then
      if not vim.bo[h.buf].modifiable then
        vim.notify("Redline: the file is not 'modifiable'", vim.log.levels.WARN)
        return false
      end
      local last = now.line + require('redline.marks').height(now.hunk)
      api.nvim_buf_set_lines(h.buf, now.line, last, false, #lines == 1 and lines[1] == '' and {} or lines)
      -- Where this made the text what was proposed, the server has accepted it by itself,
      -- and there is nothing left to close.
      review.resolve(now.proposal, { { target = { hunkId = h.id }, decision = 'accept' } }, function() end)
      return true
    end
  end
  vim.notify('Redline: the hunk was decided meanwhile', vim.log.levels.WARN)
  return true
end

local function amend(h, text, buf)
  vim.bo[buf].modified = false -- written; whether it is taken is told later
  require('redline.review').resolve(h.proposal, { { target = { hunkId = h.id }, decision = 'amend', newText = text } }, function(err)
    if not api.nvim_buf_is_valid(buf) then
      return
    elseif err then
      vim.bo[buf].modified = true
      return vim.notify('Redline: ' .. err.message, vim.log.levels.WARN)
    end
    api.nvim_buf_delete(buf, { force = true })
  end)
end

---@param h redline.Hunk
function M.open(h)
  local conflict = h.hunk.state == 'conflict'
  if h.hunk.whole and h.file.op ~= 'create' then
    return vim.notify('Redline: this hunk has no text to change; accept or reject it')
  elseif conflict and h.buf < 0 then
    return vim.notify('Redline: the file of this hunk is not open; :Redline next opens it')
  end
  local lines, eol = split(h.hunk.newText)
  local final = h.hunk.newText:sub(-1) == '\n' or h.hunk.newText == '' and h.hunk.oldText:sub(-1) == '\n'
  if conflict then
    local all = vim.list_extend({ mine }, yours(h))
    all[#all + 1] = sep
    vim.list_extend(all, h.hunk.newText ~= '' and lines or {})
    all[#all + 1] = theirs
    lines = all
  end
  local name = ('redline://amend/%s/%s'):format(h.proposal.proposalId, h.id)
  local there = vim.fn.bufnr('^' .. vim.fn.escape(name, '\\*?[]{},^$') .. '$')
  if there > 0 and #vim.fn.win_findbuf(there) > 0 then
    return api.nvim_set_current_win(vim.fn.win_findbuf(there)[1])
  end
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  api.nvim_buf_set_name(buf, name)
  vim.bo[buf].buftype = 'acwrite'
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].modified = false
  vim.bo[buf].filetype = h.buf > 0 and vim.bo[h.buf].filetype or vim.filetype.match({ filename = vim.uri_to_fname(h.uri) }) or ''
  local height = math.min(math.max(#lines + 1, 4), math.floor(vim.o.lines / 2))
  vim.cmd(('botright %dsplit'):format(height))
  api.nvim_win_set_buf(0, buf)
  vim.wo[0][0].winbar = conflict and 'Merge: leave the lines you want; :w puts them into the file, :q! leaves it undecided'
    or 'Amend the hunk: :w puts this text into the document, :q! leaves it undecided'
  api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buf,
    callback = function()
      local now = api.nvim_buf_get_lines(buf, 0, -1, false)
      if conflict then
        if merge(h, now) then
          vim.bo[buf].modified = false
          api.nvim_buf_delete(buf, { force = true })
        end
        return
      end
      local text = table.concat(now, eol)
      -- An emptied window is a deletion of the lines, not a blank line.
      if text ~= '' and final then
        text = text .. eol
      end
      amend(h, text, buf)
    end,
  })
  return buf
end

return M
