--- The subcommands of `:Redline`.
local M = {}

local scopes = { 'hunk', 'file', 'all' }
local reverts = { 'hunk', 'file', 'proposal', 'all' }
local modes = { 'default', 'autoEdit', 'plan', 'yolo' }

local function session()
  return require('redline.session')
end

--- The lines that a range or the cursor names, as context; none for a command
--- without a range.
local function context(args)
  if args.range == 0 or vim.bo.buftype ~= '' or vim.api.nvim_buf_get_name(0) == '' then
    return {}
  end
  return require('redline.context').lines(vim.api.nvim_get_current_buf(), args.line1, args.line2)
end

local function ask(text, items)
  vim.list_extend(items, require('redline.context').mentioned(text))
  session().prompt(text, items)
end

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

local function set(what, values)
  return function(_, words)
    if words[1] then
      return session().configure({ [what] = words[1] })
    end
    values(function(list, current)
      vim.ui.select(list, {
        prompt = what == 'mode' and 'Mode' or 'Model',
        kind = 'redline.' .. what,
        format_item = function(v)
          return v == current and v .. ' (now)' or v
        end,
      }, function(choice)
        if choice then
          session().configure({ [what] = choice })
        end
      end)
    end)
  end
end

local subs = {
  ask = function(args, words)
    local items = context(args)
    if #words > 0 then
      return ask(table.concat(words, ' '), items)
    end
    vim.ui.input({ prompt = 'Ask Redline: ' }, function(text)
      if text and vim.trim(text) ~= '' then
        ask(text, items)
      end
    end)
  end,
  fix = function(args)
    local buf = vim.api.nvim_get_current_buf()
    local line = vim.api.nvim_win_get_cursor(0)[1]
    local first, last = line, line
    if args.range > 0 then
      first, last = args.line1, args.line2
    end
    local items = require('redline.context').lines(buf, first, last)
    if #items < 2 then
      return vim.notify('Redline: there is no diagnostic in these lines')
    end
    session().prompt('Fix the problems in the selected lines.', items)
  end,
  chat = function(args)
    require('redline.chat').open({ items = context(args), toggle = args.range == 0 and not args.bang })
  end,
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
  cancel = function()
    session().cancel()
  end,
  new = function()
    session().new()
  end,
  sessions = function()
    session().pick()
  end,
  stop = function()
    require('redline.client').stop()
  end,
  mode = set('mode', function(done)
    session().ready(function(s)
      done(modes, s.mode)
    end)
  end),
  model = set('model', function(done)
    session().ready(function(s)
      require('redline.client').request('agent/model/list', {}, function(err, result)
        if err then
          return vim.notify('Redline: ' .. err.message, vim.log.levels.ERROR)
        end
        done(
          vim.tbl_map(function(m)
            return m.name
          end, result.models),
          s.model
        )
      end)
    end)
  end),
}

---@param args table as nvim_create_user_command gives them
function M.run(args)
  local words = vim.split(vim.trim(args.args), '%s+', { trimempty = true })
  local name = table.remove(words, 1) or 'chat'
  local sub = subs[name]
  if not sub then
    return vim.notify(('Redline: there is no subcommand %q; :help redline-commands lists them'):format(name), vim.log.levels.ERROR)
  end
  -- Prompts keep their spaces.
  if name == 'ask' then
    local rest = vim.trim(args.args):match('^%S+%s+(.*)$')
    words = rest and { rest } or {}
  end
  sub(args, words)
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
  local words = vim.split(line:gsub('^.-Redline!?%s+', '', 1), '%s+')
  if #words <= 1 then
    return starting_with(lead, vim.tbl_keys(subs))
  end
  local sub = words[1]
  if #words == 2 and (sub == 'accept' or sub == 'reject') then
    return starting_with(lead, scopes)
  elseif #words == 2 and sub == 'revert' then
    return starting_with(lead, reverts)
  elseif #words == 2 and sub == 'mode' then
    return starting_with(lead, modes)
  elseif #words == 2 and sub == 'model' then
    return starting_with(lead, M.models())
  elseif sub == 'ask' and lead:sub(1, 1) == '@' then
    return starting_with(lead, require('redline.command').mentions(lead))
  end
  return {}
end

--- What may follow an `@`: the words for what the editor knows, and paths.
---@param lead string with the `@`
---@return string[]
function M.mentions(lead)
  local out = vim.tbl_map(function(w)
    return '@' .. w
  end, vim.tbl_keys(require('redline.context').words))
  local root = require('redline.client').root() or require('redline.config').root()
  local typed = lead:sub(2)
  for _, path in ipairs(vim.fn.globpath(root, typed .. '*', false, true)) do
    local slash = vim.fn.isdirectory(path) == 1 and '/' or ''
    out[#out + 1] = '@' .. path:sub(#root + 2) .. slash
  end
  return out
end

--- The server's models; none when it does not run or takes longer than a moment.
---@return string[]
function M.models()
  local client = require('redline.client')
  if not client.get() then
    return {}
  end
  local names
  client.request('agent/model/list', {}, function(_, result)
    names = vim.tbl_map(function(m)
      return m.name
    end, result and result.models or {})
  end)
  vim.wait(500, function()
    return names ~= nil
  end, 10)
  return names or {}
end

return M
