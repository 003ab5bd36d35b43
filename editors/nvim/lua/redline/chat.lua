--- The chat: a Markdown buffer with the transcript above and the next prompt below.
---
--- The answer is put in above the prompt, so that the cursor stays where it is: in
--- the prompt it moves with its text, and above it nothing moves at all.
local config = require('redline.config')
local transcript = require('redline.transcript')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('redline.chat')

-- Transcripts by session ID; '' is what was said before there was a session.
local transcripts = { [''] = transcript.new() }
---@type integer?
local buf
-- The session that is shown.
local session = ''
-- Context items that go with the next prompt.
local items = {}
-- Set while we write into the buffer ourselves.
local writing = false
-- What waits to be written: a block that deltas of the last moment went to, and the
-- number of its lines that the buffer has, the last of which may have grown.
---@type {index: integer, lines: integer}?
local pending
local timer
-- How many lines of the buffer are transcript. The model may be ahead of them.
local drawn = 0

local head = { '## You', '' }

local function valid()
  return buf and api.nvim_buf_is_loaded(buf)
end

---@return redline.Transcript
local function current()
  local t = transcripts[session]
  if not t then
    t = transcript.new()
    transcripts[session] = t
  end
  return t
end

--- The 0-based line in which the user's prompt begins.
local function input_start()
  return drawn + #head
end

-- Keeps the prompt in sight of windows whose cursor is in it.
local function follow(wins)
  for _, win in ipairs(wins) do
    api.nvim_win_call(win, function()
      local last = api.nvim_buf_line_count(buf)
      if vim.fn.line('w$') < last then
        local cursor = api.nvim_win_get_cursor(0)
        vim.fn.winrestview({ topline = math.max(1, last - api.nvim_win_get_height(0) + 2) })
        api.nvim_win_set_cursor(0, cursor)
      end
    end)
  end
end

-- Runs fn, which writes into the transcript. What is undone afterwards is what the
-- user typed, never what was said. typed is set for writing below it instead.
local function write(fn, typed)
  if not valid() then
    return
  end
  local wins = vim.tbl_filter(function(win)
    return api.nvim_win_get_cursor(win)[1] > input_start()
  end, vim.fn.win_findbuf(buf))
  writing = true
  local undolevels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = -1
  local before = api.nvim_buf_line_count(buf)
  local ok, err = pcall(fn)
  if not typed then
    drawn = drawn + api.nvim_buf_line_count(buf) - before
  end
  vim.bo[buf].undolevels = undolevels
  vim.bo[buf].modified = false
  writing = false
  follow(wins)
  if not ok then
    error(err, 0)
  end
end

-- Puts lines first to last (0-based, exclusive) of the transcript anew.
local function set_lines(first, last, lines)
  write(function()
    api.nvim_buf_set_lines(buf, first, last, false, lines)
  end)
end

local function redraw_all(input)
  local lines = current():lines()
  local height = #lines
  vim.list_extend(lines, head)
  vim.list_extend(lines, input or { '' })
  write(function()
    api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  end, true)
  drawn, pending = height, nil
end

--- The lines the user typed for the next prompt.
---@return string[]
function M.input()
  if not valid() then
    return {}
  end
  return api.nvim_buf_get_lines(buf, input_start(), -1, false)
end

local function hint()
  if not valid() then
    return
  end
  api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  local at = input_start()
  if at >= api.nvim_buf_line_count(buf) then
    return
  end
  local input = M.input()
  local opts = {}
  if #input == 1 and input[1] == '' then
    opts.virt_text = { { 'Ask here; <CR> sends, @ adds files', 'NonText' } }
    opts.virt_text_pos = 'overlay'
  end
  if #items > 0 then
    local labels = vim.tbl_map(require('redline.context').label, items)
    opts.virt_lines = { { { 'with ' .. table.concat(labels, ', '), 'NonText' } } }
    opts.virt_lines_above = true
  end
  if next(opts) then
    api.nvim_buf_set_extmark(buf, ns, at, 0, opts)
  end
end

