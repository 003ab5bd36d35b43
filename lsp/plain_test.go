package lsp_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// action is what an editor shows of a code action.
type action struct {
	Title   string
	Command struct {
		Command   string
		Arguments []json.RawMessage
	}
}

// codeActions returns the actions on a line.
func codeActions(e *lsptest.Editor, file string, line int) map[string]action {
	var list []action
	pos := lsptest.Position{Line: line}
	e.MustCall("textDocument/codeAction", map[string]any{
		"textDocument": map[string]any{"uri": lsptest.URI(e.Path(file))}, "range": lsptest.Range{Start: pos, End: pos},
		"context": map[string]any{"diagnostics": []any{}},
	}, &list)
	out := map[string]action{}
	for _, a := range list {
		out[a.Title] = a
	}
	return out
}

// run runs the command of a code action.
func (a action) run(e *lsptest.Editor) {
	e.MustCall("workspace/executeCommand", map[string]any{"command": a.Command.Command, "arguments": a.Command.Arguments}, nil)
}

// Without a plugin: hints, code actions, lenses and a difference while a proposal is
// open, nothing of it afterwards, and a code action that takes back what landed.
func TestPlainReviewByCodeAction(t *testing.T) {
	m := agenttest.NewModel()
	p := lsptest.Helix2507()
	shown := make(chan string, 4)
	e := lsptest.NewEditor(t, server(m, func(o *lsp.Options) { o.Review = "codeAction" }), lsptest.Options{
		Personality: &p, Files: map[string]string{"main.go": greeting},
		Handlers: map[string]lsptest.Handler{"window/showDocument": func(_ context.Context, raw json.RawMessage) (any, error) {
			var p struct {
				URI       string
				TakeFocus *bool
			}
			if err := json.Unmarshal(raw, &p); err != nil || p.TakeFocus == nil || *p.TakeFocus {
				t.Errorf("showDocument %s", raw)
			}
			shown <- p.URI
			return map[string]bool{"success": true}, nil
		}},
	})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			replaceCall(e, "main.go", `return "hello"`, `return "hi"`), replaceCall(e, "main.go", `return "bye"`, `return "ciao"`),
		}},
		agenttest.Step{Text: []string{"That is it."}},
	)
	e.Open("main.go")
	e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.ask", "arguments": []any{map[string]any{"text": "shorter"}}}, nil)
	e.WaitFor("two hints", func() bool { return len(e.Diagnostics("main.go")) == 2 })
	for _, d := range e.Diagnostics("main.go") {
		if d.Source != "redline" || d.Severity != 4 || !strings.Contains(d.Message, "Redline proposes") {
			t.Errorf("hint: %+v", d)
		}
	}
	e.Type("main.go", lsptest.Position{}, "// typed\n")
	e.WaitFor("the hints to move", func() bool {
		ds := e.Diagnostics("main.go")
		return len(ds) == 2 && ds[0].Range.Start.Line == 4
	})
	var lenses []struct{ Command struct{ Title string } }
	e.MustCall("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": lsptest.URI(e.Path("main.go"))}}, &lenses)
	if len(lenses) != 6 {
		t.Errorf("%d lenses", len(lenses))
	}
	acts := codeActions(e, "main.go", 4)
	if len(acts) != 5 { // hunk and everything, yes and no, and the difference
		t.Errorf("actions: %+v", acts)
	}
	acts["Redline: show the difference"].run(e)
	data, err := os.ReadFile(lsptest.PathOf(<-shown))
	if err != nil || !strings.Contains(string(data), "+\treturn \"ciao\"") {
		t.Errorf("the difference: %v\n%s", err, data)
	}
	acts["Redline: accept this hunk"].run(e)
	e.WaitFor("one hint", func() bool { return len(e.Diagnostics("main.go")) == 1 })
	codeActions(e, "main.go", 8)["Redline: reject this hunk"].run(e)
	e.WaitFor("no hint", func() bool { return len(e.Diagnostics("main.go")) == 0 })
	e.WaitNotification("window/showMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "That is it.") })
	if got := e.Text("main.go"); got != "// typed\n"+strings.Replace(greeting, `"hello"`, `"hi"`, 1) {
		t.Errorf("document:\n%s", got)
	}
	codeActions(e, "main.go", 4)["Redline: take back this change"].run(e)
	e.WaitFor("the change to be taken back", func() bool { return e.Text("main.go") == "// typed\n"+greeting })
}

func TestCommentPrompt(t *testing.T) {
	for _, tt := range []struct {
		name, file, text string
		line             int
		want             string // of the prompt; empty: no action
	}{
		{"go", "a.go", "package a\n\n// redline: add a test\nfunc f() {}\n", 2, "add a test"},
		{"go, several lines", "a.go", "// redline: add a test\n// for f, and run it\nfunc f() {}\n", 1, "add a test\nfor f, and run it"},
		{"another comment", "a.go", "// add a test\n", 0, ""},
		{"not on the line", "a.go", "// redline: add a test\nfunc f() {}\n", 1, ""},
		{"after code", "a.go", "f() // redline: handle the error\n", 0, "handle the error"},
		{"python", "a.py", "# Redline: type hints please\n", 0, "type hints please"},
		{"lua", "a.lua", "-- redline: x\n", 0, "x"},
		{"lisp", "a.el", ";; redline: x\n", 0, "x"},
		{"tex", "a.tex", "% redline: x\n", 0, "x"},
		{"c block", "a.c", "/* redline: x\n * and y\n */\nint z;\n", 1, "x\nand y"},
		{"c block on a line", "a.c", "int z; /* redline: x */\n", 0, "x"},
		{"html", "a.html", "<!-- redline: x -->\n", 0, "x"},
		{"ocaml", "a.ml", "(* redline: x *)\n", 0, "x"},
		{"haskell", "a.hs", "{- redline: x -}\n", 0, "x"},
		{"vim", "a.vim", "\" redline: x\n", 0, "x"},
		{"sql", "a.sql", "select 1; -- redline: x\n", 0, "x"},
		{"crlf", "a.go", "// redline: x\r\nfunc f() {}\r\n", 0, "x"},
		{"nothing said", "a.go", "// redline:\n", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := agenttest.NewModel(agenttest.Step{Text: []string{"ok"}})
			p := lsptest.Helix2507()
			e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{Personality: &p, Files: map[string]string{tt.file: tt.text}})
			e.Open(tt.file)
			a, offered := codeActions(e, tt.file, tt.line)["Redline: do what this comment says"]
			if offered != (tt.want != "") {
				t.Fatalf("offered: %v", offered)
			}
			if !offered {
				return
			}
			a.run(e)
			e.WaitNotification("window/showMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "ok") })
			if told := lastText(m); !strings.Contains(told, tt.want+"\n\n(This is a comment in the file, at line") || !strings.Contains(told, tt.file) {
				t.Errorf("the model was told %q", told)
			}
		})
	}
}

