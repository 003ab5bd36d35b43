--- Buffers follow their files when a command of the agent changed them. Unsaved text is
--- never given up, and nothing is asked.
local M = {}

local api = vim.api

-- Buffers the user was told of, until their file is read or written again.
local told = {}

local function name(buf)
  return vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ':~:.')
end

-- Says something once about a buffer; not at once, where messages are silenced.
local function tell(buf, text)
  if not told[buf] then
    told[buf] = true
    vim.schedule(function()
      vim.notify('Redline: ' .. text:format(name(buf)), vim.log.levels.WARN)
    end)
  end
end

-- Decides for the user, who would be asked otherwise.
local function changed(args)
  local buf, why = args.buf, vim.v.fcs_reason
  vim.v.fcs_choice = ''
  if why == 'deleted' then
    tell(buf, 'the file of %s is gone; :w makes it again')
  elseif why == 'conflict' then
    tell(buf, '%s was changed on disk too; your text is kept (:e! takes the file)')
  elseif why == 'changed' then
    vim.v.fcs_choice = 'reload'
  end
end

--- Looks whether files of loaded buffers were changed, and reads those again that have
--- no unsaved changes.
function M.check()
  -- While a command line or a question is open, Neovim would look later and ask itself.
  if vim.fn.getcmdwintype() ~= '' or api.nvim_get_mode().mode:sub(1, 1) == 'r' then
    return
  end
  local own
  if #api.nvim_get_autocmds({ event = 'FileChangedShell' }) == 0 then
    own = api.nvim_create_autocmd('FileChangedShell', { callback = changed })
  end
  -- Without a number only buffers in windows are looked at; the agent's edits go to all.
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and api.nvim_buf_get_name(buf) ~= '' then
      pcall(vim.cmd, 'silent! checktime ' .. buf)
    end
  end
  if own then
    api.nvim_del_autocmd(own)
  end
end

api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost', 'BufWipeout' }, {
  group = api.nvim_create_augroup('redline.reload', {}),
  callback = function(args)
    told[args.buf] = nil
  end,
})

return M
