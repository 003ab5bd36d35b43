--- The undecided hunks as a quickfix list.
local M = {}

local title = 'Redline hunks'
-- The list's ID, while it is among the quickfix lists.
local list

local function items()
  local out = {}
  for _, h in ipairs(require('redline.review').hunks()) do
    local marks = require('redline.marks')
    local old, new = marks.lines_of(h.hunk.oldText), marks.lines_of(h.hunk.newText)
    out[#out + 1] = {
      filename = h.buf < 0 and vim.uri_to_fname(h.file.uri) or nil,
      bufnr = h.buf > 0 and h.buf or nil,
      lnum = h.line + 1,
      end_lnum = h.line + math.max(1, #old),
      col = 1,
      type = h.hunk.state == 'conflict' and 'W' or 'I',
      text = ('-%d +%d %s'):format(#old, #new, vim.trim(new[1] or old[1] or '')),
      user_data = { proposalId = h.proposal.proposalId, hunkId = h.id },
    }
  end
  return out
end

--- Opens the list.
function M.open()
  local found = items()
  if #found == 0 then
    return vim.notify('Redline: there is nothing to review')
  end
  vim.fn.setqflist({}, ' ', { title = title, items = found })
  list = vim.fn.getqflist({ id = 0 }).id
  vim.cmd('botright copen')
end

--- Brings the list up to date, if it is still there.
function M.refresh()
  if not list then
    return
  end
  local what = vim.fn.getqflist({ id = list, title = 0, idx = 0 })
  if what.id ~= list or what.title ~= title then
    list = nil
    return
  end
  local found = items()
  vim.fn.setqflist({}, 'r', { id = list, items = found, title = title })
  if #found > 0 then
    vim.fn.setqflist({}, 'a', { id = list, idx = math.max(1, math.min(what.idx, #found)) })
  end
end

return M
