--- What the server says has changed in a proposal, put into the proposal as it was. The
--- old one stays as it is: what was decided on it is compared with the new one.
local M = {}

local function copy(t)
  local out = {}
  for k, v in pairs(t) do
    out[k] = v
  end
  return out
end

local function shifted(h, lines)
  local out, r = copy(h), h.range
  out.range = {
    start = { line = r.start.line + lines, character = r.start.character },
    ['end'] = { line = r['end'].line + lines, character = r['end'].character },
  }
  return out
end

local function file(f, c)
  local out = copy(f)
  out.uri, out.newUri, out.base = c.uri, c.newUri, c.base
  if not c.moved and not c.hunks then
    return out
  end
  out.hunks = copy(f.hunks)
  local index = {}
  for i, h in ipairs(f.hunks) do
    index[h.hunkId] = i
  end
  for _, m in ipairs(c.moved or {}) do
    for i = index[m.from], index[m.to] do
      out.hunks[i] = shifted(f.hunks[i], m.lines)
    end
  end
  for _, h in ipairs(c.hunks or {}) do
    out.hunks[index[h.hunkId]] = h
  end
  return out
end

--- The proposal after a change, and whether hunks have only moved.
---@param p table the proposal at the revision that the change is since
---@param c table ProposalChange
---@return table proposal, boolean moved
function M.apply(p, c)
  local out = copy(p)
  out.rev, out.state = c.rev, c.state
  out.files = copy(p.files)
  local moved = c.state == p.state
  local by = {}
  for _, fc in ipairs(c.files) do
    by[fc.fileId] = fc
  end
  for i, f in ipairs(p.files) do
    local fc = by[f.fileId]
    if fc then
      moved = moved and not fc.hunks and fc.uri == f.uri
      out.files[i] = file(f, fc)
    end
  end
  return out, moved
end

return M
