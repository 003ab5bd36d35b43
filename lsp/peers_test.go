package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp/lsptest"
	"redline/workspace"
	"redline/workspace/match"
)

// The seven defects that were reproduced in another agent (PEERS.md), each of which
// must not be here.

// 1. The user edits the file during the preview, approves, and loses that text.
func TestPeerDefect1TypedDuringPreviewIsKept(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"a.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{{Name: "write_file", Args: map[string]any{"file_path": "a.go", "content": strings.ReplaceAll(greeting, "return", "return /* new */")}}}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.Open("a.go")
	turn := prompt(e, session, "x")
	p := proposal(e, "open")
	e.Replace("a.go", "package main\n", "package main\n\n// typed during the preview\n")
	e.Replace("a.go", `return "bye"`, `return "typed in a hunk"`)
	acceptNow(e, p.ProposalID)
	ended(e, turn)
	want := "package main\n\n// typed during the preview\n\nfunc hello() string {\n\treturn /* new */ \"hello\"\n}\n\nfunc bye() string {\n\treturn \"typed in a hunk\"\n}\n"
	if got := e.Text("a.go"); got != want {
		t.Errorf("document:\n%s", got)
	}
	if r := m.Responses(1)[0]; !strings.Contains(r.Output, "1 accepted, 1 conflict") {
		t.Errorf("the model was told %+v", r)
	}
}

// 2. Reads and greps see the disk, edits see the buffer.
func TestPeerDefect2UnsavedTextIsSeenByAll(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"a.go": "disk\n"}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			{Name: "read_file", Args: map[string]any{"path": "a.go"}}, {Name: "grep_search", Args: map[string]any{"pattern": "buffer"}},
			{Name: "read_many_files", Args: map[string]any{"paths": []string{"a.go"}}}, replaceCall(e, "a.go", "buffer", "edited buffer"),
		}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.Open("a.go")
	e.SetText("a.go", "buffer\n")
	turn := prompt(e, session, "x")
	accept(e, proposal(e, "open"))
	ended(e, turn)
	for i, r := range m.Responses(1) {
		if r.Error != "" || i < 3 && !strings.Contains(r.Output, "buffer") {
			t.Errorf("call %d: %+v", i, r)
		}
	}
	if got := e.Text("a.go"); got != "edited buffer\n" {
		t.Errorf("document: %q", got)
	}
}

// onDisk changes a file without an editor and returns its bytes.
func onDisk(t *testing.T, data, old, new string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "f.txt")
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	v := workspace.NewView(ws.Snapshot())
	f, err := v.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	found, err := match.Find(f.Text, old, new, 1)
	if err != nil {
		t.Fatal(err)
	}
	var edits []workspace.Edit
	for _, e := range found.Edits {
		edits = append(edits, workspace.Edit(e))
	}
	if err := v.Stage("c", f, edits); err != nil {
		t.Fatal(err)
	}
	fc := v.Propose().Files[0]
	if err := ws.Snapshot().Disk().Apply(fc, fc.Hunks); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// 3. Latin-1 turns into U+FFFD, UTF-16 never matches, the BOM is dropped.
