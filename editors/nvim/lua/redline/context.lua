--- What a prompt is about: selections, diagnostics, the quickfix list, files.
local M = {}

local api = vim.api

local function relative(path)
  return vim.fn.fnamemodify(path, ':~:.')
end

local function uri_of(buf)
  return vim.uri_from_bufnr(buf)
end

local severities = { 'error', 'warning', 'info', 'hint' }

---@param list vim.Diagnostic[]
---@return string
local function words(list)
  table.sort(list, function(a, b)
    return a.lnum < b.lnum
  end)
  local out = {}
  for _, d in ipairs(list) do
    local source = d.source and ' [' .. d.source .. ']' or ''
    out[#out + 1] = ('line %d: %s%s: %s'):format(d.lnum + 1, severities[d.severity] or 'info', source, d.message)
  end
  return table.concat(out, '\n')
end

--- Whole lines of a buffer, with what is wrong in them.
---@param buf integer
---@param first integer 1-based
---@param last integer 1-based, inclusive
---@return table[]
function M.lines(buf, first, last)
  local text = table.concat(api.nvim_buf_get_lines(buf, first - 1, last, false), '\n') .. '\n'
  local items = {
    {
      kind = 'selection',
      uri = uri_of(buf),
      range = { start = { line = first - 1, character = 0 }, ['end'] = { line = last, character = 0 } },
      text = text,
    },
  }
  local found = vim.tbl_filter(function(d)
    return d.lnum >= first - 1 and d.lnum < last and d.source ~= 'redline'
  end, vim.diagnostic.get(buf))
  if #found > 0 then
    items[#items + 1] = { kind = 'diagnostics', uri = uri_of(buf), text = words(found) }
  end
  return items
end

--- A buffer's diagnostics, or nil when there are none.
---@param buf integer
---@return table?
function M.diagnostics(buf)
  local found = vim.diagnostic.get(buf)
  if #found > 0 then
    return { kind = 'diagnostics', uri = uri_of(buf), text = words(found) }
  end
end

---@return table?
local function quickfix()
  local out = {}
  for _, q in ipairs(vim.fn.getqflist()) do
    if q.valid == 1 then
      out[#out + 1] = ('%s:%d: %s'):format(relative(api.nvim_buf_get_name(q.bufnr)), q.lnum, q.text)
    elseif q.text ~= '' then
      out[#out + 1] = q.text
    end
  end
  if #out > 0 then
    return { kind = 'text', uri = 'quickfix', text = table.concat(out, '\n') }
  end
end

--- The file buffer that the user was in last.
---@return integer?
function M.last_file()
  local best, time = nil, -1
  for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
    if vim.bo[info.bufnr].buftype == '' and info.name ~= '' and info.lastused > time then
      best, time = info.bufnr, info.lastused
    end
  end
  return best
end

local function visual(buf)
  local first, last = api.nvim_buf_get_mark(buf, '<')[1], api.nvim_buf_get_mark(buf, '>')[1]
  if first > 0 and last >= first then
    return M.lines(buf, first, math.min(last, api.nvim_buf_line_count(buf)))[1]
  end
end

-- The words after `@` in a prompt, beside the names of files: what each brings, and
-- what it is called in a menu.
M.words = {
  buffer = {
    what = 'the file you were in last',
    get = function(buf)
      return buf and { kind = 'file', uri = uri_of(buf) }
    end,
  },
  selection = {
    what = 'the lines last selected there',
    get = function(buf)
      return buf and visual(buf)
    end,
  },
  diagnostics = {
    what = 'its diagnostics',
    get = function(buf)
      return buf and M.diagnostics(buf)
    end,
  },
  quickfix = { what = 'the quickfix list', get = quickfix },
}

-- Paths of the workspace are read by the server. An image from elsewhere, which it
-- may not read, is handed over.
local function image(name)
  local path = vim.fs.normalize(name)
  local images = require('redline.images')
  if vim.startswith(path, '/') and images.is(path) and vim.uv.fs_stat(path) then
    return (images.item(path))
  end
end

--- The context item that a word after `@` stands for; nil when it stands for nothing.
---@param name string without the `@`
---@return table?
function M.item(name)
  local symbol = name:match('^symbol:(.+)')
  if symbol then
    return require('redline.symbols').named(symbol)
  elseif M.words[name] then
    return M.words[name].get(M.last_file())
  end
  return image(name)
end

--- Context items for each `@word` of a prompt. What `@path` names the server reads.
---@param text string
---@return table[]
function M.mentioned(text)
  local out, seen = {}, {}
  for mention in (' ' .. text):gmatch('%s@(%S+)') do
    local name = mention:gsub('[.,;:!?)]+$', '')
    local item = M.item(name)
    if item and not seen[name] then
      seen[name] = true
      out[#out + 1] = item
    end
  end
  return out
end

--- Items as text, for a turn that runs: what is said to it has no context of its own.
--- nil when one of them is not text.
---@param items table[]
---@return string?
function M.as_text(items)
  local out = {}
  for _, item in ipairs(items) do
    if item.kind == 'image' then
      return
    end
    out[#out + 1] = '[' .. M.label(item) .. ']'
    if item.text then
      local fence = '```'
      while item.text:find(fence, 1, true) do
        fence = fence .. '`'
      end
      out[#out + 1] = fence .. '\n' .. item.text:gsub('\n$', '') .. '\n' .. fence
    end
  end
  return table.concat(out, '\n')
end

--- A short name of an item, for the user.
---@param item table
---@return string
function M.label(item)
  local where = item.uri and (item.uri:match('^file:') and relative(vim.uri_to_fname(item.uri)) or item.uri) or ''
  if item.range then
    where = ('%s:%d-%d'):format(where, item.range.start.line + 1, item.range['end'].line)
  end
  if item.name then
    where = item.name .. ' ' .. where
  end
  return vim.trim(item.kind .. ' ' .. where)
end

return M
