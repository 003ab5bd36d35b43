-- The start of every Neovim under test: settings as a user would make them, and a
-- door for the test. It is run before the plugins are loaded.
vim.opt.rtp:prepend(vim.env.REDLINE_PLUGIN)
vim.o.swapfile = false
vim.o.hidden = true
vim.o.more = false
vim.g.redline = {
  cmd = { vim.env.REDLINE_BIN, 'serve' },
  root = vim.env.REDLINE_ROOT,
}

notes = {}
if not vim.env.REDLINE_SCREEN then
  vim.notify = function(text, level)
    notes[#notes + 1] = { text = text, level = level or vim.log.levels.INFO }
  end
end

-- Runs the Lua code in a file and returns what it returns, or its error, as JSON.
function redline_eval(path)
  local chunk, err = loadfile(path)
  local ok, value
  if chunk then
    ok, value = xpcall(chunk, debug.traceback)
    err = not ok and value or nil
  end
  if err then
    return vim.json.encode({ error = err })
  end
  return vim.json.encode({ value = value == nil and vim.NIL or value })
end

-- Lets Neovim work until fn returns something true, and returns that.
function await(what, fn)
  local value
  if not vim.wait(20000, function()
    value = fn()
    return value
  end, 5) then
    error('waited in vain for ' .. what .. '\nnotes: ' .. vim.inspect(notes), 2)
  end
  return value
end

function noted(text)
  for _, n in ipairs(notes) do
    if n.text:find(text, 1, true) then
      return n
    end
  end
end

function lines(buf)
  return vim.api.nvim_buf_get_lines(buf or 0, 0, -1, false)
end

-- The virtual lines of a buffer, by the 0-based line they hang on.
function virtual(buf)
  local out = {}
  local ns = vim.api.nvim_get_namespaces()['redline.review']
  if not ns then
    return out -- nothing was ever shown
  end
  for _, m in ipairs(vim.api.nvim_buf_get_extmarks(buf or 0, ns, 0, -1, { details = true })) do
    for _, chunks in ipairs(m[4].virt_lines or {}) do
      local text = {}
      for _, c in ipairs(chunks) do
        text[#text + 1] = c[1]
      end
      out[#out + 1] = ('%d: %s'):format(m[2], (table.concat(text):gsub('%s+$', '')))
    end
  end
  return out
end

-- Waits for a number of undecided hunks and no edit on its way.
function hunks(n)
  return await(n .. ' hunks', function()
    local review = package.loaded['redline.review']
    if not review or review.count() ~= n then
      return false
    end
    for _, p in pairs(review.open()) do
      if p.state == 'applying' then
        return false
      end
    end
    return true
  end)
end

function idle()
  return await('the end of the turn', function()
    local s = package.loaded['redline.session'] and require('redline.session').current
    return s and s.ended and not s.running
  end)
end

vim.api.nvim_create_autocmd('VimEnter', {
  callback = function()
    if not vim.env.REDLINE_SCREEN then
      io.stdout:write('ready\n')
      io.stdout:flush()
    end
  end,
})

function joined_virtual()
  return table.concat(virtual(), '\n')
end
