package lsp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// ask runs redline.ask as a plain client does.
func ask(e *lsptest.Editor, text string) {
	e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.ask", "arguments": []any{map[string]any{"text": text}}}, nil)
}

// said waits for a message to the user.
func said(e *lsptest.Editor, part string) {
	e.WaitNotification("window/showMessage", func(raw json.RawMessage) bool {
		var p struct{ Message string }
		return json.Unmarshal(raw, &p) == nil && strings.Contains(p.Message, part)
	})
}

// shownFile waits until the editor was asked to show a document, and opens it.
func shownFile(e *lsptest.Editor, shown <-chan string) string {
	file := lsptest.PathOf(<-shown)
	e.Open(file)
	return file
}

// shows answers window/showDocument and passes on what is shown.
func shows(shown chan<- string) map[string]lsptest.Handler {
	return map[string]lsptest.Handler{"window/showDocument": func(_ context.Context, raw json.RawMessage) (any, error) {
		var p struct{ URI string }
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, err
		}
		shown <- p.URI
		return map[string]bool{"success": true}, nil
	}}
}

// lineOf returns the 0-based line that holds a text.
func lineOf(text, part string) int {
	before, _, ok := strings.Cut(text, part)
	if !ok {
		return -1
	}
	return strings.Count(before, "\n")
}

// A message that is sent away (Escape in Helix, C-g in eglot) decides nothing: the code
// actions are left.
func TestMessageSentAway(t *testing.T) {
	for _, p := range []lsptest.Personality{lsptest.Helix2507(), lsptest.Helix2501(), lsptest.Eglot()} {
		t.Run(p.Name, func(t *testing.T) {
			m := agenttest.NewModel()
			e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{Personality: &p, Plain: true, Files: map[string]string{"main.go": greeting}})
			*m = *agenttest.NewModel(
				agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `"hello"`, `"hi"`)}},
				agenttest.Step{Text: []string{"I see."}},
			)
			e.Open("main.go")
			ask(e, "go")
			if p.Messages != lsptest.MessageQuit {
				said(e, "1 change in main.go")
			}
			e.WaitFor("the hint", func() bool { return len(e.Diagnostics("main.go")) == 1 })
			codeActions(e, "main.go", 3)["Redline: accept this hunk"].run(e)
			said(e, "I see.")
			if got := e.Text("main.go"); got != strings.Replace(greeting, `"hello"`, `"hi"`, 1) {
				t.Errorf("document:\n%s", got)
			}
		})
	}
}

