//go:build linux

package vscode_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// promptServer is an MCP server that offers a prompt and nothing else.
const promptServer = `
const answers = {
  initialize: (p) => ({ protocolVersion: p.protocolVersion, capabilities: { prompts: {} }, serverInfo: { name: "house", version: "1" } }),
  "prompts/list": () => ({ prompts: [{ name: "greet", description: "Greets somebody", arguments: [{ name: "who", required: true }] }] }),
  "prompts/get": (p) => ({ messages: [{ role: "user", content: { type: "text", text: "Greet " + p.arguments.who + " as we do in this house." } }] }),
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const m = JSON.parse(line);
  if (m.id !== undefined) {
    const answer = answers[m.method];
    console.log(JSON.stringify({ jsonrpc: "2.0", id: m.id, ...(answer ? { result: answer(m.params) } : { error: { code: -32601, message: "no " + m.method } }) }));
  }
});
`

// TestVSCodeChatMore gives the chat things in every way there is, and goes back: a file is
// dropped, text of the terminal is added, a prompt of an MCP server is run, a running turn is
// told something with a picture; then to before a prompt and forth again, and on in a copy.
func TestVSCodeChatMore(t *testing.T) {
	env := installed(t)
	dir := workspace(t, map[string]string{"list.txt": "one\ntwo\nthree\n", "notes.txt": "remember the milk\n", "house.js": promptServer})
	settings := fmt.Sprintf(`{"mcpServers": {"house": {"command": %q, "args": ["house.js"]}}}`, env.node)
	run(t, dir, nil, "mkdir", ".gemini")
	write(t, filepath.Join(dir, ".gemini", "settings.json"), settings)
	srv := geminitest.New(t,
		geminitest.Step{When: "Greet the cat as we do in this house", Chunks: []geminitest.Chunk{{Text: "Meow."}}},
		geminitest.Step{When: "remember the milk", Chunks: []geminitest.Chunk{{Text: "I see what you gave me."}}},
		geminitest.Do(edit(filepath.Join(dir, "list.txt"), "two\n", "2\n")),
		gated("steer", geminitest.Chunk{Text: "Changed."}, geminitest.Chunk{Text: " Working on."}),
		geminitest.Step{When: "look at this", Chunks: []geminitest.Chunk{{Text: "I see the picture."}}},
		geminitest.Say("The last one."),
		geminitest.Say("From the beginning."),
	)
	w := start(t, setup{
		folder:   dir,
		env:      map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		settings: map[string]any{"terminal.integrated.defaultProfile.linux": "bash", "workbench.colorTheme": "Dark Modern"},
		height:   1100,
	})

	row := func(text string) string { return `.monaco-list-row:has-text("` + text + `")` }

	// A prompt of an MCP server, with its argument.
	w.run("Redline: Focus Chat")
	w.typeChat("/gre")
	w.waitChat(`.completion[aria-selected="true"]`, "greet")
	w.shot("1-mcp")
	w.press("Enter")
	w.typeText("--who=\"the cat\"")
	w.press("Enter")
	w.waitChat(".answer", "Meow.")

	// Text that is selected in the terminal, by its context menu.
	w.run("Terminal: Create New Terminal")
	w.wait(".terminal-wrapper.active .terminal-command-decoration", "")
	w.typeText("echo from the $((40+2))nd shell")
	w.press("Enter")
	w.wait(".terminal-wrapper.active .terminal-command-decoration:not(.default)", "")
	w.run("Terminal: Select All")
	w.do(command{"op": "click", "sel": ".terminal-wrapper.active .xterm-screen", "button": "right"})
	w.wait(".monaco-menu .action-label", "Add Terminal Text to Chat")
	w.shot("2-terminal")
	w.do(command{"op": "click", "sel": ".monaco-menu .action-label", "has": "Add Terminal Text to Chat"})
	w.waitChat(".attachment", "terminal selection")
	w.untilChat(`document.activeElement.id === "prompt"`)

	// A file is dropped; the editor lets it into a view with Shift held.
	w.run("View: Toggle Panel Visibility")
	w.openFile("notes.txt")
	w.openFile("list.txt")
	w.do(command{"op": "drag", "sel": `.tab[data-resource-name="notes.txt"]`, "to": map[string]any{"in": "chat", "sel": "#prompt"}, "key": "Shift"})
	w.waitChat(".attachment", "notes.txt")
	w.shot("3-dropped")
	w.ask("What do you have?")
	w.waitChat(".answer", "I see what you gave me.")
	if said := srv.Requests()[1].Last().Texts(); !strings.Contains(said, "[terminal]") || !strings.Contains(said, "from the 42nd shell") || !strings.Contains(said, "[file notes.txt]") || strings.Count(said, "remember the milk") != 1 {
		t.Errorf("the model was given:\n%s", said)
	}

	w.openFile("list.txt")

	// What a running turn is told takes a picture along.
	w.ask("Change the list.")
	w.waitChat(".proposal.open", "list.txt")
	w.clickChat(`.proposal.open button:has-text("Accept all")`)
	w.waitChat(".answer", "Changed.")
	w.evalChat(`(() => { const d = new DataTransfer(); d.items.add(new File([Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), c => c.charCodeAt(0))], "dot.png", { type: "image/png" })); document.getElementById("prompt").dispatchEvent(new ClipboardEvent("paste", { clipboardData: d, bubbles: true, cancelable: true })); })()`)
	w.waitChat(".attachment:has(img)", "dot.png")
	w.typeChat("And look at this.")
	w.press("Enter")
	w.waitChat(".user .about", "dot.png")
	srv.Release("steer")
	w.waitChat(".answer", "I see the picture.")
	if last := srv.Requests()[4].Last(); !hasImage(last) {
		t.Errorf("no picture came into the running turn: %+v", last)
	}
	w.do(command{"op": "wait", "in": "chat", "sel": "body:not(.running)"})
	w.shot("4-steered")

	// Back to before the change, in the files and the conversation, and forth again.
	back := func() {
		t.Helper()
		w.do(command{"op": "hover", "in": "chat", "sel": `.user:has-text("Change the list.")`})
		w.clickChat(`.user:has-text("Change the list.") .again[aria-label^="Go back"]`)
		w.wait(".monaco-dialog-box", "Files that change: list.txt")
		w.click(`.monaco-dialog-box .monaco-button:has-text("Files and Conversation")`)
		w.wait(".notification-toast", "you are back at before")
		w.waitChat(".notice", "The conversation is back to before: Change the list.")
		w.waitEditor("two")
	}
	back()
	w.shot("5-back")
	w.click(`.notification-toast .monaco-button:has-text("Undo")`)
	w.until(`![...document.querySelectorAll(".editor-instance .view-line")].some(l => l.textContent === "two")`)
	w.waitChat(".notice", "The conversation is as it was before going back to: Change the list.")
	w.ask("Where are we?")
	w.waitChat(".answer", "The last one.")
	if all := texts(srv.Requests()[5]); !strings.Contains(all, "look at this") || !strings.Contains(all, "Change the list.") {
		t.Errorf("after the undo of the way back the model knows:\n%s", all)
	}

	// On in a copy: what was applied is listed once.
	w.wait(row("Applied"), "1 file")
	w.do(command{"op": "hover", "in": "chat", "sel": `.user:has-text("Where are we?")`})
	w.clickChat(`.user:has-text("Where are we?") .again[aria-label^="Change"]`)
	w.untilChat(`document.getElementById("prompt").value === "Where are we?"`)
	w.wait(row("Applied"), "1 file")
	w.click(row("Applied"))
	w.until(`[...document.querySelectorAll(".monaco-list-row")].filter(r => r.textContent.includes("Edit list.txt")).length === 1`)
	w.shot("6-copy")
	w.press("Escape")
	back()
	w.typeChat("And now?")
	w.press("Enter")
	w.waitChat(".answer", "From the beginning.")
	if all := texts(srv.Requests()[6]); strings.Contains(all, "look at this") || !strings.Contains(all, "What do you have?") {
		t.Errorf("after the way back the model knows:\n%s", all)
	}
}

// texts returns all that a request tells the model.
func texts(r geminitest.Request) string {
	var b strings.Builder
	for _, c := range r.Body.Contents {
		b.WriteString(c.Texts() + "\n")
	}
	return b.String()
}
