--- What may follow an `@` or a `/` in a prompt, and what a prompt's mentions stand for.
local client = require('redline.client')

local M = {}

local api = vim.api

-- So many names are offered at once.
local most = 200
-- Paths are listed anew after so many milliseconds.
local fresh = 5000

local listed = { root = '', at = 0, paths = {} }

local function root()
  return client.root() or require('redline.config').root()
end

--- The files of the workspace, relative: what git knows and does not ignore, else what
--- is there down to some depth.
---@return string[]
function M.files()
  local dir, now = root(), vim.uv.now()
  if listed.root == dir and listed.at > 0 and now - listed.at < fresh then
    return listed.paths
  end
  local ok, out = pcall(function()
    return vim.system({ 'git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard' }, { cwd = dir, timeout = 1000 }):wait()
  end)
  local paths = {}
  if ok and out.code == 0 then
    paths = vim.split(out.stdout, '\0', { trimempty = true })
  else
    for name, kind in vim.fs.dir(dir, {
      depth = 6,
      skip = function(d)
        return not (vim.startswith(vim.fs.basename(d), '.') or vim.fs.basename(d) == 'node_modules')
      end,
    }) do
      if kind == 'file' then
        paths[#paths + 1] = name
      end
      if #paths >= 20000 then
        break
      end
    end
  end
  listed = { root = dir, at = now, paths = paths }
  return paths
end

-- Sends a request and gives Neovim a moment for the answer: completion cannot wait long.
local function at_once(method, params, ms)
  if not client.get() then
    return
  end
  local done, result
  client.request(method, params, function(_, r)
    done, result = true, r
  end)
  vim.wait(ms, function()
    return done
  end, 5)
  return result
end

local commands = {}

--- The server's slash commands, as it knows them now.
---@return {name: string, description?: string, args?: table[]}[]
function M.commands()
  local got = at_once('agent/command/list', {}, 500)
  commands = got and got.commands or commands
  return commands
end

--- The names that match what was typed, best first; those that begin with it count most.
---@param typed string
---@param names string[]
---@return string[]
local function matching(typed, names)
  if typed == '' then
    return vim.list_slice(names, 1, most)
  end
  local first, rest, seen = {}, {}, {}
  for _, n in ipairs(names) do
    if vim.startswith(n, typed) then
      first[#first + 1], seen[n] = n, true
    end
  end
  table.sort(first)
  for _, n in ipairs(vim.fn.matchfuzzy(names, typed)) do
    if not seen[n] then
      rest[#rest + 1] = n
    end
  end
  return vim.list_slice(vim.list_extend(first, rest), 1, most)
end

-- Folders on the way to the files, which can be named too.
local function folders(paths)
  local seen, out = {}, {}
  for _, p in ipairs(paths) do
    local dir = p:match('^(.*/)')
    while dir and not seen[dir] do
      seen[dir] = true
      out[#out + 1] = dir
      dir = dir:sub(1, -2):match('^(.*/)')
    end
  end
  return out
end

--- What may follow an `@`.
---@param lead string with the `@`
---@return table[] complete-items
function M.mentions(lead)
  local typed = lead:sub(2)
  local out = {}
  local name = typed:match('^symbol:(.*)')
  if name then
    for _, s in ipairs(require('redline.symbols').list(name)) do
      out[#out + 1] = { word = '@symbol:' .. s.name, menu = ('%s %s:%d'):format(s.kind, s.path, s.range.start.line + 1), kind = 's' }
    end
    return vim.list_slice(out, 1, most)
  end
  local words = require('redline.context').words
  local named = vim.tbl_keys(words)
  table.sort(named)
  for _, w in ipairs(named) do
    if vim.startswith(w, typed) then
      out[#out + 1] = { word = '@' .. w, menu = words[w].what, kind = 'w' }
    end
  end
  if typed ~= '' and vim.startswith('symbol:', typed) then
    out[#out + 1] = { word = '@symbol:', menu = 'a symbol that the language server knows', kind = 's' }
  end
  local files = M.files()
  local paths = vim.list_extend(folders(files), files)
  for _, p in ipairs(matching(typed, paths)) do
    out[#out + 1] = { word = '@' .. p:gsub(' ', '\\ '), menu = vim.endswith(p, '/') and 'folder' or 'file', kind = 'f' }
  end
  return out
end

--- What may follow a `/` at the beginning of a prompt.
---@param lead string with the `/`
---@return table[] complete-items
function M.slashes(lead)
  local out = {}
  for _, c in ipairs(M.commands()) do
    if vim.startswith('/' .. c.name, lead) then
      local args = vim.tbl_map(function(a)
        return a.required and a.name or '[' .. a.name .. ']'
      end, c.args or {})
      out[#out + 1] = { word = '/' .. c.name, menu = vim.trim(table.concat(args, ' ') .. ' ' .. (c.description or '')), kind = '/' }
    end
  end
  return out
end

-- The names of an MCP prompt's arguments.
local function arguments(command, lead)
  local out = {}
  for _, c in ipairs(M.commands()) do
    for _, a in ipairs(c.name == command and c.args or {}) do
      local word = '--' .. a.name .. '='
      if vim.startswith(word, lead) then
        out[#out + 1] = { word = word, menu = a.description or '', kind = 'a' }
      end
    end
  end
  return out
end

--- Completes in the chat, for 'completefunc' and 'omnifunc'.
function M.func(findstart, base)
  local pos = api.nvim_win_get_cursor(0)
  local line = api.nvim_get_current_line()
  local input = require('redline.page').input_start()
  if findstart == 1 then
    local before = line:sub(1, pos[2])
    local at = before:match('^.*%s()@%S*$') or before:match('^()@%S*$')
    if at then
      return at - 1
    end
    if pos[1] == input + 1 then
      if before:match('^/%S*$') then
        return 0
      end
      at = before:match('^/%S+%s.*()%-%-[%w_-]*$')
      if at then
        return at - 1
      end
    end
    return -3
  end
  if base:sub(1, 1) == '@' then
    return M.mentions(base)
  elseif base:sub(1, 1) == '/' then
    return M.slashes(base)
  end
  return arguments(line:match('^/(%S+)') or '', base)
end

--- The names of the models the server offers, and what stands for one.
---@return string[]
function M.models()
  local got = at_once('agent/model/list', {}, 500)
  local out = vim.tbl_keys(got and got.aliases or {})
  for _, m in ipairs(got and got.models or {}) do
    out[#out + 1] = m.name
  end
  return out
end

--- The words alone, for completion of the command line.
---@param lead string
---@return string[]
function M.words(lead)
  local items = lead:sub(1, 1) == '/' and M.slashes(lead) or M.mentions(lead)
  return vim.tbl_map(function(i)
    return i.word
  end, items)
end

return M
