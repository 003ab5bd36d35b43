package lsp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp/lsptest"
)

// The user renames the folder of a file while a proposal for it is open, and types in
// it: the hunk goes along.
func TestRenamedWhileOpen(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"old/main.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "old/main.go", `"bye"`, `"ciao"`)}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.Open("old/main.go")
	turn := prompt(e, session, "x")
	p := proposal(e, "open")
	e.Close("old/main.go")
	if err := os.Rename(filepath.Join(e.Root(), "old"), filepath.Join(e.Root(), "new")); err != nil {
		t.Fatal(err)
	}
	e.Open("new/main.go")
	e.Notify("workspace/didRenameFiles", map[string]any{"files": []any{map[string]any{
		"oldUri": lsptest.URI(e.Path("old")), "newUri": lsptest.URI(e.Path("new")),
	}}})
	state := func() (w wireProposal) {
		e.MustCall("agent/proposal/get", map[string]any{"proposalId": p.ProposalID}, &w)
		return w
	}
	e.WaitEvent(func(ev lsptest.Event) bool {
		var got struct{ Proposal wireProposal }
		return ev.Type == "proposal/updated" && ev.Decode(&got) == nil && strings.HasSuffix(got.Proposal.Files[0].URI, "/new/main.go")
	})
	e.Type("new/main.go", lsptest.Position{}, "// typed\n")
	acceptNow(e, p.ProposalID)
	ended(e, turn)
	if got := e.Text("new/main.go"); got != "// typed\n"+strings.Replace(greeting, `"bye"`, `"ciao"`, 1) {
		t.Errorf("%+v, document:\n%s", state(), got)
	}
	if onDisk := filepath.Join(e.Root(), "old"); func() bool { _, err := os.Stat(onDisk); return err == nil }() {
		t.Error("the old folder is back")
	}
}
