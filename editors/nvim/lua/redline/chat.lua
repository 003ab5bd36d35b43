--- The chat as the user sees it: its windows, its keys, and what goes with the prompt.
--- What is in the buffer is the page's business.
local config = require('redline.config')
local page = require('redline.page')

local M = {}

local api = vim.api
local ns = api.nvim_create_namespace('redline.chat')

-- Context items that go with the next prompt.
local items = {}

local function session()
  return require('redline.session')
end

-- Says around the prompt what one can do there, what goes with it, and what waits.
local function hint()
  local buf = page.buffer()
  if not buf then
    return
  end
  api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  local at = page.input_start()
  if at >= api.nvim_buf_line_count(buf) then
    return
  end
  local input = page.input()
  local opts, above = {}, {}
  local s = session().current
  if #input == 1 and input[1] == '' then
    local running = s and s.running
    local text = running and 'Say more; <C-c> stops the turn, g? helps' or 'Ask here; <CR> sends, @ adds files, g? helps'
    opts.virt_text = { { text, 'NonText' } }
    opts.virt_text_pos = 'overlay'
  end
  local question = require('redline.questions').waiting()
  if question then
    above[#above + 1] = { { '<Esc> to answer: ' .. question:gsub('%s+', ' '), 'WarningMsg' } }
  end
  if #items > 0 then
    local labels = vim.tbl_map(require('redline.context').label, items)
    above[#above + 1] = { { 'with ' .. table.concat(labels, ', '), 'NonText' } }
  end
  for _, text in ipairs(s and s.saying or {}) do
    above[#above + 1] = { { 'after this step: ' .. text:gsub('%s+', ' '), 'NonText' } }
  end
  for i, q in ipairs(s and s.queue or {}) do
    above[#above + 1] = { { ('queued %d: %s'):format(i, (q.text:gsub('%s+', ' '))), 'NonText' } }
  end
  if #above > 0 then
    opts.virt_lines = above
    opts.virt_lines_above = true
  end
  if next(opts) then
    api.nvim_buf_set_extmark(buf, ns, at, 0, opts)
  end
end
page.on_prompt = hint

--- Brings the window bar up to date, and what stands around the prompt.
function M.title()
  local buf = page.buffer()
  if not buf then
    return
  end
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local bar = require('redline.bar').text(api.nvim_win_get_width(win)):gsub('%%', '%%%%')
    if vim.wo[win].winbar ~= bar then
      vim.wo[win][0].winbar = bar
    end
  end
  hint()
end

local shown_at_once = { ['turn/started'] = true, ['turn/ended'] = true }
local in_title = { ['usage/updated'] = true, ['plan/updated'] = true, ['model/changed'] = true, ['message/user'] = true }

--- Takes an event of a session.
---@param s redline.Session
---@param ev table
---@param turn? string
function M.event(s, ev, turn)
  if page.shown() == '' then
    page.show(s.id)
  end
  page.transcript(s.id):event(ev, turn)
  if not page.valid() or s.id ~= page.shown() then
    return
  end
  if shown_at_once[ev.type] and not s.replaying then
    page.flush()
  else
    page.later()
  end
  if shown_at_once[ev.type] or in_title[ev.type] then
    M.title()
  end
end

--- Says something in the shown transcript.
---@param level string
---@param text string
function M.notice(level, text)
  page.transcript():notice(level, text)
  page.flush()
end

--- Shows another session in the chat; what is typed stays.
---@param s redline.Session
function M.show_session(s)
  if page.shown() ~= s.id then
    page.show(s.id)
  end
  M.title()
end

--- Lets more go with the next prompt.
---@param more table[]
function M.add(more)
  vim.list_extend(items, more)
  hint()
end

--- Forgets what would go with the next prompt.
function M.drop()
  items = {}
  hint()
end

--- Gives back a prompt that could not be sent, unless another is being typed.
---@param text string
---@param with? table[]
function M.give_back(text, with)
  if not page.valid() then
    M.create()
  end
  if vim.trim(table.concat(page.input(), '\n')) ~= '' then
    return
  end
  page.set_input(vim.split(text, '\n', { plain = true }))
  items = vim.list_extend({}, with or {})
  hint()
end

--- Sends what is typed.
---@param how? 'queue' when the turn that runs has ended
function M.send(how)
  local text = vim.trim(table.concat(page.input(), '\n'))
  if text == '' then
    return
  end
  local with = items
  items = {}
  page.set_input({ '' })
  local win = vim.fn.bufwinid(page.buffer())
  if win > 0 then
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(page.buffer()), 0 })
  end
  session().prompt(text, vim.list_extend(with, require('redline.context').mentioned(text)), how)
end

-- Who starts to type in the transcript types in the prompt.
local function to_prompt()
  if api.nvim_win_get_cursor(0)[1] <= page.input_start() then
    local last = api.nvim_buf_line_count(0)
    api.nvim_win_set_cursor(0, { last, #vim.fn.getline(last) })
    vim.v.char = 'moved' -- else Neovim puts the cursor back
  end
end

local folds = { thought = true, tool = true }

--- The fold level of a line, for 'foldexpr'.
function M.foldexpr()
  local block, n = page.block_at(vim.v.lnum)
  if not block or not folds[block.kind] or #block.lines == 1 or n > #block.lines then
    return '0'
  end
  return n == 1 and '>1' or '1'
end

local function plain(line)
  return (line:gsub('^> ?', ''):gsub('%*', ''))
end

--- The text of a closed fold, for 'foldtext': a running call shows its last line.
function M.foldtext()
  local first = plain(vim.fn.getline(vim.v.foldstart))
  if first == 'Thought: ' then
    first = first .. plain(vim.fn.getline(vim.v.foldstart + 1))
  end
  local block = page.block_at(vim.v.foldstart)
  local running = block and block.call and block.call.status == 'running'
  local more = vim.v.foldend - vim.v.foldstart
  local tail = ('  (%d more %s)'):format(more, more == 1 and 'line' or 'lines')
  if running then
    tail = ' │ ' .. plain(vim.fn.getline(vim.v.foldend))
  end
  local room = math.max(20, api.nvim_win_get_width(0) - vim.fn.strdisplaywidth(tail) - 3)
  if vim.fn.strdisplaywidth(first) > room then
    first = vim.fn.strcharpart(first, 0, room - 1) .. '…'
  end
  return '▸ ' .. first .. tail
end

local function window_options(win)
  local wo = vim.wo[win][0]
  wo.wrap, wo.linebreak, wo.number, wo.relativenumber = true, true, false, false
  wo.signcolumn, wo.spell, wo.list = 'no', false, false
  wo.foldmethod = 'expr'
  wo.foldexpr = "v:lua.require'redline.chat'.foldexpr()"
  wo.foldtext = "v:lua.require'redline.chat'.foldtext()"
  wo.fillchars = 'fold: '
  wo.foldlevel, wo.foldenable = 0, true
  wo.conceallevel = 2
end

local function enter()
  if api.nvim_win_get_cursor(0)[1] > page.input_start() then
    return M.send()
  end
  if vim.fn.foldclosedend('.') > vim.fn.foldclosed('.') then
    return vim.cmd('normal! zo')
  end
  if not require('redline.places').follow() and vim.fn.foldlevel('.') > 0 then
    vim.cmd('normal! zc')
  end
end

local function stop()
  local s = session().current
  if s and s.running then
    return session().cancel()
  end
  vim.cmd.stopinsert()
end

local function follow()
  if not require('redline.places').follow() then
    vim.notify('Redline: there is no file of that name', vim.log.levels.WARN)
  end
end

-- It is no expression: these are told before what was typed is in the buffer.
local function tab()
  local keys = '<Tab>'
  if vim.fn.pumvisible() == 1 then
    keys = '<C-n>'
  elseif require('redline.complete').func(1, '') >= 0 then
    keys = '<C-x><C-u>'
  end
  api.nvim_feedkeys(vim.keycode(keys), 'in', false)
end

-- The keys of the chat: modes, key, what it does, and the words for it.
local function keys()
  local code = require('redline.code')
  return {
    { 'n', '<CR>', enter, 'send the prompt; open a fold; go to the place under the cursor' },
    { 'i', '<C-s>', M.send, 'send the prompt; to the turn that runs, if one does' },
    {
      { 'n', 'i' },
      '<M-CR>',
      function()
        M.send('queue')
      end,
      'queue the prompt until the turn has ended',
    },
    { { 'n', 'i' }, '<C-c>', stop, 'stop the turn' },
    { 'i', '<Tab>', tab, 'complete what follows an @, or a / at the start' },
    { 'n', 'gf', follow, 'go to the file under the cursor' },
    { 'n', '<LocalLeader>y', code.yank, 'yank the code block' },
    { 'n', '<LocalLeader>i', code.insert, 'insert the code block below the cursor of the file' },
    { 'n', '<LocalLeader>a', code.apply, 'review the code block as a change of the file' },
    { 'n', 'q', '<Cmd>close<CR>', 'close the chat' },
    { 'n', 'g?', M.help, 'show these keys' },
  }
end

--- Shows the keys of the chat.
function M.help()
  local out = {}
  for _, k in ipairs(keys()) do
    local modes = type(k[1]) == 'table' and table.concat(k[1], ',') or k[1]
    out[#out + 1] = { ('  %-5s %-16s %s\n'):format(modes, k[2], k[4]) }
  end
  out[#out + 1] = { ('  %-5s %-16s %s'):format('n', 'zo zc zR zM', 'open and close thoughts and tool calls') }
  api.nvim_echo(out, false, {})
end

--- Makes the buffer and its keys.
---@return integer
function M.create()
  local buf = page.create()
  vim.bo[buf].completefunc = "v:lua.require'redline.complete'.func"
  vim.bo[buf].omnifunc = "v:lua.require'redline.complete'.func"
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
  api.nvim_create_autocmd({ 'WinResized', 'VimResized' }, { group = group, callback = M.title })
  for _, k in ipairs(keys()) do
    vim.keymap.set(k[1], k[2], k[3], { buffer = buf, desc = 'Redline: ' .. k[4] })
  end
  require('redline.images').watch_paste()
  return buf
end

--- Opens the chat and goes to the prompt; closes it when it is the current window
--- and toggle is set.
---@param opts? {items?: table[], toggle?: boolean}
function M.open(opts)
  opts = opts or {}
  vim.list_extend(items, opts.items or {})
  local buf = page.buffer() or M.create()
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
  page.flush()
  api.nvim_win_set_cursor(0, { api.nvim_buf_line_count(buf), 0 })
  hint()
end

--- The chat's buffer, if there is one.
---@return integer?
function M.buffer()
  return page.buffer()
end

return M
