package lsp_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// withChanges are the capabilities of a client that is told what changed in a proposal.
var withChanges = map[string]any{"version": 1, "proposals": map[string]any{"changes": map[string]any{}}}

// wholeProposal is a proposal with its edit left undecoded.
type wholeProposal struct {
	lsp.Proposal
	Edit json.RawMessage `json:"edit"`
}

// kept is a client's copy of the proposals, made from events.
type kept struct {
	t         *testing.T
	e         *lsptest.Editor
	session   string
	seen      int
	proposals map[string]*lsp.Proposal
	whole     int // events with all of a proposal
	changed   int // events with what has changed
	bytes     int // of the largest of these
}

func keep(t *testing.T, e *lsptest.Editor, session string) *kept {
	return &kept{t: t, e: e, session: session, proposals: map[string]*lsp.Proposal{}}
}

// take takes the events that have come since.
func (k *kept) take() {
	k.t.Helper()
	all := k.e.Events(k.session)
	for _, ev := range all[k.seen:] {
		switch ev.Type {
		case "proposal/updated":
			var got struct{ Proposal wholeProposal }
			if err := ev.Decode(&got); err != nil {
				k.t.Fatal(err)
			}
			k.whole++
			k.proposals[got.Proposal.ProposalID] = &got.Proposal.Proposal
		case "proposal/changed":
			var got struct{ Change lsp.ProposalChange }
			if err := ev.Decode(&got); err != nil {
				k.t.Fatal(err)
			}
			k.changed++
			k.bytes = max(k.bytes, len(ev.Raw))
			k.apply(got.Change)
		}
	}
	k.seen = len(all)
}

func (k *kept) apply(c lsp.ProposalChange) {
	k.t.Helper()
	p := k.proposals[c.ProposalID]
	if p == nil || p.Rev != c.Since {
		k.t.Fatalf("a change since %d of %+v", c.Since, p)
	}
	p.Rev, p.State = c.Rev, c.State
	for _, fc := range c.Files {
		i := slices.IndexFunc(p.Files, func(f lsp.ProposalFile) bool { return f.FileID == fc.FileID })
		f := &p.Files[i]
		f.URI, f.NewURI, f.Base = fc.URI, fc.NewURI, fc.Base
		at := func(id string) int {
			return slices.IndexFunc(f.Hunks, func(h lsp.ProposalHunk) bool { return h.HunkID == id })
		}
		for _, m := range fc.Moved {
			for j := at(m.From); j <= at(m.To); j++ {
				r := &f.Hunks[j].Range
				r.Start.Line = uint32(int(r.Start.Line) + m.Lines)
				r.End.Line = uint32(int(r.End.Line) + m.Lines)
			}
		}
		for _, h := range fc.Hunks {
			f.Hunks[at(h.HunkID)] = h
		}
	}
}

// check compares the copies with what the server says when asked.
func (k *kept) check(when string) {
	k.t.Helper()
	k.take()
	for _, id := range slices.Sorted(maps.Keys(k.proposals)) {
		var now wholeProposal
		k.e.MustCall("agent/proposal/get", map[string]any{"proposalId": id}, &now)
		k.take() // the answer may tell of what an event before it told
		plain := func(p lsp.Proposal) string {
			p.Edit, p.Diff = nil, ""
			data, err := json.Marshal(p)
			if err != nil {
				k.t.Fatal(err)
			}
			return string(data)
		}
		if mine, theirs := plain(*k.proposals[id]), plain(now.Proposal); mine != theirs {
			k.t.Fatalf("%s: made of the changes:\n%s\nthe server has:\n%s", when, mine, theirs)
		}
	}
}

