--- Hunks that are in the documents: what was applied without a question (mode autoEdit)
--- is shown until it was looked at, and everything that stands can be taken back.
local client = require('redline.client')

local M = {}

local api = vim.api

-- By the ID of the proposal: its newest state, when it came, and its hunks that were
-- not looked at, by ID.
---@type table<string, {p: table, came: integer, unseen: table<string, boolean>}>
local known = {}
local came = 0

local function standing(h)
  return h.standing == true
end

-- Proposals, the oldest first.
local function proposals()
  local out = vim.tbl_values(known)
  table.sort(out, function(a, b)
    return a.came < b.came
  end)
  return vim.tbl_map(function(k)
    return k.p
  end, out)
end

--- Takes the newest state of a proposal that is decided.
---@param p table
---@param replayed? boolean
function M.take(p, replayed)
  local k = known[p.proposalId]
  if k and k.p.rev > p.rev then
    return
  end
  local some = false
  for _, f in ipairs(p.files) do
    for _, h in ipairs(f.hunks) do
      some = some or standing(h)
    end
  end
  if not some then
    known[p.proposalId] = nil
    return
  end
  if k then
    k.p = p
    return
  end
  came = came + 1
  k = { p = p, came = came, unseen = {} }
  known[p.proposalId] = k
  if p.auto and not replayed then
    for _, f in ipairs(p.files) do
      for _, h in ipairs(f.hunks) do
        k.unseen[h.hunkId] = standing(h) or nil
      end
    end
  end
end

-- The lines that a hunk has put into its document.
local function lines_of(h)
  return require('redline.marks').lines_of(h.hunk.final or h.hunk.newText)
end

-- Where the lines of a hunk are in its buffer: at its place, or wherever else they are
-- nearest to it; nil when they are not there any more.
local function locate(h)
  local want = lines_of(h)
  if h.hunk.whole then
    return h.line
  end
  local have = api.nvim_buf_get_lines(h.buf, 0, -1, false)
  local function fits(at, text)
    for i, line in ipairs(text or want) do
      if have[at + i] ~= line then
        return false
      end
    end
    return true
  end
  if #want == 0 then
    -- Lines that went show nowhere; they are back when they are there again.
    return not fits(h.line, require('redline.marks').lines_of(h.hunk.oldText)) and h.line or nil
  end
  for d = 0, #have do
    if h.line - d >= 0 and fits(h.line - d) then
      return h.line - d
    elseif fits(h.line + d) then
      return h.line + d
    end
  end
end

local function collect(pass, buf)
  local out = require('redline.review').collect(proposals(), pass, buf)
  for i = #out, 1, -1 do
    local h = out[i]
    h.applied = true
    if h.buf > 0 then
      h.line = locate(h)
      if not h.line then
        -- The user has changed or undone it: it is theirs.
        table.remove(out, i)
        known[h.proposal.proposalId].unseen[h.id] = nil
      end
    end
  end
  return out
end

--- The hunks that were applied without a question and not looked at since.
---@param buf? integer only those of a buffer
---@return redline.Hunk[]
function M.unseen(buf)
  if next(known) == nil then
    return {}
  end
  return collect(function(h, p)
    return standing(h) and known[p.proposalId].unseen[h.hunkId] or false
  end, buf)
end

--- How many these are, at most.
---@return integer
function M.count()
  local n = 0
  for _, k in pairs(known) do
    n = n + vim.tbl_count(k.unseen)
  end
  return n
end

--- All that stands, in the order of files and lines.
---@param buf? integer
---@return redline.Hunk[]
function M.hunks(buf)
  return collect(standing, buf)
end

local function show(hunks)
  local done = {}
  for _, h in ipairs(hunks) do
    if not done[h.proposal.proposalId] then
      done[h.proposal.proposalId] = true
      require('redline.review').show(h.proposal)
    end
  end
  api.nvim_exec_autocmds('User', { pattern = 'RedlineStatus', modeline = false })
end

--- Marks hunks as looked at.
---@param hunks redline.Hunk[]
function M.keep(hunks)
  for _, h in ipairs(hunks) do
    local k = known[h.proposal.proposalId]
    if k then
      k.unseen[h.id] = nil
    end
  end
  show(hunks)
end

--- Takes hunks back, those of the newest proposal first: it was made on the older ones.
---@param hunks redline.Hunk[]
function M.revert(hunks)
  local by, ids = {}, {}
  for _, h in ipairs(hunks) do
    local id = h.proposal.proposalId
    if not by[id] then
      by[id] = {}
      ids[#ids + 1] = id
    end
    table.insert(by[id], { hunkId = h.id })
  end
  table.sort(ids, function(a, b)
    return known[a].came > known[b].came
  end)
  local taken = 0
  local function step(i)
    local id = ids[i]
    if not id then
      if taken > 0 then
        vim.notify(('Redline: took back %d hunk%s; undo brings %s again'):format(taken, taken == 1 and '' or 's', taken == 1 and 'it' or 'them'))
      end
      return show(hunks)
    end
    client.request('agent/proposal/revert', { proposalId = id, targets = by[id] }, function(err, now)
      if err then
        vim.notify('Redline: ' .. err.message, vim.log.levels.WARN)
      else
        local stands = {}
        for _, f in ipairs(now.files) do
          for _, h in ipairs(f.hunks) do
            stands[h.hunkId] = standing(h)
          end
        end
        for _, t in ipairs(by[id]) do
          if not stands[t.hunkId] then
            taken = taken + 1
            local k = known[id]
            if k then
              k.unseen[t.hunkId] = nil
            end
          end
        end
        M.take(now)
      end
      step(i + 1)
    end)
  end
  step(1)
end

--- Takes back by scope: the hunk at the cursor, those of the file in the current window,
--- of the newest proposal (or that of the hunk at the cursor), or all of the session.
---@param scope 'hunk'|'file'|'proposal'|'all'
function M.revert_scope(scope)
  local review = require('redline.review')
  local all = M.hunks()
  if #all == 0 then
    return vim.notify('Redline: nothing of the agent stands that could be taken back')
  end
  local buf = api.nvim_get_current_buf()
  local here = vim.tbl_filter(function(h)
    return h.buf == buf
  end, all)
  if scope == 'hunk' then
    local h = review.at_cursor(here)
    if not h then
      return vim.notify('Redline: there is no applied hunk here; :Redline applied lists them')
    end
    return M.revert({ h })
  elseif scope == 'file' then
    if #here == 0 then
      return vim.notify('Redline: there is no applied hunk in this file; :Redline applied lists them')
    end
    return M.revert(here)
  elseif scope == 'proposal' then
    local at = #here > 1 and review.at_cursor(here)
    local list = proposals()
    local p = at and at.proposal or list[#list]
    all = vim.tbl_filter(function(h)
      return h.proposal == p
    end, all)
  end
  M.revert(all)
end

return M
