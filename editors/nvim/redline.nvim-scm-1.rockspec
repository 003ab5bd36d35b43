rockspec_format = '3.0'
package = 'redline.nvim'
version = 'scm-1'
-- The plugin is this folder of the repository; `luarocks make` is run here.
source = {
  url = 'git+https://github.com/redline/redline.git',
  dir = 'redline/editors/nvim',
}
description = {
  summary = 'A Gemini agent that proposes changes as hunks: review them in the buffer',
  detailed = [[
Redline works as a language server: it reads what the buffers hold, unsaved text included,
and proposes changes that are accepted, rejected or amended hunk by hunk. The server is the
program `redline`, which is installed on its own.]],
  labels = { 'neovim', 'neovim-plugin', 'lsp', 'agent' },
  license = 'MIT',
}
-- No dependency but Neovim's Lua; Neovim 0.10 or newer.
dependencies = { 'lua >= 5.1' }
build = {
  type = 'builtin',
  copy_directories = { 'doc', 'plugin' },
}
