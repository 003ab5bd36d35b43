package lsp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// answer returns a handler that checks what was asked.
func answer(t *testing.T, want string, result any) lsptest.Handler {
	return func(_ context.Context, raw json.RawMessage) (any, error) {
		if want != "" && !strings.Contains(string(raw), want) {
			t.Errorf("asked %s, want %s", raw, want)
		}
		return result, nil
	}
}

func toolNames(e *lsptest.Editor) []string {
	var list struct{ Tools []struct{ Name string } }
	e.MustCall("agent/tool/list", map[string]any{}, &list)
	var out []string
	for _, x := range list.Tools {
		out = append(out, x.Name)
	}
	return out
}

var navigation = []string{"find_definition", "find_references", "get_hover", "find_symbols", "rename_symbol"}

// The tools of the editor are there when it declares them, and only then.
func TestEditorToolsAreOffered(t *testing.T) {
	on := map[string]any{}
	for _, tt := range []struct {
		name string
		opt  lsptest.Options
		want []string
	}{
		{"all", lsptest.Options{}, navigation},
		{"plain", lsptest.Options{Plain: true}, nil},
		{"some", lsptest.Options{Redline: map[string]any{"version": 1, "proposals": on, "editor": map[string]any{"hover": on}}}, []string{"get_hover"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := lsptest.NewEditor(t, server(agenttest.NewModel(), nil), tt.opt)
			names := toolNames(e)
			for _, n := range navigation {
				if slices.Contains(names, n) != slices.Contains(tt.want, n) {
					t.Errorf("the tools are %v, want of the editor's %v", names, tt.want)
				}
			}
		})
	}
}

// Each of them asks the editor at the place the model means, and words the answer.
func TestEditorTools(t *testing.T) {
	m := agenttest.NewModel()
	root := t.TempDir()
	uri := func(name string) string { return lsptest.URI(root + "/" + name) }
	at := func(line int) map[string]any {
		return map[string]any{"start": map[string]any{"line": line, "character": 5}, "end": map[string]any{"line": line, "character": 10}}
	}
	e, session := start(t, m, lsptest.Options{
		Root: root, Files: map[string]string{"main.go": greeting, "use.go": "package main\n\nvar x = hello()\n"},
		Handlers: map[string]lsptest.Handler{
			"editor/definition": answer(t, `"position":{"line":2,"character":5}`, []any{map[string]any{"uri": uri("use.go"), "range": at(2)}}),
			"editor/references": answer(t, `"position":{"line":2,"character":8}`, []any{
				map[string]any{"uri": uri("main.go"), "range": at(2)}, map[string]any{"targetUri": uri("use.go"), "targetSelectionRange": at(2)},
			}),
			"editor/hover":   answer(t, "main.go", map[string]any{"contents": map[string]any{"kind": "markdown", "value": "func hello() string"}}),
			"editor/symbols": answer(t, `"query":"hel"`, []any{map[string]any{"name": "hello", "kind": 12, "location": map[string]any{"uri": uri("main.go"), "range": at(2)}}}),
		},
	})
	call := func(name string, args map[string]any) agenttest.Call { return agenttest.Call{Name: name, Args: args} }
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			call("find_definition", map[string]any{"file_path": "main.go", "line": 4, "symbol": "hello"}), // counted badly
			call("find_references", map[string]any{"file_path": "use.go", "line": 3, "symbol": "hello"}),
			call("get_hover", map[string]any{"file_path": "main.go", "line": 3, "symbol": "hello"}),
			call("find_symbols", map[string]any{"query": "hel"}),
			call("find_definition", map[string]any{"file_path": "main.go", "line": 3, "symbol": "nothing"}),
			call("find_symbols", map[string]any{}),
			call("rename_symbol", map[string]any{"file_path": "main.go", "line": 3, "symbol": "hello", "new_name": "hi"}),
		}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.Open("main.go")
	e.Type("main.go", lsptest.Position{Line: 3, Character: 0}, "\t// unsaved\n")
	ended(e, prompt(e, session, "x"))
	rs := m.Responses(1)
	for i, want := range []string{
		"use.go:3: var x = hello()", "main.go:3: func hello() string {\nuse.go:3: var x = hello()", "func hello() string", "main.go:3: function hello",
		"there is no \"nothing\" on or near line 3", "give either query or file_path", "the editor cannot answer",
	} {
		if got := rs[i].Output + rs[i].Error; !strings.Contains(got, want) {
			t.Errorf("call %d was told %q, want %q", i, got, want)
		}
	}
}

