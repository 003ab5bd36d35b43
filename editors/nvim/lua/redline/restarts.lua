--- When a server that died is started again: at once after the first death, later and
--- later after more of them, and not any more when it died too often.
local M = {}

-- How long deaths count, in milliseconds.
local window = 3 * 60000
-- The waits before it is started again, in milliseconds; after the last it is left alone.
local waits = { 0, 500, 2000, 5000 }

local deaths = {}

--- Notes a death at a moment (in milliseconds), and returns the wait until the next
--- start; nil: leave it.
---@param now integer
---@return integer?
function M.died(now)
  deaths = vim.tbl_filter(function(at)
    return now - at < window
  end, deaths)
  deaths[#deaths + 1] = now
  return waits[#deaths]
end

return M
