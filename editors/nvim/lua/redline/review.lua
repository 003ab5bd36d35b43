--- Proposals under review and the decisions on them.
local client = require('redline.client')

local M = {}

-- The proposals with undecided hunks, by ID.
local open = {}

---@class redline.Hunk
---@field id string
---@field proposal table
---@field file table
---@field hunk table
---@field buf integer -1 when the file is not loaded
---@field line integer 0-based

local function undecided(h)
  return h.state == 'pending' or h.state == 'conflict'
end

---@param p table
local function is_open(p)
  return p.state == 'open' or p.state == 'applying'
end

local function loaded(uri)
  local path = vim.uri_to_fname(uri)
  local buf = vim.fn.bufnr('^' .. vim.fn.escape(path, '\\*?[]{},^$') .. '$')
  if buf > 0 and vim.api.nvim_buf_is_loaded(buf) then
    return buf
  end
  return -1
end

--- The undecided hunks in the order of files and lines.
---@param buf? integer only those of a buffer
---@return redline.Hunk[]
function M.hunks(buf)
  local out = {}
  local ids = vim.tbl_keys(open)
  table.sort(ids)
  for _, id in ipairs(ids) do
    local p = open[id]
    for _, f in ipairs(p.files) do
      local b = loaded(f.uri)
      if not buf or b == buf then
        local places = b > 0 and require('redline.marks').places(b) or {}
        for _, h in ipairs(f.hunks) do
          if undecided(h) then
            out[#out + 1] = {
              id = h.hunkId,
              proposal = p,
              file = f,
              hunk = h,
              buf = b,
              line = places[h.hunkId] or h.range.start.line,
            }
          end
        end
      end
    end
  end
  return out
end

--- How many hunks are undecided.
---@return integer
function M.count()
  local n = 0
  for _, p in pairs(open) do
    for _, f in ipairs(p.files) do
      for _, h in ipairs(f.hunks) do
        if undecided(h) then
          n = n + 1
        end
      end
    end
  end
  return n
end

---@return table<string, table>
function M.open()
  return open
end

local function show(p)
  for _, f in ipairs(p.files) do
    local b = loaded(f.uri)
    if b > 0 then
      require('redline.marks').refresh(b)
    end
  end
  require('redline.marks').navigation(M.count() > 0)
  require('redline.diffview').refresh()
  require('redline.quickfix').refresh()
end

local function announce(p)
  local hunks, files = 0, #p.files
  for _, f in ipairs(p.files) do
    hunks = hunks + #f.hunks
  end
  local words = ('Redline: %d hunk%s in %d file%s to review'):format(hunks, hunks == 1 and '' or 's', files, files == 1 and '' or 's')
  local key = require('redline.config').get().keys.next
  vim.notify(words .. (key and ' (' .. key .. ')' or ' (:Redline next)'))
end

--- Takes a proposal's newest state.
---@param p table
function M.update(p)
  local before = open[p.proposalId]
  if before and before.rev > p.rev then
    return
  end
  if is_open(p) then
    open[p.proposalId] = p
  else
    open[p.proposalId] = nil
  end
  show(p)
  if not before and p.state == 'open' then
    announce(p)
    vim.api.nvim_exec_autocmds('User', { pattern = 'RedlineProposal', data = { proposal = p }, modeline = false })
  end
end

--- Forgets everything; the server is gone.
function M.clear()
  local all = open
  open = {}
  for _, p in pairs(all) do
    show(p)
  end
end

--- The hunk at the cursor; else the only undecided one of the buffer.
---@return redline.Hunk?
function M.at_cursor()
  local buf = vim.api.nvim_get_current_buf()
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  local hunks = M.hunks(buf)
  local last = vim.api.nvim_buf_line_count(buf) - 1
  for _, h in ipairs(hunks) do
    local first, n = h.line, require('redline.marks').height(h.hunk)
    -- An insertion belongs to the lines around it.
    if line >= first and line < first + n then
      return h
    end
  end
  for _, h in ipairs(hunks) do
    if require('redline.marks').height(h.hunk) == 0 and (line == h.line or line == h.line - 1 or (line == last and h.line > last)) then
      return h
    end
  end
  if #hunks == 1 then
    return hunks[1]
  end
