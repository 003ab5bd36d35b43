--- Code blocks of the chat: yank, insert, or have one reviewed as a change.
local places = require('redline.places')

local M = {}

local api = vim.api

---@class redline.CodeBlock
---@field lines string[]
---@field language string
---@field path? string the file it says it is of

local note = require('redline.say').note

-- The file that the line of the fence, or the one above, names.
local function named(info, above)
  local path = info:match('title="?([^"%s]+)"?') or info:match('^%S*:(%S+)$') or info:match('^%S+%s+([^%s{=]+)$')
  if path then
    return (places.at(path, 0)) or path
  end
  local text = vim.trim(above or ''):match('^[*#%s]*`?([%w_./%-]+%.[%w]+)`?[*:%s]*$')
  return text and (places.at(text, 0)) or nil
end

--- All code blocks of some lines, with the lines they are between (1-based, fences
--- included).
---@param lines string[]
---@return {first: integer, last: integer, block: redline.CodeBlock}[]
function M.find(lines)
  local out, open = {}, nil
  for i, line in ipairs(lines) do
    local indent, fence, info = line:match('^(%s*)(```+)%s*(.-)%s*$')
    if not fence then
      indent, fence, info = line:match('^(%s*)(~~~+)%s*(.-)%s*$')
    end
    if open and fence and info == '' and fence:sub(1, 1) == open.fence:sub(1, 1) and #fence >= #open.fence then
      local body = {}
      for j = open.first + 1, i - 1 do
        body[#body + 1] = vim.startswith(lines[j], open.indent) and lines[j]:sub(#open.indent + 1) or lines[j]
      end
      local above = lines[open.first - 1] ~= '' and lines[open.first - 1] or lines[open.first - 2]
      out[#out + 1] = {
        first = open.first,
        last = i,
        block = { lines = body, language = open.info:match('^[^%s:]*') or '', path = named(open.info, above) },
      }
      open = nil
    elseif not open and fence then
      open = { first = i, fence = fence, indent = indent, info = info }
    end
  end
  return out
end

--- The block at the cursor of the chat, or the last one above it; outside of the chat,
--- its last one.
---@return redline.CodeBlock?
local function chosen()
  local page = require('redline.page')
  local buf = page.buffer()
  if not buf then
    return
  end
  page.flush()
  local line = api.nvim_get_current_buf() == buf and api.nvim_win_get_cursor(0)[1] or math.huge
  local best
  for _, c in ipairs(M.find(api.nvim_buf_get_lines(buf, 0, page.input_start(), false))) do
    if c.first <= line then
      best = c.block
    end
  end
  return best
end

local function with_block(fn)
  return function()
    local block = chosen()
    if not block then
      return note('there is no code block here', vim.log.levels.WARN)
    end
    return fn(block)
  end
end

--- Puts the block into the register that was named before, or the unnamed one.
M.yank = with_block(function(block)
  vim.fn.setreg(vim.v.register, block.lines, 'l')
  note(('%d %s yanked'):format(#block.lines, #block.lines == 1 and 'line' or 'lines'))
end)

--- Inserts the block below the cursor of the window for files, as one undo step.
M.insert = with_block(function(block)
  local win = places.window()
  local buf = api.nvim_win_get_buf(win)
  if not vim.bo[buf].modifiable then
    return note('the file cannot be changed', vim.log.levels.ERROR)
  end
  local row = api.nvim_win_get_cursor(win)[1]
  local empty = api.nvim_buf_line_count(buf) == 1 and api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ''
  api.nvim_buf_set_lines(buf, empty and 0 or row, empty and 1 or row, false, block.lines)
  api.nvim_set_current_win(win)
  api.nvim_win_set_cursor(win, { empty and 1 or row + 1, 0 })
end)

-- The file a block is for: the one it names, else the one of the window for files.
-- The server is told of it as it is here.
local function target(block)
  local path = block.path
  if path and not vim.startswith(path, '/') then
    path = (require('redline.client').root() or require('redline.config').root()) .. '/' .. path
  end
  if path and not vim.uv.fs_stat(path) and vim.fn.bufloaded(path) == 0 then
    return { uri = vim.uri_from_fname(path) }
  end
  local buf = path and vim.fn.bufadd(path) or api.nvim_win_get_buf(places.window())
  if api.nvim_buf_get_name(buf) == '' then
    return
  end
  require('redline.load').buffer(buf)
  vim.bo[buf].buflisted = true
  require('redline.client').attach(buf)
  return { uri = vim.uri_from_bufnr(buf), buf = buf }
end

local function propose(s, file, fn)
  local params = { sessionId = s.id, title = 'From the chat', files = { file } }
  require('redline.client').request('agent/proposal/new', params, fn)
end

-- The block below the cursor of the window for files, for want of a better place.
local function below_cursor(s, at, text)
  local win = places.window()
  if at.buf ~= api.nvim_win_get_buf(win) then
    return note(
      ('it is not clear which lines of %s it replaces; go to the place, and try again'):format(
        vim.fn.fnamemodify(vim.uri_to_fname(at.uri), ':~:.')
      ),
      vim.log.levels.WARN
    )
  end
  local row = api.nvim_win_get_cursor(win)[1]
  local place = { line = row, character = 0 }
  propose(s, { uri = at.uri, edits = { { range = { start = place, ['end'] = place }, newText = text } } }, function(err)
    if err then
      return note(err.message, vim.log.levels.ERROR)
    end
    note('it does not say which lines it replaces, so it is proposed below the cursor')
  end)
end

--- Has the block reviewed like a change of the agent's: it makes the file it names, or
--- replaces the lines it is a version of; the server finds these. What fits nowhere goes
--- below the cursor.
M.apply = with_block(function(block)
  require('redline.session').ready(function(s)
    if not s then
      return
    end
    local at = target(block)
    if not at then
      return note('open the file that it is for first', vim.log.levels.WARN)
    end
    local text = table.concat(block.lines, '\n') .. '\n'
    propose(s, { uri = at.uri, newText = text, fit = at.buf ~= nil }, function(err)
      if err and at.buf and type(err.data) == 'table' and err.data.kind == 'noFit' then
        below_cursor(s, at, text)
      elseif err then
        note(err.message, vim.log.levels.ERROR)
      end
    end)
  end)
end)

return M