func TestPeerDefect3EncodingsStay(t *testing.T) {
	wide := func(s string) string {
		var b strings.Builder
		b.WriteString("\xff\xfe")
		for _, c := range []byte(s) {
			b.WriteByte(c)
			b.WriteByte(0)
		}
		return b.String()
	}
	for _, tt := range []struct{ name, data, want string }{
		{"Latin-1", "caf\xe9\nold\n", "caf\xe9\nnew\n"},
		{"UTF-16", wide("first\nold\n"), wide("first\nnew\n")},
		{"UTF-8 with BOM", "\xef\xbb\xbffirst\nold\n", "\xef\xbb\xbffirst\nnew\n"},
	} {
		if got := onDisk(t, tt.data, "old", "new"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// 4. A one-line edit rewrites every line end; the final newline can be neither added
// nor removed.
func TestPeerDefect4LineEndsStay(t *testing.T) {
	for _, tt := range []struct{ name, data, old, new, want string }{
		{"mixed", "a\r\nb\nc\r\nd\n", "b", "B", "a\r\nB\nc\r\nd\n"},
		{"new lines are the file's", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"},
		{"final newline added", "a\nb", "b", "b\n", "a\nb\n"},
		{"final newline removed", "a\nb\n", "b\n", "b", "a\nb"},
	} {
		if got := onDisk(t, tt.data, tt.old, tt.new); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// 5. Matching spaces for tabs leaves mixed indentation.
func TestPeerDefect5IndentationIsTheFiles(t *testing.T) {
	got := onDisk(t, "func f() {\n\tif x {\n\t\ta()\n\t}\n}\n", "    if x {\n        a()\n    }", "    if x {\n        a()\n        b()\n    }")
	if want := "func f() {\n\tif x {\n\t\ta()\n\t\tb()\n\t}\n}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// 6. Creating a file fails when the client answers a question about it with an error.
func TestPeerDefect6CreateNeedsNoAnswers(t *testing.T) {
	m := agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{{Name: "write_file", Args: map[string]any{"file_path": "new/a.go", "content": "package a\n"}}}},
		agenttest.Step{Text: []string{"ok"}},
	)
	handlers := map[string]lsptest.Handler{}
	for _, name := range []string{"diagnostics", "definition", "references", "symbols", "hover", "rename", "openBuffers", "save", "format"} {
		handlers["editor/"+name] = func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("no such file") }
	}
	e, session := start(t, m, lsptest.Options{Handlers: handlers})
	turn := prompt(e, session, "x")
	accept(e, proposal(e, "open"))
	ended(e, turn)
	if r := m.Responses(1)[0]; r.Error != "" || e.Text("new/a.go") != "package a\n" {
		t.Errorf("%q, told %+v", e.Text("new/a.go"), r)
	}
}

// 7. Tools run one at a time.
func TestPeerDefect7ReadingToolsRunSideBySide(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	m := agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			{Name: "get_hover", Args: map[string]any{"file_path": "a.go", "line": 3, "symbol": "hello"}},
			{Name: "get_hover", Args: map[string]any{"file_path": "a.go", "line": 7, "symbol": "bye"}},
		}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"a.go": greeting}, Handlers: map[string]lsptest.Handler{
		"editor/hover": func(context.Context, json.RawMessage) (any, error) {
			both.Done()
			both.Wait() // neither is answered before both are asked
			return map[string]any{"contents": "known"}, nil
		},
	}})
	ended(e, prompt(e, session, "x"))
	for _, r := range m.Responses(1) {
		if r.Output != "known" {
			t.Errorf("told %+v", r)
		}
	}
}

// Hunks touch only their lines, whatever the bytes around them, in all three
// encodings of positions and with typing in front of them.
func TestBytesAroundHunks(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, tt := range []struct{ name, data, old, new, want string }{
		{"CR only", "a\rb\rc\r", "b", "B", "a\rB\rc\r"},
		{"mixed", "a\r\nb\nc\rd\n", "c", "C", "a\r\nb\nC\rd\n"},
		{"no final newline", "a\nb", "b", "c", "a\nc"},
		{"tabs", "\ta\n\t\tb\t\n", "b", "c", "\ta\n\t\tc\t\n"},
		{"combining", "e\u0301 = 1\ne\u0301\u0323 x\n", "x", "y", "e\u0301 = 1\ne\u0301\u0323 y\n"},
		{"astral", "😀😀 a\n👩‍👩‍👧 b 😀\n", "b", "🚀", "😀😀 a\n👩‍👩‍👧 🚀 😀\n"},
		{"very long line", long + "\nend\n" + long, "end", "END", long + "\nEND\n" + long},
		{"in a very long line", long + "y" + long + "\n", "xyx", "xzx", long + "z" + long + "\n"},
		{"empty lines", "\n\n\na\n\n\n", "a", "b", "\n\n\nb\n\n\n"},
		{"form feed and NEL", "a\fb\u0085c\u2028d\nx\n", "x", "y", "a\fb\u0085c\u2028d\ny\n"},
	} {
		for _, enc := range []string{lsptest.UTF8, lsptest.UTF16, lsptest.UTF32} {
			t.Run(fmt.Sprint(tt.name, " ", enc), func(t *testing.T) {
				m := agenttest.NewModel()
				p := lsptest.Helix2507().WithPlugin() // keeps line ends as they are
				e, session := start(t, m, lsptest.Options{Personality: &p, Encodings: []string{enc}, Files: map[string]string{"f.txt": tt.data}})
				*m = *agenttest.NewModel(agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "f.txt", tt.old, tt.new)}}, agenttest.Step{Text: []string{"ok"}})
				e.Open("f.txt")
				turn := prompt(e, session, "x")
				id := proposal(e, "open").ProposalID
				e.Type("f.txt", lsptest.Position{}, "😀é\n")
				acceptNow(e, id)
				ended(e, turn)
				if got := e.Text("f.txt"); got != "😀é\n"+tt.want {
					t.Errorf("%.300q, told %+v", got, m.Responses(1))
				}
			})
		}
	}
}
