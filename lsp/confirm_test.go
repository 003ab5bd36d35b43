package lsp_test

import (
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp/lsptest"
)

// The editor's own preview decides for a client that knows us: what was ticked is in the
// documents and the rest is rejected; nothing ticked decides nothing.
func TestConfirmInPreview(t *testing.T) {
	m := agenttest.NewModel()
	vscode := lsptest.VSCode()
	var shown [][]lsptest.Change
	answers := []func(n int) ([]int, bool){
		func(int) ([]int, bool) { return nil, false },       // Discard
		func(int) ([]int, bool) { return nil, true },        // Apply with nothing ticked
		func(n int) ([]int, bool) { return []int{1}, true }, // the second
	}
	e, session := start(t, m, lsptest.Options{
		Personality: &vscode,
		Files:       map[string]string{"main.go": greeting},
		Preview: func(c []lsptest.Change) ([]int, bool) {
			shown = append(shown, c)
			return answers[len(shown)-1](len(c))
		},
	})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			replaceCall(e, "main.go", `return "hello"`, `return "good day"`),
			replaceCall(e, "main.go", `return "bye"`, `return "farewell"`),
		}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.Open("main.go")
	turn := prompt(e, session, "x")
	p := proposal(e, "open")
	if err := e.Call("agent/proposal/confirm", map[string]any{"proposalId": p.ProposalID}, nil); err == nil || !strings.Contains(err.Error(), "rev") {
		t.Errorf("without rev: %v", err)
	}
	confirm := func() (after wireProposal) {
		e.MustCall("agent/proposal/confirm", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev}, &after)
		p = after
		return after
	}
	for range 2 {
		after := confirm()
		if after.State != "open" || after.Files[0].Hunks[0].State != "pending" || after.Files[0].Hunks[1].State != "pending" {
			t.Fatalf("nothing was taken, and the proposal is %+v", after)
		}
		if got := e.Text("main.go"); got != greeting {
			t.Fatalf("document:\n%s", got)
		}
	}
	after := confirm()
	if h := after.Files[0].Hunks; after.State != "settled" || h[0].State != "rejected" || h[1].State != "accepted" {
		t.Errorf("the second was ticked: %+v", after)
	}
	if got, want := e.Text("main.go"), strings.Replace(greeting, `"bye"`, `"farewell"`, 1); got != want {
		t.Errorf("document:\n%s", got)
	}
	ended(e, turn)
	for i, c := range shown {
		if len(c) != 2 || !c[0].NeedsConfirmation || c[0].Ticked {
			t.Errorf("preview %d showed %+v", i, c)
		}
	}
	if rs := m.Responses(1); !strings.Contains(rs[0].Error, "rejected") || !strings.HasPrefix(rs[1].Output, "Successfully") {
		t.Errorf("the model was told %+v", rs)
	}
}
