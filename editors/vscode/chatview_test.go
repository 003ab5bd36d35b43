//go:build linux

package vscode_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

func (w *workbench) goneChat(sel string) {
	w.t.Helper()
	w.do(command{"op": "gone", "in": "chat", "sel": sel})
}

// untilChat waits until a JavaScript expression of the chat's page is true.
func (w *workbench) untilChat(js string) {
	w.t.Helper()
	w.do(command{"op": "until", "in": "chat", "js": js})
}

func (w *workbench) evalChat(js string) {
	w.t.Helper()
	w.do(command{"op": "eval", "in": "chat", "js": js})
}

// typeChat types into the prompt.
func (w *workbench) typeChat(text string) {
	w.t.Helper()
	w.do(command{"op": "click", "in": "chat", "sel": "#prompt"})
	w.typeText(text)
}

const calc = "package main\n\n// Add returns the sum.\nfunc Add(a, b int) int {\n\treturn a - b\n}\n\nfunc main() {\n\tprintln(Add(1, 2))\n}\n"

// TestVSCodeChatView uses all of the chat in one session, as a person would: what is
// written is completed, code of an answer becomes a proposal, a command prints while it
// runs, prompts wait in the queue, sessions are taken up again.
func TestVSCodeChatView(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{
		"calc.go": calc, "docs/read me.md": "# Notes\n\nText.\n\n# Later Plans\n\nMore text.\n", "bad.json": "{\"a\": 1,}\n",
		".gemini/commands/review.toml": "description = \"Reviews a file\"\nprompt = \"Review {{args}} with care.\"\n",
	})
	answer := "**Found it.** `Add` subtracts. Fixed:\n\n```go:calc.go\n// Add returns the sum.\nfunc Add(a, b int) int {\n\treturn a + b\n}\n```\n\nAnd a snippet:\n\n```go\nprintln(\"snippet\")\n```\n"
	plan := func(status string) geminitest.Call {
		return geminitest.NewCall("write_todos", map[string]any{"todos": []map[string]any{
			{"description": "Look at calc.go", "status": "completed"}, {"description": "Run it", "status": status}, {"description": "Report", "status": "pending"},
		}})
	}
	srv := geminitest.New(t,
		geminitest.Step{When: "What is wrong", Chunks: []geminitest.Chunk{
			{Thought: "**Reading the function**\n\nIt says sum and subtracts."},
			{Calls: []geminitest.Call{plan("in_progress"), geminitest.NewCall("read_file", map[string]any{"file_path": filepath.Join(dir, "calc.go")})}},
		}, Usage: &geminitest.Usage{Prompt: 52000, Candidates: 120}},
		geminitest.Step{Chunks: []geminitest.Chunk{{Text: answer}}, Usage: &geminitest.Usage{Prompt: 53000, Candidates: 150}},
		geminitest.Do(geminitest.NewCall("run_shell_command", map[string]any{"command": "for i in 1 2 3; do echo line $i; done; cat wait", "description": "Counts"})),
		gated("count", geminitest.Chunk{Text: "Counted"}, geminitest.Chunk{Text: " to three."}),
		geminitest.Say("The queue works."),
		geminitest.Step{Error: &geminitest.Error{Status: 429, Message: "Quota is used up for this minute.", RetryDelay: "500s"}},
		geminitest.Say("A nice picture."),
		geminitest.Say("Reviewed."),
		geminitest.Say("In the copy."),
	)
	w := start(t, setup{
		folder:   dir,
		env:      map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		settings: map[string]any{"workbench.colorTheme": "Dark Modern", "terminal.integrated.defaultProfile.linux": "bash"},
		open:     []string{"bad.json", "calc.go"},
	})
	run(t, dir, nil, "mkfifo", "wait")

	// After an at sign: files by parts of their names, with keys alone.
	w.run("Redline: Focus Chat")
	w.typeChat("What is wrong in @ca")
	w.waitChat(`.completion[aria-selected="true"]`, "calc.go")
	w.untilChat(`document.activeElement.getAttribute("aria-activedescendant") === "completion-0"`)
	w.shot("1-completion")
	w.press("Tab")
	w.untilChat(`document.getElementById("prompt").value === "What is wrong in @calc.go "`)
	w.goneChat("#completions")
	w.typeText("and @prob")
	w.waitChat(`.completion[aria-selected="true"]`, "problems")
	w.press("Enter")
	w.waitChat(".attachment", "1 problem")
	w.press("Enter")
	w.waitChat(".user .about", "1 problem")

	// The answer: thoughts folded, the plan, a tool call, code with its file's name.
	w.waitChat(".answer", "Found it.")
	w.do(command{"op": "wait", "in": "chat", "sel": "body:not(.running)"})
	w.waitChat(".thought:not(:has(details[open]))", "Reading the function")
	w.waitChat(".plan .entry-in_progress", "Run it")
	w.waitChat(".plan", "1 of 3")
	w.waitChat("#usage", "5%")
	asked := srv.Requests()[0].Last().Texts()
	for _, want := range []string{"return a - b", "bad.json:1:8", "Trailing comma"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model was not shown %q:\n%s", want, asked)
		}
	}
	w.shot("2-answer")

	// Code: inserted at the cursor as it is, or proposed and reviewed.
	w.clickChat(`figure[data-info="go:calc.go"] button.apply`)
	w.waitChat(".proposal.open", "calc.go")
	w.inView(".review-widget", "return a + b")
	w.shot("3-applied")
	w.clickChat(`.proposal.open button:has-text("Accept all")`)
	w.waitEditor("return a + b")
	w.waitChat(".proposal.closed .verdict", "Accepted")
	w.clickChat(`figure[data-info="go"] button.apply`)
	w.wait(".quick-input-widget", "Where does the code go?")
	w.shot("4-where")
	w.press("Escape")
	w.do(command{"op": "goto", "file": "calc.go", "line": 10})
	w.press("End")
	w.clickChat(`figure[data-info="go"] button.insert`)
	w.waitEditor(`println("snippet")`)
	w.wait(".statusbar-item", "Ln 11, Col 19")
	w.press("Control+z")

	// A command: asked for in the chat, prints while it runs; prompts typed meanwhile wait,
	// or go to the running turn.
	w.ask("Count.")
	w.waitChat(".approve", "for i in 1 2 3")
	w.clickChat(`.approve button:has-text("Run once")`)
	w.waitChat(".tool.running details[open] pre.output", "line 3")
	w.typeChat("And the queue?")
	w.press("Alt+Enter")
	w.waitChat("#queue li", "And the queue?")
	w.typeChat("Count aloud.")
	w.press("Enter")
	w.shot("5-running")
	run(t, dir, nil, "sh", "-c", "echo > wait")
	w.waitChat(".answer.live", "Counted")
	w.waitChat(".user", "Count aloud.")
	srv.Release("count")
	w.waitChat(".answer", "The queue works.")
	w.goneChat("#queue li")
	w.waitChat(".user", "And the queue?")

	// A long wait is told, and can be ended.
	w.ask("Again?")
	w.waitChat(".retry", "Trying again in")
	w.shot("6-retry")
	w.clickChat(`.retry button`)
	w.waitChat(".notice.info", "Stopped.")
	w.do(command{"op": "wait", "in": "chat", "sel": "body:not(.running)"})

	// Earlier prompts come back with the arrow; Escape closes what is open first.
	w.do(command{"op": "click", "in": "chat", "sel": "#prompt"})
	w.press("ArrowUp")
	w.untilChat(`document.getElementById("prompt").value === "Again?"`)
	w.press("ArrowUp")
	w.untilChat(`document.getElementById("prompt").value === "Count aloud."`)
	w.press("ArrowDown")
	w.press("ArrowDown")
	w.untilChat(`document.getElementById("prompt").value === ""`)

	// Symbols, the selection and the terminal.
	w.do(command{"op": "quick", "text": "read me.md"})
	w.do(command{"op": "click", "in": "chat", "sel": "#prompt"})
	w.typeText("@Later")
	w.waitChat(".completion", "docs/read me.md:5")
	w.press("Enter")
	w.waitChat(".attachment", "Later Plans")
	w.untilChat("document.getElementById(\"prompt\").value === \"`# Later Plans` \"")
	w.press("Control+a")
	w.press("Backspace")
	w.press("Backspace")
	w.goneChat(".attachment")
	w.do(command{"op": "goto", "file": "calc.go", "line": 5})
	w.press("Shift+End")
	w.waitChat("#context", "calc.go:5")
	w.do(command{"op": "click", "in": "chat", "sel": "#context"})
	w.waitChat("#context.off[aria-pressed=false]", "calc.go:5")
	w.typeChat("@sel")
	w.waitChat(`.completion[aria-selected="true"]`, "selection")
	w.press("Enter")
	w.waitChat(".attachment", "calc.go:5")
	w.clickChat(".attachment button")
	w.do(command{"op": "click", "in": "chat", "sel": "#context"})
	w.run("Terminal: Create New Terminal")
	w.wait(".terminal-wrapper.active .terminal-command-decoration", "") // it works together with the shell
	w.typeText("echo from the $((40+2))nd shell; false")
	w.press("Enter")
	w.wait(".terminal-wrapper.active .terminal-command-decoration.error", "")
	w.typeChat("@term")
	w.waitChat(`.completion[aria-selected="true"]`, "terminal")
	w.press("Enter")
	w.waitChat(".attachment", "terminal: echo from")
	w.shot("6b-terminal")
	w.run("View: Toggle Panel Visibility")

	// A picture is pasted; what is none is refused.
	paste := func(name, mime string) {
		w.evalChat(`(() => { const d = new DataTransfer(); d.items.add(new File([Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), c => c.charCodeAt(0))], "` + name + `", { type: "` + mime + `" })); document.getElementById("prompt").dispatchEvent(new ClipboardEvent("paste", { clipboardData: d, bubbles: true, cancelable: true })); })()`)
	}
	paste("cat.gif", "image/gif")
	w.waitChat("#problem[role=alert]", "pictures must be PNG")
	w.shot("7-refused")
	paste("dot.png", "image/png")
	w.waitChat(".attachment:has(img)", "dot.png")
	w.ask("What is this?")
	w.waitChat(".answer", "A nice picture.")
	last := srv.Requests()[len(srv.Requests())-1].Last()
	if !hasImage(last) {
		t.Errorf("no picture was sent: %+v", last)
	}
	for _, want := range []string{"$ echo from the", "from the 42nd shell", "[exit code 1]"} {
		if !strings.Contains(last.Texts(), want) {
			t.Errorf("of the terminal, the model was not shown %q:\n%s", want, last.Texts())
		}
	}

	// After a slash: the project's own commands, and ours.
	w.typeChat("/")
	w.waitChat(".completion", "/compress")
	w.typeText("rev")
	w.waitChat(`.completion[aria-selected="true"]`, "/review")
	w.shot("8-commands")
	w.press("Enter")
	w.typeText("calc.go")
	w.press("Enter")
	w.waitChat(".answer", "Reviewed.")
	if said := srv.Requests()[len(srv.Requests())-1].Last().Texts(); !strings.Contains(said, "Review calc.go with care.") {
		t.Errorf("the command was sent as %q", said)
	}

	// Mode and model.
	w.clickChat("#mode")
	w.wait(".quick-input-widget", "Mode of this session")
	w.typeText("plan")
	w.press("Enter")
	w.waitChat("#mode", "Plan")
	w.clickChat("#model")
	w.wait(".quick-input-list .monaco-list-row", "gemini-2.5-flash")
	w.typeText("flash")
	w.press("Enter")
	w.waitChat(`#model[aria-label*="gemini-2.5-flash"]`, "2.5-flash")
	w.clickChat("#usage")
	w.wait(".quick-input-list .monaco-list-row", "This session")
	w.shot("9-usage")
	w.press("Escape")

	// A new session; the old one is found, is complete, and goes on in a copy.
	w.run("Redline: New Session")
	w.waitChat(".welcome", "Ask for a change")
	w.waitChat("#mode", "Review")
	w.run("Redline: Sessions")
	w.wait(".quick-input-list .monaco-list-row", "What is wrong")
	w.shot("10-sessions")
	w.typeText("wrong")
	w.press("Enter")
	w.waitChat(".answer", "Reviewed.")
	w.waitChat(".user", "What is wrong in @calc.go")
	w.waitChat(".thought", "Reading the function")
	w.waitChat(".tool.completed", "calc.go")
	w.waitChat(".proposal.closed .verdict", "Accepted")
	w.waitChat("#mode", "Plan")
	w.click(`.pane-header[aria-label^="Sessions"]`)
	w.wait(`.pane:has(.pane-header[aria-label^="Sessions"]) .monaco-list-row`, "What is wrong")
	w.shot("11-list")
	w.do(command{"op": "hover", "in": "chat", "sel": `.user:has-text("/review calc.go")`})
	w.clickChat(`.user:has-text("/review calc.go") .again[aria-label^="Change"]`)
	w.untilChat(`document.getElementById("prompt").value === "/review calc.go"`)
	w.goneChat(`.answer:has-text("Reviewed.")`)
	w.waitChat(".answer", "A nice picture.")
	w.do(command{"op": "click", "in": "chat", "sel": "#prompt"})
	w.press("Control+a")
	w.typeText("And here?")
	w.press("Escape")
	w.press("Enter")
	w.waitChat(".answer", "In the copy.")

	// The rest of the keyboard: from the prompt up into the conversation, and back.
	w.evalChat(`document.getElementById("log").focus()`)
	w.press("ArrowUp")
	w.untilChat(`document.activeElement.classList.contains("answer")`)
	w.press("ArrowUp")
	w.untilChat(`document.activeElement.classList.contains("user")`)
	w.press("End")
	w.press("ArrowDown")
	w.untilChat(`document.activeElement.id === "prompt"`)
	w.themes("12", "Light Modern", "Dark High Contrast", "Light High Contrast")
	// Nothing that can be pressed has no name.
	w.untilChat(`[...document.querySelectorAll("button, textarea, [role]")].every(e => e.getAttribute("aria-label") || e.textContent.trim() || e.id === "status" || e.hidden)`)

	// The copy is deleted, after a question; the other one stays.
	w.run("Redline: Delete Session")
	w.wait(".quick-input-list .monaco-list-row", "Fork of")
	w.typeText("Fork of")
	w.press("Enter")
	w.wait(".monaco-dialog-box", "for good")
	w.click(`.monaco-dialog-box .monaco-button:has-text("Delete")`)
	w.waitChat(".welcome", "Ask for a change")
	w.gone(`.monaco-list-row:has-text("Fork of")`)
	w.wait(`.pane:has(.pane-header[aria-label^="Sessions"]) .monaco-list-row`, "What is wrong")
}

// themes keeps a picture of the chat in each of the themes, when pictures are asked for.
func (w *workbench) themes(name string, themes ...string) {
	w.t.Helper()
	class := map[string]string{"Light Modern": "vscode-light", "Dark Modern": "vscode-dark", "Dark High Contrast": "vscode-high-contrast", "Light High Contrast": "vscode-high-contrast-light"}
	for _, theme := range themes {
		if w.shots == "" {
			return
		}
		w.run("Preferences: Color Theme")
		w.wait(".quick-input-widget .quick-input-list .monaco-list-row", "")
		w.typeText(theme)
		w.wait(".quick-input-list .monaco-list-row.focused", theme)
		w.press("Enter")
		w.gone(".quick-input-widget")
		w.do(command{"op": "wait", "in": "chat", "sel": "body." + class[theme]})
		w.shot(name + "-" + strings.ReplaceAll(strings.ToLower(theme), " ", "-"))
	}
}

func hasImage(c geminitest.Content) bool {
	for _, p := range c.Parts {
		if strings.Contains(string(p.Raw), `"inlineData"`) {
			return true
		}
	}
	return false
}
