--- The chat's buffer: the transcript above, the next prompt below the last heading.
---
--- What is said is put in above the prompt, so that the cursor stays where it is: in
--- the prompt it moves with its text, and above it nothing moves at all. Only this
--- module writes into the buffer; what else changes the transcript's part is undone.
local transcript = require('redline.transcript')

local M = {}

local api = vim.api
local times = api.nvim_create_namespace('redline.chat.times')

local head = { '## You', '' }
-- Pieces that come within so many milliseconds are written at once.
local gather = 15

-- Transcripts by session ID; '' is what was said before there was a session.
local transcripts = { [''] = transcript.new() }
---@type integer?
local buf
-- The session that is shown.
local session = ''
-- Set while we write into the buffer ourselves.
local writing = false
-- How many lines of the buffer are transcript. The model may be ahead of them.
local drawn = 0
-- The same before what is being written.
local written = 0
-- The 0-based lines that blocks begin in, as drawn; nil when they have to be counted.
---@type integer[]?
local starts
-- The blocks that `starts` counts.
---@type redline.Block[]
local counted = {}
-- What is to be done as in Normal mode; see as_normal.
---@type fun()?
local pending
local timer
-- Ticks each second while a wait is counted down.
local clock

--- Called when the prompt's part has changed.
M.on_prompt = function() end

function M.valid()
  return buf ~= nil and api.nvim_buf_is_loaded(buf)
end

--- The chat's buffer, if there is one.
---@return integer?
function M.buffer()
  return M.valid() and buf or nil
end

--- The transcript of a session; without one, the shown one.
---@param id? string
---@return redline.Transcript
function M.transcript(id)
  id = id or session
  transcripts[id] = transcripts[id] or transcript.new()
  return transcripts[id]
end

--- Forgets what a session said.
---@param id string
function M.forget(id)
  if id ~= session then
    transcripts[id] = nil
  end
end

---@return string the ID of the session that is shown; '' for none
function M.shown()
  return session
end

--- The 0-based line in which the user's prompt begins.
---@return integer
function M.input_start()
  return drawn + #head
end

--- The lines the user typed for the next prompt.
---@return string[]
function M.input()
  return M.valid() and api.nvim_buf_get_lines(buf, M.input_start(), -1, false) or {}
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

--- Runs what is pending; for as_normal only.
function M.run()
  local fn = pending
  pending = nil
  if fn then
    fn()
  end
end

-- Runs fn, which writes into the buffer, as if nobody typed: in Insert mode Neovim makes no
-- folds, in no window. The keys of ":normal" are one whole command, which enters no mode;
-- the cursor, which may be behind the last character, is put back.
local function as_normal(fn)
  if not vim.tbl_contains({ 'i', 'R' }, api.nvim_get_mode().mode:sub(1, 1)) then
    return fn()
  end
  local win, cursor = api.nvim_get_current_win(), api.nvim_win_get_cursor(0)
  -- The prompt is below what is written, and keeps its place from the end.
  local left = api.nvim_get_current_buf() == buf and cursor[1] > written + #head and api.nvim_buf_line_count(buf) - cursor[1]
  local ok, err
  pending = function()
    ok, err = pcall(fn)
  end
  vim.cmd.normal({ vim.keycode("<Cmd>lua require('redline.page').run()<CR>"), bang = true })
  if left then
    cursor[1] = api.nvim_buf_line_count(buf) - left
  end
  pcall(api.nvim_win_set_cursor, win, cursor)
  if pending then -- it was not run
    return M.run()
  end
  if not ok then
    error(err, 0)
  end
end

-- Runs fn, which writes into the buffer. What is undone afterwards is what the user
-- typed, never what was said. Neovim asks for folds while it writes, so blocks and
-- `drawn` must say before each change what the buffer is like after it.
local function write(fn)
  if not M.valid() then
    return
  end
  local prompt = written + #head
  local wins = vim.tbl_filter(function(win)
    return api.nvim_win_get_cursor(win)[1] > prompt
  end, vim.fn.win_findbuf(buf))
  writing = true
  local undolevels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = -1
  local ok, err = pcall(as_normal, fn)
  written = drawn
  vim.bo[buf].undolevels = undolevels
  vim.bo[buf].modified = false
  writing = false
  follow(wins)
  if not ok then
    error(err, 0)
  end
end

