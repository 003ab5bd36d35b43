package lsp_test

import (
	"errors"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp/lsptest"
)

// A function that an answer shows anew finds its place; where it would have to be
// guessed, nothing is proposed.
func TestProposeFit(t *testing.T) {
	e := lsptest.NewEditor(t, server(agenttest.NewModel(), nil), lsptest.Options{Files: map[string]string{"main.go": greeting}})
	session := newSession(e)
	e.Open("main.go")
	file := func(name, text string) map[string]any {
		return map[string]any{"sessionId": session, "files": []any{map[string]any{"uri": lsptest.URI(e.Path(name)), "fit": true, "newText": text}}}
	}
	e.MustCall("agent/proposal/new", file("main.go", "func bye() string {\n\treturn \"farewell\"\n}\n"), nil)
	p := proposal(e, "open")
	if len(p.Files[0].Hunks) != 1 || !strings.Contains(p.Files[0].Hunks[0].OldText, `"bye"`) {
		t.Fatalf("proposed: %+v", p)
	}
	e.MustCall("agent/proposal/resolve", map[string]any{
		"proposalId": p.ProposalID, "rev": p.Rev, "decisions": []any{map[string]any{"target": "all", "decision": "accept"}},
	}, nil)
	want := strings.Replace(greeting, `"bye"`, `"farewell"`, 1)
	if got := e.Text("main.go"); got != want {
		t.Fatalf("main.go:\n%s", got)
	}
	err := e.Call("agent/proposal/new", file("main.go", "func other() {\n}\n"), nil)
	var failed *lsptest.ResponseError
	if !errors.As(err, &failed) || failed.Code != -32803 || !strings.Contains(string(failed.Data), `"noFit"`) {
		t.Errorf("a function that is not there: %v", err)
	}
	if err := e.Call("agent/proposal/new", file("none.go", "func other() {\n}\n"), nil); err == nil {
		t.Error("a part of a file that is not there: no error")
	}
}
