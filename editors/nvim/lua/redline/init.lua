--- Redline: a coding agent whose changes you review in the buffer.
---
--- Requiring this module loads nothing else; see |redline| for what there is.
local M = {}

--- Takes settings; see |redline-settings|. Calling it is optional.
---@param opts? table
function M.setup(opts)
  require('redline.config').set(opts or {})
end

--- A short text for the statusline: what the agent does, and how many hunks wait
--- for a decision. Empty while Redline is not in use; it never starts anything.
---@return string
function M.status()
  if not package.loaded['redline.session'] then
    return ''
  end
  return require('redline.status').text()
end

--- Sends a prompt, starting server and session when there are none yet.
---@param text string
---@param context? table[] context items as in the protocol
function M.ask(text, context)
  require('redline.session').prompt(text, context)
end

return M
