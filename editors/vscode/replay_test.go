//go:build linux

package vscode_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"testing"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

// TestVSCodeReplay plays the replay files that every editor plays.
func TestVSCodeReplay(t *testing.T) {
	for _, name := range []string{"review", "conflict", "bytes", "amend"} {
		t.Run(name, func(t *testing.T) {
			installed(t)
			replay := editortest.Load(t, name)
			root, model := replay.Start(t)
			w := start(t, setup{
				folder: root,
				env:    map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": model.URL},
			})
			replay.Play(t, person{w, root})
			replay.Check(t, root, model)
		})
	}
}

// person uses the extension by mouse and keys.
type person struct {
	*workbench
	root string
}

// at shows a file with the cursor at the start of a line.
func (p person) at(file string, line int) {
	p.t.Helper()
	p.do(command{"op": "goto", "file": file, "line": line})
}

func (p person) Open(file string) { p.t.Helper(); p.at(file, 1) }
func (p person) Type(file string, line int, text string) {
	p.t.Helper()
	p.at(file, line)
	p.press("Shift+End")
	p.typeText(text)
}
func (p person) Ask(prompt string) { p.t.Helper(); p.ask(prompt) }
func (p person) Review(n int) {
	p.t.Helper()
	p.wait(".statusbar-item", fmt.Sprintf("review %d", n))
}

// decide presses a key of review on a hunk; a file that is not there yet is decided on in the chat.
func (p person) decide(file string, line int, key, button string) {
	p.t.Helper()
	if _, err := os.Stat(filepath.Join(p.root, file)); err != nil {
		p.clickChat(fmt.Sprintf(`.proposal.open button[aria-label="%s %s"]`, button, path.Base(file)))
		return
	}
	p.at(file, line)
	p.press("Control+k")
	p.press(key)
}
func (p person) Accept(file string, line int) { p.t.Helper(); p.decide(file, line, "y", "Accept") }
func (p person) Reject(file string, line int, reason string) {
	p.t.Helper()
	if reason == "" {
		p.decide(file, line, "n", "Reject")
		return
	}
	p.at(file, line)
	p.run("Redline: Reject Change with Reason…")
	p.wait(`.quick-input-widget input`, "")
	p.typeText(reason)
	p.press("Enter")
}
func (p person) Amend(file string, line int, text string) {
	p.t.Helper()
	p.at(file, line)
	p.press("Control+k")
	p.press("a")
	p.wait(`.tab.active[aria-label*="your version"]`, "")
	p.wait(`.monaco-diff-editor .editor.modified .monaco-editor.focused`, "")
	p.press("Control+a")
	p.typeText(text)
	p.shot("amend")
	p.press("Control+s")
	p.gone(`.tab[aria-label*="your version"]`)
}
func (p person) AcceptAll() { p.t.Helper(); p.run("Redline: Accept All Changes") }
func (p person) Idle() {
	p.t.Helper()
	p.do(command{"op": "wait", "in": "chat", "sel": "body:not(.running)"})
	p.gone(".review-widget")
}
func (p person) Undo(file string) {
	p.t.Helper()
	p.at(file, 1)
	p.press("Control+z")
}
func (p person) Save(file string) {
	p.t.Helper()
	p.Open(file)
	p.press("Control+s")
	p.gone(fmt.Sprintf(`.tab.dirty[data-resource-name="%s"]`, path.Base(file)))
}

// Line reads the line that stands beside its number, as soon as it is drawn.
func (p person) Line(file string, line int) string {
	p.t.Helper()
	p.at(file, line)
	js := fmt.Sprintf(`(() => {
		const top = (e) => Math.round(e.getBoundingClientRect().top);
		const number = [...document.querySelectorAll(".editor-instance .line-numbers")].find((e) => e.textContent === "%d");
		const shown = number && [...document.querySelectorAll(".editor-instance .view-line")].find((e) => Math.abs(top(e) - top(number)) < 3);
		return shown ? shown.textContent.replace(/\u00a0/g, " ") : null;
	})()`, line)
	p.until(js + " !== null")
	var text string
	if err := json.Unmarshal(p.do(command{"op": "eval", "js": js}), &text); err != nil {
		p.t.Fatal(err)
	}
	return text
}
