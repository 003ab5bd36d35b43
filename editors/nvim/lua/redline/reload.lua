--- Buffers follow their files when a command of the agent changed them. Unsaved text is
--- never given up, and nothing is asked.
local M = {}

local api = vim.api

-- Buffers the user was told of, until their file is read or written.
local told = {}

local function name(buf)
  return vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ':~:.')
end

local function changed(args)
  local buf, why = args.buf, vim.v.fcs_reason
  if why == 'time' or why == 'mode' then
    vim.v.fcs_choice = ''
  elseif why == 'deleted' then
    vim.v.fcs_choice = ''
    if not told[buf] then
      told[buf] = true
      vim.notify(('Redline: the file of %s is gone; its text is still here, and :write makes it again'):format(name(buf)), vim.log.levels.WARN)
    end
  elseif why == 'conflict' then
    vim.v.fcs_choice = ''
    if not told[buf] then
      told[buf] = true
      vim.notify(('Redline: %s has unsaved changes, and its file was changed too: your text was kept. :e! takes the file, :w! your text'):format(name(buf)), vim.log.levels.WARN)
    end
  else
    vim.v.fcs_choice = vim.bo[buf].modified and '' or 'reload'
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
  pcall(vim.cmd, 'silent! checktime')
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
