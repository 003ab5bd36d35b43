//go:build linux

package vscode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// workspace makes a folder with the given files.
func workspace(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestVSCodeChat goes through the chat itself: a selection as context, a stopped turn,
// an answer that goes on while the view is hidden, links and markup that stay text, a
// new session.
func TestVSCodeChat(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"main.go": "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n", "notes.txt": "one\n"})
	srv := geminitest.New(t,
		gated("never", geminitest.Chunk{Text: "This takes long"}, geminitest.Chunk{Text: "."}),
		gated("hidden", geminitest.Chunk{Text: "First half, "}, geminitest.Chunk{Text: "second half. <img src=x onerror=alert(1)> See [main.go](main.go:3).\n\n```go\nprintln(1)\n```\n"}),
		geminitest.Step{Error: &geminitest.Error{Status: 429, Message: "Too many requests.", RetryDelay: "3s"}},
		geminitest.Say("Hello again."),
		gated("never", geminitest.Chunk{Text: "Busy"}, geminitest.Chunk{Text: "."}),
	)
	w := start(t, setup{
		folder: dir,
		env:    map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		open:   []string{"main.go"},
	})

	// The selection goes along, and the chip says so.
	w.click(`.view-line:has-text("println")`)
	w.press("Home")
	w.press("Shift+End")
	w.run("Redline: Focus Chat")
	w.waitChat("#context", "main.go:4")
	w.ask("What does this do?")
	w.waitChat(".answer.live", "This takes long")
	w.waitChat(".user .about", "main.go:4")
	asked := srv.Requests()[0].Last().Texts()
	if !strings.Contains(asked, `println("hello")`) || !strings.Contains(asked, "What does this do?") {
		t.Errorf("the prompt was sent as %q", asked)
	}

	// Stop ends the turn at once, and the model's answer with it.
	w.clickChat("#stop")
	w.waitChat(".notice.info", "Stopped.")
	w.do(command{"op": "wait", "in": "chat", "sel": "body:not(.running)"})
	if gone, err := srv.Ended(t.Context(), 0); err != nil || !gone {
		t.Errorf("the request of the stopped turn goes on (%v)", err)
	}

	// A hidden view loses nothing.
	w.ask("Go on.")
	w.waitChat(".answer.live", "First half,")
	w.click(`.activitybar [aria-label^="Explorer"]`)
	w.gone("iframe.webview.ready")
	srv.Release("hidden")
	if _, err := srv.Ended(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	w.click(`.activitybar [aria-label^="Redline"]`)
	w.waitChat(".answer", "First half, second half.")
	w.waitChat(".user", "What does this do?")
	w.waitChat(".answer", "<img src=x onerror=alert(1)>")
	w.waitChat("figure.code code", "println(1)")
	w.do(command{"op": "hover", "in": "chat", "sel": "figure.code"})
	w.shot("1-answer")
	w.clickChat("figure.code .copy")
	w.waitChat("figure.code .copy", "Copied")

	// A link to a file opens it at its line.
	w.openFile("notes.txt")
	w.clickChat(`.answer a[data-href="main.go:3"]`)
	w.wait(`.tab.active[data-resource-name="main.go"]`, "")
	w.wait(".statusbar-item", "Ln 3, Col 1")

	// A new session begins empty; the model knows nothing of the old one. While a
	// request is put off, the chat counts down.
	w.run("Redline: New Session")
	w.waitChat(".welcome", "Ask for a change")
	w.shot("2-welcome")
	w.ask("Hello?")
	w.waitChat(".retry", "Trying again in")
	w.waitChat(".answer", "Hello again.")
	w.do(command{"op": "gone", "in": "chat", "sel": ".retry"})
	if last := srv.Requests()[2]; len(last.Body.Contents) != 1 {
		t.Errorf("a new session sends %d contents", len(last.Body.Contents))
	}

	// A new session in the middle of a turn ends the turn, and shows nothing of its end.
	w.ask("Once more?")
	w.waitChat(".answer.live", "Busy")
	w.run("Redline: New Session")
	w.waitChat(".welcome", "Ask for a change")
	if gone, err := srv.Ended(t.Context(), 4); err != nil || !gone {
		t.Errorf("the request of the session that was left goes on (%v)", err)
	}
	w.waitChat(".welcome", "Ask for a change")
	w.do(command{"op": "wait", "in": "chat", "sel": "body:not(.running)"})
}

// TestVSCodeCreate accepts a new file from the chat and has a deletion of lines and an
// insertion at the very start reviewed with a reason.
func TestVSCodeCreate(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"list.txt": "one\ntwo\nthree\n"})
	list, fresh := filepath.Join(dir, "list.txt"), filepath.Join(dir, "docs", "new.md")
	srv := geminitest.New(t,
		geminitest.Do(
			geminitest.NewCall("write_file", map[string]any{"file_path": fresh, "content": "# New\n\nA file that was not there.\n"}),
			edit(list, "one\n", "zero\none\n"),
			edit(list, "three\n", ""),
		),
		geminitest.Say("All right."),
	)
	w := start(t, setup{
		folder:   dir,
		env:      map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		settings: map[string]any{"workbench.colorTheme": "Dark Modern"},
		open:     []string{"list.txt"},
	})
	w.ask("Make a file, and change the list.")
	w.waitChat(".proposal.open .op-create", "new")
	w.inView(".review-widget", "zero")
	w.until(`document.querySelector(".review-widget").getBoundingClientRect().top < document.querySelector(".editor-instance .view-line").getBoundingClientRect().top`)
	w.inView(".review-widget", "These lines are removed.")
	w.shot("1-proposal")
	w.clickChat(`.proposal button:has-text("Review")`)
	w.wait(`.multiDiffEditor .view-line`, "A file that was not there.")
	w.shot("2-multidiff")
	w.press("Control+w")

	w.click(`.review-widget:has-text("removed") .comment-body a:has-text("Reject with reason")`)
	w.wait(`.quick-input-widget input`, "")
	w.typeText("Three must stay.")
	w.press("Enter")
	w.wait(".codelens-decoration", "Accept file (1)")
	w.do(command{"op": "click", "sel": ".codelens-decoration a", "has": "Accept file (1)"})
	w.waitEditor("zero")
	w.clickChat(`.proposal.open button[aria-label="Accept new.md"]`)
	w.waitChat(".proposal.closed .verdict", "2 accepted, 1 rejected")
	w.waitChat(".answer", "All right.")
	w.gone(".codelens-decoration")
	// The editor opens what was changed and is not saved.
	w.wait(`.tab.dirty[data-resource-name="new.md"]`, "")
	w.shot("3-decided")
	w.run("File: Save All")
	w.gone(".tab.dirty")
	if got := read(t, list); got != "zero\none\ntwo\nthree\n" {
		t.Errorf("list.txt: %q", got)
	}
	if got := read(t, fresh); got != "# New\n\nA file that was not there.\n" {
		t.Errorf("new.md: %q", got)
	}
	var told []string
	for _, r := range srv.Requests()[1].Last().Responses() {
		text, _ := r.Output()
		told = append(told, text)
	}
	if all := strings.Join(told, "\n"); !strings.Contains(all, "Three must stay.") {
		t.Errorf("the model was not told the reason: %q", told)
	}
}
