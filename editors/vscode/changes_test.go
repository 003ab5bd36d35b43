//go:build linux

package vscode_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// TestVSCodeChanges works with the panel: proposals come while the person types, and take
// no focus; hunks and files are accepted, looked at and taken back from the list; what is
// new since one last looked is shown alone; a checkpoint is previewed, restored, and the
// restore undone.
func TestVSCodeChanges(t *testing.T) {
	installed(t)
	const before = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
	dir := workspace(t, map[string]string{"list.txt": before, "notes.txt": "", "lib/more.txt": "alpha\nbeta\n"})
	list, fresh, more := filepath.Join(dir, "list.txt"), filepath.Join(dir, "new.md"), filepath.Join(dir, "lib/more.txt")
	srv := geminitest.New(t,
		gated("typing", geminitest.Chunk{Text: "I change the list."}, geminitest.Chunk{Calls: []geminitest.Call{
			edit(list, "two\n", "2\n"), edit(list, "eight\n", "8\n"),
			geminitest.NewCall("write_file", map[string]any{"file_path": fresh, "content": "# New\n\nA file that was not there.\n"}),
			edit(more, "beta\n", "beta\ngamma\n"),
		}}),
		geminitest.Say("Done."),
	)
	w := start(t, setup{
		folder: dir,
		env:    map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		height: 1100, // rows that are scrolled away are not there
	})
	row := func(text string) string { return `.monaco-list-row:has-text("` + text + `")` }
	act := func(text, action string) {
		t.Helper()
		w.do(command{"op": "hover", "sel": row(text)})
		w.click(row(text) + ` .action-label[aria-label^="` + action + `"]`)
	}
	noNews := func() { // a row that changes under the mouse takes no click
		t.Helper()
		w.until(`![...document.querySelectorAll(".monaco-list-row")].some(r => /[, ]new\b(?! file)/.test(r.textContent))`)
	}

	// Typing goes on in the editor while proposals arrive.
	w.ask("Change the list.")
	w.waitChat(".answer", "I change the list.")
	w.do(command{"op": "goto", "file": "notes.txt", "line": 1})
	w.typeText("typing ")
	srv.Release("typing")
	for _, c := range strings.Split("goes on and on and on", "") {
		w.typeText(c)
	}
	w.wait(".pane-header .description", "4 to review")
	w.typeText(" and on")
	w.waitEditor("typing goes on and on and on and on")
	w.until(`document.activeElement.closest(".editor-instance") !== null`)
	w.wait(`.tab.active[data-resource-name="notes.txt"]`, "")

	// The list: counts, states, what is new.
	w.wait(row("To review"), "3 files")
	w.wait(row("list.txt"), "+2 −2")
	w.wait(row("new.md"), "new file")
	w.wait(row("more.txt"), "+1")
	w.shot("1-panel")

	// A click on a change shows it; it is looked at when one goes elsewhere.
	w.click(row("gamma"))
	w.wait(`.tab.active[data-resource-name="more.txt"]`, "")
	w.inView(".review-widget", "Change 1 of 1")
	w.click(row("new.md"))
	w.wait(`.tab.active[aria-label*="new.md ↔ Redline"]`, "")
	w.wait(`.monaco-diff-editor .modified .view-line`, "A file that was not there.")
	w.shot("2-new-file")
	w.do(command{"op": "goto", "file": "notes.txt", "line": 1})
	w.until(`![...document.querySelectorAll(".monaco-list-row")].some(r => /more\.txt.*new|new file, new/.test(r.textContent))`)
	w.run("Redline: Review What Changed Since I Last Looked")
	w.wait(`.tab.active[aria-label*="since you last looked (1 file)"]`, "")
	w.wait(`.multiDiffEditor .view-line`, "eight")
	w.shot("3-news")
	w.press("Control+w")
	noNews()

	// Decided from the list.
	act(":2", "Accept Change")
	w.wait(row("Applied"), "1 file")
	act("new.md", "Accept File")
	w.wait(row("Applied"), "2 files")
	act("more.txt", "Accept File")
	w.wait(".pane-header .description", "1 to review")
	w.do(command{"op": "goto", "file": "list.txt", "line": 8})
	w.press("Control+k")
	w.press("n")
	w.waitChat(".proposal.closed .verdict", "3 accepted, 1 rejected")
	w.do(command{"op": "wait", "in": "chat", "sel": "body:not(.running)"})
	w.waitEditor("2")

	// What was applied is taken back from the list.
	w.click(row("Applied"))
	w.wait(row("Applied"), "3 files")
	w.click(row("Change 3 files"))
	w.shot("4-applied")
	act("more.txt", "Revert")
	w.wait(row("Applied"), "2 files")
	w.openFile("more.txt")
	w.until(`![...document.querySelectorAll(".editor-instance .view-line")].some(l => l.textContent.includes("gamma"))`)
	w.gone(".codelens-decoration") // the editor shows those of the last visit until it has asked

	// The timeline.
	w.click(`.pane-header[aria-label^="Checkpoints"]`)
	w.wait(row("Change the list."), "")
	w.click(row("Change the list."))
	w.wait(`.tab.active[aria-label*="Back to before"]`, "")
	w.wait(`.multiDiffEditor .view-line`, "two")
	w.shot("5-checkpoint")
	w.press("Control+w")
	act("Change the list.", "Go Back to a Checkpoint")
	w.wait(".monaco-dialog-box", "Files that change")
	w.shot("6-restore")
	w.click(`.monaco-dialog-box .monaco-button:has-text("Files Only")`)
	w.wait(".notification-toast", "you are back at before")
	w.openFile("list.txt")
	w.waitEditor("two")
	w.click(`.notification-toast .monaco-button:has-text("Undo")`)
	w.until(`![...document.querySelectorAll(".editor-instance .view-line")].some(l => l.textContent === "two")`)
	// The new file comes back last; what is said of it all goes away by itself.
	w.until(`document.querySelector('.tab.dirty[data-resource-name="new.md"]') || [...document.querySelectorAll(".notification-toast")].some(t => t.textContent.includes("as it was before"))`)
	w.shot("7-undone")
	w.run("File: Save All")
	w.gone(".tab.dirty")
	if got, want := read(t, list), strings.Replace(before, "two", "2", 1); got != want {
		t.Errorf("list.txt: %q", got)
	}
	if got := read(t, more); got != "alpha\nbeta\n" {
		t.Errorf("more.txt: %q", got)
	}
	if got := read(t, fresh); got != "# New\n\nA file that was not there.\n" {
		t.Errorf("new.md: %q", got)
	}
}

