--- Messages to the user.
local M = {}

--- Says something that the user has asked for.
---@param text string
---@param level? integer of vim.log.levels
function M.note(text, level)
  vim.notify('Redline: ' .. text, level or vim.log.levels.INFO)
end

-- Whether messages go to Neovim's own message line. Its function has no source or one
-- of Neovim's; that of a plugin has a file.
local function plain()
  local source = debug.getinfo(vim.notify, 'S').source
  return source:sub(1, 1) ~= '@' or source:find('vim/_', 1, true) ~= nil
end

--- Says something unasked that the chat says as well. Where messages go to the message
--- line it is cut to fit: a longer one would keep the user from what they do until they
--- press a key.
---@param text string
---@param level? integer of vim.log.levels
function M.brief(text, level)
  local room = vim.o.columns * math.max(1, vim.o.cmdheight) - #'Redline: ' - 14
  if plain() and (text:find('\n') or vim.fn.strdisplaywidth(text) > room) then
    local more = ' … (see the chat)'
    text = vim.fn.strcharpart((text:gsub('\n.*', '')), 0, math.max(20, room - #more)) .. more
  end
  M.note(text, level)
end

return M
