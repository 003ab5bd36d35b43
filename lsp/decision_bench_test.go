package lsp_test

import (
	"fmt"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp/lsptest"
)

// BenchmarkDecision accepts one of a thousand hunks in a file of ten thousand lines,
// from the request to its answer; for a client that is sent whole proposals, and for
// one that is sent what changed.
func BenchmarkDecision(b *testing.B) {
	for _, c := range []struct {
		name      string
		proposals map[string]any
	}{{"whole", map[string]any{}}, {"changes", map[string]any{"changes": map[string]any{}}}} {
		b.Run(c.name, func(b *testing.B) { benchmarkDecision(b, c.proposals) })
	}
}

func benchmarkDecision(b *testing.B, proposals map[string]any) {
	var old, new strings.Builder
	for i := range 10_000 {
		line := fmt.Sprintf("line %d of a file with many hunks\n", i)
		old.WriteString(line)
		if i%10 == 5 {
			line = "changed " + line
		}
		new.WriteString(line)
	}
	m := agenttest.NewModel()
	e := lsptest.NewEditor(b, server(m, nil), lsptest.Options{
		Files:   map[string]string{"a.txt": old.String()},
		Redline: map[string]any{"version": 1, "proposals": proposals},
	})
	e.Open("a.txt")
	n := 0
	var p wireProposal
	for b.Loop() {
		if n == 0 {
			b.StopTimer()
			*m = *agenttest.NewModel(
				agenttest.Step{Calls: []agenttest.Call{{Name: "write_file", Args: map[string]any{"file_path": "a.txt", "content": new.String()}}}},
				agenttest.Step{Text: []string{"ok"}},
			)
			session := newSession(e)
			prompt(e, session, "go")
			p = proposal(e, "open")
			b.StartTimer()
		}
		id := p.ProposalID
		e.MustCall("agent/proposal/resolve", map[string]any{
			"proposalId": id, "rev": p.Rev,
			"decisions": []any{map[string]any{"target": map[string]any{"hunkId": fmt.Sprint("h", n+1)}, "decision": "accept"}},
		}, &p)
		n++
		if n == 900 {
			b.Fatal("too many")
		}
	}
}
