-- The command and nothing else: everything behind it is loaded when first used.
if vim.g.loaded_redline then
  return
end
vim.g.loaded_redline = true

if vim.fn.has('nvim-0.10') == 0 then
  vim.api.nvim_create_user_command('Redline', function()
    vim.notify('Redline needs Neovim 0.10 or newer', vim.log.levels.ERROR)
  end, { nargs = '*' })
  return
end

vim.api.nvim_create_user_command('Redline', function(args)
  require('redline.command').run(args)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Ask the Redline agent, and review what it proposes',
  complete = function(lead, line)
    return require('redline.command').complete(lead, line)
  end,
})

for name, sub in pairs({
  next = 'next',
  prev = 'prev',
  accept = 'accept',
  reject = 'reject',
  amend = 'amend',
  chat = 'chat',
  diff = 'diff',
}) do
  vim.keymap.set('n', '<Plug>(redline-' .. name .. ')', '<Cmd>Redline ' .. sub .. '<CR>', { desc = 'Redline: ' .. sub })
end
vim.keymap.set('x', '<Plug>(redline-ask)', ':Redline ask<CR>', { desc = 'Redline: ask about the selection' })
vim.keymap.set('n', '<Plug>(redline-ask)', '<Cmd>Redline ask<CR>', { desc = 'Redline: ask' })
