--- The subcommands of `:Redline`.
local M = {}

local scopes = { 'hunk', 'file', 'all' }
local reverts = { 'hunk', 'file', 'proposal', 'all' }

local function decide(decision)
  return function(args, words)
    local scope = 'hunk'
    if vim.tbl_contains(scopes, words[1]) then
      scope = table.remove(words, 1)
    end
    local review = require('redline.review')
    local lines
    if scope == 'hunk' and args.range > 0 then
      scope, lines = 'range', { args.line1, args.line2 }
    end
    if decision == 'accept' then
      if #words > 0 then
        return vim.notify(('Redline: accept takes hunk, file or all, not %q'):format(words[1]), vim.log.levels.ERROR)
      end
      return review.decide(decision, scope, nil, lines)
    end
    if #words > 0 or args.bang or review.count() == 0 then
      return review.decide(decision, scope, #words > 0 and table.concat(words, ' ') or nil, lines)
    end
    vim.ui.input({ prompt = 'Why? (told to the model; empty for no reason) ' }, function(reason)
      if reason then
        review.decide(decision, scope, reason ~= '' and reason or nil, lines)
      end
    end)
  end
end

-- Those about hunks; those about the conversation are in redline.talk.
local subs = {
  accept = decide('accept'),
  reject = decide('reject'),
  amend = function()
    require('redline.review').amend()
  end,
  next = function()
    require('redline.jump').jump(1)
  end,
  prev = function()
    require('redline.jump').jump(-1)
  end,
  diff = function()
    require('redline.diffview').open()
  end,
  qf = function()
    require('redline.quickfix').open()
  end,
  applied = function()
    require('redline.quickfix').open('applied')
  end,
  revert = function(_, words)
    local scope = words[1] or 'hunk'
    if not vim.tbl_contains(reverts, scope) then
      return vim.notify(('Redline: revert takes %s, not %q'):format(table.concat(reverts, ', '), scope), vim.log.levels.ERROR)
    end
    require('redline.applied').revert_scope(scope)
  end,
}

---@param args table as nvim_create_user_command gives them
function M.run(args)
  local words = vim.split(vim.trim(args.args), '%s+', { trimempty = true })
  local name = table.remove(words, 1) or 'chat'
  local sub = subs[name]
  local talk = not sub and require('redline.talk')[name]
  if not sub and not talk then
    return vim.notify(('Redline: there is no subcommand %q; :help redline-commands lists them'):format(name), vim.log.levels.ERROR)
  end
  if sub then
    return sub(args, words)
  end
  if talk.text then -- it keeps its spaces
    local rest = vim.trim(args.args):match('^%S+%s+(.*)$')
    words = rest and { rest } or {}
  end
  talk.run(args, words)
end

local function starting_with(lead, list)
  local out = vim.tbl_filter(function(s)
    return vim.startswith(s, lead)
  end, list)
  table.sort(out)
  return out
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local words = vim.split(line:gsub('^.-Red%a*!?%s+', '', 1), '%s+')
  local talk = require('redline.talk')
  if #words <= 1 then
    return starting_with(lead, vim.list_extend(vim.tbl_keys(subs), vim.tbl_keys(talk)))
  end
  local sub = table.remove(words, 1)
  if #words == 1 and (sub == 'accept' or sub == 'reject') then
    return starting_with(lead, scopes)
  elseif #words == 1 and sub == 'revert' then
    return starting_with(lead, reverts)
  elseif talk[sub] and talk[sub].complete and (talk[sub].text or #words == 1 or sub == 'add') then
    local found = talk[sub].complete(lead, words)
    -- What was found by a part in the middle stays in its order.
    return lead:match('^[@/]') and found or starting_with(lead, found)
  end
  return {}
end

return M
