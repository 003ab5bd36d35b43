package nvim_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"redline/editors/editortest"
)

// The replay files that every editor plays.
func TestReplay(t *testing.T) {
	for _, name := range []string{"review", "amend", "conflict", "bytes"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, version string) {
				replay := editortest.Load(t, name)
				root, model := replay.Start(t)
				replay.Play(t, person{start(t, version, root, model.URL)})
				replay.Check(t, root, model)
			})
		})
	}
}

// person uses the plugin by commands and keys.
type person struct{ *nvim }

// at shows a file with the cursor at a line.
func (p person) at(file string, line int) {
	p.t.Helper()
	p.lua(fmt.Sprintf(`vim.cmd.buffer(vim.fn.bufadd(%s)) vim.bo.buflisted = true
		vim.api.nvim_win_set_cursor(0, { math.min(%d, vim.api.nvim_buf_line_count(0)), 0 })`, quote(filepath.Join(p.root, file)), line), nil)
}

func (p person) Open(file string) { p.t.Helper(); p.at(file, 1) }
func (p person) Type(file string, line int, text string) {
	p.t.Helper()
	p.at(file, line)
	p.keys("cc" + text + "<Esc>")
}
func (p person) Ask(prompt string) {
	p.t.Helper()
	p.lua("vim.cmd("+quote("Redline ask "+prompt)+")", nil)
}
func (p person) Review(n int) { p.t.Helper(); p.lua(fmt.Sprintf("hunks(%d)", n), nil) }
func (p person) Accept(file string, line int) {
	p.t.Helper()
	p.at(file, line)
	p.keys(`\ra`)
}
func (p person) Reject(file string, line int, reason string) {
	p.t.Helper()
	p.at(file, line)
	p.lua("vim.cmd("+quote("Redline! reject "+reason)+")", nil)
}
func (p person) Amend(file string, line int, text string) {
	p.t.Helper()
	p.at(file, line)
	p.lua("vim.cmd('Redline amend')", nil)
	p.keys("ggcG" + text + "<Esc>:write<CR>")
}
func (p person) AcceptAll() { p.t.Helper(); p.lua("vim.cmd('Redline accept all')", nil) }
func (p person) Idle()      { p.t.Helper(); p.lua("idle()", nil) }
func (p person) Undo(file string) {
	p.t.Helper()
	p.at(file, 1)
	p.keys("u")
}
func (p person) Save(file string) {
	p.t.Helper()
	p.at(file, 1)
	p.lua("vim.cmd.write({ mods = { silent = true } })", nil)
}
func (p person) Line(file string, line int) string {
	p.t.Helper()
	return get[string](p.nvim, fmt.Sprintf("return lines(vim.fn.bufnr(%s))[%d]", quote(filepath.Join(p.root, file)), line))
}
