--- Our own answer to workspace/applyEdit.
---
--- Neovim's skips the version of all documents but the first, and of any document
--- whose version is 0, and it says `applied` of what it skipped; text typed while
--- the edit was on its way would be overwritten. Here all documents are checked
--- before the first is touched, and files that are not open are opened for the
--- server first, so that it sees what became of them.
local M = {}

--- The version that the server knows the buffer by.
---@param buf integer
---@return integer
function M.version(buf)
  return vim.lsp.util.buf_versions[buf] or 0
end

---@param client vim.lsp.Client
---@param buf integer
local function attached(client, buf)
  -- The value differs between versions of Neovim.
  return client.attached_buffers[buf] ~= nil
end

local function bufnr(uri)
  return vim.uri_to_bufnr(uri)
end

-- Loads the file of uri in the background.
---@param uri string
---@return integer? buf, string? err
local function load(uri)
  local buf = bufnr(uri)
  if vim.api.nvim_buf_is_loaded(buf) then
    return buf
  end
  local err = require('redline.load').buffer(buf)
  if err then
    return nil, err
  end
  vim.bo[buf].buflisted = true
  if vim.bo[buf].filetype == '' then
    vim.bo[buf].filetype = vim.filetype.match({ buf = buf }) or ''
  end
  return buf
end

-- Has the server told of a loaded buffer.
---@return string? err
local function attach(client, buf)
  if not attached(client, buf) and not vim.lsp.buf_attach_client(buf, client.id) then
    return 'the server could not be told of ' .. vim.api.nvim_buf_get_name(buf)
  end
end

local function name(uri)
  return vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.')
end

---@return string? reason why the edit cannot be applied
local function refuse(client, change)
  if change.kind then
    return nil
  end
  local doc = change.textDocument
  local buf = bufnr(doc.uri)
  if type(doc.version) == 'number' then
    if not vim.api.nvim_buf_is_loaded(buf) or not attached(client, buf) then
      return name(doc.uri) .. ' is not open any more'
    end
    if M.version(buf) ~= doc.version then
      return name(doc.uri) .. ' was changed meanwhile'
    end
  elseif vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
    -- The server took the file for closed: it has not seen this text, or it was opened
    -- and changed while the edit was on its way.
    return name(doc.uri) .. ' has unsaved changes'
  end
  if vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modifiable then
    return name(doc.uri) .. " is not 'modifiable'"
  end
end

--- New files are buffers until they are written, as changed files are: nothing is
--- left behind when the user does not write them.
local function create(client, change, next_change)
  local path = vim.uri_to_fname(change.uri)
  local opts = change.options or {}
  if vim.uv.fs_stat(path) then
    if opts.ignoreIfExists or opts.overwrite then
      return
    end
    return name(change.uri) .. ' exists already'
  end
  local buf, err = load(change.uri)
  if not buf then
    return err
  end
  vim.api.nvim_create_autocmd('BufWritePre', {
    buffer = buf,
    once = true,
    desc = 'Redline: make the folder of a new file',
    callback = function()
      vim.fn.mkdir(vim.fs.dirname(path), 'p')
    end,
  })
  if not next_change or not next_change.textDocument or next_change.textDocument.uri ~= change.uri then
    return attach(client, buf) -- it stays empty
  end
end

-- The text of an empty buffer is a blank line to Neovim, and nothing to the server.
-- So it is set as a whole.
local function fill(client, buf, edits)
  local text = table.concat(vim.tbl_map(function(e)
    return e.newText
  end, edits))
  local lines = vim.split((text:gsub('\r\n', '\n')), '\n', { plain = true })
  if #lines > 1 and lines[#lines] == '' then
    lines[#lines] = nil
  else
    vim.bo[buf].endofline, vim.bo[buf].fixendofline = false, false
  end
  if text:find('\r\n', 1, true) then
    vim.bo[buf].fileformat = 'dos'
  end
  local err = attach(client, buf)
  if not err then
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  end
  return err
end

-- Neovim 0.10 leaves a blank line when lines are put in below the last one. The same
-- text goes in at the end of that line instead.
local function below_last(buf, e, encoding)
  local count = vim.api.nvim_buf_line_count(buf)
  if e.range.start.line < count or not vim.bo[buf].endofline or e.newText:sub(-1) ~= '\n' then
    return { range = e.range, newText = e.newText }
  end
  local last = vim.api.nvim_buf_get_lines(buf, count - 1, count, false)[1]
  local utf32, utf16 = vim.str_utfindex(last)
  local width = encoding == 'utf-8' and #last or encoding == 'utf-32' and utf32 or utf16
  local at = { line = count - 1, character = width }
  return { range = { start = at, ['end'] = at }, newText = '\n' .. e.newText:gsub('\r?\n$', '') }
end

local function edit(client, change)
  local buf, err = load(change.textDocument.uri)
  if not buf then
    return err
  end
  local why = refuse(client, change)
  if why then
    return why
  end
  local clean = not vim.bo[buf].modified
  local empty = vim.api.nvim_buf_line_count(buf) == 1 and vim.api.nvim_buf_get_offset(buf, 1) <= 1
  -- One undo step of its own, apart from what is being typed.
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
  if empty and clean and not attached(client, buf) then
    why = fill(client, buf, change.edits)
  else
    why = attach(client, buf)
    local edits = {}
    for _, e in ipairs(change.edits) do
      edits[#edits + 1] = below_last(buf, e, client.offset_encoding)
    end
    if not vim.bo[buf].endofline then
      -- A last line without an end keeps it that way when the file is written, unless
      -- the edit itself gives it one.
      vim.bo[buf].fixendofline = false
    end
    if not why then
      vim.lsp.util.apply_text_edits(edits, buf, client.offset_encoding)
    end
  end
  if why then
    return why
  end
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
  if clean and require('redline.config').get().save and vim.bo[buf].buftype == '' then
    vim.api.nvim_buf_call(buf, function()
      vim.cmd('silent! lockmarks update ++p')
    end)
  end
end

--- Applies an edit; all documents are as the edit expects them, or none is touched.
---@param client vim.lsp.Client
---@param params table ApplyWorkspaceEditParams
---@return table ApplyWorkspaceEditResult
function M.apply(client, params)
  local changes = params.edit.documentChanges
  if not changes then
    changes = {}
    for uri, edits in pairs(params.edit.changes or {}) do
      changes[#changes + 1] = { textDocument = { uri = uri, version = vim.NIL }, edits = edits }
    end
  end
  for i, change in ipairs(changes) do
    local why = refuse(client, change)
    if why then
      return { applied = false, failureReason = why, failedChange = i - 1 }
    end
  end
  for i, change in ipairs(changes) do
    local ok, why
    if change.kind == 'create' then
      ok, why = pcall(create, client, change, changes[i + 1])
    elseif change.kind then
      ok, why = pcall(vim.lsp.util.apply_workspace_edit, { documentChanges = { change } }, client.offset_encoding)
      why = not ok and why or nil
    else
      ok, why = pcall(edit, client, change)
    end
    if not ok or why then
      return { applied = false, failureReason = tostring(why), failedChange = i - 1 }
    end
  end
  return { applied = true }
end

--- The handler of workspace/applyEdit.
function M.handler(_, params, ctx)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  if not client then
    return { applied = false, failureReason = 'the client is gone' }
  end
  return M.apply(client, params)
end

return M
