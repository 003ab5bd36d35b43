package lsp_test

import (
	"fmt"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// BenchmarkEvents streams an answer of 20,000 chunks to an editor, watched for loops,
// and BenchmarkEventsUnwatched without.
func BenchmarkEvents(b *testing.B) { benchmarkEvents(b, false) }

func BenchmarkEventsUnwatched(b *testing.B) { benchmarkEvents(b, true) }

func benchmarkEvents(b *testing.B, allowLoops bool) {
	const chunks = 20_000
	text := make([]string, chunks)
	for i := range text {
		text[i] = fmt.Sprint("word ", i, " ")
	}
	var steps []agenttest.Step
	for range 200 {
		steps = append(steps, agenttest.Step{Text: text})
	}
	e := lsptest.NewEditor(b, server(agenttest.NewModel(steps...), func(o *lsp.Options) {
		plain := o.Settings
		o.Settings = func(dirs []string) (lsp.Settings, error) {
			set, err := plain(dirs)
			set.Conversation.AllowLoops = allowLoops
			return set, err
		}
	}), lsptest.Options{})
	session := newSession(e)
	for b.Loop() {
		ended(e, prompt(e, session, "go"))
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/20000events")
}

// BenchmarkProposal makes 200 edits in a file of 5 MB and waits for the preview.
func BenchmarkProposal(b *testing.B) {
	var t strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&t, "line %d of a file of five megabytes\n", i)
	}
	base := t.String()
	content := base
	for i := range 200 {
		content = strings.Replace(content, fmt.Sprintf("line %d of", i*700), fmt.Sprintf("LINE %d of", i*700), 1)
	}
	m := agenttest.NewModel()
	e := lsptest.NewEditor(b, server(m, nil), lsptest.Options{Files: map[string]string{"a.txt": base}})
	e.Open("a.txt")
	for b.Loop() {
		*m = *agenttest.NewModel(
			agenttest.Step{Calls: []agenttest.Call{{Name: "write_file", Args: map[string]any{"file_path": "a.txt", "content": content}}}},
			agenttest.Step{Text: []string{"ok"}},
		)
		session := newSession(e)
		n := e.EventCount()
		turn := prompt(e, session, "go")
		e.WaitEventAfter(n, lsptest.OfType("proposal/updated"))
		e.MustCall("agent/cancel", map[string]any{"sessionId": session}, nil)
		ended(e, turn)
	}
}
