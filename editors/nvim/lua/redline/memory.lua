--- The files with instructions (GEMINI.md and the like) that the model works with.
local M = {}

local function line(f)
  local path = vim.fn.fnamemodify(vim.uri_to_fname(f.uri), ':~:.')
  local by = f.importedBy and ', from ' .. vim.fs.basename(vim.uri_to_fname(f.importedBy)) or ''
  return ('%s (%s%s, %d bytes%s)'):format(path, f.level, by, f.bytes, f.open and ', as it is in the buffer' or '')
end

--- Lets the user choose one, and opens it.
function M.pick()
  local s = require('redline.session').current
  require('redline.client').request('agent/memory/list', { sessionId = s and s.id or nil }, function(err, result)
    if err then
      return vim.notify('Redline: ' .. err.message, vim.log.levels.ERROR)
    end
    for _, n in ipairs(result.notes) do
      vim.notify('Redline: ' .. n, vim.log.levels.WARN)
    end
    if #result.files == 0 then
      return vim.notify('Redline: there are no instructions; a GEMINI.md in the project or in ~/.gemini would be')
    end
    vim.ui.select(result.files, { prompt = 'Instructions', kind = 'redline.memory', format_item = line }, function(f)
      if f then
        require('redline.places').go(vim.uri_to_fname(f.uri))
      end
    end)
  end)
end

return M