// The chat document: written under the last heading, sent, answered by edits that
// leave what the user types meanwhile where it is; twice.
func TestChatDocument(t *testing.T) {
	for _, p := range []lsptest.Personality{lsptest.Helix2507(), lsptest.Helix2501(), lsptest.Neovim012(), lsptest.Eglot(), lsptest.VSCode()} {
		t.Run(p.Name, func(t *testing.T) {
			gate, asked := make(chan struct{}), make(chan struct{})
			m := agenttest.NewModel(
				agenttest.Step{Text: []string{"Good ", "day.\n", "How are you?"}, Hang: false, Asked: asked, Gate: gate},
				agenttest.Step{Text: []string{"Fine."}},
			)
			e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{Personality: &p, Plain: true})
			var chat struct{ URI string }
			e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.openChat"}, &chat)
			file := lsptest.PathOf(chat.URI)
			if p.Name == "eglot" { // the editor makes it
				e.WaitFor("the chat", func() bool { return strings.Contains(e.Text(file), "## You") })
			} else {
				e.Open(file)
			}
			send := codeActions(e, file, 0)["Redline: Send"]
			if err := e.Call("workspace/executeCommand", map[string]any{"command": "redline.send", "arguments": send.Command.Arguments}, nil); err == nil || !strings.Contains(err.Error(), "nothing to send") {
				t.Errorf("an empty chat: %v", err)
			}
			end := func() lsptest.Position {
				return lsptest.Position{Line: strings.Count(e.Text(file), "\n")}
			}
			e.Type(file, end(), "Hello?\n")
			send.run(e)
			<-asked
			e.Type(file, lsptest.Position{}, "<!-- typed above -->\n")
			e.Type(file, end(), "and typed below\n")
			e.MustCall("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": chat.URI}}, nil)
			close(gate)
			e.WaitFor("the answer", func() bool { return strings.Contains(e.Text(file), "How are you?\n\n## You\n") })
			text := e.Text(file)
			if !strings.HasPrefix(text, "<!-- typed above -->\n# Redline") || !strings.Contains(text, "Hello?\n") ||
				!strings.Contains(text, "## Redline\n\nGood day.\nHow are you?") || !strings.Contains(text, "and typed below\n") {
				t.Errorf("the chat is:\n%s", text)
			}
			if disk, _ := e.Disk(file); strings.Contains(disk, "Good day") {
				t.Error("the server wrote the chat to the disk")
			}
			e.Type(file, end(), "And you?\n")
			send.run(e)
			e.WaitFor("the second answer", func() bool { return strings.Contains(e.Text(file), "Fine.\n\n## You\n") })
			cs := m.Requests()[1].Contents
			if last := cs[len(cs)-1].Text(); !strings.Contains(last, "And you?") || len(cs) != 3 {
				t.Errorf("the second prompt is %q, message %d", last, len(cs))
			}
		})
	}
}

// A progress can be cancelled; the turn ends like any other that is.
func TestProgressCancel(t *testing.T) {
	started := make(chan struct{})
	m := agenttest.NewModel(agenttest.Step{Text: []string{"begin"}, Hang: true, Started: started})
	p := lsptest.Neovim012()
	e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{Personality: &p, Plain: true})
	var turn lsp.TurnResult
	e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.ask", "arguments": []any{"go"}}, &turn)
	<-started
	e.WaitNotification("$/progress", func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"begin"`) })
	e.Notify("window/workDoneProgress/cancel", map[string]any{"token": turn.TurnID})
	e.WaitNotification("$/progress", func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"end"`) })
}

// Nobody answers a message: after the deadline it is a rejection, and the next
// message can be shown.
func TestMessageDeadline(t *testing.T) {
	m := agenttest.NewModel()
	p := lsptest.Helix2507()
	e := lsptest.NewEditor(t, server(m, func(o *lsp.Options) { o.Timing.Review = 50 * time.Millisecond }), lsptest.Options{
		Personality: &p, Files: map[string]string{"main.go": greeting},
		Message: func(ctx context.Context, _ string, _ []string) (string, bool) {
			<-ctx.Done()
			return "", false
		},
	})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `"hello"`, `"hi"`)}},
		agenttest.Step{Text: []string{"I see."}},
	)
	e.Open("main.go")
	e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.ask", "arguments": []any{"go"}}, nil)
	e.WaitNotification("window/showMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "I see.") })
	if r := m.Responses(1)[0]; !strings.Contains(r.Error, "nobody answered") {
		t.Errorf("the model was told %+v", r)
	}
}
