//go:build linux

package vscode_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"redline/agent/geminitest"
)

// fakeMCP, set in the environment, makes the test binary an MCP server with a tool that
// says again what it is told.
const fakeMCP = "REDLINE_FAKE_MCP"

func serveMCP() error {
	s := sdk.NewServer(&sdk.Implementation{Name: "things", Version: "1"}, nil)
	type word struct {
		Word string `json:"word"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *sdk.CallToolRequest, w word) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "echo: " + w.Word}}}, nil, nil
	})
	return s.Run(context.Background(), &sdk.StdioTransport{})
}

// TestVSCodeApprovals answers the real server's questions about the network, a tool of an MCP
// server and a file that may hold secrets, in the chat and by notification: no with a
// reason, once, for the session and always, each of which lasts as long as it says.
func TestVSCodeApprovals(t *testing.T) {
	installed(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	settings, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"things": map[string]any{"command": self, "env": map[string]string{fakeMCP: "1"}}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := workspace(t, map[string]string{".gemini/settings.json": string(settings), ".env": "PLACE=harbour\n", "a.txt": "text\n"})
	fetch := geminitest.Do(geminitest.NewCall("web_fetch", map[string]any{"prompt": "What does https://docs.example.com/page say?"}))
	page := geminitest.Say("The page says hello.")
	echo := func(word string) geminitest.Step {
		return geminitest.Do(geminitest.NewCall("things__echo", map[string]any{"word": word}))
	}
	secret := geminitest.Do(geminitest.NewCall("read_file", map[string]any{"file_path": ".env"}))
	srv := geminitest.New(t,
		fetch, fetch, page, fetch, page, geminitest.Say("The web is read."),
		echo("one"), echo("two"), secret, secret, geminitest.Say("All is read."),
		echo("three"), secret, geminitest.Say("The end."),
	)
	w := start(t, setup{
		folder: dir,
		env:    map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		open:   []string{"a.txt"},
	})
	told := func(want string) {
		t.Helper()
		if said := heard(srv); !strings.Contains(said, want) {
			t.Errorf("the model was told %q, not %q", said, want)
		}
	}
	hide := func() {
		t.Helper()
		w.click(`.activitybar [aria-label^="Explorer"]`)
		w.gone("iframe.webview.ready")
	}
	byLink := func(text string) {
		t.Helper()
		w.do(command{"op": "click", "sel": ".notification-toast a", "has": text})
	}

	// The network: no, and why, in the chat.
	w.ask("Read the page.")
	w.waitChat(".approve", "docs.example.com")
	w.shot("1-network")
	w.clickChat(`.approve button:has-text("Reject and say why")`)
	w.typeText("Use the copy in docs.")
	w.shot("2-why")
	w.press("Escape") // closes the line only
	w.waitChat(".approve button", "Reject and say why")
	w.press("Enter") // the focus is on the button again
	w.typeText("Use the copy in docs.")
	w.press("Enter")
	w.waitChat(".approve.answered .verdict", "Reject: Use the copy in docs.")
	// The second time by notification, for the session: the third is not asked for.
	w.do(command{"op": "wait", "in": "chat", "sel": ".approve:not(.answered)", "has": "docs.example.com"})
	told("The user says: Use the copy in docs.")
	hide()
	w.wait(".notification-toast", "docs.example.com")
	w.until(`document.activeElement.closest(".notification-toast") === null`)
	w.shot("3-notification")
	byLink("in this session")
	w.click(`.activitybar [aria-label^="Redline"]`)
	w.waitChat(".answer", "The web is read.")

	// The tool of an MCP server: once, then always.
	w.ask("Use the tool.")
	w.do(command{"op": "wait", "in": "chat", "sel": ".approve:not(.answered)", "has": "echo"})
	w.shot("4-mcp")
	w.clickChat(`.approve:not(.answered) button:has-text("Allow once")`)
	w.do(command{"op": "wait", "in": "chat", "sel": ".approve:not(.answered)", "has": "two"})
	told("echo: one")
	hide()
	byLink("Always allow")
	// A file that may hold secrets: for the session.
	w.wait(".notification-toast", ".env")
	told("echo: two")
	w.shot("5-path")
	byLink("Allow in this session")
	w.click(`.activitybar [aria-label^="Redline"]`)
	w.waitChat(".answer", "All is read.")
	told("harbour")

	// In a new session what was always allowed is, and what was allowed for the session is not.
	w.run("Redline: New Session")
	w.waitChat(".welcome", "Ask for a change")
	w.ask("Once more.")
	w.do(command{"op": "wait", "in": "chat", "sel": ".approve:not(.answered)", "has": ".env"})
	told("echo: three")
	w.clickChat(`.approve:not(.answered) button[aria-label="Reject"]`)
	w.waitChat(".answer", "The end.")
	told("The user did not allow this")
	var cards int
	if err := json.Unmarshal(w.do(command{"op": "count", "in": "chat", "sel": ".approve"}), &cards); err != nil || cards != 1 {
		t.Errorf("%d questions in the new session (%v)", cards, err)
	}
	w.shot("6-end")
}
