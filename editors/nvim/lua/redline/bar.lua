--- The bar above the chat: model, mode, what goes on, and what it cost.
local M = {}

--- A count of tokens, short.
---@param n integer
---@return string
function M.tokens(n)
  if n < 1000 then
    return tostring(n)
  elseif n < 999500 then
    return ('%.3gk'):format(n / 1000)
  end
  return ('%.3gM'):format(n / 1e6)
end

--- US dollars, short but never rounded to nothing.
---@param usd number
---@return string
function M.dollars(usd)
  if usd > 0 and usd < 0.01 then
    return ('$%.4f'):format(usd)
  end
  return ('$%.2f'):format(usd)
end

--- What the bar says of the current session, in a width: what matters least goes first.
---@param width integer
---@return string
function M.text(width)
  local s = require('redline.session').current
  if not s then
    return 'Redline'
  end
  -- Each with how early it goes.
  local words = { { 'Redline', 3 }, { s.model, 0 }, { s.mode, s.mode == 'default' and 2 or 0 } }
  local function add(text, early)
    words[#words + 1] = { text, early }
  end
  if s.running then
    add('working', 0)
  end
  local steps = require('redline.page').transcript(s.id).steps
  if steps and steps.done < steps.all then
    add(('plan %d/%d'):format(steps.done, steps.all), 1)
  end
  local u = s.usage
  if u and u.totalTokens > 0 then
    add(M.tokens(u.totalTokens) .. ' tokens', 4)
    if type(u.costUsd) == 'number' then
      add(M.dollars(u.costUsd), 1)
    end
  end
  for early = 5, 1, -1 do
    local left = {}
    for _, w in ipairs(words) do
      if w[2] < early then
        left[#left + 1] = w[1]
      end
    end
    local text = table.concat(left, ' · ')
    if early == 1 or vim.fn.strdisplaywidth(text) <= width then
      return text
    end
  end
end

return M
