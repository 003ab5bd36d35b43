--- The subcommands of `:Redline` that are about the conversation, not about its hunks.
---
--- Each has run(args, words), which gets what nvim_create_user_command gives and the
--- words after the subcommand, and perhaps complete(lead, words) for the words after it;
--- text is set for those that take everything after them as one text.
local M = {}

local modes = { 'default', 'autoEdit', 'plan', 'yolo' }

local function session()
  return require('redline.session')
end

local note = require('redline.say').note

--- The lines that a range names, as context; none for a command without a range.
local function context(args)
  if args.range == 0 or vim.bo.buftype ~= '' or vim.api.nvim_buf_get_name(0) == '' then
    return {}
  end
  return require('redline.context').lines(vim.api.nvim_get_current_buf(), args.line1, args.line2)
end

local function with_mentions(text, items)
  return vim.list_extend(items, require('redline.context').mentioned(text))
end

local function mentions(lead, words)
  if lead:sub(1, 1) == '@' or (#words == 1 and lead:sub(1, 1) == '/') then
    return require('redline.complete').words(lead)
  end
  return {}
end

local function prompt(question, how)
  return function(args, words)
    local items = context(args)
    local function send(text)
      session().prompt(text, with_mentions(text, items), how)
    end
    if words[1] then
      return send(words[1])
    end
    vim.ui.input({ prompt = question }, function(text)
      if text and vim.trim(text) ~= '' then
        send(text)
      end
    end)
  end
end

-- A subcommand that takes no words.
local function simple(module, name, ...)
  local given = { ... }
  return {
    run = function()
      require('redline.' .. module)[name](unpack(given))
    end,
  }
end

local function queued()
  local s = session().current
  if not s or #s.queue == 0 then
    return note('nothing is queued')
  end
  vim.ui.select(s.queue, {
    prompt = 'Take out of the queue',
    kind = 'redline.queue',
    format_item = function(q)
      return (q.text:gsub('%s+', ' '))
    end,
  }, function(q, i)
    if not q or s.queue[i] ~= q then
      return
    end
    table.remove(s.queue, i)
    require('redline.chat').give_back(q.text, q.context)
    require('redline.chat').title()
  end)
end

M.ask = { run = prompt('Ask Redline: '), complete = mentions, text = true }

M.queue = {
  run = function(args, words)
    if not words[1] then
      return queued()
    end
    prompt('', 'queue')(args, words)
  end,
  complete = mentions,
  text = true,
}

M.fix = {
  run = function(args)
    local buf = vim.api.nvim_get_current_buf()
    local line = vim.api.nvim_win_get_cursor(0)[1]
    local first, last = line, line
    if args.range > 0 then
      first, last = args.line1, args.line2
    end
    local items = require('redline.context').lines(buf, first, last)
    if #items < 2 then
      return note('there is no diagnostic in these lines')
    end
    session().prompt('Fix the problems in the selected lines.', items)
  end,
}

M.chat = {
  run = function(args)
    require('redline.chat').open({ items = context(args), toggle = args.range == 0 and not args.bang })
  end,
}

M.code = {
  run = function(_, words)
    local code = require('redline.code')
    local act = ({ yank = code.yank, insert = code.insert, apply = code.apply })[words[1]]
    if not act then
      return note('code takes yank, insert or apply', vim.log.levels.ERROR)
    end
    act()
  end,
  complete = function()
    return { 'yank', 'insert', 'apply' }
  end,
}

M.add = {
  run = function(args, words)
    local items = context(args)
    for _, w in ipairs(words) do
      local name = w:gsub('^@', '')
      local item = require('redline.context').item(name)
      local path = vim.fn.fnamemodify(name, ':p')
      if not item and vim.uv.fs_stat(path) then
        local images = require('redline.images')
        item = images.is(path) and images.item(path) or { kind = 'file', uri = vim.uri_from_fname(path) }
      end
      if not item then
        return note(('there is nothing called %s'):format(w), vim.log.levels.ERROR)
      end
      items[#items + 1] = item
    end
    if #items == 0 then
      return note('add takes a range, or words such as @diagnostics; <Tab> completes them', vim.log.levels.ERROR)
    end
    require('redline.chat').add(items)
    note('goes with the next prompt: ' .. table.concat(vim.tbl_map(require('redline.context').label, items), ', '))
  end,
  complete = mentions,
}

M.drop = {
  run = function()
    require('redline.chat').drop()
    note('nothing goes with the next prompt but what it names')
  end,
}

M.image = {
  run = function(_, words)
    if not words[1] then
      return note('image takes the path of an image', vim.log.levels.ERROR)
    end
    require('redline.images').add(vim.fn.expand(words[1]))
  end,
  complete = function(lead)
    return vim.tbl_filter(function(p)
      return vim.endswith(p, '/') or require('redline.images').is(p)
    end, vim.fn.getcompletion(lead, 'file'))
  end,
  text = true,
}

M.symbol = {
  run = function(_, words)
    require('redline.symbols').pick(words[1])
  end,
  complete = function(lead)
    return vim.tbl_map(function(s)
      return s.name
    end, require('redline.symbols').list(lead))
  end,
}

M.cancel = {
  run = function()
    local s = session().current
    if not s or not s.running then
      return note('nothing runs that could be stopped')
    end
    session().cancel()
  end,
}
M.new = {
  run = function()
    session().new(function(s)
      if s then
        note('a new conversation begins')
      end
    end)
  end,
}
M.sessions = simple('sessions', 'pick')
M.delete = simple('sessions', 'delete')
M.compress = simple('sessions', 'compress')
M.usage = simple('sessions', 'usage')
M.checkpoints = simple('checkpoints', 'pick')
M.unrestore = simple('checkpoints', 'unrestore')
M.processes = simple('processes', 'pick')
M.memory = simple('memory', 'pick')
M.logout = simple('signin', 'logout')
M.status = simple('signin', 'status')
M.stop = {
  run = function()
    local client = require('redline.client')
    note(client.get() and 'the server is stopped; the next prompt starts it' or 'the server does not run')
    client.stop()
  end,
}

M.restart = {
  run = function()
    require('redline.client').restart({}, function(err)
      if err then
        return note(err, vim.log.levels.ERROR)
      end
      session().recover()
      note('the server was started again')
    end)
  end,
}

M.resume = {
  run = function(_, words)
    require('redline.sessions').resume(words[1])
  end,
  complete = function()
    return require('redline.sessions').titles()
  end,
  text = true,
}

M.fork = {
  run = function(_, words)
    require('redline.sessions').fork(words[1] == 'here')
  end,
  complete = function()
    return { 'here' }
  end,
}

M.login = {
  run = function(_, words)
    require('redline.signin').login(words[1])
  end,
  complete = function()
    return require('redline.signin').names()
  end,
}

M.trust = {
  run = function()
    require('redline.client').request('agent/trust/set', { trusted = true }, function(err, st)
      if err then
        return note(err.message, vim.log.levels.ERROR)
      end
      note(st.trusted and 'this folder is trusted until the server ends' or st.message, vim.log.levels.INFO)
    end)
  end,
}

-- Sets the mode or the model of the session, and says so: the chat may be closed.
local function set(what, value)
  session().configure({ [what] = value }, function()
    note(('the %s is %s'):format(what, value))
  end)
end

-- Lets the user choose one of some values for the session.
local function choose(what, items, current)
  vim.ui.select(items, {
    prompt = what,
    kind = 'redline.' .. what:lower(),
    format_item = function(i)
      return i.label .. (i.id == current and ' (now)' or '')
    end,
  }, function(i)
    if i then
      set(what:lower(), i.id)
    end
  end)
end

local mode_words = {
  default = 'asks about everything',
  autoEdit = 'applies edits at once',
  plan = 'changes nothing',
  yolo = 'asks about nothing',
}

M.mode = {
  run = function(_, words)
    if words[1] then
      return set('mode', words[1])
    end
    session().ready(function(s)
      if s then
        choose('Mode', vim.tbl_map(function(m)
          return { id = m, label = ('%-9s %s'):format(m, mode_words[m]) }
        end, modes), s.mode)
      end
    end)
  end,
  complete = function()
    return modes
  end,
}

local function model_line(m)
  local more = {}
  if m.inputTokenLimit and m.inputTokenLimit > 0 then
    more[#more + 1] = require('redline.bar').tokens(m.inputTokenLimit) .. ' tokens'
  end
  if m.price then
    more[#more + 1] = ('$%g in, $%g out a million'):format(m.price.input, m.price.output)
  end
  return m.name .. (#more > 0 and '  ' .. table.concat(more, ', ') or '')
end

M.model = {
  run = function(_, words)
    if words[1] then
      return set('model', words[1])
    end
    session().ready(function(s)
      if not s then
        return
      end
      require('redline.client').request('agent/model/list', {}, function(err, result)
        if err then
          return note(err.message, vim.log.levels.ERROR)
        end
        if result.message and result.message ~= '' then
          note(result.message, vim.log.levels.WARN)
        end
        choose('Model', vim.tbl_map(function(m)
          return { id = m.name, label = model_line(m) }
        end, result.models), s.model)
      end)
    end)
  end,
  complete = function()
    return require('redline.complete').models()
  end,
}

M.reviewat = {
  run = function(_, words)
    if words[1] ~= 'step' and words[1] ~= 'turn' then
      return note('reviewat takes step or turn', vim.log.levels.ERROR)
    end
    session().configure({ reviewAt = words[1] }, function()
      note(words[1] == 'turn' and 'edits are reviewed together, when the turn ends' or 'edits are reviewed as they come')
    end)
  end,
  complete = function()
    return { 'step', 'turn' }
  end,
}

return M
