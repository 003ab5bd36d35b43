//go:build linux

package vscode_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

const prompt = "The panics of cmpopts do not say which value was wrong. Name it."

// What the scripted model wants to change, and where.
const (
	oldApprox = "\tif margin < 0 || fraction < 0 || math.IsNaN(margin) || math.IsNaN(fraction) {\n" +
		"\t\tpanic(\"margin or fraction must be a non-negative number\")\n\t}\n"
	newApprox = "\tif fraction < 0 || math.IsNaN(fraction) {\n" +
		"\t\tpanic(fmt.Sprintf(\"fraction must be a non-negative number: %v\", fraction))\n\t}\n" +
		"\tif margin < 0 || math.IsNaN(margin) {\n" +
		"\t\tpanic(fmt.Sprintf(\"margin must be a non-negative number: %v\", margin))\n\t}\n"
	oldTime = "\t\tpanic(\"margin must be a non-negative number\")\n"
	newTime = "\t\tpanic(fmt.Sprintf(\"margin must be a non-negative duration: %v\", margin))\n"
	oldSort = "\t\t\t\tpanic(fmt.Sprintf(\"incomparable values detected: want equal elements: %v\", v.Slice(start, i)))\n"
	newSort = "\t\t\t\tpanic(fmt.Sprintf(\"incomparable values detected in %v: want equal elements: %v\", v.Type(), v.Slice(start, i)))\n"
)

func edit(path, from, to string) geminitest.Call {
	return geminitest.NewCall("replace", map[string]any{"file_path": path, "old_string": from, "new_string": to})
}

// gated holds the last chunks of an answer back until the test has seen the first.
func gated(gate string, before, after geminitest.Chunk) geminitest.Step {
	after.Gate = gate
	return geminitest.Step{Chunks: []geminitest.Chunk{before, after}}
}

