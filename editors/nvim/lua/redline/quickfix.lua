--- Hunks as quickfix lists: those to review, and those that were applied.
local M = {}

-- By what a list is of: its ID, while it is among the quickfix lists.
local lists = {}

local sources = {
  hunks = {
    title = 'Redline hunks',
    empty = 'there is nothing to review',
    get = function()
      return require('redline.review').shown()
    end,
  },
  applied = {
    title = 'Redline applied',
    empty = 'nothing of the agent stands in the files',
    get = function()
      return require('redline.applied').hunks()
    end,
  },
}

local function item(h)
  local paint = require('redline.paint')
  local old, new = paint.lines_of(h.hunk.oldText), paint.lines_of(h.hunk.newText)
  local what = paint.operation(h.file, h.hunk)
  local text = what and what .. ' ' .. paint.counts(h.hunk) or ('-%d +%d %s'):format(#old, #new, vim.trim(new[1] or old[1] or ''))
  if h.hunk.state == 'conflict' then
    text = 'conflict ' .. text
  elseif h.applied then
    text = 'applied ' .. text
  end
  return {
    filename = h.buf < 0 and vim.uri_to_fname(h.uri) or nil,
    bufnr = h.buf > 0 and h.buf or nil,
    lnum = h.line + 1,
    end_lnum = h.line + math.max(1, require('redline.marks').height(h.hunk)),
    col = 1,
    type = h.hunk.state == 'conflict' and 'W' or 'I',
    text = vim.trim(text),
    user_data = { proposalId = h.proposal.proposalId, hunkId = h.id },
  }
end

--- Opens a list.
---@param what? 'hunks'|'applied'
function M.open(what)
  what = what or 'hunks'
  local source = sources[what]
  local items = vim.tbl_map(item, source.get())
  if #items == 0 then
    return vim.notify('Redline: ' .. source.empty)
  end
  vim.fn.setqflist({}, ' ', { title = source.title, items = items })
  lists[what] = vim.fn.getqflist({ id = 0 }).id
  vim.cmd('botright copen')
end

local function refresh()
  for what, id in pairs(lists) do
    local now = vim.fn.getqflist({ id = id, title = 0, idx = 0 })
    if now.id ~= id or now.title ~= sources[what].title then
      lists[what] = nil
    else
      local items = vim.tbl_map(item, sources[what].get())
      vim.fn.setqflist({}, 'r', { id = id, items = items, title = now.title })
      if #items > 0 then
        vim.fn.setqflist({}, 'a', { id = id, idx = math.max(1, math.min(now.idx, #items)) })
      end
    end
  end
end

-- Set while a long list waits to be made anew.
local waiting = false

--- Brings the lists up to date that are still there; long ones a moment later, however
--- often this is called until then.
function M.refresh()
  if next(lists) == nil or waiting then
    return
  end
  if require('redline.review').count() <= 100 then
    return refresh()
  end
  waiting = true
  vim.defer_fn(function()
    waiting = false
    refresh()
  end, 200)
end

return M
