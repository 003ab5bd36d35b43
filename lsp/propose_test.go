package lsp_test

import (
	"strings"
	"testing"

	"redline/agent/geminitest"
	"redline/lsp/lsptest"

	"redline/agent/agenttest"
)

// A piece of an answer becomes a proposal, is reviewed like any other, and the model is
// told with the next message.
func TestProposeOwn(t *testing.T) {
	srv, change := overHTTP(t, "flash", geminitest.Say("Hello."))
	e := lsptest.NewEditor(t, server(agenttest.NewModel(), change), lsptest.Options{Files: map[string]string{"a.txt": "one\r\ntwo\r\nthree\r\n", "b.txt": "b\n"}})
	session := newSession(e)
	e.Open("a.txt")
	a, fresh := lsptest.URI(e.Path("a.txt")), lsptest.URI(e.Path("new/c.txt"))
	line := func(n int) map[string]any {
		return map[string]any{"start": map[string]any{"line": n, "character": 0}, "end": map[string]any{"line": n + 1, "character": 0}}
	}
	var made struct{ ProposalID string }
	e.MustCall("agent/proposal/new", map[string]any{"sessionId": session, "title": "From the answer", "files": []any{
		map[string]any{"uri": a, "version": 1, "edits": []any{map[string]any{"range": line(1), "newText": "zwei\nzweieinhalb\n"}}},
		map[string]any{"uri": fresh, "newText": "fresh\n"},
	}}, &made)
	p := proposal(e, "open")
	if len(p.Files) != 2 {
		t.Fatalf("proposed: %+v", p)
	}
	if got := e.Text("a.txt"); got != "one\r\ntwo\r\nthree\r\n" {
		t.Fatalf("changed before a decision: %q", got)
	}
	e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev, "decisions": []any{
		map[string]any{"target": map[string]any{"fileId": p.Files[0].FileID}, "decision": "accept"},
		map[string]any{"target": map[string]any{"fileId": p.Files[1].FileID}, "decision": "reject", "reason": "not yet"},
	}}, nil)
	if p = proposal(e, "settled"); p.ProposalID != made.ProposalID {
		t.Errorf("settled %s, not %s", p.ProposalID, made.ProposalID)
	}
	if got := e.Text("a.txt"); got != "one\r\nzwei\r\nzweieinhalb\r\nthree\r\n" {
		t.Errorf("a.txt: %q", got)
	}
	ended(e, prompt(e, session, "and now?"))
	told := srv.Requests()[0].Last().Texts()
	for _, want := range []string{"From the answer", "zweieinhalb", "not yet"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model is not told %q:\n%s", want, told)
		}
	}
}

func TestProposeOwnRefuses(t *testing.T) {
	e := lsptest.NewEditor(t, server(agenttest.NewModel(), nil), lsptest.Options{Files: map[string]string{"a.txt": "one\ntwo\n"}})
	session := newSession(e)
	e.Open("a.txt")
	a := lsptest.URI(e.Path("a.txt"))
	at := func(from, to int) map[string]any {
		return map[string]any{"newText": "x", "range": map[string]any{"start": map[string]any{"line": 0, "character": from}, "end": map[string]any{"line": 0, "character": to}}}
	}
	for name, c := range map[string]struct {
		files any
		want  string
	}{
		"no files":      {[]any{}, "files"},
		"neither":       {[]any{map[string]any{"uri": a}}, "edits or newText"},
		"both":          {[]any{map[string]any{"uri": a, "newText": "x", "edits": []any{at(0, 1)}}}, "edits or newText"},
		"old version":   {[]any{map[string]any{"uri": a, "version": 0, "edits": []any{at(0, 1)}}}, "changed since"},
		"overlap":       {[]any{map[string]any{"uri": a, "edits": []any{at(0, 2), at(1, 3)}}}, "overlap"},
		"outside":       {[]any{map[string]any{"uri": "file:///etc/passwd", "newText": "x"}}, "files[0].uri"},
		"no file":       {[]any{map[string]any{"uri": "https://example.com/a", "newText": "x"}}, "no file"},
		"not there":     {[]any{map[string]any{"uri": lsptest.URI(e.Path("b.txt")), "edits": []any{at(0, 0)}}}, "files[0].uri"},
		"twice":         {[]any{map[string]any{"uri": a, "newText": "x"}, map[string]any{"uri": a, "newText": "y"}}, "twice"},
		"there already": {[]any{map[string]any{"uri": a, "newText": "one\ntwo\n"}}, "nothing would change"},
	} {
		err := e.Call("agent/proposal/new", map[string]any{"sessionId": session, "files": c.files}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want something about %q", name, err, c.want)
		}
	}
	if got := e.Text("a.txt"); got != "one\ntwo\n" {
		t.Errorf("a.txt: %q", got)
	}
}