--- Draws the shown transcript anew, and the prompt with it.
---@param input? string[]
function M.redraw(input)
  local t = M.transcript()
  local lines = t:lines()
  drawn, starts = #lines, nil
  vim.list_extend(lines, head)
  vim.list_extend(lines, input and #input > 0 and input or { '' })
  write(function()
    api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  end)
end

--- Puts other lines in the place of what was typed.
---@param lines string[]
function M.set_input(lines)
  write(function()
    api.nvim_buf_set_lines(buf, M.input_start(), -1, false, lines)
  end)
  M.on_prompt()
end

-- Says at the end of a block how long the wait still takes.
local function countdown()
  if not M.valid() then
    return
  end
  api.nvim_buf_clear_namespace(buf, times, 0, -1)
  local waits = false
  for id, t in pairs(transcripts) do
    local block = t.waiting
    if block then
      waits = true
      if id == session and block.drawn then
        local left = math.max(0, math.ceil((block.due - vim.uv.now()) / 1000))
        api.nvim_buf_set_extmark(buf, times, M.start_of(block), 0, {
          virt_text = { { left > 0 and (' again in %d s'):format(left) or ' again now', 'DiagnosticVirtualTextWarn' } },
        })
      end
    end
  end
  if waits then
    clock = clock or vim.uv.new_timer()
    if not clock:is_active() then
      clock:start(1000, 1000, vim.schedule_wrap(function()
        countdown()
        vim.cmd.redrawstatus({ bang = true })
      end))
    end
  elseif clock then
    clock:stop()
  end
end

-- Notes that a block below all others begins in a line: counting them anew for each
-- piece of an answer would take longer and longer.
local function began(block, at)
  if starts then
    starts[#starts + 1], counted[#counted + 1] = at, block
  end
end

-- Whether something is being completed in the prompt: when lines come above it, Neovim puts
-- the next match where the line was, and 0.12 deletes all from there. One without a menu is
-- ended.
local function completing()
  if api.nvim_get_current_buf() ~= buf then
    return false
  end
  local info = vim.fn.complete_info({ 'mode', 'pum_visible' })
  if info.mode ~= '' and info.pum_visible == 0 then
    api.nvim_feedkeys(vim.keycode('<C-y>'), 'in', false)
  end
  return info.mode ~= ''
end

--- Writes what waits, unless it has to wait longer.
function M.flush()
  if timer then
    timer:stop()
  end
  local t = M.transcript()
  if not M.valid() or next(t.changed) == nil then
    return countdown()
  elseif completing() then
    return M.later()
  end
  write(function()
    local at = 0
    local blocks, i = t.blocks, 1
    while i <= #blocks do
      local b = blocks[i]
      if t.changed[b] then
        local first, last = at + (b.drawn and b.keep or 0), at + (b.drawn or 0)
        local fresh = not b.drawn
        local lines = transcript.draw(b, first - at + 1)
        if fresh then
          began(b, at)
        end
        at = at + b.drawn
        -- New blocks in a row, as of a session that is taken up, are written at once.
        while fresh and blocks[i + 1] and not blocks[i + 1].drawn do
          i = i + 1
          vim.list_extend(lines, transcript.draw(blocks[i], 1))
          began(blocks[i], at)
          at = at + blocks[i].drawn
        end
        drawn = drawn + #lines - (last - first)
        if counted[#counted] ~= blocks[i] then
          starts = nil -- those below begin elsewhere now
        end
        api.nvim_buf_set_lines(buf, first, last, false, lines)
      else
        at = at + (b.drawn or 0)
      end
      i = i + 1
    end
    t.changed = {}
  end)
  countdown()
end

--- Brings what has changed in the shown transcript into the buffer, in a moment.
function M.later()
  if not M.valid() then
    return
  end
  timer = timer or vim.uv.new_timer()
  if not timer:is_active() then
    timer:start(gather, 0, vim.schedule_wrap(M.flush))
  end
end

--- Shows another session; what is typed stays.
---@param id string
function M.show(id)
  M.flush()
  local input = M.input()
  local before = transcripts['']
  session = id
  local t = M.transcript()
  if id ~= '' and #before.blocks > 0 then
    transcripts[''] = transcript.new()
    for i, b in ipairs(before.blocks) do
      table.insert(t.blocks, i, b)
    end
  end
  if M.valid() then
    M.redraw(input)
    countdown()
    M.on_prompt()
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
    end
  end
end

local function count()
  if not starts then
    starts, counted = {}, {}
    local at = 0
    for _, b in ipairs(M.transcript().blocks) do
      if b.drawn then
        starts[#starts + 1], counted[#counted + 1] = at, b
        at = at + b.drawn
      end
    end
  end
  return starts
end

--- The 0-based line that a drawn block begins in.
---@param block redline.Block
---@return integer
function M.start_of(block)
  for i, at in ipairs(count()) do
    if counted[i] == block then
      return at
    end
  end
  return 0
end

--- The block that a line is of; nil below the transcript.
---@param lnum integer 1-based
---@return redline.Block?
---@return integer? line in the block, from 1; one more than it has: the blank line after it
function M.block_at(lnum)
  if lnum > drawn then
    return
  end
  local list = count()
  local low, high = 1, #list
  while low < high do
    local mid = math.ceil((low + high) / 2)
    if list[mid] < lnum then
      low = mid
    else
      high = mid - 1
    end
  end
  if list[low] then
    return counted[low], lnum - list[low]
  end
end

-- The transcript is put back when a command changes it, and what was typed is kept.
local function mend(_, _, _, first, last, new_last)
  if writing then
    return
  end
  local input = M.input_start()
  if first >= input then
    vim.schedule(function()
      if M.valid() and api.nvim_buf_line_count(buf) <= M.input_start() then
        write(function()
          api.nvim_buf_set_lines(buf, -1, -1, false, { '' })
        end)
      end
      M.on_prompt()
    end)
    return
  end
  local from = last <= input and input + new_last - last or new_last
  vim.schedule(function()
    if M.valid() then
      M.redraw(api.nvim_buf_get_lines(buf, from, -1, false))
      M.on_prompt()
    end
  end)
end

--- Makes the buffer.
---@return integer
function M.create()
  local old = vim.fn.bufnr('^redline://chat$') -- unloaded by :bdelete
  if old > 0 then
    api.nvim_buf_delete(old, { force = true })
  end
  buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(buf, 'redline://chat')
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].swapfile = false
  -- What others do for Markdown may fail, as where its parser is missing; the chat is there
  -- all the same.
  api.nvim_buf_call(buf, function()
    vim.cmd('silent! setlocal filetype=markdown')
  end)
  -- Neovim 0.12 starts tree-sitter for Markdown, which takes a tenth of a second for each
  -- piece of an answer when the chat has some thousand lines. The old highlighting does not.
  pcall(vim.treesitter.stop, buf)
  vim.bo[buf].syntax = 'markdown'
  M.redraw()
  api.nvim_buf_attach(buf, false, { on_lines = mend })
  return buf
end

return M
