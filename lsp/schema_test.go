package lsp_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// wireSchema checks what is on the wire against what is documented.
type wireSchema struct {
	t   *testing.T
	doc struct {
		Defs           map[string]json.RawMessage `json:"$defs"`
		ClientRequests map[string]struct{ Params, Result json.RawMessage }
		ServerRequests map[string]struct{ Params, Result json.RawMessage }
	}
}

func newWireSchema(t *testing.T) *wireSchema {
	w := &wireSchema{t: t}
	if err := json.Unmarshal(lsp.Schema(), &w.doc); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *wireSchema) check(what string, schema json.RawMessage, value any) {
	w.t.Helper()
	whole, err := json.Marshal(map[string]any{"$defs": w.doc.Defs, "allOf": []json.RawMessage{schema}})
	if err != nil {
		w.t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(whole, &s); err != nil {
		w.t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
	data, err := json.Marshal(value)
	if err != nil {
		w.t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		w.t.Fatal(err)
	}
	if err := resolved.Validate(v); err != nil {
		w.t.Errorf("%s is not as documented: %v\n%.2000s", what, err, data)
	}
}

// call sends a request, and checks it and its answer.
func (w *wireSchema) call(e *lsptest.Editor, method string, params map[string]any) (result json.RawMessage) {
	w.t.Helper()
	m, ok := w.doc.ClientRequests[method]
	if !ok {
		w.t.Fatalf("%s is not documented", method)
	}
	w.check("params of "+method, m.Params, params)
	e.MustCall(method, params, &result)
	w.check("result of "+method, m.Result, result)
	return result
}

// What is really sent fits the documented schema: a session with every kind of tool,
// decisions, a restore, and the events of all of it.
func TestWireFitsSchema(t *testing.T) {
	w := newWireSchema(t)
	m := agenttest.NewModel()
	e := lsptest.NewEditor(t, keeping(m, t.TempDir()), lsptest.Options{Files: map[string]string{"main.go": greeting, "b.txt": "b1\nb2\nb3\n"}})
	*m = *agenttest.NewModel(
		agenttest.Step{
			Thought: "**Looking** at it", Text: []string{"I look."},
			Calls: []agenttest.Call{
				{Name: "read_file", Args: map[string]any{"path": "main.go"}},
				{Name: "read_file", Args: map[string]any{"path": "missing.go"}},
				{Name: "write_todos", Args: map[string]any{"todos": []map[string]any{{"description": "Look", "status": "in_progress"}}}},
			},
		},
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `"hello"`, `"good day"`), writeCall("new.txt", "new\n"), replaceCall(e, "b.txt", "b2", "B2")}},
		agenttest.Step{Text: []string{"Done."}},
	)
	e.Open("main.go")
	var info lsp.SessionInfo
	if err := json.Unmarshal(w.call(e, "agent/session/new", map[string]any{"mode": "default", "reviewAt": "step"}), &info); err != nil {
		t.Fatal(err)
	}
	session := info.SessionID
	of := map[string]any{"sessionId": session}
	w.call(e, "agent/prompt", map[string]any{"sessionId": session, "text": "go", "context": []map[string]any{{"kind": "text", "text": "about this"}}})
	type proposal struct {
		ProposalID, State string
		Rev               int
		Files             []struct {
			FileID string
			Hunks  []struct{ HunkID string }
		}
	}
	var p proposal
	e.WaitEvent(func(ev lsptest.Event) bool {
		var b struct{ Proposal proposal }
		if ev.Type != "proposal/updated" || ev.Decode(&b) != nil || b.Proposal.State != "open" {
			return false
		}
		p = b.Proposal
		return true
	})
	w.call(e, "agent/proposal/list", of)
	w.call(e, "agent/proposal/get", map[string]any{"proposalId": p.ProposalID})
	for i, f := range p.Files {
		d := map[string]any{"target": map[string]any{"fileId": f.FileID}, "decision": "accept"}
		if i == 1 {
			d = map[string]any{"target": map[string]any{"hunkId": f.Hunks[0].HunkID}, "decision": "reject", "reason": "no"}
		}
		var now proposal
		if err := json.Unmarshal(w.call(e, "agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev, "decisions": []any{d}}), &now); err != nil {
			t.Fatal(err)
		}
		p.Rev = now.Rev
	}
	e.WaitEvent(lsptest.OfType("turn/ended"))
	w.call(e, "agent/proposal/revert", map[string]any{"proposalId": p.ProposalID, "targets": []any{map[string]any{"fileId": p.Files[0].FileID}}})
	var list lsp.CheckpointList
	if err := json.Unmarshal(w.call(e, "agent/checkpoint/list", of), &list); err != nil {
		t.Fatal(err)
	}
	w.call(e, "agent/checkpoint/preview", map[string]any{"checkpointId": list.Checkpoints[0].CheckpointID})
	w.call(e, "agent/checkpoint/restore", map[string]any{"checkpointId": list.Checkpoints[0].CheckpointID, "scope": "both"})
	for method, params := range map[string]map[string]any{
		"agent/session/list": {}, "agent/session/configure": {"sessionId": session, "mode": "plan"}, "agent/usage/get": of,
		"agent/tool/list": {}, "agent/command/list": of, "agent/memory/list": {"sessionId": session}, "agent/process/list": of,
		"agent/model/list": {}, "agent/auth/status": {},
	} {
		w.call(e, method, params)
	}
	w.call(e, "agent/session/fork", of)
	seen := map[string]bool{}
	for _, ev := range e.Events(session) {
		w.check("the event "+ev.Type, json.RawMessage(`{"$ref":"#/$defs/EventParams"}`), ev)
		seen[ev.Type] = true
	}
	for _, typ := range []string{"turn/started", "turn/ended", "message/user", "message/delta", "thought/delta", "tool/updated", "proposal/updated", "plan/updated", "checkpoint/created", "usage/updated"} {
		if !seen[typ] {
			t.Errorf("no %s was seen, so nothing is known of it", typ)
		}
	}
}
