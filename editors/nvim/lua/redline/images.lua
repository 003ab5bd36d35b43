--- Images as context: by command, by a mention, or by pasting a path into the prompt.
local M = {}

local types = {
  png = 'image/png',
  jpg = 'image/jpeg',
  jpeg = 'image/jpeg',
  gif = 'image/gif',
  webp = 'image/webp',
  bmp = 'image/bmp',
  heic = 'image/heic',
}
-- What is sent in one message has to fit into a request to the model.
local most = 15 * 1024 * 1024

--- Reports whether a path looks like that of an image.
---@param path string
---@return boolean
function M.is(path)
  return types[(path:match('%.(%w+)$') or ''):lower()] ~= nil
end

--- An image as a context item. Its bytes are read now: what is pasted is often a
--- temporary file, and one outside of the workspace is none of the server's business.
---@param path string
---@return table? item
---@return string? err
function M.item(path)
  path = vim.fs.normalize(path)
  if not vim.startswith(path, '/') and not path:match('^%a:') then
    local here = vim.fn.getcwd() .. '/' .. path
    local root = require('redline.client').root() or require('redline.config').root()
    path = vim.uv.fs_stat(here) and here or root .. '/' .. path
  end
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= 'file' then
    return nil, ('there is no file %s'):format(vim.fn.fnamemodify(path, ':~:.'))
  elseif not M.is(path) then
    return nil, ('%s is no image that a model reads: png, jpg, gif, webp, bmp or heic'):format(vim.fn.fnamemodify(path, ':~:.'))
  elseif stat.size > most then
    return nil, ('%s has %d MB; %d at most'):format(path, stat.size / 2 ^ 20, most / 2 ^ 20)
  end
  local f, err = io.open(path, 'rb')
  if not f then
    return nil, err
  end
  local data = f:read('*a')
  f:close()
  return {
    kind = 'image',
    uri = vim.uri_from_fname(path),
    mimeType = types[path:match('%.(%w+)$'):lower()],
    data = vim.base64.encode(data),
  }
end

--- Lets an image go with the next prompt.
---@param path string
function M.add(path)
  local item, err = M.item(path)
  if not item then
    return vim.notify('Redline: ' .. err, vim.log.levels.ERROR)
  end
  require('redline.chat').open({ items = { item } })
end

-- The path that a terminal pastes for a file that was dropped: perhaps quoted, with
-- escaped spaces, or a file: URI.
local function dropped(text)
  text = vim.trim(text)
  text = text:match("^'(.*)'$") or text:match('^"(.*)"$') or text:gsub('\\(.)', '%1')
  if vim.startswith(text, 'file://') then
    local ok, path = pcall(vim.uri_to_fname, text)
    text = ok and path or text
  end
  return M.is(text) and vim.uv.fs_stat(vim.fs.normalize(text)) and text or nil
end

-- Makes pasting the path of an image into the chat add the image.
local wrapped = false

--- Watches for paths that are pasted into the chat.
function M.watch_paste()
  if wrapped then
    return
  end
  wrapped = true
  local before = vim.paste
  vim.paste = function(lines, phase)
    local page = package.loaded['redline.page']
    if phase <= 1 and #lines == 1 and page and page.buffer() == vim.api.nvim_get_current_buf() then
      local path = dropped(lines[1])
      local item = path and M.item(path)
      if item then
        require('redline.chat').add({ item })
        return true
      end
    end
    return before(lines, phase)
  end
end

return M
