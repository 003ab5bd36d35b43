//go:build linux

package vscode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// TestVSCodeBigReview reviews what is too much for one screen: a change of 10,000 lines,
// then 200 changes in 40 files.
func TestVSCodeBigReview(t *testing.T) {
	installed(t)
	lines := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	files := map[string]string{"big.txt": lines("line %d as it was\n", 10000)}
	for i := range 40 {
		files[fmt.Sprintf("many/f%02d.txt", i)] = lines("row %d\nkeep\nkeep\nkeep\n", 5)
	}
	dir := workspace(t, files)
	var calls []geminitest.Call
	for i := range 40 {
		for j := range 5 {
			calls = append(calls, edit(filepath.Join(dir, fmt.Sprintf("many/f%02d.txt", i)), fmt.Sprintf("row %d\n", j), fmt.Sprintf("ROW %d\n", j)))
		}
	}
	big := lines("line %d as it is now\n", 10000)
	srv := geminitest.New(t,
		geminitest.Do(geminitest.NewCall("write_file", map[string]any{"file_path": filepath.Join(dir, "big.txt"), "content": big})),
		geminitest.Say("That is all."), // what comes before is reviewed at the end of the turn
		geminitest.Do(calls...),
		geminitest.Say("And these."),
	)
	w := start(t, setup{
		folder:   dir,
		env:      map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		open:     []string{"big.txt"},
		settings: map[string]any{"redline.reviewAt": "turn"},
	})
	w.ask("Rewrite the big one.")
	w.wait(".pane-header .description", "1 to review")
	w.wait(`.monaco-list-row:has-text("big.txt")`, "+10000 −10000")
	w.do(command{"op": "goto", "file": "big.txt", "line": 10000})
	w.inView(".review-widget", "and 9940 more lines")
	w.shot("1-big")
	w.click(`.review-widget a:has-text("more lines")`)
	w.wait(`.tab.active[aria-label*="big.txt ↔ Redline"]`, "")
	w.wait(`.monaco-diff-editor .modified .view-line`, "as it is now")
	w.shot("2-diff")
	w.click(`.editor-actions [aria-label^="Accept File"]`)
	w.waitChat(".proposal.closed .verdict", "Accepted")
	w.do(command{"op": "goto", "file": "big.txt", "line": 5000})
	w.waitEditor("line 4999 as it is now")
	w.press("Control+s")
	w.gone(`.tab.dirty[data-resource-name="big.txt"]`)
	if read(t, filepath.Join(dir, "big.txt")) != big {
		t.Error("big.txt is not what was accepted")
	}

	w.ask("Change the many.")
	w.wait(".pane-header .description", "200 to review")
	w.press("Alt+F5")
	w.wait(`.tab.active[data-resource-name="f00.txt"]`, "")
	w.press("Shift+Alt+F5") // before the first comes the last file
	w.wait(`.tab.active[data-resource-name="f39.txt"]`, "")
	w.inView(".review-widget", "Change 5 of 5")
	w.shot("3-many")
	w.clickChat(`.proposal.open button:has-text("Review")`)
	w.wait(`.tab.active[aria-label*="40 files"]`, "")
	w.wait(".multiDiffEditor .monaco-diff-editor .line-insert", "")
	w.shot("4-multidiff")
	w.run("Redline: Accept All Changes")
	w.waitChat(".proposal.closed .verdict", "200 changes accepted")
	w.run("File: Save All")
	w.gone(".tab.dirty")
	for i := range 40 {
		name := fmt.Sprintf("many/f%02d.txt", i)
		if got := read(t, filepath.Join(dir, name)); got != strings.ReplaceAll(files[name], "row", "ROW") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestVSCodeOddFiles reviews changes of files that are not ordinary documents: one that may
// not be written, one that is deleted under the review, and a notebook.
func TestVSCodeOddFiles(t *testing.T) {
	installed(t)
	notebook := `{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": null,
   "metadata": {},
   "outputs": [],
   "source": [
    "print('hello')"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
`
	dir := workspace(t, map[string]string{"fixed.txt": "one\ntwo\n", "locked.txt": "one\ntwo\n", "gone.txt": "one\ntwo\n", "book.ipynb": notebook})
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Chmod(at("fixed.txt"), 0o444); err != nil {
		t.Fatal(err)
	}
	srv := geminitest.New(t,
		geminitest.Do(edit(at("fixed.txt"), "two\n", "2\n"), edit(at("locked.txt"), "two\n", "2\n"), edit(at("gone.txt"), "two\n", "2\n"), edit(at("book.ipynb"), "hello", "hallo")),
		geminitest.Say("Done."),
	)
	w := start(t, setup{
		folder:   dir,
		env:      map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		settings: map[string]any{"files.readonlyInclude": map[string]bool{"**/locked.txt": true}},
		height:   1100,
	})
	w.openFile("fixed.txt")
	w.ask("Change them all.")
	w.wait(".pane-header .description", "4 to review")
	w.shot("1-odd")
	decide := func(f string) {
		t.Helper()
		w.do(command{"op": "goto", "file": f, "line": 2})
		w.inView(".review-widget", "Change 1 of 1")
		if f == "gone.txt" {
			if err := os.Remove(at(f)); err != nil {
				t.Fatal(err)
			}
			w.wait(`.tab.active .monaco-icon-label.strikethrough, .tab.active .strikethrough`, "gone.txt")
			w.shot("4-gone")
		}
		w.press("Control+k")
		w.press("y")
		w.gone(".review-widget")
	}
	decide("fixed.txt")
	w.wait(`.tab.dirty[data-resource-name="fixed.txt"]`, "")
	// What could never be saved is not applied.
	decide("locked.txt")
	w.wait(".notification-toast", "locked.txt is read-only in this editor")
	w.waitEditor("two")
	w.shot("3-locked")
	// The text of a deleted file is still there, and so is its change; saving makes it again.
	decide("gone.txt")
	w.wait(`.tab.dirty[data-resource-name="gone.txt"]`, "")
	w.press("Control+s")
	w.gone(`.tab.dirty[data-resource-name="gone.txt"]`)
	if got := read(t, at("gone.txt")); got != "one\n2\n" {
		t.Errorf("gone.txt: %q", got)
	}
	// A notebook is reviewed as the JSON it is, and saved when it is changed: its editor shows the disk.
	book := `.monaco-list-row:has-text("book.ipynb")`
	w.do(command{"op": "hover", "sel": book})
	w.click(book + ` .action-label[aria-label^="Open Diff"]`)
	w.wait(`.tab.active[aria-label*="book.ipynb ↔ Redline"]`, "")
	w.wait(`.monaco-diff-editor .modified .view-line`, "hallo")
	w.shot("4-notebook")
	w.click(`.editor-actions [aria-label^="Accept File"]`)
	w.waitChat(".answer", "Done.")
	w.run("File: Save All")
	w.gone(".tab.dirty")
	if got := read(t, at("book.ipynb")); got != strings.Replace(notebook, "hello", "hallo", 1) {
		t.Errorf("book.ipynb: %s", got)
	}
	if got := read(t, at("fixed.txt")); got != "one\n2\n" {
		t.Errorf("fixed.txt: %q", got)
	}
	if got := read(t, at("locked.txt")); got != "one\ntwo\n" {
		t.Errorf("locked.txt: %q", got)
	}
	if text, isErr := srv.Requests()[1].Last().Responses()[1].Output(); !isErr || !strings.Contains(text, "conflict") {
		t.Errorf("the model was told of locked.txt: %q", text)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
