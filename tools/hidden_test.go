package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/tools"
	"redline/workspace"
)

// The rule that hides a file may be one that is not saved yet.
func TestHiddenByUnsavedRule(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"a.txt": "hidden\n", ".gitignore": "\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := workspace.New(root)
	if err != nil {
		t.Fatal(err)
	}
	read := func() string {
		call, err := tools.NewRegistry(tools.ReadFile).Prepare(workspace.NewView(ws.Snapshot()), "read_file", json.RawMessage(`{"path":"a.txt"}`))
		if err != nil {
			t.Fatal(err)
		}
		res, err := call.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return res.Text
	}
	if got := read(); got != "hidden\n" {
		t.Errorf("before: %q", got)
	}
	rules := filepath.Join(root, ".gitignore")
	ws.Put(&workspace.Document{Key: workspace.Key(rules), URI: "file://" + rules, Path: rules, Text: "*.txt\n"})
	if got := read(); !strings.Contains(got, "ignored by .gitignore:1:*.txt") {
		t.Errorf("with the rule in the editor: %q", got)
	}
}
