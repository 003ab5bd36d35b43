package lsp_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// A document that was never saved is read, changed and reviewed like a file, under its
// URI; what was typed into it stays; and nothing of it comes to the disk.
func TestUntitled(t *testing.T) {
	const u = "untitled:Untitled-1"
	home, root := t.TempDir(), t.TempDir()
	m := agenttest.NewModel()
	e := lsptest.NewEditor(t, keeping(m, home), lsptest.Options{Root: root, Files: map[string]string{"a.txt": "a\n"}})
	call := func(name string, args map[string]any) agenttest.Call { return agenttest.Call{Name: name, Args: args} }
	edit := func(old, text string) agenttest.Call {
		return call("replace", map[string]any{"file_path": u, "old_string": old, "new_string": text})
	}
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{call("read_file", map[string]any{"path": u}), call("grep_search", map[string]any{"pattern": "tow"})}},
		agenttest.Step{Calls: []agenttest.Call{edit("one\n", "1\n"), edit("three\n", "3\n"), edit("five\n", "5\n")}},
		agenttest.Step{Calls: []agenttest.Call{
			call("delete_file", map[string]any{"file_path": u}), call("rename_file", map[string]any{"file_path": u, "new_path": e.Path("b.txt")}),
			call("rename_file", map[string]any{"file_path": e.Path("a.txt"), "new_path": u}), call("write_file", map[string]any{"file_path": "untitled:Untitled-2", "content": "x\n"}),
		}},
		agenttest.Step{Text: []string{"Done."}},
		agenttest.Step{Calls: []agenttest.Call{call("write_file", map[string]any{"file_path": u, "content": "all new\n"})}},
		agenttest.Step{Text: []string{"Done."}},
	)
	e.OpenText(u, "one\ntow\nthree\nfour\nfive\n")
	session := newSession(e)
	turn := prompt(e, session, "digits, please")
	p := proposal(e, "open")
	if len(p.Files) != 1 || p.Files[0].URI != u || len(p.Files[0].Hunks) != 3 {
		t.Fatalf("proposed: %+v", p)
	}
	// The person types into the last one, takes the first, and not the second.
	n := e.EventCount()
	e.Replace(u, "five", "five, as typed")
	var moved struct{ Proposal wireProposal }
	if err := e.WaitEventAfter(n, func(ev lsptest.Event) bool { return ev.Type == "proposal/updated" }).Decode(&moved); err != nil {
		t.Fatal(err)
	}
	p = moved.Proposal
	var decisions []any
	for i, d := range []string{"accept", "reject", "accept"} {
		decisions = append(decisions, map[string]any{"target": map[string]any{"hunkId": p.Files[0].Hunks[i].HunkID}, "decision": d})
	}
	e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev, "decisions": decisions}, &p)
	if status, err := ended(e, turn); status != "completed" {
		t.Fatalf("turn %s: %v", status, err)
	}
	if got := e.Text(u); got != "1\ntow\nthree\nfour\nfive, as typed\n" {
		t.Errorf("the document is %q", got)
	}
	reqs := m.Requests()
	if first := reqs[0].Contents[0].Text(); !strings.Contains(first, "never saved") || !strings.Contains(first, u) {
		t.Errorf("the model is not told of the document:\n%s", first)
	}
	told := func(req, i int) string {
		parts := reqs[req].Contents[len(reqs[req].Contents)-1].Parts
		b, _ := json.Marshal(parts[i].Value().FunctionResponse)
		return string(b)
	}
	for _, want := range []struct {
		req, i int
		text   string
	}{
		{1, 0, "tow"}, {1, 1, "No matches found"},
		{2, 0, "Successfully modified"}, {2, 1, "rejected"}, {2, 2, "conflict"},
		{3, 0, "never saved"}, {3, 1, "never saved"}, {3, 2, "exists already"}, {3, 3, "there are: " + u},
	} {
		if got := told(want.req, want.i); !strings.Contains(got, want.text) {
			t.Errorf("response %d of request %d is %s, without %q", want.i, want.req, got, want.text)
		}
	}

	// A way back, and forth again.
	var list lsp.CheckpointList
	e.MustCall("agent/checkpoint/list", map[string]any{"sessionId": session}, &list)
	var res wireRewind
	e.MustCall("agent/checkpoint/restore", map[string]any{"checkpointId": list.Checkpoints[0].CheckpointID}, &res)
	if got := e.Text(u); got != "one\ntow\nthree\nfour\nfive, as typed\n" {
		t.Errorf("back, the document is %q; left: %v", got, res.Skipped)
	}
	e.MustCall("agent/checkpoint/restore", map[string]any{"checkpointId": res.UndoCheckpointID}, nil)
	if got := e.Text(u); got != "1\ntow\nthree\nfour\nfive, as typed\n" {
		t.Errorf("forth again, the document is %q", got)
	}

	// It is closed, or saved under a name, while a change waits.
	n = e.EventCount()
	turn = prompt(e, session, "all of it")
	e.WaitEventAfter(n, func(ev lsptest.Event) bool { return ev.Type == "proposal/updated" })
	n = e.EventCount()
	e.Close(u)
	if err := e.WaitEventAfter(n, func(ev lsptest.Event) bool { return ev.Type == "proposal/updated" }).Decode(&moved); err != nil {
		t.Fatal(err)
	}
	if h := moved.Proposal.Files[0].Hunks[0]; h.State != "conflict" {
		t.Errorf("after the end of the document: %+v", h)
	}
	e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": moved.Proposal.ProposalID, "rev": moved.Proposal.Rev, "decisions": []any{map[string]any{"target": "all", "decision": "accept"}}}, nil)
	if status, err := ended(e, turn); status != "completed" {
		t.Errorf("turn %s: %v", status, err)
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) != 1 {
		t.Errorf("on the disk there is %v (%v)", left, err)
	}
}
