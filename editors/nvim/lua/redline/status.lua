--- The statusline component.
local M = {}

local words = {
  idle = '',
  waiting = 'waiting',
  thinking = 'thinking',
  answering = 'answering',
  tool = 'working',
  confirm = 'asks',
  retry = 'retrying',
}

---@return string
function M.text()
  local s = require('redline.session').current
  if not s then
    return ''
  end
  local parts = {}
  if words[s.state] and words[s.state] ~= '' then
    parts[#parts + 1] = words[s.state]
  end
  local n = require('redline.review').count()
  if n > 0 then
    parts[#parts + 1] = n == 1 and '1 hunk' or n .. ' hunks'
  end
  if s.mode ~= 'default' then
    parts[#parts + 1] = s.mode
  end
  return #parts > 0 and 'redline: ' .. table.concat(parts, ', ') or 'redline'
end

return M