// A proposal over several files is decided in the difference: each line has the actions
// of its hunk, decided ones lose their mark, and a new difference is a new document.
func TestDecideInDifference(t *testing.T) {
	m := agenttest.NewModel()
	p := lsptest.Helix2507()
	shown := make(chan string, 4)
	e := lsptest.NewEditor(t, server(m, func(o *lsp.Options) { o.Review = "codeAction" }), lsptest.Options{
		Personality: &p, Files: map[string]string{"main.go": greeting, "b.txt": "one\ntwo\n"}, Handlers: shows(shown),
	})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			replaceCall(e, "main.go", `return "hello"`, `return "hi"`), replaceCall(e, "main.go", `return "bye"`, `return "ciao"`),
			replaceCall(e, "b.txt", "two", "zwei"),
			{Name: "write_file", Args: map[string]any{"file_path": e.Path("new/c.txt"), "content": "three\n"}},
		}},
		agenttest.Step{Text: []string{"That is it."}},
	)
	e.Open("main.go")
	ask(e, "go")
	said(e, "4 changes in 3 files")
	codeActions(e, "main.go", 0)["Redline: show what is proposed (4 changes in 3 files)"].run(e)
	diff := shownFile(e, shown)
	text := e.Text(diff)
	e.WaitFor("four marks", func() bool { return len(e.Diagnostics(diff)) == 4 })
	for _, c := range []struct{ line, hunk, file string }{
		{`-	return "hello"`, "h1", "(2)"}, {`+	return "hi"`, "h1", "(2)"}, {`+	return "ciao"`, "h2", "(2)"},
		{"+zwei", "h3", ""}, {"+three", "h4", ""}, {"+++ b/new/c.txt", "h4", ""}, {"--- a/main.go", "", "(2)"},
	} {
		acts := codeActions(e, diff, lineOf(text, c.line))
		raw := fmt.Sprint(acts["Redline: accept this hunk"].Command.Arguments)
		if one, ok := acts["Redline: accept this hunk"]; ok != (c.hunk != "") || ok && !strings.Contains(string(one.Command.Arguments[0]), `"`+c.hunk+`"`) {
			t.Errorf("%s: %v %s", c.line, ok, raw)
		}
		if _, ok := acts["Redline: reject all of this file "+c.file]; ok != (c.file != "") {
			t.Errorf("%s: actions for the file: %v", c.line, ok)
		}
		if _, ok := acts["Redline: accept everything (4 changes in 3 files)"]; !ok {
			t.Errorf("%s: %v", c.line, acts)
		}
	}
	codeActions(e, diff, lineOf(text, `-	return "hello"`))["Redline: accept this hunk"].run(e)
	e.WaitFor("three marks", func() bool { return len(e.Diagnostics(diff)) == 3 })
	codeActions(e, diff, lineOf(text, "+zwei"))["Redline: reject this hunk"].run(e)
	e.WaitFor("two marks", func() bool { return len(e.Diagnostics(diff)) == 2 })
	e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.showDiff"}, nil)
	second := shownFile(e, shown)
	if second == diff || strings.Contains(e.Text(second), "zwei") {
		t.Errorf("the second difference, %s:\n%s", second, e.Text(second))
	}
	codeActions(e, second, lineOf(e.Text(second), "+three"))["Redline: accept this hunk"].run(e)
	e.WaitFor("one mark", func() bool { return len(e.Diagnostics(second)) == 1 })
	codeActions(e, second, lineOf(e.Text(second), `+	return "ciao"`))["Redline: reject this hunk"].run(e)
	said(e, "That is it.")
	if got := e.Text("main.go"); got != strings.Replace(greeting, `"hello"`, `"hi"`, 1) || e.Text("b.txt") != "one\ntwo\n" || e.Text("new/c.txt") != "three\n" {
		t.Errorf("main.go:\n%sb.txt:\n%snew/c.txt:\n%s", got, e.Text("b.txt"), e.Text("new/c.txt"))
	}
	for i, want := range []string{"Successfully modified", "rejected", "rejected", "created"} {
		if r := m.Responses(1)[i]; !strings.Contains(r.Output+r.Error, want) {
			t.Errorf("the model is told %+v, want %q", r, want)
		}
	}
	if _, err := os.Stat(diff); err != nil {
		t.Errorf("a difference that is open in the editor: %v", err)
	}
}

// Where a message with buttons cannot be shown, a question is answered by a code action or
// a command, anywhere.
func TestQuestionByCodeAction(t *testing.T) {
	p := lsptest.Helix2501()
	run := func(n string) agenttest.Step {
		return agenttest.Step{Calls: []agenttest.Call{{Name: "run_shell_command", Args: map[string]any{"command": "touch ran" + n}}}}
	}
	m := agenttest.NewModel(run("1"), run("2"), agenttest.Step{Text: []string{"That is it."}})
	e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{Personality: &p, Files: map[string]string{"main.go": greeting}})
	e.Open("main.go")
	ask(e, "go")
	said(e, "touch ran1")
	acts := codeActions(e, "main.go", 0)
	once, ok := acts["Redline: Run once — touch ran1"]
	if !ok || len(acts) < 2 {
		t.Fatalf("actions: %v", acts)
	}
	once.run(e)
	said(e, "touch ran2")
	answer := func(args ...any) error {
		return e.Call("workspace/executeCommand", map[string]any{"command": "redline.answer", "arguments": args}, nil)
	}
	if err := answer("perhaps"); err == nil || !strings.Contains(err.Error(), "answer with one of: Run once") {
		t.Errorf("no such answer: %v", err)
	}
	if err := answer("reject"); err != nil {
		t.Error(err)
	}
	said(e, "That is it.")
	if acts := codeActions(e, "main.go", 0); len(acts) != 0 {
		t.Errorf("actions afterwards: %v", acts)
	}
	if err := answer("reject"); err == nil || !strings.Contains(err.Error(), "no open question") {
		t.Errorf("nothing is asked: %v", err)
	}
	_, one := os.Stat(e.Path("ran1"))
	_, two := os.Stat(e.Path("ran2"))
	if one != nil || two == nil {
		t.Errorf("ran1: %v, ran2: %v", one, two)
	}
}

