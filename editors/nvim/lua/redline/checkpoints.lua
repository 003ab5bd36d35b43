--- Checkpoints: the states one can go back to, what that would change, and the way back
--- from there.
local client = require('redline.client')
local session = require('redline.session')

local M = {}

local api = vim.api

-- The checkpoint that takes back the last restore of each session.
local undo = {}

local note = require('redline.say').note

local scopes = {
  { id = 'files', label = 'Restore the files' },
  { id = 'conversation', label = 'Restore the conversation' },
  { id = 'both', label = 'Restore files and conversation' },
}

local function counted(n, one, many)
  return ('%d %s'):format(n, n == 1 and one or many)
end

local function names(uris)
  return table.concat(
    vim.tbl_map(function(u)
      return vim.fn.fnamemodify(vim.uri_to_fname(u), ':~:.')
    end, uris),
    ', '
  )
end

-- What a restore leaves as it is, and why.
local function left(result)
  local out = {}
  for _, u in ipairs(result.skipped) do
    local why = result.reasons and result.reasons[u]
    out[#out + 1] = 'stays as it is: ' .. names({ u }) .. (why and ' (' .. why .. ')' or '')
  end
  if result.commands and #result.commands > 0 then
    out[#out + 1] = 'what commands did stays: ' .. table.concat(result.commands, '; ')
  end
  return out
end

--- Goes back to a checkpoint.
---@param id string
---@param scope 'files'|'conversation'|'both'
function M.restore(id, scope)
  client.request('agent/checkpoint/restore', { checkpointId = id, scope = scope }, function(err, result)
    if err then
      return session.fail(err.message)
    end
    local s = session.current
    if s and result.undoCheckpointId then
      undo[s.id] = { id = result.undoCheckpointId, scope = scope }
    end
    local lines = { 'restored; :Redline unrestore takes that back' }
    for _, l in ipairs(left(result)) do
      lines[#lines + 1] = l
    end
    note(table.concat(lines, '\n'), #lines > 1 and vim.log.levels.WARN or nil)
    require('redline.reload').check()
  end)
end

--- Takes the last restore back.
function M.unrestore()
  local s = session.current
  local last = s and undo[s.id]
  if not last then
    return note('nothing was restored in this session', vim.log.levels.WARN)
  end
  M.restore(last.id, last.scope)
end

local function line(c)
  local files = #c.files > 0 and counted(#c.files, 'file', 'files') .. ' changed since' or 'no changes since'
  return ('%s (%s, %s)'):format(c.title ~= '' and (c.title:gsub('%s+', ' ')) or 'Untitled', files, require('redline.sessions').ago(c.createdAt))
end

-- Shows in a tab of its own what a restore of the files would change.
local function preview(c)
  client.request('agent/checkpoint/preview', { checkpointId = c.checkpointId, scope = 'files' }, function(err, result)
    if err then
      return session.fail(err.message)
    end
    local text = { '# Going back to: ' .. line(c), '# rf: restore the files, rc: the conversation, rb: both, q: close' }
    for _, l in ipairs(left(result)) do
      text[#text + 1] = '# ' .. l:gsub('\n', ' ')
    end
    text[#text + 1] = ''
    vim.list_extend(text, result.diff ~= '' and vim.split(result.diff, '\n') or { '# No file would change.' })
    vim.cmd('tabnew')
    local buf = api.nvim_get_current_buf()
    vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
    api.nvim_buf_set_lines(buf, 0, -1, false, text)
    vim.bo[buf].filetype = 'diff'
    vim.bo[buf].modifiable = false
    pcall(api.nvim_buf_set_name, buf, 'redline://checkpoint/' .. c.checkpointId)
    local function map(lhs, fn, desc)
      vim.keymap.set('n', lhs, function()
        vim.cmd('tabclose')
        fn()
      end, { buffer = buf, nowait = true, desc = 'Redline: ' .. desc })
    end
    map('q', function() end, 'close')
    for _, scope in ipairs(scopes) do
      map('r' .. scope.id:sub(1, 1), function()
        M.restore(c.checkpointId, scope.id)
      end, scope.label)
    end
  end)
end

local function act(c)
  local items = vim.list_extend({ { id = 'preview', label = 'Show what would change' } }, scopes)
  vim.ui.select(items, {
    prompt = 'Before: ' .. line(c),
    kind = 'redline.restore',
    format_item = function(i)
      return i.label
    end,
  }, function(i)
    if i and i.id == 'preview' then
      preview(c)
    elseif i then
      M.restore(c.checkpointId, i.id)
    end
  end)
end

--- Lets the user choose a checkpoint, the latest first, and what to do with it.
function M.pick()
  local s = session.current
  if not s then
    return note('there is no session yet')
  end
  client.request('agent/checkpoint/list', { sessionId = s.id }, function(err, result)
    if err then
      return session.fail(err.message)
    end
    local list = {}
    for _, c in ipairs(result.checkpoints) do
      table.insert(list, 1, c)
    end
    if #list == 0 then
      return note('there is no checkpoint yet; one is made before each turn')
    end
    vim.ui.select(list, { prompt = 'Go back to before…', kind = 'redline.checkpoint', format_item = line }, function(c)
      if c then
        act(c)
      end
    end)
  end)
end

return M
