package lsp_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp/lsptest"
)

// Changes that overtake each other, as in Helix 25.01, are taken in the order of their
// versions; a version that never comes holds up nothing for long.
func TestChangesOvertake(t *testing.T) {
	for _, c := range []struct {
		name string
		send []int
		want string
	}{
		{"in order", []int{1, 2, 3, 4}, "abcd"},
		{"overtaken", []int{2, 4, 1, 3}, "abcd"},
		{"backwards", []int{4, 3, 2, 1}, "abcd"},
		{"one never comes", []int{1, 4, 3}, "acd"},
		{"the opening is overtaken", []int{2, 1, 0, 4, 3}, "abcd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := agenttest.NewModel()
			p := lsptest.Helix2501()
			e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{Personality: &p, Files: map[string]string{"a.txt": ""}})
			file := lsptest.URI(e.Path("a.txt"))
			*m = *agenttest.NewModel(
				agenttest.Step{Calls: []agenttest.Call{{Name: "read_file", Args: map[string]any{"path": e.Path("a.txt")}}}},
				agenttest.Step{Text: []string{"That is it."}},
			)
			open := func() {
				e.Notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": file, "languageId": "text", "version": 0, "text": ""}})
			}
			if !slices.Contains(c.send, 0) {
				open()
			}
			for _, v := range c.send {
				if v == 0 {
					open()
					continue
				}
				at := v - 1
				if c.want == "acd" && v > 2 {
					at-- // what Helix did on trial is gone again
				}
				pos := lsptest.Position{Character: at}
				e.Notify("textDocument/didChange", map[string]any{
					"textDocument":   map[string]any{"uri": file, "version": v},
					"contentChanges": []any{map[string]any{"range": lsptest.Range{Start: pos, End: pos}, "text": string("abcd"[v-1])}},
				})
			}
			// A later change is seen only behind the ones before it.
			ready := lsptest.Position{Character: len(c.want)}
			e.Notify("textDocument/didChange", map[string]any{
				"textDocument":   map[string]any{"uri": file, "version": 5},
				"contentChanges": []any{map[string]any{"range": lsptest.Range{Start: ready, End: ready}, "text": " // redline: go on"}},
			})
			e.WaitFor("the changes", func() bool { return len(codeActions(e, "a.txt", 0)) == 1 })
			e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.ask", "arguments": []any{"read"}}, nil)
			e.WaitNotification("window/showMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "That is it.") })
			if got := m.Responses(1)[0].Output; !strings.Contains(got, c.want+" // redline: go on") {
				t.Errorf("the document is %q", got)
			}
		})
	}
}
