--- Proposals under review and the decisions on them.
local client = require('redline.client')

local M = {}

local api = vim.api

-- The proposals with undecided hunks, by ID, and when each came.
local open, order, came = {}, {}, 0
-- The newest states of those that are not settled, by ID: changes are told since them.
local newest = {}
-- Those on which decisions are under way: how many, and the newest state, by ID.
local deciding = {}
-- Proposals the user was told of.
local announced = {}

---@class redline.Hunk
---@field id string
---@field key string unlike the ID, unique over proposals
---@field proposal table
---@field file table
---@field hunk table
---@field uri string where the file is now
---@field buf integer -1 when the file is not loaded
---@field line integer 0-based
---@field applied? boolean it is in the document already, and was not looked at

--- Whether a hunk waits for a word of the user.
---@param h table
---@return boolean
function M.undecided(h)
  return h.state == 'pending' or h.state == 'conflict' and not h.closed
end
local undecided = M.undecided

---@param p table
local function is_open(p)
  return p.state == 'open' or p.state == 'applying'
end

-- The loaded buffers by the path of their file.
local function buffers()
  local out = {}
  for _, b in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(b) then
      local name = api.nvim_buf_get_name(b)
      out[name] = name ~= '' and b or nil
    end
  end
  return out
end

--- The hunks of proposals that pass, in the order of files and lines.
---@param proposals table[]
---@param pass fun(h: table, p: table): boolean
---@param buf? integer only those of a buffer
---@return redline.Hunk[]
function M.collect(proposals, pass, buf)
  local out, files, nfiles = {}, {}, 0
  local path = buf and api.nvim_buf_is_valid(buf) and api.nvim_buf_get_name(buf)
  local bufs = not buf and buffers()
  local marks = require('redline.marks')
  for _, p in ipairs(proposals) do
    for _, f in ipairs(p.files) do
      local uri = f.uri
      if f.op == 'rename' and f.newUri and f.hunks[1] and f.hunks[1].whole and f.hunks[1].state == 'accepted' then
        uri = f.newUri
      end
      local name = vim.uri_to_fname(uri)
      if not files[name] then
        nfiles = nfiles + 1
        files[name] = nfiles
      end
      local b = buf and (name == path and buf or nil) or bufs and bufs[name]
      if b or not buf then
        for _, h in ipairs(f.hunks) do
          if pass(h, p) then
            local key = p.proposalId .. '/' .. h.hunkId
            out[#out + 1] = {
              id = h.hunkId,
              key = key,
              proposal = p,
              file = f,
              hunk = h,
              uri = uri,
              buf = b or -1,
              line = b and marks.place(b, key) or h.range.start.line,
              rank = { files[name], #out },
            }
          end
        end
      end
    end
  end
  table.sort(out, function(x, y)
    if x.rank[1] ~= y.rank[1] then
      return x.rank[1] < y.rank[1]
    elseif x.line ~= y.line then
      return x.line < y.line
    end
    return x.rank[2] < y.rank[2]
  end)
  return out
end

-- The open proposals in the order in which they came.
local function proposals()
  local out = vim.tbl_values(open)
  table.sort(out, function(a, b)
    return order[a.proposalId] < order[b.proposalId]
  end)
  return out
end

--- The undecided hunks in the order of files and lines.
---@param buf? integer only those of a buffer
---@return redline.Hunk[]
function M.hunks(buf)
  return M.collect(proposals(), undecided, buf)
end

--- The undecided hunks, and those that were applied without a question and not looked at.
---@param buf? integer
---@return redline.Hunk[]
function M.shown(buf)
  local out = M.hunks(buf)
  local unseen = require('redline.applied').unseen(buf)
  if #unseen == 0 then
    return out
  elseif #out == 0 then
    return unseen
  end
  local rank = {}
  for _, h in ipairs(vim.list_extend(out, unseen)) do
    rank[h.uri] = rank[h.uri] or vim.tbl_count(rank) + 1
  end
  table.sort(out, function(a, b)
    if rank[a.uri] ~= rank[b.uri] then
      return rank[a.uri] < rank[b.uri]
    elseif a.line ~= b.line then
      return a.line < b.line
    end
    return a.key < b.key
  end)
  return out
end

--- How many hunks are undecided, and how many of them are in conflict.
---@return integer undecided, integer conflicts
function M.count()
  local n, conflicts = 0, 0
  for _, p in pairs(open) do
    for _, f in ipairs(p.files) do
      for _, h in ipairs(f.hunks) do
        if undecided(h) then
          n = n + 1
          conflicts = conflicts + (h.state == 'conflict' and 1 or 0)
        end
      end
    end
  end
  return n, conflicts
end

---@return table<string, table>
function M.open()
  return open
end

--- Shows what there is in the files of a proposal, and in the lists.
---@param p table
---@param before? table the proposal as it was shown: files that it shares are not looked at
function M.show(p, before)
  local marks = require('redline.marks')
  local bufs = buffers()
  for i, f in ipairs(p.files) do
    local same = before and before.files[i] == f
    for _, uri in ipairs({ f.uri, f.newUri }) do
      local b = bufs[vim.uri_to_fname(uri)]
      if b and same then
        marks.busy(b, p)
      elseif b then
        marks.refresh(b)
      end
    end
  end
  require('redline.maps').navigation(M.count() + require('redline.applied').count() > 0)
  require('redline.diffview').refresh()
  require('redline.quickfix').refresh()
end

local function announce(p)
  if announced[p.proposalId] or p.auto then
    return
  end
  announced[p.proposalId] = true
  local hunks, files = 0, 0
  for _, f in ipairs(p.files) do
    local n = #vim.tbl_filter(undecided, f.hunks)
    hunks = hunks + n
    files = files + (n > 0 and 1 or 0)
  end
  if hunks == 0 then
    return
  end
  local words = ('Redline: %d hunk%s in %d file%s to review'):format(hunks, hunks == 1 and '' or 's', files, files == 1 and '' or 's')
  local key = require('redline.config').get().keys.next
  vim.notify(words .. (key and ' (' .. key .. ')' or ' (:Redline next)'))
  api.nvim_exec_autocmds('User', { pattern = 'RedlineProposal', data = { proposal = p }, modeline = false })
end

-- Whether hunks have only moved, as while the user types lines above them.
local function only_moved(a, b)
  if a.state ~= b.state or #a.files ~= #b.files then
    return false
  end
  for i, f in ipairs(a.files) do
    local g = b.files[i]
    if #f.hunks ~= #g.hunks or f.uri ~= g.uri then
      return false
    end
    for j, h in ipairs(f.hunks) do
      local k = g.hunks[j]
      if h.state ~= k.state or h.oldText ~= k.oldText or h.newText ~= k.newText or h.reason ~= k.reason or h.closed ~= k.closed then
        return false
      end
    end
  end
  return true
end

-- Proposals whose hunks have moved, by ID: they are shown when the typing pauses. Until
-- then their marks move along by themselves.
local moved = {}

local function show_later(id)
  if next(moved) == nil then
    vim.defer_fn(function()
      local ids = moved
      moved = {}
      for i in pairs(ids) do
        if open[i] then
          M.show(open[i])
        end
      end
    end, 100)
  end
  moved[id] = true
end

--- Takes what has changed in a proposal.
---@param c table ProposalChange
---@param replayed? boolean it is told again, of an earlier time
function M.change(c, replayed)
  local p = newest[c.proposalId]
  if p and p.rev == c.since then
    local now, only = require('redline.changes').apply(p, c)
    return M.update(now, replayed, only)
  end
  if p and p.rev >= c.rev then
    return
  end
  -- The state it is since was never told here.
  client.request('agent/proposal/get', { proposalId = c.proposalId }, function(err, now)
    if now then
      M.update(now, replayed and not is_open(now))
    elseif err then
      vim.notify('Redline: ' .. err.message, vim.log.levels.WARN)
    end
  end)
end

--- Takes a proposal's newest state.
---@param p table
---@param replayed? boolean it is told again, of an earlier time
---@param only? boolean nothing but lines of hunks has changed; nil: that is not known
function M.update(p, replayed, only)
  local id = p.proposalId
  local before = open[id]
  if newest[id] and newest[id].rev > p.rev or before == p then
    return
  end
  newest[id] = is_open(p) and p or nil
  if deciding[id] then
    deciding[id].now = p
  end
  if is_open(p) and not p.auto then
    if not before then
      came = came + 1
      order[p.proposalId] = came
    end
    open[p.proposalId] = p
  else
    open[p.proposalId] = nil
  end
  if not is_open(p) then
    require('redline.applied').take(p, replayed)
  end
  if replayed then
    return -- shown when all has been told, by flush
  end
  if before and open[id] and (only or only == nil and only_moved(before, p)) then
    return show_later(p.proposalId)
  end
  M.show(p, before)
  if p.state == 'open' then
    announce(p)
  end
end

--- Shows what a replay has brought.
function M.flush()
  for _, p in ipairs(proposals()) do
    M.show(p)
    if p.state == 'open' then
      announce(p)
    end
  end
end

--- Forgets what is under review; the server is gone.
function M.clear()
  local all = open
  open, announced, newest, deciding = {}, {}, {}, {}
  for _, p in pairs(all) do
    M.show(p)
  end
end

-- Whether a line belongs to a hunk; lines that are put in belong to those around them.
local function at(h, line, last)
  local n = require('redline.marks').height(h.hunk)
  if n == 0 then
    return line == h.line or line == h.line - 1 or (line == last and h.line > last)
  end
  return line >= h.line and line < h.line + n
end

--- The hunk at the cursor among some of the current buffer; else the only one.
---@param hunks redline.Hunk[]
---@return redline.Hunk?
function M.at_cursor(hunks)
  local line = api.nvim_win_get_cursor(0)[1] - 1
  local last = api.nvim_buf_line_count(0) - 1
  local found
  for _, h in ipairs(hunks) do
    -- One that has lines of its own comes before one that is put between lines.
    if at(h, line, last) and (not found or require('redline.marks').height(found.hunk) == 0) then
      found = h
    end
  end
  return found or (#hunks == 1 and hunks[1] or nil)
end

-- The hunks of the current buffer that a range of lines touches.
local function in_range(hunks, first, to)
  local last = api.nvim_buf_line_count(0) - 1
  return vim.tbl_filter(function(h)
    for line = math.max(first, h.line - 1), math.min(to, h.line + math.max(0, require('redline.marks').height(h.hunk) - 1)) do
      if at(h, line, last) then
        return true
      end
    end
    return false
  end, hunks)
end

-- A decision was made on what the user saw. When the proposal moved on since, the
-- hunks' places did, mostly; the decision still stands if their texts are as seen.
local function same(seen, now, decisions)
  local texts = {}
  for _, f in ipairs(now.files) do
    for _, h in ipairs(f.hunks) do
      texts[h.hunkId] = h.oldText .. '\0' .. h.newText
    end
  end
  local function meant(f, h)
    for _, d in ipairs(decisions) do
      if d.target == 'all' or d.target.fileId == f.fileId or d.target.hunkId == h.hunkId then
        return true
      end
    end
  end
  for _, f in ipairs(seen.files) do
    for _, h in ipairs(f.hunks) do
      if meant(f, h) and undecided(h) and texts[h.hunkId] ~= h.oldText .. '\0' .. h.newText then
        return false
      end
    end
  end
  return true
end

local stale = -32801

--- Sends decisions on one proposal.
---@param p table the proposal as the user saw it
---@param decisions {target: table|string, decision: string, newText?: string, reason?: string}[]
---@param fn? fun(err?: table, p?: table) takes the errors, which are else shown
function M.resolve(p, decisions, fn)
  local tries, id = 0, p.proposalId
  local d = deciding[id] or { n = 0 }
  deciding[id], d.n = d, d.n + 1
  local function send(rev)
    tries = tries + 1
    client.request('agent/proposal/resolve', { proposalId = id, rev = rev, decisions = decisions, brief = true }, function(err, now)
      if err and err.code == stale then
        local current = err.data and err.data.proposal
        if current and tries < 5 and is_open(current) and same(p, current, decisions) then
          return send(current.rev)
        end
        if current then
          M.update(current)
        end
      end
      d.n = d.n - 1
      if d.n == 0 and deciding[id] == d then
        deciding[id] = nil
      end
      if now and #now.files == 0 then
        now = d.now or p -- the answer is brief: the events before it have told
      elseif now then
        M.update(now)
      end
      if err and not fn then
        vim.notify('Redline: ' .. err.message, vim.log.levels.WARN)
      elseif now then
        M.told(p, now, decisions[1].decision)
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

-- Decides hunks, those of each proposal in one request. A target is a hunk, unless the
-- whole of a proposal is meant.
local function decide(hunks, decision, reason)
  local by = {}
  for _, h in ipairs(hunks) do
    local id = h.proposal.proposalId
    by[id] = by[id] or { p = h.proposal, decisions = {} }
    table.insert(by[id].decisions, { target = { hunkId = h.id }, decision = decision, reason = reason })
  end
  for _, b in pairs(by) do
    M.resolve(b.p, b.decisions)
  end
end

--- Decides by scope: the hunk at the cursor, the hunks that a range of lines touches,
--- those of the file in the current window, or all. Hunks that were applied already are
--- kept or taken back, where nothing waits for a decision in the same scope.
---@param decision 'accept'|'reject'
---@param scope 'hunk'|'range'|'file'|'all'
---@param reason? string
---@param lines? integer[] the first and last line of a range, from 1
function M.decide(decision, scope, reason, lines)
  local applied = require('redline.applied')
  if next(open) == nil and applied.count() == 0 then
    return vim.notify('Redline: there is nothing to review')
  end
  local view = require('redline.diffview').of(api.nvim_get_current_buf())
  if view and scope ~= 'all' then
    return view.decide(decision, reason, scope == 'file' and { 1, math.huge } or lines)
  end
  local buf = api.nvim_get_current_buf()
  local function pick(hunks)
    if scope == 'hunk' then
      return { M.at_cursor(hunks) }
    end
    return scope == 'range' and in_range(hunks, lines[1] - 1, lines[2] - 1) or hunks
  end
  local here = scope ~= 'all' and buf or nil
  local found = pick(M.hunks(here))
  if #found > 0 then
    return decide(found, decision, reason)
  end
  found = pick(applied.unseen(here))
  if #found == 0 then
    local words = {
      hunk = 'there is no hunk here; :Redline next goes to one',
      range = 'there is no hunk in these lines',
      file = 'there is no hunk in this file',
    }
    return vim.notify('Redline: ' .. (words[scope] or 'there is nothing to review'))
  end
  if decision == 'accept' then
    applied.keep(found)
  else
    applied.revert(found)
  end
end

--- Opens the text of the hunk at the cursor in a window; writing it there puts it
--- into the document in place of the proposed text.
function M.amend()
  local view = require('redline.diffview').of(api.nvim_get_current_buf())
  if view then
    return vim.notify('Redline: change the text here; :write takes it')
  end
  local h = M.at_cursor(M.hunks(api.nvim_get_current_buf()))
  if not h then
    return vim.notify('Redline: there is no hunk here; :Redline next goes to one')
  end
  require('redline.amend').open(h)
end

return M