end

-- A decision was made on what the user saw. When the proposal moved on since, the
-- hunks' places did, mostly; the decision still stands if their texts are as seen.
local function same(seen, now, target)
  local texts = {}
  for _, f in ipairs(now.files) do
    for _, h in ipairs(f.hunks) do
      texts[h.hunkId] = h.oldText .. '\0' .. h.newText
    end
  end
  for _, f in ipairs(seen.files) do
    for _, h in ipairs(f.hunks) do
      local meant = target == 'all' or target.fileId == f.fileId or target.hunkId == h.hunkId
      if meant and undecided(h) and texts[h.hunkId] ~= h.oldText .. '\0' .. h.newText then
        return false
      end
    end
  end
  return true
end

local stale = -32801

--- Sends one decision.
---@param p table the proposal as the user saw it
---@param decision {target: table|string, decision: string, newText?: string, reason?: string}
---@param fn? fun(err?: table, p?: table)
function M.resolve(p, decision, fn)
  local tries = 0
  local function send(rev)
    tries = tries + 1
    client.request('agent/proposal/resolve', { proposalId = p.proposalId, rev = rev, decisions = { decision } }, function(err, now)
      if err and err.code == stale then
        local current = err.data and err.data.proposal
        if current and tries < 5 and is_open(current) and same(p, current, decision.target) then
          return send(current.rev)
        end
        if current then
          M.update(current)
        end
      end
      if err then
        vim.notify('Redline: ' .. err.message, vim.log.levels.WARN)
      elseif now then
        M.update(now)
        M.told(p, now, decision.decision)
      end
      if fn then
        fn(err, now)
      end
    end)
  end
  send(p.rev)
end

--- Says what did not land as decided. What did can be seen.
---@param before table
---@param now table
---@param decision string
function M.told(before, now, decision)
  local was = {}
  for _, f in ipairs(before.files) do
    for _, h in ipairs(f.hunks) do
      was[h.hunkId] = h.state
    end
  end
  for _, f in ipairs(now.files) do
    for _, h in ipairs(f.hunks) do
      local kept = h.state == 'conflict' or h.state == 'amended' and decision == 'accept'
      if kept and was[h.hunkId] == 'pending' then
        local name = vim.fn.fnamemodify(vim.uri_to_fname(f.uri), ':~:.')
        local why = h.reason and h.reason ~= '' and h.reason or 'the lines were changed meanwhile; your text was kept'
        vim.notify(('Redline: a hunk of %s was not applied: %s'):format(name, why), vim.log.levels.WARN)
      end
    end
  end
end

--- Decides by scope: the hunk at the cursor, the file in the current window, or all.
---@param decision 'accept'|'reject'
---@param scope 'hunk'|'file'|'all'
---@param reason? string
function M.decide(decision, scope, reason)
  if next(open) == nil then
    return vim.notify('Redline: there is nothing to review')
  end
  if scope == 'hunk' then
    local h = M.at_cursor()
    if not h then
      return vim.notify('Redline: there is no hunk here; :Redline next goes to one')
    end
    return M.resolve(h.proposal, { target = { hunkId = h.id }, decision = decision, reason = reason })
  end
  local buf = vim.api.nvim_get_current_buf()
  local found = false
  for _, p in pairs(vim.deepcopy(open)) do
    if scope == 'all' then
      found = true
      M.resolve(p, { target = 'all', decision = decision, reason = reason })
    else
      for _, f in ipairs(p.files) do
        if loaded(f.uri) == buf then
          found = true
          M.resolve(p, { target = { fileId = f.fileId }, decision = decision, reason = reason })
        end
      end
    end
  end
  if not found then
    vim.notify('Redline: there is no hunk in this file')
  end
end

--- Opens the text of the hunk at the cursor in a window; writing it there puts it
--- into the document in place of the proposed text.
function M.amend()
  local h = M.at_cursor()
  if not h then
    return vim.notify('Redline: there is no hunk here; :Redline next goes to one')
  end
  require('redline.amend').open(h)
end

return M
