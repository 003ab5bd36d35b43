package helix_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/editors/editortest"
)

// The replay files that every editor plays, but for what needs a plugin: a reason for a
// rejection, and a hunk taken in other words.
func TestReplay(t *testing.T) {
	for _, name := range []string{"review", "conflict", "bytes"} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, version string) {
				replay := editortest.Load(t, name)
				root, model := replay.Start(t)
				h := start(t, version, root, model.URL, replay.Person[0].File, "")
				replay.Play(t, person{h})
				replay.Check(t, root, model)
			})
		})
	}
}

// person uses Helix by keys.
type person struct{ *helix }

func (p person) Open(file string) { p.t.Helper(); p.open(file, 1) }

func (p person) Type(file string, line int, text string) {
	p.t.Helper()
	p.open(file, line)
	p.Keys("g", "h", "v", "g", "l", "d")
	p.insert(text)
}

// Ask asks by the command line, or where that takes no arguments, in the chat.
func (p person) Ask(prompt string) {
	p.t.Helper()
	if p.version != "25.01" {
		p.redline(fmt.Sprintf(`ask {"text":%q}`, prompt))
		return
	}
	p.redline("ask")
	p.See("Write below the last heading")
	p.traced(`"languageId":"markdown"`, 1)
	p.insert(prompt)
	p.act("Send")
	p.See("## Redline")
}

func (p person) Review(n int) {
	p.t.Helper()
	if p.version != "25.01" {
		// Once, a message that is sent away to look at the text.
		if _, err := os.Stat(filepath.Join(p.home, "asked")); err != nil {
			put(p.t, filepath.Join(p.home, "asked"), "")
			p.See("Redline proposes:")
			p.Keys("Escape")
			p.See(fmt.Sprintf("Redline: %d change", n))
		}
	} else {
		p.traced("waits for your decision", 1)
	}
	deadline := time.Now().Add(time.Minute)
	for got := p.marks(); got != n; got = p.marks() {
		if time.Now().After(deadline) {
			p.t.Fatalf("%d changes wait, want %d", got, n)
		}
	}
}

func (p person) decide(file string, line int, title string) {
	p.t.Helper()
	p.open(file, line)
	p.act(title)
	p.Gone(" Redline: ")
}

func (p person) Accept(file string, line int) {
	p.t.Helper()
	p.decide(file, line, "accept this hunk")
}

func (p person) Reject(file string, line int, _ string) {
	p.t.Helper()
	p.decide(file, line, "reject this hunk")
}

func (p person) Amend(string, int, string) { p.t.Fatal("needs a plugin") }
func (p person) AcceptAll()                { p.t.Helper(); p.redline("accept") }
func (p person) Idle()                     { p.t.Helper(); p.idle() }

func (p person) Undo(file string) {
	p.t.Helper()
	p.open(file, 1)
	p.Keys("u")
}

func (p person) Save(file string) {
	p.t.Helper()
	p.open(file, 1)
	p.command("write!") // the folder of a new file is not there yet
	p.See("written")
}

// Line has Helix write the line to a file.
func (p person) Line(file string, line int) string {
	p.t.Helper()
	p.open(file, line)
	out := filepath.Join(p.home, "line")
	_ = os.Remove(out) // it may not be there
	p.Keys("x")
	p.command("pipe-to cat > " + out + ".new && mv " + out + ".new " + out)
	deadline := time.Now().Add(20 * time.Second)
	for {
		data, err := os.ReadFile(out)
		if err == nil {
			return strings.TrimRight(string(data), "\r\n")
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("Helix did not write the line: %v", err)
		}
		time.Sleep(15 * time.Millisecond)
	}
}
