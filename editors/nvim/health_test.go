package nvim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// :checkhealth redline says of everything that can be missing what it is and what to do,
// and nothing bad where nothing is.
func TestHealth(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, nil)
		check := func(n *nvim) string {
			t.Helper()
			n.lua(`vim.cmd('silent checkhealth redline')`, nil)
			text := joined(get[[]string](n, `return lines()`))
			n.lua(`vim.cmd('silent! bwipeout!')`, nil)
			return text
		}
		srv := geminitest.New(t)
		n := start(t, version, root, srv.URL)
		good := check(n)
		contains(t, "health", good, "OK Neovim "+version, "OK nothing is in the way", "OK "+get[string](n, `return vim.fn.exepath(vim.env.REDLINE_BIN)`)+": redline ",
			"OK sign-in: gemini-api-key", "OK git: ", "folder: "+root, "OK the server speaks version 1 of the protocol, this plugin 1", "OK signed in: gemini-api-key from the environment")
		if strings.Contains(good, "ERROR") {
			t.Errorf("something is wrong where all is right:\n%s", good)
		}
		// The user's own maps and settings, and a second copy of the plugin.
		n.lua(`vim.keymap.set('n', ']r', 'j', { desc = 'down' }) vim.o.signcolumn = 'no'`, nil)
		contains(t, "health", check(n), "WARNING ]r is mapped already (down)", "<Plug>(redline-next)", "hunks have no signs")

		bad := start(t, version, root, "")
		contains(t, "health without a key", check(bad), "ERROR sign-in: GEMINI_API_KEY", ":Redline login")
		fake := filepath.Join(t.TempDir(), "other")
		if err := os.WriteFile(fake, []byte("#!/bin/sh\necho what is $1 >&2\nexit 3\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		bad.lua(`vim.cmd('Redline stop') require('redline').setup({ cmd = { `+quote(fake)+`, 'serve' } })`, nil)
		contains(t, "health with another program", check(bad), "does not say its version: what is version", "this is not the program redline")
		bad.lua(`require('redline').setup({ cmd = { 'no-such-program' } })`, nil)
		contains(t, "health without a program", check(bad), `the server "no-such-program" is not there`, "put the program redline on the PATH")
	})
}