// TestVSCodeReview is the product's main job in the real editor: ask, watch the answer
// stream, review a proposal over two files hunk by hunk, and have the model told.
func TestVSCodeReview(t *testing.T) {
	installed(t)
	dir := goCmp(t)
	equate, sorting := filepath.Join(dir, "cmp/cmpopts/equate.go"), filepath.Join(dir, "cmp/cmpopts/sort.go")
	equateBefore, sortBefore := read(t, equate), read(t, sorting)

	srv := geminitest.New(t,
		geminitest.Step{When: "do not say which value", Chunks: []geminitest.Chunk{
			{Thought: "**Looking for the panics**\n\nThe options check their arguments when they are made; the messages there are constant strings."},
			{Text: "I look for the panics of "},
			{Text: "`cmpopts` first.", Gate: "streamed"},
			{Calls: []geminitest.Call{
				geminitest.NewCall("grep_search", map[string]any{"pattern": `panic\(`, "path": "cmp/cmpopts", "include": "*.go"}),
				geminitest.NewCall("read_file", map[string]any{"path": "cmp/cmpopts/equate.go"}),
			}},
		}},
		geminitest.Step{When: "non-negative", Chunks: []geminitest.Chunk{
			{Text: "Three messages leave the value out:\n\n1. `EquateApprox` does not even say which of the two is wrong\n2. `EquateApproxTime` calls a duration a number\n3. `checkSort` does not name the type\n\n"},
			{Text: "For example:\n\n```go\npanic(fmt.Sprintf(\"margin must be a non-negative number: %v\", margin))\n```\n"},
			{Calls: []geminitest.Call{
				edit(equate, oldApprox, newApprox), edit(equate, oldTime, newTime), edit(sorting, oldSort, newSort),
			}},
		}},
		geminitest.Say("The panics of `EquateApprox` now name the value. ", "The message of `EquateApproxTime` stays as it was, as you wished."),
	)
	w := start(t, setup{
		folder: dir,
		env:    map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		open:   []string{"cmp/cmpopts/equate.go"},
	})

	// Ask. The answer is on screen before the model has finished it.
	w.ask(prompt)
	w.waitChat(".answer", "I look for the panics of")
	w.waitChat("#stop", "")
	w.shot("1-streaming")
	srv.Release("streamed")

	// The proposal, in the chat and in the open editor, which is not changed by it.
	w.waitChat(".proposal.open", "Change 2 files")
	w.wait(".codelens-decoration", "Accept file (2)")
	w.waitChat(".tool.completed", "")
	if got := read(t, equate); got != equateBefore {
		t.Fatal("the file changed before any decision")
	}
	w.gone(`.tab.dirty[data-resource-name="equate.go"]`)
	w.click(`.editor-actions [aria-label^="Next Change"]`)
	w.inView(".review-widget", "Change 1 of 2")
	w.shot("2-proposal")

	// All files side by side.
	w.clickChat(`.proposal button:has-text("Review")`)
	w.wait(".multiDiffEditor .monaco-diff-editor .line-insert", "")
	w.wait(`.multiDiffEditor .view-line`, "non-negative duration")
	w.shot("3-multidiff")
	w.press("Control+w")
	w.wait(`.tab.active[data-resource-name="equate.go"]`, "")

	// Accept the first change by mouse in its card, reject the second by keyboard.
	w.click(`.review-widget:has-text("Change 1 of 2") .comment-body a:has-text("Accept")`)
	w.wait(".review-widget", "Change 1 of 1")
	w.waitEditor("fraction must be a non-negative number: %v")
	w.shot("4-accepted")
	w.press("Alt+F5")
	w.inView(".review-widget", "Change 1 of 1")
	w.shot("5-next")
	w.press("Control+k")
	w.press("n")
	w.gone(".review-widget")
	w.waitChat(".proposal.open .files li", "sort.go")
	// The rest by mouse in the chat.
	w.clickChat(`.proposal.open button[aria-label="Accept sort.go"]`)
	w.waitChat(".proposal.closed .verdict", "2 accepted, 1 rejected")
	w.waitChat(".answer", "stays as it was, as you wished")
	w.do(command{"op": "wait", "in": "chat", "sel": "body:not(.running)"})

	// What is on screen is saved, and is right to the byte.
	w.wait(`.tab.dirty[data-resource-name="equate.go"]`, "")
	w.wait(`.tab.dirty[data-resource-name="sort.go"]`, "") // opened by the editor, since it is not saved
	w.shot("6-decided")
	w.run("File: Save All")
	w.gone(`.tab.dirty`)
	if got, want := read(t, equate), replaced(t, equateBefore, oldApprox, newApprox); got != want {
		t.Errorf("equate.go on disk:\n%s", got)
	}
	if got, want := read(t, sorting), replaced(t, sortBefore, oldSort, newSort); got != want {
		t.Errorf("sort.go on disk:\n%s", got)
	}

	// The model was told what became of each call.
	responses := srv.Requests()[2].Last().Responses()
	if len(responses) != 3 {
		t.Fatalf("%d responses to 3 calls", len(responses))
	}
	for i, want := range []struct {
		word    string
		isError bool
	}{{"Successfully modified file", false}, {"rejected", true}, {"Successfully modified file", false}} {
		text, isError := responses[i].Output()
		if !strings.Contains(text, want.word) || isError != want.isError {
			t.Errorf("response %d: %q (error %v), want %q (error %v)", i, text, isError, want.word, want.isError)
		}
	}
}

// ask types a prompt into the chat and sends it with Enter.
func (w *workbench) ask(text string) {
	w.t.Helper()
	w.run("Redline: Focus Chat")
	w.do(command{"op": "click", "in": "chat", "sel": "#prompt"})
	w.typeText(text)
	w.press("Enter")
	w.waitChat(".user", text)
}

// inView waits until an element with the text can be seen: editors keep what is
// scrolled away.
func (w *workbench) inView(sel, text string) {
	w.t.Helper()
	args, err := json.Marshal([]string{sel, text})
	if err != nil {
		w.t.Fatal(err)
	}
	w.until(`((sel, text) => [...document.querySelectorAll(sel)].some(e => {
		const r = e.getBoundingClientRect();
		return e.textContent.replace(/\u00a0/g, " ").includes(text) && r.height > 0 && r.top > 0 && r.bottom < innerHeight;
	}))(...` + string(args) + `)`)
}

// waitEditor waits until a line of the active editor has the text.
func (w *workbench) waitEditor(text string) {
	w.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		w.t.Fatal(err)
	}
	// The editor writes spaces as no-break spaces.
	w.until(`[...document.querySelectorAll(".editor-instance .view-line")].some(l => l.textContent.replace(/\u00a0/g, " ").includes(` + string(quoted) + `))`)
}
