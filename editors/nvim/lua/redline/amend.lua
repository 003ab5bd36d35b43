--- A window to change the text of a hunk before it is accepted.
local M = {}

---@param text string
---@return string[] lines, boolean final whether the text ends with a line end, string eol
local function split(text)
  local eol = text:find('\r\n', 1, true) and '\r\n' or '\n'
  local lines = vim.split((text:gsub('\r\n', '\n')), '\n', { plain = true })
  local final = lines[#lines] == ''
  if final and #lines > 1 then
    lines[#lines] = nil
  end
  return lines, final, eol
end

---@param h redline.Hunk
function M.open(h)
  local lines, _, eol = split(h.hunk.newText)
  local final = h.hunk.newText:sub(-1) == '\n' or h.hunk.newText == '' and h.hunk.oldText:sub(-1) == '\n'
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.api.nvim_buf_set_name(buf, ('redline://amend/%s/%s'):format(h.proposal.proposalId, h.id))
  vim.bo[buf].buftype = 'acwrite'
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].modified = false
  vim.bo[buf].filetype = h.buf > 0 and vim.bo[h.buf].filetype or vim.filetype.match({ filename = vim.uri_to_fname(h.file.uri) }) or ''
  local height = math.min(math.max(#lines + 1, 4), math.floor(vim.o.lines / 2))
  vim.cmd(('botright %dsplit'):format(height))
  vim.api.nvim_win_set_buf(0, buf)
  vim.wo[0][0].winbar = 'Amend the hunk: :w puts this text into the document, :q! leaves it undecided'
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buf,
    callback = function()
      local now = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
      local text = table.concat(now, eol)
      -- An emptied window is a deletion of the lines, not a blank line.
      if text ~= '' and final then
        text = text .. eol
      end
      require('redline.review').resolve(h.proposal, { target = { hunkId = h.id }, decision = 'amend', newText = text }, function(err)
        if not err and vim.api.nvim_buf_is_valid(buf) then
          vim.bo[buf].modified = false
          vim.api.nvim_buf_delete(buf, { force = true })
        end
      end)
    end,
  })
  return buf
end

return M
