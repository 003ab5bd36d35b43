//go:build linux

package vscode_test

import (
	"path/filepath"
	"testing"

	"redline/agent/geminitest"
)

// TestVSCodeReload reloads the window with a proposal open: the session goes on, the hunks
// are there again and can be decided. A second window on the same folder has a session
// of its own, and finds it again after a reload too.
func TestVSCodeReload(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"a.txt": "one\ntwo\n", "b.txt": "three\n"})
	srv := geminitest.New(t,
		geminitest.Do(edit(filepath.Join(dir, "a.txt"), "two\n", "2\n")),
		geminitest.Do(edit(filepath.Join(dir, "b.txt"), "three\n", "3\n")),
		geminitest.Say("And done."),
	)
	w := start(t, setup{
		folder: dir,
		env:    map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		open:   []string{"a.txt"},
	})
	w.ask("Change two.")
	w.inView(".review-widget", "Change 1 of 1")
	w.do(command{"op": "reload"})
	w.wait(".statusbar-item", "Redline: review 1")
	w.openFile("a.txt") // a workbench that is closed at once may have forgotten its tabs
	w.inView(".review-widget", "Change 1 of 1")
	w.waitChat(".user", "Change two.")
	w.waitChat(".proposal.open", "a.txt")
	w.shot("1-reloaded")

	// A second window has a session of its own.
	w.do(command{"op": "window", "n": 1})
	w.wait(".statusbar-item", "Redline")
	w.ask("Change three.")
	w.waitChat(".proposal.open", "b.txt")
	w.shot("2-second")
	w.do(command{"op": "reload"})
	w.wait(".statusbar-item", "Redline: review 1")
	w.waitChat(".user", "Change three.")

	w.do(command{"op": "window", "n": 0})
	w.click(`.review-widget .comment-body a:has-text("Accept")`)
	w.waitEditor("2")
	w.ask("Still there?")
	w.waitChat(".answer", "And done.")
}
