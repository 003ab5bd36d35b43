package lsp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp/lsptest"
)

func revert(e *lsptest.Editor, p wireProposal, targets ...any) (after wireProposal, err error) {
	params := map[string]any{"proposalId": p.ProposalID}
	if len(targets) > 0 {
		params["targets"] = targets
	}
	err = e.Call("agent/proposal/revert", params, &after)
	return after, err
}

// lastText returns the plain text of the last message of the last request.
func lastText(m *agenttest.Model) string {
	reqs := m.Requests()
	cs := reqs[len(reqs)-1].Contents
	var out []string
	for _, p := range cs[len(cs)-1].Parts {
		out = append(out, p.Value().Text)
	}
	return strings.Join(out, "\n")
}

// Edits that were applied without asking are taken back hunk by hunk; what the user
// changed since is left, and the model is told.
func TestRevert(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"main.go": greeting}})
	e.MustCall("agent/session/configure", map[string]any{"sessionId": session, "mode": "autoEdit"}, nil)
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			replaceCall(e, "main.go", `return "hello"`, `return "good day"`),
			replaceCall(e, "main.go", "func bye() string {\n\treturn \"bye\"\n}", "// bye says so.\nfunc bye() string {\n\treturn \"farewell\"\n}"),
		}},
		agenttest.Step{Text: []string{"done"}},
		agenttest.Step{Text: []string{"I see"}},
	)
	e.Open("main.go")
	ended(e, prompt(e, session, "x"))
	p := proposal(e, "settled")
	full := e.Text("main.go")
	if !strings.Contains(full, "good day") || !strings.Contains(full, "farewell") {
		t.Fatalf("not applied:\n%s", full)
	}
	e.Type("main.go", lsptest.Position{}, "// mine\n")

	var ids []string
	for _, h := range p.Files[0].Hunks {
		ids = append(ids, h.HunkID)
	}
	after, err := revert(e, p, map[string]any{"hunkId": ids[0]})
	if err != nil || after.State != "settled" || after.Files[0].Hunks[0].State != "rejected" {
		t.Fatalf("one hunk: %v, %+v", err, after)
	}
	if got, want := e.Text("main.go"), "// mine\n"+strings.Replace(full, "good day", "hello", 1); got != want {
		t.Fatalf("document:\n%s\nwant:\n%s", got, want)
	}
	// The user changes one of two lines of the rest: it is left, the other goes.
	e.Replace("main.go", `"farewell"`, `"so long"`)
	after, err = revert(e, p)
	if err != nil || after.State != "reverted" {
		t.Fatalf("the rest: %v, %+v", err, after)
	}
	if got, want := e.Text("main.go"), "// mine\n"+strings.Replace(greeting, `"bye"`, `"so long"`, 1); got != want {
		t.Errorf("document:\n%s\nwant:\n%s", got, want)
	}
	if _, err := revert(e, p); err == nil {
		t.Error("it was taken back twice")
	}
	if _, err := revert(e, p, map[string]any{"hunkId": "none"}); err == nil || !strings.Contains(err.Error(), "no such file or hunk") {
		t.Errorf("an unknown hunk: %v", err)
	}
	ended(e, prompt(e, session, "and now?"))
	told := lastText(m)
	for _, want := range []string{"took back edits", `return "hello"`, "the user had changed the lines since", "and now?"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model was told %q, want %q in it", told, want)
		}
	}
	if !e.Undo("main.go") {
		t.Error("nothing to undo")
	}
}

// A proposal over several files with operations on them is taken back whole, in
// every editor; redline.undo does it too.
func TestRevertFileOperations(t *testing.T) {
	for _, p := range lsptest.Personalities() {
		t.Run(p.Name, func(t *testing.T) {
			p := p.WithPlugin()
			m := agenttest.NewModel()
			e, session := start(t, m, lsptest.Options{
				Personality: &p, Files: map[string]string{"main.go": greeting, "old.go": greeting, "dead.go": greeting},
				Message: func(context.Context, string, []string) (string, bool) { return "Delete", true },
			})
			*m = *agenttest.NewModel(
				agenttest.Step{Calls: []agenttest.Call{
					replaceCall(e, "main.go", `"hello"`, `"hi"`),
					{Name: "write_file", Args: map[string]any{"file_path": "new.go", "content": "package main\n"}},
					replaceCall(e, "old.go", `"bye"`, `"farewell"`),
					{Name: "rename_file", Args: map[string]any{"file_path": "old.go", "new_path": "newer.go"}},
					{Name: "delete_file", Args: map[string]any{"file_path": "dead.go"}},
				}},
				agenttest.Step{Text: []string{"done"}},
			)
			e.Open("main.go")
			e.Open("old.go")
			turn := prompt(e, session, "x")
			accept(e, proposal(e, "open"))
			ended(e, turn)
			if e.IsOpen("old.go") { // eglot keeps the buffer of a file that is gone
				e.Close("old.go")
			}
			e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.undo"}, nil)
			after := proposal(e, "reverted")
			for _, f := range after.Files {
				for _, h := range f.Hunks {
					if h.State != "rejected" {
						t.Errorf("hunk %s of %s is %s", h.HunkID, f.URI, h.State)
					}
				}
			}
			for file, want := range map[string]string{"main.go": greeting, "old.go": greeting, "dead.go": greeting} {
				if got := e.Text(file); got != want {
					t.Errorf("%s is %q", file, got)
				}
			}
			for _, file := range []string{"new.go", "newer.go"} {
				if _, there := e.Disk(file); there {
					t.Errorf("%s is still there", file)
				}
			}
			if err := e.Call("workspace/executeCommand", map[string]any{"command": "redline.undo"}, nil); err == nil {
				t.Error("there was more to undo")
			}
		})
	}
}

