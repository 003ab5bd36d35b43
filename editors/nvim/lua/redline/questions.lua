--- The server's questions to the user, asked with vim.ui one after the other.
local M = {}

local queue = {}
local asking = false

local function step()
  local q = table.remove(queue, 1)
  if not q then
    asking = false
    return
  end
  asking = true
  q(function()
    vim.schedule(step)
  end)
end

--- Runs ask(done) when no other question is open, and returns what done was given.
--- It must run in a coroutine, as Neovim's handlers of requests do.
local function await(ask)
  local co = assert(coroutine.running(), 'redline: a question outside of a coroutine')
  local answered, value = false, nil
  local suspended = false
  queue[#queue + 1] = function(next_question)
    local ok, err = pcall(ask, function(v)
      if answered then
        return
      end
      answered, value = true, v
      next_question()
      if suspended then
        suspended = false
        coroutine.resume(co)
      end
    end)
    if not ok and not answered then
      answered, value = true, nil
      vim.notify('Redline: ' .. tostring(err), vim.log.levels.ERROR)
      next_question()
      if suspended then
        suspended = false
        coroutine.resume(co)
      end
    end
  end
  if not asking then
    step()
  end
  if not answered then
    suspended = true
    coroutine.yield()
  end
  return value
end

--- Answers agent/approve. Walking away from the choice is a refusal.
---@param p table
---@return table
function M.approve(p)
  local refusal
  for _, o in ipairs(p.options) do
    if o.kind == 'reject' then
      refusal = o
    end
  end
  local chosen = await(function(done)
    local detail = vim.split(p.detail or '', '\n', { plain = true })
    local subject = p.subject and p.subject.command or detail[1] or ''
    vim.ui.select(p.options, {
      prompt = ('Redline: %s%s'):format(p.title, subject ~= '' and subject ~= p.title and ': ' .. subject or ''),
      kind = 'redline.approve',
      format_item = function(o)
        return o.label
      end,
    }, done)
  end) or refusal
  return { optionId = chosen and chosen.optionId or 'reject' }
end

--- Answers agent/ask.
---@param p table
---@return table
function M.ask(p)
  local options = {}
  for _, o in ipairs(p.options or {}) do
    options[#options + 1] = type(o) == 'table' and o.label or o
  end
  local answer = await(function(done)
    if #options > 0 then
      return vim.ui.select(options, { prompt = 'Redline asks: ' .. p.question, kind = 'redline.ask' }, done)
    end
    vim.ui.input({ prompt = 'Redline asks: ' .. p.question .. ' ' }, done)
  end)
  return { answer = answer or '' }
end

return M
