--- Files that are loaded in the background: nothing is asked, and nothing gets lost.
local M = {}

-- Whether another Neovim has the file of a buffer open, or had when it crashed: then the
-- swap file is not the first of its name.
local function swapped(buf)
  local swap = vim.fn.swapname(buf)
  return swap ~= '' and not vim.endswith(swap, '.swp')
end

--- Loads the file of a buffer. What else loading sets off may fail; that is no reason to
--- do without the text.
---@param buf integer
---@return string? err
function M.buffer(buf)
  if vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  -- Neovim takes a swap file that is there for an error. It is kept, for :recover, and
  -- read-only makes the later :write ask for its "!".
  local shortmess = vim.o.shortmess
  vim.o.shortmess = shortmess .. 'A'
  local ok, err = pcall(vim.fn.bufload, buf)
  vim.o.shortmess = shortmess
  if not vim.api.nvim_buf_is_loaded(buf) then
    return ok and 'it could not be loaded' or tostring(err)
  end
  if swapped(buf) then
    local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':~:.')
    -- Afterwards: Neovim warns of changes of what is read-only, and halts for it.
    vim.schedule(function()
      if vim.api.nvim_buf_is_valid(buf) then
        vim.bo[buf].readonly = true
        require('redline.say').note(name .. ' has a swap file: read-only (:recover, or :w! to write)', vim.log.levels.WARN)
      end
    end)
  end
end

return M
