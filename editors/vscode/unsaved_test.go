//go:build linux

package vscode_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// TestVSCodeUnsaved asks about a buffer with unsaved text: the model's tools read that
// text, edits are made against it, typing during the review moves them along, and what
// was typed is there in the end.
func TestVSCodeUnsaved(t *testing.T) {
	installed(t)
	dir := goCmp(t)
	equate := filepath.Join(dir, "cmp/cmpopts/equate.go")
	before := read(t, equate)
	const typed = "// Unsaved: margins are checked one by one."
	const later = "// Typed during the review."

	srv := geminitest.New(t,
		geminitest.Do(geminitest.NewCall("read_file", map[string]any{"path": "cmp/cmpopts/equate.go"})),
		geminitest.Step{When: typed, Chunks: []geminitest.Chunk{
			{Text: "I see the comment you have not saved yet."},
			{Calls: []geminitest.Call{edit(equate, oldApprox, newApprox), edit(equate, typed+"\n", typed+" See EquateApprox.\n")}},
		}},
		geminitest.Say("Done."),
	)
	w := start(t, setup{
		folder:   dir,
		env:      map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		settings: map[string]any{"workbench.colorTheme": "Dark 2026"},
		open:     []string{"cmp/cmpopts/equate.go"},
	})
	w.click(".editor-instance .view-line")
	w.press("Control+Home")
	w.press("Enter")
	w.press("ArrowUp")
	w.typeText(typed)
	w.wait(`.tab.dirty[data-resource-name="equate.go"]`, "")

	w.ask(prompt)
	w.waitChat(".proposal.open", "Edit cmp/cmpopts/equate.go")
	w.wait(".codelens-decoration", "Accept file (2)")
	if got := read(t, equate); got != before {
		t.Fatal("the disk changed")
	}
	w.inView(".review-widget", "See EquateApprox")
	w.shot("1-proposal")

	// The user goes on typing above the changes, and into one of them.
	w.click(`.view-line:has-text("license that can be found")`)
	w.press("End")
	w.typeText("\n" + later)
	w.waitEditor(later)
	w.click(`.editor-actions [aria-label^="Next Change"]`)
	w.inView(".review-widget", "Change 2 of 2")
	w.shot("2-moved")
	w.press("Control+k")
	w.press("y")
	w.waitEditor("fraction must be a non-negative number: %v")
	w.wait(".codelens-decoration", "Accept file (1)")

	w.press("Control+Home")
	w.press("End")
	w.typeText(" Mine")
	w.inView(".review-widget", "your text stays")
	w.wait(".codelens-decoration", "Take theirs")
	w.shot("3-conflict")
	w.clickChat(`.proposal.open button:has-text("Keep my text")`)
	w.waitChat(".proposal.closed .verdict", "1 accepted, 1 in conflict")
	w.waitChat(".answer", "Done.")
	w.gone(".review-widget")

	w.run("File: Save All")
	w.gone(`.tab.dirty`)
	want := replaced(t, before, oldApprox, newApprox)
	want = replaced(t, want, "that can be found in the LICENSE file.\n", "that can be found in the LICENSE file.\n"+later+"\n")
	want = typed + " Mine\n" + want
	if got := read(t, equate); got != want {
		t.Errorf("on disk:\n%s", got)
	}
	responses := srv.Requests()[2].Last().Responses()
	if out, isErr := responses[0].Output(); isErr {
		t.Errorf("the accepted edit was reported as %q", out)
	}
	if out, _ := responses[1].Output(); !strings.Contains(out, "their text stands") {
		t.Errorf("the conflict was reported as %q", out)
	}
}
