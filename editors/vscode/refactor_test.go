//go:build linux

package vscode_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// TestVSCodeRefactorPreview reviews in the editor's own preview: it opens when the person
// asks for it, what they tick is applied and the rest rejected, and discarding decides nothing.
func TestVSCodeRefactorPreview(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"list.txt": "one\ntwo\nthree\nfour\nfive\nsix\n", "notes.txt": ""})
	list := filepath.Join(dir, "list.txt")
	srv := geminitest.New(t,
		gated("typing", geminitest.Chunk{Text: "I change it."}, geminitest.Chunk{Calls: []geminitest.Call{edit(list, "two\n", "2\n"), edit(list, "five\n", "5\n")}}),
		geminitest.Say("Done."),
	)
	w := start(t, setup{
		folder:   dir,
		env:      map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		settings: map[string]any{"redline.review.preview": "refactor"},
	})
	w.ask("Change the list.")
	w.waitChat(".answer", "I change it.")
	w.do(command{"op": "goto", "file": "notes.txt", "line": 1})
	srv.Release("typing")
	w.typeText("my ")
	w.wait(".notification-toast", "Redline proposes: Edit list.txt")
	w.typeText("own notes")
	w.waitEditor("my own notes")
	w.gone(".bulk-edit-panel")

	w.click(`.notification-toast .monaco-button:has-text("Preview")`)
	w.wait(".bulk-edit-panel .monaco-list-row", "list.txt")
	w.shot("1-preview")
	w.click(`.bulk-edit-panel .monaco-button:has-text("Discard")`)
	w.wait(".notification-toast", "nothing was taken")
	w.wait(".statusbar-item", "review 2")
	w.click(`.notification-toast .monaco-button:has-text("Open Again")`)
	w.wait(".bulk-edit-panel .monaco-list-row", "list.txt")
	w.do(command{"op": "click", "sel": ".bulk-edit-panel .monaco-list-row .edit-checkbox", "nth": 1}) // the first change; the file is above it
	w.shot("2-ticked")
	w.click(`.bulk-edit-panel .monaco-button:has-text("Apply")`)
	w.waitChat(".answer", "Done.")
	w.openFile("list.txt")
	w.shot("3-applied")
	w.run("File: Save All")
	w.gone(".tab.dirty")
	if got := read(t, list); got != "one\n2\nthree\nfour\nfive\nsix\n" {
		t.Errorf("list.txt: %q", got)
	}
	for i, want := range []string{"Successfully", "rejected"} {
		if text, _ := srv.Requests()[1].Last().Responses()[i].Output(); !strings.Contains(text, want) {
			t.Errorf("response %d: %q, want %q", i, text, want)
		}
	}
}
