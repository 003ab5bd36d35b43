//go:build linux

package vscode_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// TestVSCodeActions asks from within the editor: the light bulb on a problem, the prompt
// at the cursor with hunks and with an answer, and the status bar's menu.
func TestVSCodeActions(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"data.json": "{\n  \"a\": 1,\n}\n", "list.txt": "one\ntwo\nthree\n"})
	srv := geminitest.New(t,
		geminitest.Do(edit(filepath.Join(dir, "data.json"), "1,\n", "1\n")),
		geminitest.Say("The comma is gone."),
		geminitest.Do(edit(filepath.Join(dir, "list.txt"), "two\n", "2\n")),
		geminitest.Say("Done."),
		geminitest.Say("It counts."),
	)
	w := start(t, setup{
		folder: dir,
		env:    map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		open:   []string{"list.txt", "data.json"},
	})

	// The light bulb on a problem.
	w.wait(".squiggly-error, .squiggly-warning", "")
	w.click(`.view-line:has-text("1,")`)
	w.press("End")
	w.wait(".codicon-gutter-lightbulb, .codicon-light-bulb, .lightBulbWidget", "")
	w.press("Control+.")
	w.wait(".actionList .monaco-list-row", "Fix with Redline")
	w.shot("1-bulb")
	w.do(command{"op": "click", "sel": ".actionList .monaco-list-row", "has": "Fix with Redline"})
	w.inView(".review-widget", "Change 1 of 1")
	w.shot("2-fix")
	if said := srv.Requests()[0].Last().Texts(); !strings.Contains(said, "Fix this problem: Trailing comma") || !strings.Contains(said, "[selection data.json") {
		t.Errorf("the prompt was: %s", said)
	}
	w.click(`.review-widget .comment-body a:has-text("Accept")`)
	w.gone(".review-widget")

	// The prompt at the cursor.
	w.openFile("list.txt")
	w.click(`.view-line:has-text("two")`)
	w.press("Control+Alt+e")
	if _, err := w.try(command{"op": "until", "js": `document.activeElement.closest(".review-widget") !== null`, "timeout": 5000}); err != nil {
		w.shot("3-inline")
		t.Fatal(err)
	}
	w.shot("3-inline")
	w.typeText("As a digit, please.")
	w.shot("3b-inline")
	w.press("Enter")
	w.inView(".review-widget", "Change 1 of 1")
	w.shot("4-hunk")
	w.click(`.review-widget .comment-body a:has-text("Accept")`)
	w.waitEditor("2")
	w.gone(".review-widget")
	w.press("Control+Alt+e")
	w.until(`document.activeElement.closest(".review-widget") !== null`)
	w.typeText("What is this?")
	w.press("Enter")
	w.wait(".review-widget", "It counts.")
	w.shot("5-answer")
	w.press("Escape")
	w.gone(".review-widget")

	w.click(".statusbar-item:has-text('Redline')")
	w.wait(".quick-input-widget", "Open the chat")
	w.shot("6-menu")
	w.press("Escape")

	// The first steps, from the menu.
	w.run("Redline: Get Started")
	w.wait(".getting-started-step", "Accept or reject")
	w.shot("7-walkthrough")
}

// TestVSCodeNative asks @redline in the editor's own chat, which needs no sign-in: the answer
// streams, a command is allowed there, and a change is accepted there.
func TestVSCodeNative(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"list.txt": "one\ntwo\nthree\n"})
	srv := geminitest.New(t,
		geminitest.Do(geminitest.NewCall("run_shell_command", map[string]any{"command": "ls -l list.txt"})),
		geminitest.Do(edit(filepath.Join(dir, "list.txt"), "two\n", "2\n")),
		geminitest.Say("There it is."),
		geminitest.Say("Still here."),
		geminitest.Say("A list of three."),
		geminitest.Say("Nothing is wrong."),
		geminitest.Do(edit(filepath.Join(dir, "list.txt"), "three\n", "3\n")),
		geminitest.Say("That is the plan."),
	)
	w := start(t, setup{
		folder:   dir,
		env:      map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		settings: map[string]any{"chat.disableAIFeatures": false},
		open:     []string{"list.txt"},
	})
	w.run("Chat: Focus on Chat View")
	w.do(command{"op": "compose", "sel": ".interactive-input-part .monaco-editor", "text": "@redline write two as a digit"})
	w.shot("0-typed")
	w.press("Enter")
	w.wait(".interactive-session .monaco-button", "Run once")
	w.shot("1-command")
	w.do(command{"op": "click", "sel": ".interactive-session .monaco-button", "has": "Run once"})
	w.wait(".interactive-session .monaco-button", "Accept All")
	w.inView(".review-widget", "Change 1 of 1")
	w.shot("2-proposal")
	w.do(command{"op": "click", "sel": ".interactive-session .monaco-button", "has": "Accept All"})
	w.wait(".interactive-session", "There it is.")
	w.waitEditor("2")
	w.shot("3-done")
	w.do(command{"op": "compose", "sel": ".interactive-input-part .monaco-editor", "text": "@redline Still there?"})
	w.press("Enter")
	w.wait(".interactive-session", "Still here.")
	if n := len(srv.Requests()[3].Body.Contents); n < 3 {
		t.Errorf("the second prompt begins a new conversation, of %d contents", n)
	}

	// Its commands, with what is attached by the editor's own means.
	w.do(command{"op": "goto", "file": "list.txt", "line": 2})
	w.press("Shift+ArrowDown")
	w.press("Shift+ArrowDown")
	w.run("Chat: Add Selection to Chat")
	w.wait(".chat-attached-context", "list.txt")
	w.shot("4-attached")
	w.do(command{"op": "compose", "sel": ".interactive-input-part .monaco-editor", "text": "@redline /explain what is this?"})
	w.press("Enter")
	w.wait(".interactive-session", "A list of three.")
	if said := srv.Requests()[4].Last().Texts(); !strings.Contains(said, "Explain: what is this?") || !strings.Contains(said, "[selection list.txt, lines 2-3]") || !strings.Contains(said, "three") {
		t.Errorf("/explain was sent as:\n%s", said)
	}
	w.do(command{"op": "goto", "file": "list.txt", "line": 1})
	w.run("Chat: Add File to Chat")
	w.do(command{"op": "compose", "sel": ".interactive-input-part .monaco-editor", "text": "@redline /fix"})
	w.press("Enter")
	w.wait(".interactive-session", "Nothing is wrong.")
	if said := srv.Requests()[5].Last().Texts(); !strings.Contains(said, "Fix the problems in what is attached.") || !strings.Contains(said, "[file list.txt]") {
		t.Errorf("/fix was sent as:\n%s", said)
	}
	w.do(command{"op": "compose", "sel": ".interactive-input-part .monaco-editor", "text": "@redline /plan the rest"})
	w.press("Enter")
	w.wait(".interactive-session", "That is the plan.")
	w.shot("5-commands")
	if told, isErr := srv.Requests()[7].Last().Responses()[0].Output(); !isErr || !strings.Contains(told, "plan mode") {
		t.Errorf("an edit of a plan was answered with %q", told)
	}
}