// A client that wants so is told what has changed in a proposal, which is as much as if
// it were told all of it.
func TestProposalChanges(t *testing.T) {
	m := agenttest.NewModel()
	many := strings.Repeat("same\nother\nthird\nfourth\n", 100)
	e, session := start(t, m, lsptest.Options{Redline: withChanges, Files: map[string]string{"main.go": greeting, "many.txt": many}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			replaceCall(e, "main.go", `return "hello"`, `return "good day"`),
			replaceCall(e, "main.go", `return "bye"`, `return "farewell"`),
			{Name: "write_file", Args: map[string]any{"file_path": "many.txt", "content": strings.ReplaceAll(many, "same\n", "same\nand more\n")}},
		}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.Open("main.go")
	e.Open("many.txt")
	turn := prompt(e, session, "x")
	p := proposal(e, "open")
	k := keep(t, e, session)
	k.check("at first")
	if k.whole != 1 || k.changed != 0 {
		t.Fatalf("%d times whole, %d times changed; the first time it is whole", k.whole, k.changed)
	}
	// next waits until the client has a state.
	next := func(what string, is func(p *lsp.Proposal) bool) {
		t.Helper()
		e.WaitFor(what, func() bool { k.take(); return is(k.proposals[p.ProposalID]) })
		k.check(what)
	}
	hunk := func(p *lsp.Proposal, file, i int) lsp.ProposalHunk { return p.Files[file].Hunks[i] }
	resolve := func(rev int, target any, decision string) *wholeProposal {
		t.Helper()
		var got wholeProposal
		e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": rev, "brief": true, "decisions": []any{
			map[string]any{"target": target, "decision": decision},
		}}, &got)
		return &got
	}

	e.Type("many.txt", lsptest.Position{Line: 202}, "typed\nbetween\n")
	next("hunks below moved", func(p *lsp.Proposal) bool { return hunk(p, 1, 99).Range.Start.Line == 399 })
	e.Replace("main.go", `"hello"`, `"hello, you"`)
	next("a conflict", func(p *lsp.Proposal) bool { return hunk(p, 0, 0).State == "conflict" })
	e.Replace("main.go", `"hello, you"`, `"hello"`)
	next("and its end", func(p *lsp.Proposal) bool { return hunk(p, 0, 0).State == "pending" })

	rev := func() int { return k.proposals[p.ProposalID].Rev }
	k.bytes = 0
	got := resolve(rev(), map[string]any{"hunkId": hunk(k.proposals[p.ProposalID], 1, 0).HunkID}, "accept")
	k.check("one is accepted")
	if got.Rev != rev() || got.State != "open" || len(got.Files) != 0 || got.Edit != nil || got.Diff != "" {
		t.Errorf("a brief answer is %+v; the events before it tell of revision %d", got, rev())
	}
	if k.bytes > 1500 {
		t.Errorf("accepting one of 102 hunks takes %d bytes of an event", k.bytes)
	}
	resolve(rev(), map[string]any{"fileId": "f1"}, "reject")
	k.check("a file is rejected")
	resolve(rev(), "all", "accept")
	k.check("all are accepted")
	ended(e, turn)
	if k.whole != 1 {
		t.Errorf("the client was told all of it %d times", k.whole)
	}
	var after wholeProposal
	e.MustCall("agent/proposal/revert", map[string]any{"proposalId": p.ProposalID, "brief": true}, &after)
	k.check("taken back")
	if after.State != "reverted" || len(after.Files) != 0 || k.proposals[p.ProposalID].State != "reverted" {
		t.Errorf("taking back was answered %+v", after)
	}

	// A replay is told from the start, whatever was told before.
	again := keep(t, e, session)
	again.seen = len(e.Events(session))
	e.MustCall("agent/session/resume", map[string]any{"sessionId": session, "afterSeq": 0}, nil)
	again.check("replayed")
	if again.whole == 0 || again.changed == 0 {
		t.Errorf("a replay has the proposal %d times whole and %d changes", again.whole, again.changed)
	}
}

// A client that does not ask for changes is not sent any.
func TestNoProposalChanges(t *testing.T) {
	for name, marker := range map[string]any{"empty": map[string]any{}, "no object": true} {
		t.Run(name, func(t *testing.T) {
			m := agenttest.NewModel()
			e, session := start(t, m, lsptest.Options{Redline: map[string]any{"version": 1, "proposals": marker}, Files: map[string]string{"main.go": greeting}})
			*m = *agenttest.NewModel(
				agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `return "hello"`, `return "good day"`)}},
				agenttest.Step{Text: []string{"ok"}},
			)
			turn := prompt(e, session, "x")
			accept(e, proposal(e, "open"))
			ended(e, turn)
			k := keep(t, e, session)
			k.check("at the end")
			if k.changed != 0 || k.whole < 3 {
				t.Errorf("%d changes and %d whole proposals were sent", k.changed, k.whole)
			}
		})
	}
}
