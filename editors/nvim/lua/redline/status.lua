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
  local n, conflicts = require('redline.review').count()
  if require('redline.questions').count() > 0 then
    parts[#parts + 1] = 'asks'
  end
  -- A call that waits for the review asks nothing else.
  local word = words[s.state] or ''
  if word ~= '' and #parts == 0 and not (s.state == 'confirm' and n > 0) then
    local left = s.retry_at and math.max(0, math.ceil((s.retry_at - vim.uv.now()) / 1000))
    parts[#parts + 1] = word .. (s.state == 'retry' and left and ' in %d s' or ''):format(left)
  end
  if n > 0 then
    parts[#parts + 1] = n == 1 and '1 hunk' or n .. ' hunks'
  end
  if conflicts > 0 then
    parts[#parts + 1] = conflicts == 1 and '1 conflict' or conflicts .. ' conflicts'
  end
  local applied = require('redline.applied').count()
  if applied > 0 then
    parts[#parts + 1] = applied .. ' applied'
  end
  if #s.queue > 0 then
    parts[#parts + 1] = #s.queue .. ' queued'
  end
  if s.mode ~= 'default' then
    parts[#parts + 1] = s.mode
  end
  return #parts > 0 and 'redline: ' .. table.concat(parts, ', ') or 'redline'
end

return M
