--- Places that the chat names, and the windows that show them.
local M = {}

local api = vim.api

local function root()
  return require('redline.client').root() or require('redline.config').root()
end

--- A window for files: the one used last that shows one, else a new one.
---@return integer
function M.window()
  local best, time = nil, -1
  local candidates = { vim.fn.win_getid(vim.fn.winnr('#')) }
  vim.list_extend(candidates, api.nvim_tabpage_list_wins(0))
  for i, win in ipairs(candidates) do
    if win > 0 and api.nvim_win_is_valid(win) and api.nvim_win_get_config(win).relative == '' then
      local buf = api.nvim_win_get_buf(win)
      if vim.bo[buf].buftype == '' and not vim.wo[win].winfixbuf then
        local used = i == 1 and math.huge or vim.fn.getbufinfo(buf)[1].lastused
        if used > time then
          best, time = win, used
        end
      end
    end
  end
  if best then
    return best
  end
  local here = api.nvim_get_current_win()
  vim.cmd('leftabove vnew')
  local win = api.nvim_get_current_win()
  api.nvim_set_current_win(here)
  return win
end

--- Goes to a place in a file, in a window for files.
---@param path string
---@param line? integer 1-based
function M.go(path, line)
  api.nvim_set_current_win(M.window())
  if vim.fn.bufnr(path) ~= api.nvim_get_current_buf() then
    vim.cmd("normal! m'")
    local buf = vim.fn.bufadd(path)
    vim.bo[buf].buflisted = true
    local ok, err = pcall(api.nvim_set_current_buf, buf)
    if not ok then
      return vim.notify('Redline: ' .. tostring(err), vim.log.levels.ERROR)
    end
  end
  if line then
    pcall(api.nvim_win_set_cursor, 0, { line, 0 })
    vim.cmd('normal! zvzz')
  end
end

-- The file that text names, if there is one, and the line in it.
local function resolve(text)
  text = vim.trim(text):gsub('^file://', '')
  local tries = {}
  local path, line = text:match('^(.-):(%d+)')
  tries[#tries + 1] = path and { path, line }
  path, line = text:match('^(.-)#L(%d+)')
  tries[#tries + 1] = path and { path, line }
  tries[#tries + 1] = { text }
  for _, try in ipairs(tries) do
    local name = vim.fs.normalize(try[1])
    if name ~= '' then
      local full = vim.startswith(name, '/') and name or root() .. '/' .. name
      local stat = vim.uv.fs_stat(full)
      if (stat and stat.type == 'file') or vim.fn.bufloaded(full) == 1 then
        return full, tonumber(try[2])
      end
    end
  end
end

--- The place that a line names at or near a column: a path with or without a line
--- number, a Markdown link, or a word in backquotes.
---@param line string
---@param col integer 0-based byte
---@return string? path
---@return integer? line 1-based
function M.at(line, col)
  local found = {}
  local function collect(pattern)
    local from = 1
    while true do
      local first, last, text = line:find(pattern, from)
      if not first then
        return
      end
      if col >= first - 1 and col < last then
        found[#found + 1] = text
      end
      from = last + 1
    end
  end
  collect('%[[^%]]*%]%((<?[^)]*>?)%)')
  collect('`([^`]+)`')
  collect('([^%s`"\'()<>%[%],;]+)')
  for _, text in ipairs(found) do
    local path, l = resolve((text:gsub('^[<@]', ''):gsub('[>.,:;]+$', '')))
    if path then
      return path, l
    end
  end
end

--- Goes to the place under the cursor of the chat, or to what the tool call there is
--- about. Reports whether there was one.
---@return boolean
function M.follow()
  local pos = api.nvim_win_get_cursor(0)
  local line = api.nvim_get_current_line()
  local path, l = M.at(line, pos[2])
  if not path then
    local url = line:sub(1, pos[2] + 1):match('%S*$') .. line:sub(pos[2] + 2):match('^%S*')
    url = url:match('https?://[^%s)>%]]+')
    if url then
      vim.ui.open(url)
      return true
    end
    local block, n = require('redline.page').block_at(pos[1])
    local at = block and n == 1 and block.places and block.places[1]
    if not at then
      return false
    end
    path, l = at.path, at.line
  end
  M.go(path, l)
  return true
end

return M
