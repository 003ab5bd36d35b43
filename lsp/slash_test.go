package lsp_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/agent/agenttest"
	"redline/agent/slash"
	"redline/lsp"
	"redline/lsp/lsptest"
	"redline/tools"
	"redline/tools/mcp"
)

// prompts is a server that offers one.
type prompts struct{}

func (prompts) States() []mcp.State {
	return []mcp.State{{Server: mcp.Server{Name: "srv"}, Status: mcp.Ready, Prompts: []mcp.Prompt{{
		Name: "sum", Description: "Adds.", Args: []mcp.PromptArg{{Name: "a", Description: "one", Required: true}, {Name: "b"}},
	}}}}
}

func (prompts) Ready(context.Context) {}

func (prompts) Prompt(_ context.Context, _, _ string, args map[string]string) (*tools.Result, error) {
	return &tools.Result{Text: "Add " + args["a"] + " and " + args["b"]}, nil
}

// The custom prompts are listed, expand, and one that there is not is an error of
// the prompt.
func TestCommands(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "plain.toml"), []byte("description = 'Plain.'\nprompt = 'Be plain.'"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := agenttest.NewModel(agenttest.Step{Text: []string{"3"}})
	e := lsptest.NewEditor(t, server(m, func(o *lsp.Options) {
		settings := o.Settings
		o.Settings = func(folders []string) (lsp.Settings, error) {
			set, err := settings(folders)
			set.Slash = &slash.Set{User: home, Servers: prompts{}}
			return set, err
		}
	}), lsptest.Options{})
	var got lsp.CommandList
	e.MustCall("agent/command/list", map[string]any{}, &got)
	want := []lsp.CommandInfo{
		{Name: "compress", Description: "Summarise the older part of the conversation", Source: "builtin"},
		{Name: "plain", Description: "Plain.", Source: "user"},
		{Name: "sum", Description: "Adds.", Source: "mcp:srv", Args: []lsp.CommandArg{{Name: "a", Description: "one", Required: true}, {Name: "b"}}},
	}
	if d := cmp.Diff(want, got.Commands); d != "" {
		t.Errorf("commands (- want, + got)\n%s", d)
	}
	if err := e.Call("agent/command/list", map[string]any{"sessionId": "nope"}, nil); err == nil {
		t.Error("of a session that there is not commands are listed")
	}
	session := newSession(e)
	err := e.Call("agent/prompt", map[string]any{"sessionId": session, "text": "/sun 1 2"}, nil)
	if err == nil || err.Error() == "" {
		t.Errorf("an unknown command gives %v", err)
	}
	if status, err := ended(e, prompt(e, session, "/sum 1 2")); status != "completed" {
		t.Fatalf("turn %s: %+v", status, err)
	}
	cs := m.Requests()[0].Contents
	if text := cs[len(cs)-1].Text(); len(text) < 11 || text[len(text)-11:] != "Add 1 and 2" {
		t.Errorf("the model gets %q", text)
	}
}