--- Brings the buffer's heading up to date: the window bar.
function M.title()
  if not valid() then
    return
  end
  local s = require('redline.session').current
  local words = s and { 'Redline', s.model, s.mode } or { 'Redline' }
  if s and s.running then
    words[#words + 1] = 'working'
  end
  local bar = table.concat(words, ' · '):gsub('%%', '%%%%')
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.wo[win][0].winbar = bar
  end
end

-- Writes what waits.
local function flush()
  local p = pending
  pending = nil
  if not p or not valid() then
    return
  end
  timer:stop()
  local t = current()
  local at = t:start(p.index) + p.lines
  set_lines(at - 1, at, vim.list_slice(t.blocks[p.index].lines, p.lines))
end

-- Brings a change of the shown transcript into the buffer.
local function change(t, c)
  local block = t.blocks[c.index]
  if c.op == 'append' then
    -- Many deltas come in one refresh of the screen; they are written at once.
    if pending and pending.index ~= c.index then
      flush()
    end
    if not pending then
      pending = { index = c.index, lines = c.old }
      timer = timer or vim.uv.new_timer()
      timer:start(15, 0, vim.schedule_wrap(flush))
    end
    return
  end
  flush()
  local first = t:start(c.index)
  if c.op == 'add' then
    local lines = vim.list_extend({}, block.lines)
    lines[#lines + 1] = ''
    set_lines(first, first, lines)
  else
    set_lines(first, first + c.old, block.lines)
  end
end

--- Takes an event of a session.
---@param s redline.Session
---@param ev table
function M.event(s, ev)
  if session == '' then
    M.show_session(s)
  end
  local t = transcripts[s.id]
  if not t then
    t = transcript.new()
    transcripts[s.id] = t
  end
  local c = t:event(ev)
  if not valid() or s.id ~= session then
    return
  end
  if c then
    change(t, c)
  end
  if ev.type == 'turn/started' or ev.type == 'turn/ended' then
    flush()
    M.title()
  end
end

--- Says something in the shown transcript.
function M.notice(level, text)
  local t = current()
  local c = t:notice(level, text)
  if valid() then
    change(t, c)
  end
end

--- Shows another session in the chat; what is typed stays.
---@param s redline.Session
function M.show_session(s)
  if session == s.id then
    return M.title()
  end
  flush()
  local input = M.input()
  local before = transcripts['']
  session = s.id
  local t = current()
  if #before.blocks > 0 then
    transcripts[''] = transcript.new()
    for i, b in ipairs(before.blocks) do
      table.insert(t.blocks, i, b)
    end
  end
  if valid() then
    redraw_all(#input > 0 and input or nil)
    M.title()
    hint()
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
    end
  end
end

--- Sends what is typed.
function M.send()
  local text = vim.trim(table.concat(M.input(), '\n'))
  if text == '' then
    return
  end
  local with = items
  items = {}
  vim.list_extend(with, require('redline.context').mentioned(text))
  write(function()
    api.nvim_buf_set_lines(buf, input_start(), -1, false, { '' })
  end, true)
  hint()
  local win = vim.fn.bufwinid(buf)
  if win > 0 then
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
  end
  require('redline.session').prompt(text, with)
end

-- Who starts to type in the transcript types in the prompt.
local function to_prompt()
  if api.nvim_win_get_cursor(0)[1] <= input_start() then
    local last = api.nvim_buf_line_count(buf)
    api.nvim_win_set_cursor(0, { last, #vim.fn.getline(last) })
    vim.v.char = 'moved' -- else Neovim puts the cursor back
  end
end

-- The transcript is put back when a command changes it, and what was typed is kept.
local function mend(_, _, _, first, last, new_last)
  if writing then
    return
  end
  local input = input_start()
  if first >= input then
    vim.schedule(function()
      if valid() and api.nvim_buf_line_count(buf) <= input_start() then
        write(function()
          api.nvim_buf_set_lines(buf, -1, -1, false, { '' })
        end, true)
      end
      hint()
    end)
    return
  end
  local from = last <= input and input + new_last - last or new_last
  vim.schedule(function()
    if valid() then
      local typed = api.nvim_buf_get_lines(buf, from, -1, false)
      redraw_all(#typed > 0 and typed or nil)
      hint()
    end
  end)
end

--- The fold level of a line, for 'foldexpr'.
function M.foldexpr()
  local line, before = vim.fn.getline(vim.v.lnum), vim.fn.getline(vim.v.lnum - 1)
  if line:sub(1, 1) ~= '>' then
    return '0'
  end
  return before:sub(1, 1) == '>' and '1' or '>1'
end

--- The text of a closed fold, for 'foldtext'.
function M.foldtext()
  local first = vim.fn.getline(vim.v.foldstart):gsub('^> ', ''):gsub('%*', '')
  if first == 'Thought: ' then
    first = first .. vim.fn.getline(vim.v.foldstart + 1):gsub('^> ', ''):gsub('%*', '')
  end
  local more = vim.v.foldend - vim.v.foldstart
  return ('▸ %s  (%d more %s)'):format(first, more, more == 1 and 'line' or 'lines')
end

--- Completes what follows an `@`, for 'completefunc'.
function M.complete(findstart, base)
  if findstart == 1 then
    local before = api.nvim_get_current_line():sub(1, api.nvim_win_get_cursor(0)[2])
    local at = before:find('@%S*$')
    return at and at - 1 or -3
  end
  local out = vim.tbl_filter(function(m)
    return vim.startswith(m, base)
  end, require('redline.command').mentions(base))
  table.sort(out)
  return out
end

local function window_options(win)
  local wo = vim.wo[win][0]
  wo.wrap, wo.linebreak, wo.number, wo.relativenumber = true, true, false, false
  wo.signcolumn, wo.spell = 'no', false
  wo.foldmethod = 'expr'
  wo.foldexpr = "v:lua.require'redline.chat'.foldexpr()"
  wo.foldtext = "v:lua.require'redline.chat'.foldtext()"
  wo.foldlevel, wo.foldenable = 0, true
  wo.conceallevel = 2
end

local function go_to_location()
  local word = vim.fn.expand('<cWORD>')
  local path, line = word:match('^(.-):(%d+)')
  path = path or vim.fn.expand('<cfile>')
  local root = require('redline.client').root() or require('redline.config').root()
  local full = vim.startswith(path, '/') and path or root .. '/' .. path
  if not vim.uv.fs_stat(full) then
    return false
  end
  vim.cmd('wincmd p')
  vim.cmd.edit(vim.fn.fnameescape(full))
  if line then
    pcall(api.nvim_win_set_cursor, 0, { tonumber(line), 0 })
  end
  return true
end

local function create()
  buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(buf, 'redline://chat')
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].swapfile = false
  vim.bo[buf].filetype = 'markdown'
  vim.bo[buf].completefunc = "v:lua.require'redline.chat'.complete"
  redraw_all()
  local group = api.nvim_create_augroup('redline.chat', {})
  api.nvim_create_autocmd('InsertEnter', { group = group, buffer = buf, callback = to_prompt })
  api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    buffer = buf,
    callback = function()
      window_options(api.nvim_get_current_win())
      M.title()
    end,
  })
  api.nvim_buf_attach(buf, false, { on_lines = mend })
  local function map(mode, lhs, rhs, desc)
    vim.keymap.set(mode, lhs, rhs, { buffer = buf, desc = 'Redline: ' .. desc })
  end
  map('n', '<CR>', function()
    if api.nvim_win_get_cursor(0)[1] > input_start() then
      return M.send()
    end
    if vim.fn.foldclosed('.') > 0 then
      return vim.cmd('normal! zo')
    end
    if not go_to_location() and vim.fn.foldlevel('.') > 0 then
      vim.cmd('normal! zc')
    end
  end, 'send the prompt, open a fold, or go to the file under the cursor')
  map('i', '<C-s>', M.send, 'send the prompt')
  map({ 'n', 'i' }, '<C-c>', function()
    local s = require('redline.session').current
    if s and s.running then
      return require('redline.session').cancel()
    end
    vim.cmd.stopinsert()
  end, 'stop the turn')
  map('n', 'q', '<Cmd>close<CR>', 'close the chat')
end

--- Opens the chat and goes to the prompt; closes it when it is the current window
--- and toggle is set.
---@param opts? {items?: table[], toggle?: boolean}
function M.open(opts)
  opts = opts or {}
  vim.list_extend(items, opts.items or {})
  if not valid() then
    create()
  end
  local win = vim.fn.bufwinid(buf)
  if win > 0 then
    if opts.toggle and win == api.nvim_get_current_win() and #api.nvim_list_wins() > 1 then
      return api.nvim_win_close(win, false)
    end
    api.nvim_set_current_win(win)
  else
    local chat = config.get().chat
    local vertical = chat.split:find('vert') ~= nil
    local size = math.floor((vertical and vim.o.columns or vim.o.lines) * chat.width)
    vim.cmd(('%s %dsplit'):format(chat.split, size))
    api.nvim_win_set_buf(0, buf)
    window_options(api.nvim_get_current_win())
    M.title()
  end
  api.nvim_win_set_cursor(0, { api.nvim_buf_line_count(buf), 0 })
  hint()
end

--- The chat's buffer, if there is one.
---@return integer?
function M.buffer()
  return valid() and buf or nil
end

return M
