--- What the agent's commands have left running.
local client = require('redline.client')

local M = {}

local note = require('redline.say').note

local function line(p)
  return ('%s (%d, %s%s)'):format(
    (p.command:gsub('%s+', ' ')),
    p.pid,
    require('redline.sessions').ago(p.startedAt),
    p.running and '' or ', has ended'
  )
end

local function stop(s, p)
  client.request('agent/process/stop', { sessionId = s.id, pid = p.pid }, function(err)
    note(err and err.message or ('stopped: ' .. p.command), err and vim.log.levels.ERROR or nil)
  end)
end

local function act(s, p)
  local items = {}
  if p.running then
    items[#items + 1] = { label = 'Stop it', act = function()
      stop(s, p)
    end }
  end
  if p.logFile and p.logFile ~= '' then
    items[#items + 1] = { label = 'Show its output', act = function()
      require('redline.places').go(p.logFile)
      vim.bo.autoread = true
    end }
  end
  vim.ui.select(items, {
    prompt = line(p),
    kind = 'redline.process',
    format_item = function(i)
      return i.label
    end,
  }, function(i)
    if i then
      i.act()
    end
  end)
end

--- Lets the user choose a process, to stop it or to see its output.
function M.pick()
  local s = require('redline.session').current
  if not s then
    return note('nothing was left running')
  end
  client.request('agent/process/list', { sessionId = s.id }, function(err, result)
    if err then
      return note(err.message, vim.log.levels.ERROR)
    elseif #result.processes == 0 then
      return note('nothing was left running')
    end
    vim.ui.select(result.processes, { prompt = 'Left running', kind = 'redline.processes', format_item = line }, function(p)
      if p then
        act(s, p)
      end
    end)
  end)
end

return M