// A second question while a turn runs goes to that turn; errors of commands are shown
// where the editor does not.
func TestAskWhileRunning(t *testing.T) {
	m := agenttest.NewModel()
	p := lsptest.Helix2507()
	e := lsptest.NewEditor(t, server(m, func(o *lsp.Options) { o.Review = "codeAction" }), lsptest.Options{Personality: &p, Files: map[string]string{"main.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `"hello"`, `"hi"`)}},
		agenttest.Step{Text: []string{"Both done."}},
	)
	e.Open("main.go")
	ask(e, "shorten it")
	said(e, "1 change in main.go")
	ask(e, "and document it")
	said(e, "takes that along once you have decided on 1 change in main.go")
	e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.accept"}, nil)
	said(e, "Both done.")
	if got := lastText(m); !strings.Contains(got, "and document it") {
		t.Errorf("the model's last message: %q", got)
	}
	if err := e.Call("workspace/executeCommand", map[string]any{"command": "redline.reject"}, nil); err == nil {
		t.Error("nothing to reject, but no error")
	}
	said(e, "Redline: there is no open proposal")
}

// The chat is the conversation: what was asked by commands is in it, it shows a running
// turn's answer as it comes, and what is asked while it is open goes above what the user
// is writing.
func TestChatIsTheConversation(t *testing.T) {
	gate, asked := make(chan struct{}), make(chan struct{})
	m := agenttest.NewModel(
		agenttest.Step{Text: []string{"One."}},
		agenttest.Step{Text: []string{"Two, ", "slowly."}, Asked: asked, Gate: gate},
		agenttest.Step{Text: []string{"Three."}},
	)
	p := lsptest.Helix2507()
	shown := make(chan string, 4)
	e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{Personality: &p, Handlers: shows(shown)})
	ask(e, "first")
	said(e, "One.")
	ask(e, "second")
	<-asked
	e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.ask"}, nil) // without words: the chat
	chat := shownFile(e, shown)
	close(gate)
	const upToTwo = "## You\n\nfirst\n\n## Redline\n\nOne.\n\n## You\n\nsecond\n\n## Redline\n\nTwo, slowly.\n\n## You\n\n"
	e.WaitFor("the second answer", func() bool { return strings.HasSuffix(e.Text(chat), upToTwo) })
	e.Type(chat, lsptest.Position{Line: strings.Count(e.Text(chat), "\n")}, "I am writing")
	ask(e, "third")
	e.WaitFor("the third answer", func() bool {
		return strings.HasSuffix(e.Text(chat), strings.TrimSuffix(upToTwo, "## You\n\n")+"## You\n\nthird\n\n## Redline\n\nThree.\n\n## You\n\nI am writing")
	})
	e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.openChat"}, nil)
	if again := lsptest.PathOf(<-shown); again != chat {
		t.Errorf("another chat of the same conversation: %s", again)
	}
	if err := e.Call("workspace/executeCommand", map[string]any{"command": "redline.send"}, nil); err != nil {
		t.Errorf("send, without saying what: %v", err) // the only chat with something to send
	}
}

// A new file that the user opens before it is there: Helix has a line end in it then, and
// that is not what the user typed.
func TestNewFileIsOpen(t *testing.T) {
	for text, want := range map[string]string{"": "fresh\n", "\n": "fresh\n", "mine\n": "mine\n"} {
		m := agenttest.NewModel()
		p := lsptest.Helix2501()
		e := lsptest.NewEditor(t, server(m, func(o *lsp.Options) { o.Review = "codeAction" }), lsptest.Options{Personality: &p, Files: map[string]string{"a.txt": "x\n"}})
		*m = *agenttest.NewModel(
			agenttest.Step{Calls: []agenttest.Call{{Name: "write_file", Args: map[string]any{"file_path": e.Path("sub/new.txt"), "content": "fresh\n"}}}},
			agenttest.Step{Text: []string{"I see."}},
		)
		ask(e, "go")
		said(e, "1 change in sub/new.txt")
		e.OpenText(lsptest.URI(e.Path("sub/new.txt")), text)
		if want == "fresh\n" {
			codeActions(e, "sub/new.txt", 0)["Redline: accept this hunk"].run(e)
		} else {
			e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.accept"}, nil)
		}
		said(e, "I see.")
		if got := e.Text("sub/new.txt"); got != want {
			t.Errorf("opened as %q: %q, want %q", text, got, want)
		}
		if r := m.Responses(1)[0]; strings.Contains(r.Output, "sub/new.txt") != (want == "fresh\n") {
			t.Errorf("opened as %q: the model is told %+v", text, r)
		}
	}
}
