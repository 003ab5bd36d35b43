package lsp_test

import (
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// With reviewAt turn the user types while edits are staged: the tools see both, one
// proposal comes at the end, and nothing typed is lost.
func TestReviewAtTurnWhileTyping(t *testing.T) {
	m := agenttest.NewModel()
	e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{Files: map[string]string{"main.go": greeting}})
	var info lsp.SessionInfo
	e.MustCall("agent/session/new", map[string]any{"reviewAt": "turn"}, &info)
	if info.ReviewAt != "turn" {
		t.Errorf("the session reviews at %q", info.ReviewAt)
	}
	gate, asked := make(chan struct{}), make(chan struct{})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `return "hello"`, `return "good day"`), replaceCall(e, "main.go", `return "bye"`, `return "farewell"`)}},
		agenttest.Step{Asked: asked, Gate: gate, Calls: []agenttest.Call{{Name: "read_file", Args: map[string]any{"path": "main.go"}}}},
		agenttest.Step{Text: []string{"done"}},
		agenttest.Step{Text: []string{"I see"}},
	)
	e.Open("main.go")
	turn := prompt(e, info.SessionID, "be polite")
	<-asked
	e.Type("main.go", lsptest.Position{}, "// typed above\n")
	e.Replace("main.go", `return "bye"`, `return "bye, you"`)
	// A request with an answer: what was typed before it has arrived.
	e.MustCall("agent/session/list", map[string]any{}, nil)
	close(gate)
	p := proposal(e, "open")
	if len(p.Files) != 1 || len(p.Files[0].Hunks) != 2 || p.Files[0].Hunks[0].State != "pending" || p.Files[0].Hunks[1].State != "conflict" {
		t.Fatalf("proposal: %+v", p)
	}
	if e.Text("main.go") != "// typed above\n"+strings.Replace(greeting, `"bye"`, `"bye, you"`, 1) {
		t.Fatal("the document was changed before the review")
	}
	read := m.Responses(2)[0].Output
	for _, want := range []string{"// typed above", `return "good day"`, `return "bye, you"`} {
		if !strings.Contains(read, want) {
			t.Errorf("read_file does not see %q:\n%s", want, read)
		}
	}
	accept(e, p)
	if status, err := ended(e, turn); status != "completed" {
		t.Fatalf("turn %s: %v", status, err)
	}
	want := "// typed above\n" + strings.NewReplacer(`"hello"`, `"good day"`, `"bye"`, `"bye, you"`).Replace(greeting)
	if got := e.Text("main.go"); got != want {
		t.Errorf("document:\n%s", got)
	}
	reqs := m.Requests()
	last := reqs[len(reqs)-1].Contents
	if told := last[len(last)-1].Text(); !strings.Contains(told, "conflict") || !strings.Contains(told, "Successfully modified") {
		t.Errorf("the model was told %q", told)
	}
}

// A cancelled turn leaves what it staged open; deciding on it later works.
func TestReviewAtTurnCancelled(t *testing.T) {
	m := agenttest.NewModel()
	e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{Files: map[string]string{"main.go": greeting}})
	session := newSession(e)
	e.MustCall("agent/session/configure", map[string]any{"sessionId": session, "reviewAt": "turn"}, nil)
	started := make(chan struct{})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `"hello"`, `"hi"`)}},
		agenttest.Step{Hang: true, Started: started},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.Open("main.go")
	turn := prompt(e, session, "x")
	<-started
	e.MustCall("agent/cancel", map[string]any{"sessionId": session}, nil)
	if status, _ := ended(e, turn); status != "cancelled" {
		t.Errorf("turn %s", status)
	}
	p := proposal(e, "open")
	accept(e, p)
	if got := e.Text("main.go"); !strings.Contains(got, `"hi"`) {
		t.Errorf("document:\n%s", got)
	}
	e.WaitEvent(func(ev lsptest.Event) bool {
		var u struct{ Status, Name string }
		return ev.Type == "tool/updated" && ev.Decode(&u) == nil && u.Status == "completed" && u.Name == "replace"
	})
	ended(e, prompt(e, session, "go on"))
	cs := m.Requests()[2].Contents
	if told := cs[len(cs)-1].Text(); !strings.Contains(told, "can still decide") {
		t.Errorf("the model was told %q", told)
	}
	if err := e.Call("agent/session/configure", map[string]any{"sessionId": session, "reviewAt": "never"}, nil); err == nil || !strings.Contains(err.Error(), "step or turn") {
		t.Errorf("reviewAt never: %v", err)
	}
}
