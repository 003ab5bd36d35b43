package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/agent/slash"
	"redline/lsp"
	"redline/lsp/acp"
	"redline/tools/mcp"
)

// Custom prompts are commands; one that is new is told with the next prompt.
func TestCommands(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name+".toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("shorten", "description = \"Make it short\"\nprompt = \"Shorten {{args}} by half.\"\n")
	m := agenttest.NewModel(say("a"), say("b"))
	c := start(t, setup{model: m, change: func(o *acp.Options) {
		inner := o.Settings
		o.Settings = func(f []string, s []mcp.Server) (lsp.Settings, error) {
			set, err := inner(f, s)
			set.Slash = &slash.Set{User: folder}
			return set, err
		}
	}})
	o := c.open()
	listed := func(names ...string) func(update) bool {
		return func(u update) bool {
			for _, n := range names {
				if !strings.Contains(string(u.raw), `"name":"`+n+`"`) {
					return false
				}
			}
			return u.Update.SessionUpdate == "available_commands_update"
		}
	}
	c.await("the command", listed("compress", "shorten"))
	write("explain", "prompt = \"Explain.\"\n")
	c.prompt(o.SessionID, text("/shorten the poem"))
	c.await("the new command", listed("compress", "shorten", "explain"))
	contents := m.Requests()[0].Contents
	var asked strings.Builder
	for _, p := range contents[len(contents)-1].Parts {
		asked.WriteString(p.Value().Text)
	}
	if !strings.Contains(asked.String(), "Shorten the poem by half.") {
		t.Errorf("the model was asked %q", asked.String())
	}
	c.prompt(o.SessionID, text("again"))
	n := 0
	for _, u := range c.all() {
		if u.Update.SessionUpdate == "available_commands_update" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("commands were told %d times", n)
	}
}
