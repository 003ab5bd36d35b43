package lsp_test

import (
	"context"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp/lsptest"
)

// One proposal edits, creates, renames and deletes, in every editor; where the
// editor cannot do that to files the user is asked, and the result is the same.
func TestFileOperations(t *testing.T) {
	for _, p := range lsptest.Personalities() {
		for _, open := range []bool{true, false} {
			name := p.Name + "/closed"
			if open {
				name = p.Name + "/open"
			}
			t.Run(name, func(t *testing.T) {
				p := p.WithPlugin()
				m := agenttest.NewModel()
				e, session := start(t, m, lsptest.Options{
					Personality: &p,
					Files:       map[string]string{"main.go": greeting, "old.go": greeting, "dead.go": greeting},
					Message: func(_ context.Context, text string, actions []string) (string, bool) {
						if !strings.Contains(text, "delete ") || actions[0] != "Delete" {
							t.Errorf("asked %q, %q", text, actions)
						}
						return "Delete", true
					},
				})
				if p.Messages == lsptest.MessageUnknown && len(p.ResourceOperations) == 0 {
					t.Fatal("an editor that can do nothing")
				}
				*m = *agenttest.NewModel(
					agenttest.Step{Calls: []agenttest.Call{
						replaceCall(e, "main.go", `"hello"`, `"hi"`),
						{Name: "write_file", Args: map[string]any{"file_path": "new.go", "content": "package main\n"}},
						replaceCall(e, "old.go", `"bye"`, `"farewell"`),
						{Name: "rename_file", Args: map[string]any{"file_path": "old.go", "new_path": "sub/newer.go"}},
						{Name: "delete_file", Args: map[string]any{"file_path": "dead.go"}},
						{Name: "read_file", Args: map[string]any{"path": "sub/newer.go"}},
						{Name: "read_file", Args: map[string]any{"path": "dead.go"}},
						{Name: "list_directory", Args: map[string]any{"path": "."}},
					}},
					agenttest.Step{Text: []string{"done"}},
				)
				if open {
					for _, f := range []string{"main.go", "old.go", "dead.go"} {
						e.Open(f)
					}
				}
				turn := prompt(e, session, "tidy up")
				prop := proposal(e, "open")
				if len(prop.Files) != 4 {
					t.Fatalf("proposal: %+v", prop)
				}
				accept(e, prop)
				if status, err := ended(e, turn); status != "completed" {
					t.Fatalf("turn %s: %v", status, err)
				}
				rs := m.Responses(1)
				for i, r := range rs[:5] {
					if r.Error != "" || !strings.HasPrefix(r.Output, "Successfully ") {
						t.Errorf("call %d (%s) was told %+v", i, r.Name, r)
					}
				}
				if !strings.Contains(rs[5].Output, "farewell") || !strings.Contains(rs[6].Error, "not found") && !strings.Contains(rs[6].Error, "does not exist") && !strings.Contains(rs[6].Error, "no such file") {
					t.Errorf("the tools see %+v", rs[5:7])
				}
				if l := rs[7].Output; strings.Contains(l, "dead.go") || strings.Contains(l, "old.go") || !strings.Contains(l, "[DIR] sub") || !strings.Contains(l, "new.go") {
					t.Errorf("list_directory: %s", l)
				}
				for file, want := range map[string]string{
					"main.go": strings.Replace(greeting, `"hello"`, `"hi"`, 1), "new.go": "package main\n",
					"sub/newer.go": strings.Replace(greeting, `"bye"`, `"farewell"`, 1),
				} {
					if got := e.Text(file); got != want {
						t.Errorf("%s is %q", file, got)
					}
				}
				for _, file := range []string{"old.go", "dead.go"} {
					if _, there := e.Disk(file); there {
						t.Errorf("%s is still there", file)
					}
				}
			})
		}
	}
}

// acceptNow accepts everything of a proposal as it is at this moment.
func acceptNow(e *lsptest.Editor, id string) {
	for range 5 {
		var p wireProposal
		e.MustCall("agent/proposal/get", map[string]any{"proposalId": id}, &p)
		err := e.Call("agent/proposal/resolve", map[string]any{"proposalId": id, "rev": p.Rev, "decisions": []any{
			map[string]any{"target": "all", "decision": "accept"},
		}}, nil)
		if err == nil {
			return
		}
	}
}

// Deleting what the user changed meanwhile is a conflict; so is a name that is
// taken; a file that vanishes under a proposal is one too.
func TestFileOperationConflicts(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"a.go": greeting, "b.go": greeting, "c.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			{Name: "delete_file", Args: map[string]any{"file_path": "a.go"}},
			{Name: "rename_file", Args: map[string]any{"file_path": "b.go", "new_path": "d.go"}},
			replaceCall(e, "c.go", `"hello"`, `"hi"`),
			{Name: "rename_file", Args: map[string]any{"file_path": "c.go", "new_path": "a.go"}},
			{Name: "delete_file", Args: map[string]any{"file_path": "none.go"}},
		}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.Open("a.go")
	turn := prompt(e, session, "x")
	p := proposal(e, "open")
	e.Replace("a.go", `"bye"`, `"see you"`)
	e.WriteFile("d.go", "mine\n")
	e.Remove("c.go")
	acceptNow(e, p.ProposalID)
	ended(e, turn)
	if text, _ := e.Disk("a.go"); text != greeting || !strings.Contains(e.Text("a.go"), "see you") {
		t.Errorf("a.go: %q", text)
	}
	if text, _ := e.Disk("d.go"); text != "mine\n" {
		t.Errorf("d.go: %q", text)
	}
	if _, there := e.Disk("b.go"); !there {
		t.Error("b.go is gone")
	}
	for i, want := range []string{"conflict", "created meanwhile", "not there any more", "free only once", "File not found"} {
		if r := m.Responses(1)[i]; !strings.Contains(r.Error, want) {
			t.Errorf("call %d was told %+v, want %q", i, r, want)
		}
	}
}

// An editor that does half of an edit: each call is told exactly what is there.
func TestFileOperationsHalf(t *testing.T) {
	p := lsptest.VSCode().WithFault(lsptest.Half)
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Personality: &p, Files: map[string]string{"a.go": greeting, "b.go": greeting, "c.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			{Name: "rename_file", Args: map[string]any{"file_path": "b.go", "new_path": "d.go"}},
			{Name: "delete_file", Args: map[string]any{"file_path": "c.go"}},
		}},
		agenttest.Step{Text: []string{"ok"}},
	)
	turn := prompt(e, session, "x")
	accept(e, proposal(e, "open"))
	ended(e, turn)
	rs := m.Responses(1)
	if _, there := e.Disk("d.go"); there != (rs[0].Error == "") {
		t.Errorf("renamed %v, told %+v", there, rs[0])
	}
	if _, there := e.Disk("c.go"); there != (rs[1].Error != "") {
		t.Errorf("still there %v, told %+v", there, rs[1])
	}
}
