--- The maps that are there while there is something to decide. Those of the user stay.
local config = require('redline.config')

local M = {}

local api = vim.api

-- By the name of the setting: the command, what it is for, and whether it works on
-- selected lines too.
local actions = {
  next = { 'next', 'next hunk' },
  prev = { 'prev', 'previous hunk' },
  accept = { 'accept', 'accept the hunk', visual = true },
  reject = { 'reject', 'reject the hunk', visual = true },
  amend = { 'amend', 'amend the hunk' },
  diff = { 'diff', 'show as a diff' },
}

--- What is typed for the left side of a map, leaders in their place.
---@param lhs string
---@return string
function M.keycode(lhs)
  local leader = vim.g.maplocalleader or '\\'
  lhs = lhs:gsub('<[Ll]ocal[Ll]eader>', (leader:gsub('%%', '%%%%')))
  return vim.keycode((lhs:gsub('<[Ll]eader>', ((vim.g.mapleader or '\\'):gsub('%%', '%%%%')))))
end

local function taken(lhs, mode, buf)
  for _, m in ipairs(buf and api.nvim_buf_get_keymap(buf, mode) or api.nvim_get_keymap(mode)) do
    if M.keycode(lhs) == vim.keycode(m.lhs) then
      return true
    end
  end
end

-- Sets the maps of some actions, in a buffer or everywhere, and returns what takes them
-- away again.
local function set(names, buf)
  local mine = {}
  for _, name in ipairs(names) do
    local lhs, a = config.get().keys[name], actions[name]
    for _, mode in ipairs(lhs and (a.visual and { 'n', 'x' } or { 'n' }) or {}) do
      if not taken(lhs, mode, buf) then
        local rhs = mode == 'n' and '<Cmd>Redline ' .. a[1] .. '<CR>' or ':Redline ' .. a[1] .. '<CR>'
        vim.keymap.set(mode, lhs, rhs, { buffer = buf, silent = true, desc = 'Redline: ' .. a[2] })
        mine[#mine + 1] = { mode, lhs }
      end
    end
  end
  return function()
    for _, m in ipairs(mine) do
      pcall(vim.keymap.del, m[1], m[2], { buffer = buf })
    end
  end
end

--- Puts the maps that decide in place in a buffer.
---@param buf integer
---@return fun() remove
function M.decide(buf)
  return set({ 'accept', 'reject', 'amend', 'diff' }, buf)
end

-- Takes away the maps that go from hunk to hunk; nil while there are none.
local leave

--- Puts the maps that go from hunk to hunk, over files too, in place or takes them
--- away.
---@param on boolean
function M.navigation(on)
  if on and not leave then
    leave = set({ 'next', 'prev' })
  elseif not on and leave then
    leave()
    leave = nil
  end
end

return M