// A renaming by the editor is a proposal over all its files, resource operations
// included, and a second edit of the same step goes on top.
func TestRenameSymbol(t *testing.T) {
	m := agenttest.NewModel()
	root := t.TempDir()
	uri := func(name string) string { return lsptest.URI(root + "/" + name) }
	edit := func(line, from, to int) map[string]any {
		return map[string]any{"newText": "greet", "range": map[string]any{"start": map[string]any{"line": line, "character": from}, "end": map[string]any{"line": line, "character": to}}}
	}
	e, session := start(t, m, lsptest.Options{
		Root: root, Files: map[string]string{"hello.go": greeting, "use.go": "package main\n\nvar x = hello()\n"},
		Handlers: map[string]lsptest.Handler{"editor/rename": answer(t, `"newName":"greet"`, map[string]any{"documentChanges": []any{
			map[string]any{"textDocument": map[string]any{"uri": uri("hello.go"), "version": 1}, "edits": []any{edit(2, 5, 10)}},
			map[string]any{"textDocument": map[string]any{"uri": uri("use.go"), "version": nil}, "edits": []any{edit(2, 8, 13)}},
			map[string]any{"kind": "rename", "oldUri": uri("hello.go"), "newUri": uri("greet.go")},
		}})},
	})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{{Name: "rename_symbol", Args: map[string]any{"file_path": "hello.go", "line": 3, "symbol": "hello", "new_name": "greet"}}}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.Open("hello.go")
	turn := prompt(e, session, "x")
	p := proposal(e, "open")
	if len(p.Files) != 2 || p.Files[0].Op != "rename" || !strings.Contains(p.Diff, "rename to greet.go") {
		t.Fatalf("proposal: %+v", p)
	}
	accept(e, p)
	ended(e, turn)
	if got := e.Text("greet.go"); got != strings.Replace(greeting, "func hello", "func greet", 1) {
		t.Errorf("greet.go:\n%s", got)
	}
	if got := e.Text("use.go"); !strings.Contains(got, "greet()") {
		t.Errorf("use.go:\n%s", got)
	}
	if r := m.Responses(1)[0]; !strings.HasPrefix(r.Output, "Successfully renamed hello to greet in 3 files") {
		t.Errorf("the model was told %+v", r)
	}
}

// Problems that appear after a settled edit are told once, the new ones only.
func TestDiagnosticsAreTold(t *testing.T) {
	m := agenttest.NewModel()
	root := t.TempDir()
	problem := func(line, severity int, text string) map[string]any {
		pos := map[string]any{"line": line, "character": 0}
		return map[string]any{"range": map[string]any{"start": pos, "end": pos}, "severity": severity, "source": "compiler", "message": text}
	}
	var waited []string
	var e *lsptest.Editor
	e, session := start(t, m, lsptest.Options{
		Root: root, Files: map[string]string{"a.go": greeting, "b.go": greeting},
		Handlers: map[string]lsptest.Handler{"editor/diagnostics": func(_ context.Context, raw json.RawMessage) (any, error) {
			var p lsp.DiagnosticsParams
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, err
			}
			if p.URI != "" {
				waited = append(waited, fmt.Sprint(p.WaitMs, *p.AfterVersion))
			}
			list := []any{problem(0, 1, "was there before"), problem(0, 4, "a hint")}
			if strings.Contains(e.Text("a.go"), "undefined") {
				list = append(list, problem(3, 1, "undefined: undefined"), problem(8, 2, "unused"))
			}
			return map[string]any{"items": []any{map[string]any{"uri": lsptest.URI(root + "/a.go"), "version": 1, "diagnostics": list}}}, nil
		}},
	})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "a.go", `"hello"`, `undefined`), replaceCall(e, "b.go", `"hello"`, `"hi"`)}},
		agenttest.Step{Text: []string{"oh"}},
	)
	e.Open("a.go")
	e.Open("b.go")
	turn := prompt(e, session, "x")
	accept(e, proposal(e, "open"))
	ended(e, turn)
	told := lastText(m)
	if !strings.Contains(told, "new problems:\na.go:4: error: undefined: undefined [compiler]\na.go:9: warning: unused [compiler]") || strings.Contains(told, "before") || strings.Contains(told, "hint") {
		t.Errorf("the model was told %q", told)
	}
	if strings.Join(waited, ", ") != "1000 2, 200 2" {
		t.Errorf("waited %q", waited)
	}
}
