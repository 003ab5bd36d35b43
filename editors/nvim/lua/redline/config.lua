--- The user's settings.
local M = {}

---@class redline.Config
M.defaults = {
  --- The server's program and arguments.
  cmd = { 'redline', 'serve' },
  --- More environment for the server, such as GEMINI_API_KEY.
  env = {},
  --- The folder the agent works in; a path, or a function that returns one. By
  --- default the repository of the current directory, or else that directory.
  root = nil,
  --- The mode of new sessions: default, autoEdit, plan or yolo. nil: the server's.
  mode = nil,
  --- The model of new sessions. nil: the server's.
  model = nil,
  --- Write buffers after accepted changes, if they were unmodified before.
  save = false,
  --- How the chat opens: a |:vertical|-style command before the split.
  chat = { split = 'botright vertical', width = 0.4 },
  --- Maps that are there while there are hunks to decide: next and prev everywhere,
  --- the others in buffers with hunks. Maps the user has stay; false switches one off.
  keys = {
    next = ']r',
    prev = '[r',
    accept = '<LocalLeader>ra',
    reject = '<LocalLeader>rr',
    amend = '<LocalLeader>re',
    diff = '<LocalLeader>rd',
  },
  --- Signs of hunks in the sign column; empty strings switch them off.
  signs = { add = '┃', change = '┃', delete = '┃', conflict = '!', applied = '▎' },
}

local current

-- Where `go install` and the like put programs, which is not always on the PATH.
local function installed(program)
  local home = vim.env.HOME or ''
  local gopath = vim.split(vim.env.GOPATH or home .. '/go', ':')[1]
  for _, dir in ipairs({ vim.env.GOBIN or '', gopath .. '/bin', home .. '/.local/bin' }) do
    if vim.startswith(dir, '/') and vim.fn.executable(dir .. '/' .. program) == 1 then
      return dir .. '/' .. program
    end
  end
end

-- The default program is looked for beside the PATH too; one that the user names is not
-- replaced by another.
local function located(conf)
  if vim.deep_equal(conf.cmd, M.defaults.cmd) and vim.fn.executable('redline') == 0 then
    conf.cmd = { installed('redline') or 'redline', 'serve' }
  end
  return conf
end

---@return redline.Config
function M.get()
  if not current then
    -- vim.g.redline serves those who set variables rather than call setup().
    current = vim.tbl_deep_extend('force', M.defaults, vim.g.redline or {})
  end
  return located(current)
end

local function check(name, value, want)
  local t = type(value)
  for _, w in ipairs(want) do
    if t == w then
      return
    end
  end
  error(('redline: setting %s must be a %s, not %s'):format(name, table.concat(want, ' or '), t), 0)
end

---@param opts table
function M.set(opts)
  local types = {
    cmd = { 'table' },
    env = { 'table' },
    root = { 'string', 'function' },
    mode = { 'string' },
    model = { 'string' },
    save = { 'boolean' },
    chat = { 'table' },
    keys = { 'table' },
    signs = { 'table' },
  }
  for k, v in pairs(opts) do
    if not types[k] then
      error(('redline: there is no setting %q'):format(k), 0)
    end
    check(k, v, types[k])
  end
  local base = vim.tbl_deep_extend('force', M.defaults, vim.g.redline or {})
  current = vim.tbl_deep_extend('force', base, opts)
end

---@return string an absolute path
function M.root()
  local root = M.get().root
  if type(root) == 'function' then
    root = root()
  end
  local cwd = vim.fn.getcwd()
  root = root or vim.fs.root(cwd, { '.git', '.hg', '.jj' }) or cwd
  -- Real names, so that the server's folder and the buffers' names agree.
  return vim.uv.fs_realpath(vim.fs.normalize(root)) or vim.fs.normalize(root)
end

return M
