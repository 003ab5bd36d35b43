package emacs_test

import (
	"testing"

	"redline/editors/editortest"
)

// The replay files that every editor plays.
func TestReplay(t *testing.T) {
	for _, name := range []string{"review", "amend", "conflict", "bytes"} {
		t.Run(name, func(t *testing.T) {
			program(t)
			t.Parallel()
			replay := editortest.Load(t, name)
			root, model := replay.Start(t)
			replay.Play(t, person{start(t, root, model.URL)})
			replay.Check(t, root, model)
		})
	}
	t.Run("oldest", func(t *testing.T) {
		exe := version(t, oldest)
		t.Parallel()
		replay := editortest.Load(t, "review")
		root, model := replay.Start(t)
		replay.Play(t, person{startIn(t, exe, root, model.URL)})
		replay.Check(t, root, model)
	})
}

// person uses the package by commands and keys.
type person struct{ *emacs }

func (p person) Open(file string) { p.t.Helper(); p.do("(show %s 1)", quote(file)) }
func (p person) Type(file string, line int, text string) {
	p.t.Helper()
	p.do(`(show %s %d) (keys "C-a C-k") (execute-kbd-macro %s)`, quote(file), line, quote(text))
}
func (p person) Ask(prompt string) { p.t.Helper(); p.do("(redline-ask %s)", quote(prompt)) }
func (p person) Review(n int)      { p.t.Helper(); p.do("(await-hunks %d)", n) }

func (p person) Accept(file string, line int) {
	p.t.Helper()
	p.do(`(show %s %d) (keys "C-c = a")`, quote(file), line)
}
func (p person) Reject(file string, line int, reason string) {
	p.t.Helper()
	p.do(`(show %s %d) (execute-kbd-macro (vconcat (kbd "C-c = R") %s (kbd "RET")))`, quote(file), line, quote(reason))
}
func (p person) Amend(file string, line int, text string) {
	p.t.Helper()
	p.do(`(show %s %d) (keys "C-c = e C-a C-k") (execute-kbd-macro %s) (keys "C-c C-c")`, quote(file), line, quote(text))
}
func (p person) AcceptAll()       { p.t.Helper(); p.do("(redline-accept-all)") }
func (p person) Idle()            { p.t.Helper(); p.do("(await-end)") }
func (p person) Undo(file string) { p.t.Helper(); p.do(`(show %s) (keys "C-/")`, quote(file)) }
func (p person) Save(file string) {
	p.t.Helper()
	p.do(`(show %s) (keys "C-x C-s")`, quote(file))
}

func (p person) Line(file string, line int) string {
	p.t.Helper()
	return get[string](p.emacs, "(line-of %s %d)", quote(file), line)
}
