package eglot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/editors/editortest"
)

// The replay files that every editor plays, but for what needs a plugin: a reason for a
// rejection, and a hunk taken in other words.
func TestReplay(t *testing.T) {
	program(t)
	for _, name := range []string{"review", "conflict", "bytes"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replay := editortest.Load(t, name)
			root, model := replay.Start(t)
			e := start(t, root, model.URL, replay.Person[0].File)
			replay.Play(t, &person{emacs: e})
			replay.Check(t, root, model)
		})
	}
}

// person uses Emacs by keys.
type person struct {
	*emacs
	looked bool // at the text, and put the question off
}

func (p *person) Open(file string) { p.t.Helper(); p.open(file, 1) }

func (p *person) Type(file string, line int, text string) {
	p.t.Helper()
	p.open(file, line)
	changes := p.sent("textDocument/didChange")
	p.Keys("C-a", "C-k")
	p.Text(text)
	p.See(text)
	p.traced("textDocument/didChange", changes+1) // it waits for a moment without typing
}

func (p *person) Ask(prompt string) { p.t.Helper(); p.ask(prompt) }

func (p *person) Review(n int) {
	p.t.Helper()
	if !p.looked {
		p.looked = true
		p.See("Choose an option: Review")
		p.Keys("C-g")
		p.Gone("Choose an option")
	}
	p.until(fmt.Sprintf("%d changes", n), func() bool { return p.marks() == n })
}

func (p *person) decide(file string, line int, title string) {
	p.t.Helper()
	p.open(file, line)
	p.act(title)
}

func (p *person) Accept(file string, line int) {
	p.t.Helper()
	p.decide(file, line, "accept this hunk")
	if _, err := os.Stat(filepath.Dir(filepath.Join(p.root, file))); err != nil {
		// Emacs asks that of a buffer whose folder is not there yet.
		p.See("read-only on disk.")
		p.Text("n")
		p.Gone("read-only on disk.")
	}
}

func (p *person) Reject(file string, line int, _ string) {
	p.t.Helper()
	p.decide(file, line, "reject this hunk")
}

func (p *person) Amend(string, int, string) { p.t.Fatal("needs a plugin") }
func (p *person) AcceptAll()                { p.t.Helper(); p.do("accept") }
func (p *person) Idle()                     { p.t.Helper(); p.idle() }

func (p *person) Undo(file string) {
	p.t.Helper()
	p.open(file, 1)
	p.Keys("C-/")
}

func (p *person) Save(file string) {
	p.t.Helper()
	p.open(file, 1)
	p.Keys("C-x", "C-s")
	s := p.Until("the file to be saved", func(s string) bool {
		return strings.Contains(s, "Wrote ") || strings.Contains(s, "create it?") || strings.Contains(s, "; create?")
	})
	if !strings.Contains(s, "Wrote ") {
		p.Text("y")
		p.See("Wrote ")
	}
}

// Line has Emacs write the line to a file.
func (p *person) Line(file string, line int) string {
	p.t.Helper()
	p.open(file, line)
	out := filepath.Join(p.home, "line")
	_ = os.Remove(out) // it may not be there
	p.Keys("M-:")
	p.See("Eval:")
	p.Text(fmt.Sprintf(`(let ((coding-system-for-write 'utf-8-unix)) (write-region (thing-at-point 'line t) nil %q nil 0))`, out))
	p.Keys("Enter")
	p.Gone("Eval:")
	p.until("the line", func() bool { _, err := os.Stat(out); return err == nil })
	data, err := os.ReadFile(out)
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimRight(string(data), "\r\n")
}
