package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/openaitest"
	"redline/lsp/lsptest"
)

// The main job with each kind of local server, through the real binary: a prompt, a
// proposal of two hunks, one accepted and one rejected, and the model is told which.
func TestServeMainJobOpenAI(t *testing.T) {
	for _, kind := range openaitest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			root, home := t.TempDir(), t.TempDir()
			args := func(v map[string]any) string {
				raw, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				return string(raw)
			}
			srv := openaitest.New(t, openaitest.Script{Kind: kind},
				openaitest.Step{Thought: "Two files.", Calls: []openaitest.Call{
					{Name: "replace", Args: args(map[string]any{"file_path": filepath.Join(root, "a.go"), "old_string": "one", "new_string": "ONE"})},
					{Name: "replace", Args: args(map[string]any{"file_path": filepath.Join(root, "b.go"), "old_string": "two", "new_string": "TWO"})},
				}},
				openaitest.Step{Text: []string{"All ", "done."}},
			)
			settings := args(map[string]any{"redline": map[string]any{"provider": "openai", "openai": map[string]any{"baseUrl": srv.URL}}})
			if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(settings), 0o600); err != nil {
				t.Fatal(err)
			}
			e := binaryWith(t, nil, lsptest.Options{Root: root, Files: map[string]string{"a.go": "// one\n", "b.go": "// two\n"}}, nil, "REDLINE_HOME="+home)
			var models struct {
				Current string
				Models  []struct{ Name string }
			}
			e.MustCall("agent/model/list", map[string]any{}, &models)
			if models.Current != "any" || len(models.Models) != 1 || models.Models[0].Name != "local-model" {
				t.Errorf("models %+v", models)
			}
			_, turn := ask(e, "shout")
			var p struct {
				Proposal struct {
					ProposalID string
					Rev        int
					Files      []struct{ FileID string }
				}
			}
			if err := e.WaitEvent(lsptest.OfType("proposal/updated")).Decode(&p); err != nil {
				t.Fatal(err)
			}
			e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.Proposal.ProposalID, "rev": p.Proposal.Rev, "decisions": []any{
				map[string]any{"target": map[string]any{"fileId": p.Proposal.Files[0].FileID}, "decision": "accept"},
				map[string]any{"target": map[string]any{"fileId": p.Proposal.Files[1].FileID}, "decision": "reject", "reason": "too loud"},
			}}, nil)
			if status, message := end(t, e, turn); status != "completed" {
				t.Fatalf("turn %s: %s", status, message)
			}
			if a, b := e.Text("a.go"), e.Text("b.go"); a != "// ONE\n" || b != "// two\n" {
				t.Errorf("documents %q and %q", a, b)
			}
			ms := srv.Requests()[1].Body.Messages
			first, second := ms[len(ms)-2].Text(), ms[len(ms)-1].Text()
			if !strings.HasPrefix(first, "Successfully modified file:") || !strings.HasPrefix(second, "Error: ") || !strings.Contains(second, "too loud") {
				t.Errorf("the model was told %q and %q", first, second)
			}
		})
	}
}
