//go:build linux

package vscode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// TestVSCodeTheirs reviews what is more than a change of lines: both sides of a conflict,
// files that are deleted and renamed, a document that was never saved, and a notebook with
// changes that are not saved.
func TestVSCodeTheirs(t *testing.T) {
	installed(t)
	const list = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
	const book = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"print('hello')\"\n   ]\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n"
	dir := workspace(t, map[string]string{"list.txt": list, "old.txt": "nobody\nneeds\nthis\n", "name.txt": "alpha\nbeta\n", "book.ipynb": book})
	at := func(name string) string { return filepath.Join(dir, name) }
	const untitled = "untitled:Untitled-1"
	srv := geminitest.New(t,
		geminitest.Do(
			edit(at("list.txt"), "two\n", "2\n"), edit(at("list.txt"), "eight\n", "8\n"),
			geminitest.NewCall("delete_file", map[string]any{"file_path": at("old.txt")}),
			edit(at("name.txt"), "beta\n", "gamma\n"),
			geminitest.NewCall("rename_file", map[string]any{"file_path": at("name.txt"), "new_path": at("sub/other.txt")}),
		),
		geminitest.Say("Done with the files."),
		geminitest.Do(geminitest.NewCall("read_file", map[string]any{"path": untitled})),
		geminitest.Step{When: "milk", Chunks: []geminitest.Chunk{{Calls: []geminitest.Call{edit(untitled, "milk", "oat milk"), edit(untitled, "bread", "rye bread")}}}},
		geminitest.Say("Done with the draft."),
		geminitest.Do(edit(at("book.ipynb"), "hello", "hallo")),
		geminitest.Say("Done with the notebook."),
	)
	w := start(t, setup{
		folder: dir,
		env:    map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		open:   []string{"old.txt", "list.txt"},
		height: 1100,
	})
	row := func(text string) string { return `.monaco-list-row:has-text("` + text + `")` }
	act := func(text, action string) {
		t.Helper()
		w.do(command{"op": "hover", "sel": row(text)})
		w.click(row(text) + ` .action-label[aria-label^="` + action + `"]`)
	}
	noLine := func(text string) {
		t.Helper()
		w.until(`![...document.querySelectorAll(".editor-instance .view-line")].some(l => l.textContent.includes("` + text + `"))`)
	}

	w.ask("Tidy up.")
	w.wait(".pane-header .description", "5 to review")
	w.wait(row("old.txt"), "deleted")
	w.wait(row("name.txt → other.txt"), "renamed")
	w.shot("1-pending")

	// What would go, and what would get another name.
	w.click(row("old.txt") + `:has-text("deleted")`)
	w.wait(`.tab.active[data-resource-name="old.txt"], .tab.active[aria-label*="old.txt"]`, "")
	w.shot("2-delete")
	w.click(row("name.txt → other.txt"))
	w.wait(`.tab.active[aria-label*="name.txt"]`, "")
	w.shot("3-rename")

	// Both sides of a conflict; theirs is taken with one edit, which undo takes back.
	w.do(command{"op": "goto", "file": "list.txt", "line": 2})
	w.press("End")
	w.typeText(" and a half")
	w.wait(".codelens-decoration", "Take theirs")
	w.inView(".review-widget", "your text stays")
	w.themes("3b", "Dark Modern", "Dark High Contrast", "Light High Contrast", "Light Modern")
	w.do(command{"op": "click", "sel": ".codelens-decoration a", "has": "Compare"})
	w.wait(`.tab.active[aria-label*="list.txt: proposed ↔ yours"]`, "")
	w.wait(`.monaco-diff-editor .modified .view-line`, "two and a half")
	w.wait(`.monaco-diff-editor .original .view-line`, "2")
	w.shot("4-compare")
	w.press("Control+w")
	w.do(command{"op": "goto", "file": "list.txt", "line": 1})
	w.click(`.review-widget:has-text("your text stays") .comment-body a:has-text("Take theirs")`)
	noLine("and a half")
	w.shot("5-taken")
	w.wait(".pane-header .description", "4 to review")
	w.do(command{"op": "goto", "file": "list.txt", "line": 1})
	w.press("Control+z")
	w.waitEditor("two and a half")
	w.press("Control+Shift+z")
	noLine("and a half")
	w.do(command{"op": "goto", "file": "list.txt", "line": 8})
	w.press("Control+k")
	w.press("n")
	w.wait(".pane-header .description", "3 to review")

	// The files themselves.
	act("old.txt", "Accept File")
	w.wait(".pane-header .description", "2 to review")
	w.shot("6-deleted")
	w.clickChat(`.proposal.open button[aria-label^="Accept name.txt"]`)
	w.waitChat(".answer", "Done with the files.")
	w.wait(row("Applied"), "2 files") // theirs is the person's own edit
	w.click(row("Applied"))
	w.shot("7-applied")
	w.run("File: Save All")
	w.gone(".tab.dirty")
	if got := read(t, at("list.txt")); got != strings.Replace(list, "two", "2", 1) {
		t.Errorf("list.txt: %q", got)
	}
	if got := read(t, at("sub/other.txt")); got != "alpha\ngamma\n" {
		t.Errorf("sub/other.txt: %q", got)
	}
	for _, gone := range []string{"old.txt", "name.txt"} {
		if exists(at(gone)) {
			t.Errorf("%s is still there", gone)
		}
	}

	// Never saved: reviewed in its editor like a file.
	w.run("File: New Untitled Text File")
	w.wait(`.tab.active[data-resource-name="Untitled-1"]`, "")
	w.typeText("milk\neggs\nbread\n")
	w.ask("Make the draft precise.")
	w.inView(".review-widget", "Change 1 of 2")
	w.wait(row("Untitled-1"), "+2")
	w.shot("8-untitled")
	w.click(`.review-widget:has-text("oat") .comment-body a:has-text("Accept")`)
	w.waitEditor("oat milk")
	w.clickChat(`.proposal.open button:has-text("Review")`)
	w.wait(`.multiDiffEditor .view-line`, "rye bread")
	w.shot("9-untitled-review")
	w.press("Control+w")
	w.clickChat(`.proposal.open button[aria-label^="Reject Untitled-1"]`)
	w.waitChat(".answer", "Done with the draft.")
	w.waitEditor("oat milk")
	w.waitEditor("bread")
	noLine("rye")

	// A notebook that is being written in: nothing is put over it, and it is said what to do.
	w.press("Control+p")
	w.wait(".quick-input-widget input", "")
	w.typeText("book.ipynb")
	w.wait(".quick-input-list .monaco-list-row.focused", "book.ipynb")
	w.press("Enter")
	w.wait(`.tab.active[data-resource-name="book.ipynb"]`, "")
	w.click(`.notebookOverlay .code-cell-row .view-line:has-text("hello")`)
	w.press("End")
	w.typeText(" # mine")
	w.wait(`.tab.dirty[data-resource-name="book.ipynb"]`, "")
	w.ask("Say it in German.")
	w.wait(row("book.ipynb"), "+1")
	act("book.ipynb", "Accept File")
	w.wait(".notification-toast", "book.ipynb: save this notebook first")
	w.shot("10-notebook")
	w.waitChat(".answer", "Done with the notebook.")
	if got := read(t, at("book.ipynb")); got != book {
		t.Errorf("the notebook on disk: %s", got)
	}
	w.wait(`.notebookOverlay .code-cell-row .view-line`, "# mine")
	w.run("File: Save All")
	w.gone(`.tab.dirty[data-resource-name="book.ipynb"]`)
	if got := read(t, at("book.ipynb")); !strings.Contains(got, `"print('hello') # mine"`) || !json.Valid([]byte(got)) {
		t.Errorf("the notebook on disk, saved: %s", got)
	}

	told := func(request, i int) string {
		text, _ := srv.Requests()[request].Last().Responses()[i].Output()
		return text
	}
	for _, want := range []struct {
		request, i int
		text       string
	}{{1, 1, "rejected"}, {1, 2, "Successfully deleted"}, {1, 4, "Successfully renamed"}, {4, 0, "Successfully modified"}, {4, 1, "rejected"}, {6, 0, "notebook"}} {
		if got := told(want.request, want.i); !strings.Contains(got, want.text) {
			t.Errorf("response %d of request %d is %q, without %q", want.i, want.request, got, want.text)
		}
	}
	t.Logf("taking theirs is told as %q", told(1, 0))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
