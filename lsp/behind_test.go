package lsp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp/lsptest"
)

// What may have the editor ask its user comes behind the answer to the command that brought
// it about: eglot would drop its question when that answer comes.
func TestEditBehindAnswer(t *testing.T) {
	const hunks = 30
	var text strings.Builder
	for i := range hunks {
		fmt.Fprintf(&text, "line %d;\n\n\n\n", i)
	}
	commands := make(chan *lsptest.Pending, 1)
	edits := make(chan bool, hunks)
	m := agenttest.NewModel()
	p := lsptest.Eglot()
	e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{
		Personality: &p, Plain: true, Files: map[string]string{"a.txt": text.String()},
		Handlers: map[string]lsptest.Handler{
			"workspace/applyEdit": func(context.Context, json.RawMessage) (any, error) {
				edits <- (<-commands).Answered()
				return map[string]any{"applied": false, "failureReason": "not today"}, nil
			},
		},
	})
	var calls []agenttest.Call
	for i := range hunks {
		calls = append(calls, replaceCall(e, "a.txt", fmt.Sprintf("line %d;", i), fmt.Sprintf("Line %d;", i)))
	}
	*m = *agenttest.NewModel(agenttest.Step{Calls: calls}, agenttest.Step{Text: []string{"I see."}})
	e.Open("a.txt")
	ask(e, "go")
	e.WaitFor("the hints", func() bool { return len(e.Diagnostics("a.txt")) == hunks })
	for i := range hunks {
		c := e.Go("workspace/executeCommand", map[string]any{
			"command": "redline.accept", "arguments": []any{map[string]any{"target": map[string]any{"hunkId": fmt.Sprintf("h%d", i+1)}}},
		})
		commands <- c
		if !<-edits {
			t.Errorf("edit %d came before the answer to the command", i)
		}
		if err := c.Wait(nil); err != nil {
			t.Fatal(err)
		}
	}
	said(e, "I see.")
}