// TestVSCodeAutoEdit looks at what was applied without a question: it is marked where it
// stands and in the list, compared with what was there before, and taken back one by one.
func TestVSCodeAutoEdit(t *testing.T) {
	installed(t)
	before := "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
	dir := workspace(t, map[string]string{"list.txt": before, "notes.txt": ""})
	list := filepath.Join(dir, "list.txt")
	srv := geminitest.New(t, geminitest.Do(edit(list, "two\n", "2\n"), edit(list, "eight\n", "8\neight and a half\n")), geminitest.Say("Applied."))
	w := start(t, setup{
		folder:   dir,
		env:      map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		settings: map[string]any{"redline.mode": "autoEdit"},
		open:     []string{"notes.txt"},
	})
	row := func(text string) string { return `.monaco-list-row:has-text("` + text + `")` }
	w.ask("Change it.")
	w.waitChat(".answer", "Applied.")
	w.wait(`.tab.dirty[data-resource-name="list.txt"]`, "")
	w.wait(`.tab.active[data-resource-name="notes.txt"]`, "") // it stays where the person is
	w.run("Redline: Review What Changed Since I Last Looked")
	w.wait(`.tab.active[aria-label*="since you last looked (1 file)"]`, "")
	w.wait(`.multiDiffEditor .original .view-line`, "eight")
	w.wait(`.multiDiffEditor .modified .view-line`, "eight and a half")
	w.shot("1-news")
	w.press("Control+w")
	w.click(row("Applied"))
	w.click(row("Edit list.txt"))
	w.click(row("eight and a half") + `, ` + row(":8"))
	w.wait(`.tab.active[data-resource-name="list.txt"]`, "")
	w.shot("2-applied")
	w.do(command{"op": "hover", "sel": row(":8")})
	w.click(row(":8") + ` .action-label[aria-label^="Revert"]`)
	w.until(`![...document.querySelectorAll(".editor-instance .view-line")].some(l => l.textContent.includes("half"))`)
	w.press("Control+s")
	w.gone(`.tab.dirty[data-resource-name="list.txt"]`)
	if got, want := read(t, list), strings.Replace(before, "two", "2", 1); got != want {
		t.Errorf("list.txt: %q", got)
	}
}