// A hunk that landed is taken back while others of its proposal are still open.
func TestRevertWhileOpen(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"main.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			replaceCall(e, "main.go", `"hello"`, `"hi"`), replaceCall(e, "main.go", `"bye"`, `"ciao"`),
		}},
		agenttest.Step{Text: []string{"done"}},
	)
	e.Open("main.go")
	turn := prompt(e, session, "x")
	p := proposal(e, "open")
	var half wireProposal
	e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev, "decisions": []any{
		map[string]any{"target": map[string]any{"hunkId": p.Files[0].Hunks[0].HunkID}, "decision": "accept"},
	}}, &half)
	if _, err := revert(e, p); err != nil {
		t.Fatal(err)
	}
	if got := e.Text("main.go"); got != greeting {
		t.Errorf("document:\n%s", got)
	}
	acceptNow(e, p.ProposalID)
	ended(e, turn)
	if got := e.Text("main.go"); got != strings.Replace(greeting, `"bye"`, `"ciao"`, 1) {
		t.Errorf("document:\n%s", got)
	}
	rs := m.Responses(1)
	if !strings.Contains(rs[0].Error, "taken back by the user") || !strings.HasPrefix(rs[1].Output, "Successfully") {
		t.Errorf("the model was told %+v", rs)
	}
}

// A formatter or the user changes lines after they were settled: the model is told
// with its next message, once.
func TestLaterChangesAreTold(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"main.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `return "hello"`, `return  "hi"`)}},
		agenttest.Step{Text: []string{"done"}},
		agenttest.Step{Text: []string{"I see"}},
		agenttest.Step{Text: []string{"nothing new"}},
	)
	e.Open("main.go")
	turn := prompt(e, session, "x")
	accept(e, proposal(e, "open"))
	ended(e, turn)
	e.SetText("main.go", strings.Replace(e.Text("main.go"), `return  "hi"`, `return "hi"`, 1)) // on save
	ended(e, prompt(e, session, "and?"))
	if told := lastText(m); !strings.Contains(told, "changed after they were applied") || !strings.Contains(told, "  \treturn \"hi\"") {
		t.Errorf("the model was told %q", told)
	}
	ended(e, prompt(e, session, "and?"))
	if told := lastText(m); told != "and?" {
		t.Errorf("the model was told again: %q", told)
	}
}

// An editor says yes and applies later (eglot, which shows a diff first): the model is
// told that it was not applied, and when it is, that too.
func TestAppliedLater(t *testing.T) {
	m := agenttest.NewModel()
	p := lsptest.Eglot().WithPlugin()
	e, session := start(t, m, lsptest.Options{
		Personality: &p, Files: map[string]string{"main.go": greeting},
		Handlers: map[string]lsptest.Handler{"workspace/applyEdit": func(context.Context, json.RawMessage) (any, error) {
			return map[string]bool{"applied": true}, nil
		}},
	})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `return "hello"`, `return "hi"`)}},
		agenttest.Step{Text: []string{"done"}},
		agenttest.Step{Text: []string{"I see"}},
	)
	e.Open("main.go")
	turn := prompt(e, session, "x")
	accept(e, proposal(e, "open"))
	ended(e, turn)
	if r := m.Responses(1)[0]; !strings.Contains(r.Error, "conflict") {
		t.Errorf("the model was told %+v", r)
	}
	e.Replace("main.go", `"hello"`, `"hi"`)
	ended(e, prompt(e, session, "I applied it"))
	if told := lastText(m); !strings.Contains(told, "in the file after all") {
		t.Errorf("the model was told %q", told)
	}
}
