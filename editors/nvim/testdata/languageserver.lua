-- A language server in this process, and the redline client beside it.
client = nil
vim.cmd.edit('a.txt')
vim.api.nvim_buf_set_lines(0, -1, -1, false, { 'typed' })
require('redline.client').ready(function(c)
  client = c
end)
await('the server', function()
  return client
end)

local function range(line, from, to)
  return { start = { line = line, character = from }, ['end'] = { line = line, character = to } }
end

local answers = {
  initialize = function()
    return {
      capabilities = {
        positionEncoding = 'utf-16',
        textDocumentSync = 1,
        definitionProvider = true,
        referencesProvider = true,
        hoverProvider = true,
        documentSymbolProvider = true,
        workspaceSymbolProvider = true,
        renameProvider = true,
        documentFormattingProvider = true,
      },
    }
  end,
  ['textDocument/definition'] = function(p)
    return { uri = p.textDocument.uri, range = range(1, 0, 4) }
  end,
  ['textDocument/references'] = function(p)
    assert(p.context.includeDeclaration)
    return { { targetUri = p.textDocument.uri, targetSelectionRange = range(1, 4, 4), targetRange = range(1, 0, 4) } }
  end,
  ['textDocument/hover'] = function(p)
    return { contents = 'asked at ' .. p.position.character }
  end,
  ['textDocument/documentSymbol'] = function()
    return { { name = 'chapter', kind = 1, range = range(0, 0, 1), selectionRange = range(0, 0, 1) } }
  end,
  ['workspace/symbol'] = function(p)
    return { { name = 'found ' .. p.query, kind = 1, location = { uri = 'file:///x', range = range(0, 0, 1) } } }
  end,
  ['textDocument/rename'] = function(p)
    return { changes = { [p.textDocument.uri] = { { range = range(0, 3, 7), newText = p.newName } } } }
  end,
  ['textDocument/formatting'] = function()
    return { { range = range(0, 0, 0), newText = 'formatted' } }
  end,
}

local id = vim.lsp.start({
  name = 'words',
  root_dir = vim.env.REDLINE_ROOT,
  cmd = function()
    local closed = false
    return {
      request = function(method, params, callback)
        vim.schedule(function()
          local answer = answers[method]
          callback(nil, answer and answer(params) or vim.NIL)
        end)
        return true, 1
      end,
      notify = function()
        return true
      end,
      is_closing = function()
        return closed
      end,
      terminate = function()
        closed = true
      end,
    }
  end,
})
await('the language server', function()
  local c = vim.lsp.get_client_by_id(id)
  return c and c.initialized and c.attached_buffers[vim.api.nvim_get_current_buf()]
end)
vim.diagnostic.set(vim.api.nvim_create_namespace('words'), 0, {
  { lnum = 0, col = 0, message = 'a mistake', severity = vim.diagnostic.severity.ERROR },
})
