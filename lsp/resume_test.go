package lsp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/agent/journal"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// again returns a server of the user whose home that is, as plain clients start one after
// the other.
func again(m *agenttest.Model, home string, restore bool) lsptest.Server {
	return server(m, func(o *lsp.Options) {
		o.Journal = &journal.Store{Dir: filepath.Join(home, "sessions")}
		o.Folder = filepath.Join(home, "documents")
		o.Review = "codeAction"
		settings := o.Settings
		o.Settings = func(folders []string) (lsp.Settings, error) {
			set, err := settings(folders)
			set.RestoreSession = restore
			return set, err
		}
	})
}

// command runs a command of the server as the user does.
func command(e *lsptest.Editor, name string, args ...any) error {
	return e.Call("workspace/executeCommand", map[string]any{"command": "redline." + name, "arguments": args}, nil)
}

// says waits for a message with all of the parts.
func says(e *lsptest.Editor, parts ...string) {
	e.WaitNotification("window/showMessage", func(raw json.RawMessage) bool {
		for _, p := range parts {
			if !strings.Contains(string(raw), p) {
				return false
			}
		}
		return true
	})
}

// leave has a plain client ask for two changes and take one, and its server end.
func leave(t *testing.T, p *lsptest.Personality, root, home, prompt string) {
	m := agenttest.NewModel()
	e := lsptest.NewEditor(t, again(m, home, false), lsptest.Options{Personality: p, Plain: true, Root: root, Files: map[string]string{"main.go": greeting}})
	*m = *agenttest.NewModel(agenttest.Step{Text: []string{"Both, then."}, Calls: []agenttest.Call{
		replaceCall(e, "main.go", `return "hello"`, `return "hi"`), replaceCall(e, "main.go", `return "bye"`, `return "ciao"`),
	}})
	e.Open("main.go")
	if err := command(e, "ask", map[string]any{"text": prompt}); err != nil {
		t.Fatal(err)
	}
	e.WaitFor("two hints", func() bool { return len(e.Diagnostics("main.go")) == 2 })
	codeActions(e, "main.go", 3)["Redline: accept this hunk"].run(e)
	e.WaitFor("one hint", func() bool { return len(e.Diagnostics("main.go")) == 1 })
	e.Save("main.go")
	e.Vanish()
	_ = e.WaitEnd()
}

// In every plain client: what was left open is told of at the next start, comes back by
// the command, or by itself when it is set so, and can be decided; the model is told.
func TestPlainResume(t *testing.T) {
	for _, p := range []lsptest.Personality{lsptest.Helix2501(), lsptest.Helix2507(), lsptest.Eglot(), lsptest.Neovim010()} {
		for _, restore := range []bool{false, true} {
			name := p.Name
			if restore {
				name += " by itself"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				root, home := t.TempDir(), t.TempDir()
				leave(t, &p, root, home, "Make both shorter")
				m := agenttest.NewModel(agenttest.Step{Text: []string{"Good."}})
				e := lsptest.NewEditor(t, again(m, home, restore), lsptest.Options{Personality: &p, Root: root, Plain: true})
				e.Open("main.go")
				if !restore {
					says(e, "1 change of last time undecided", "redline.resume")
					if err := command(e, "resume"); err != nil {
						t.Fatal(err)
					}
				}
				says(e, "goes on with “Make both shorter” (1 prompt)", "redline.openChat")
				e.WaitFor("the hint of what was open", func() bool { return len(e.Diagnostics("main.go")) == 1 })
				codeActions(e, "main.go", 7)["Redline: accept this hunk"].run(e)
				e.WaitFor("the change", func() bool { return strings.Contains(e.Text("main.go"), `"ciao"`) })
				e.WaitFor("no hint", func() bool { return len(e.Diagnostics("main.go")) == 0 })
				if err := command(e, "ask", map[string]any{"text": "And now?"}); err != nil {
					t.Fatal(err)
				}
				says(e, "Good.")
				cs := m.Requests()[0].Contents
				if last := cs[len(cs)-1].Text(); len(cs) < 3 || !strings.Contains(cs[0].Text(), "Make both shorter") || !strings.Contains(last, "And now?") || !strings.Contains(last, "was reviewed. All of it is in the files now.") {
					t.Errorf("the model is told, as the last of %d: %s", len(cs), last)
				}
			})
		}
	}
}

// The list of conversations is a document whose lines have an action; one is named by its
// ID or by words of its title; what cannot be resumed is said with what to do.
func TestPlainSessions(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	p := lsptest.Helix2507()
	m := agenttest.NewModel(agenttest.Step{Text: []string{"One."}}, agenttest.Step{Text: []string{"Two."}}, agenttest.Step{Text: []string{"Three."}})
	first := lsptest.NewEditor(t, again(m, home, false), lsptest.Options{Personality: &p, Root: root, Files: map[string]string{"main.go": greeting}})
	if err := command(first, "resume"); err == nil || !strings.Contains(err.Error(), "no earlier conversation") {
		t.Errorf("nothing to resume: %v", err)
	}
	if err := command(first, "sessions"); err != nil {
		t.Fatal(err)
	}
	says(first, "there is no conversation in this folder yet")
	for _, c := range [][2]string{{"count the greetings", "One."}, {"write a poem", "Two."}} {
		if err := command(first, "newSession"); err != nil {
			t.Fatal(err)
		}
		if err := command(first, "ask", map[string]any{"text": c[0]}); err != nil {
			t.Fatal(err)
		}
		says(first, c[1])
	}
	// One of this process becomes the current one again.
	if err := command(first, "resume", map[string]any{"text": "COUNT"}); err != nil {
		t.Fatal(err)
	}
	says(first, "goes on with “count the greetings”")
	if err := command(first, "ask", map[string]any{"text": "once more"}); err != nil {
		t.Fatal(err)
	}
	says(first, "Three.")
	if cs := m.Requests()[2].Contents; !strings.Contains(cs[0].Text(), "count the greetings") {
		t.Errorf("the prompt went to another conversation: %+v", cs)
	}

	shown := make(chan string, 4)
	handlers := map[string]lsptest.Handler{"window/showDocument": func(_ context.Context, raw json.RawMessage) (any, error) {
		var p struct{ URI string }
		_ = json.Unmarshal(raw, &p) // an empty one fails below
		shown <- p.URI
		return map[string]bool{"success": true}, nil
	}}
	m2 := agenttest.NewModel(agenttest.Step{Text: []string{"Of greetings."}})
	second := lsptest.NewEditor(t, again(m2, home, true), lsptest.Options{Personality: &p, Root: root, Handlers: handlers})
	if err := command(second, "resume"); err == nil || !strings.Contains(err.Error(), "open in another redline process") {
		t.Errorf("a conversation in use: %v", err)
	}
	first.Vanish()
	_ = first.WaitEnd()
	if err := command(second, "resume", "a sonnet"); err == nil || !strings.Contains(err.Error(), "redline.sessions lists them") {
		t.Errorf("an unknown title: %v", err)
	}
	if err := command(second, "resume", map[string]any{"sessionId": "s-none"}); err == nil || !strings.Contains(err.Error(), "no saved session of that name") {
		t.Errorf("an unknown ID: %v", err)
	}
	if err := command(second, "sessions"); err != nil {
		t.Fatal(err)
	}
	list := lsptest.PathOf(<-shown)
	second.Open(list)
	text := second.Text(list)
	line := -1
	for i, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, "- count the greetings · just now · 2 prompts · `") {
			line = i
		}
	}
	if line < 0 || !strings.Contains(text, "- write a poem · ") {
		t.Fatalf("the list:\n%s", text)
	}
	if acts := codeActions(second, list, 0); len(acts) != 0 {
		t.Errorf("above the list: %v", acts)
	}
	codeActions(second, list, line)["Redline: go on with this conversation"].run(second)
	says(second, "goes on with “count the greetings” (2 prompts)")
	if err := command(second, "ask", map[string]any{"text": "of what?"}); err != nil {
		t.Fatal(err)
	}
	says(second, "Of greetings.")
	if cs := m2.Requests()[0].Contents; len(cs) != 5 {
		t.Errorf("%d messages went to the model", len(cs))
	}
	second.Vanish()
	_ = second.WaitEnd()
	if _, err := os.Stat(list); err == nil {
		t.Error("the list is still on the disk")
	}
}

// A chat that outlives the server goes on with its own conversation; where the answer was cut
// off there is a heading to write below again.
func TestChatOutlivesServer(t *testing.T) {
	for _, p := range []lsptest.Personality{lsptest.Helix2507(), lsptest.Eglot()} {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			root, home := t.TempDir(), t.TempDir()
			begun := make(chan struct{})
			m := agenttest.NewModel(agenttest.Step{Text: []string{"Half of "}, Started: begun, Hang: true})
			e := lsptest.NewEditor(t, again(m, home, false), lsptest.Options{Personality: &p, Root: root, Files: map[string]string{"main.go": greeting}})
			var chat struct{ URI string }
			e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.openChat"}, &chat)
			file := lsptest.PathOf(chat.URI)
			if p.Name == "eglot" {
				e.WaitFor("the chat", func() bool { return strings.Contains(e.Text(file), "## You") })
			} else {
				e.Open(file)
			}
			e.Type(file, lsptest.Position{Line: strings.Count(e.Text(file), "\n")}, "Tell me all\n")
			codeActions(e, file, 0)["Redline: Send"].run(e)
			<-begun
			if p.Name != "eglot" { // there an answer comes at once when it is whole
				e.WaitFor("half of the answer", func() bool { return strings.Contains(e.Text(file), "Half of") })
			}
			e.Save(file)
			text := e.Text(file)
			e.Vanish()
			_ = e.WaitEnd()

			m2 := agenttest.NewModel(agenttest.Step{Text: []string{"All of it."}})
			e = lsptest.NewEditor(t, again(m2, home, false), lsptest.Options{Personality: &p, Root: root})
			e.OpenText(chat.URI, text)
			at := func() lsptest.Position { return lsptest.Position{Line: strings.Count(e.Text(file), "\n")} }
			if p.Name != "eglot" {
				err := command(e, "send", map[string]any{"uri": chat.URI})
				if err == nil || !strings.Contains(err.Error(), "this answer was cut off") {
					t.Fatalf("sending half an answer: %v", err)
				}
				e.WaitFor("a heading", func() bool {
					return strings.HasSuffix(strings.TrimSpace(e.Text(file)), "*Cut off: redline ended in the middle of this.*\n\n## You")
				})
				e.Type(file, at(), "Go on\n")
			}
			if err := command(e, "send", map[string]any{"uri": chat.URI}); err != nil {
				t.Fatal(err)
			}
			e.WaitFor("the answer", func() bool { return strings.Contains(e.Text(file), "All of it.\n\n## You") })
			cs := m2.Requests()[0].Contents
			if !strings.Contains(cs[0].Text(), "Tell me all") || len(cs) < 2 && p.Name != "eglot" {
				t.Errorf("%d messages, the first %q", len(cs), cs[0].Text())
			}
		})
	}
}

// Eglot has no code actions in files outside of the project: there the list is a message.
func TestEglotSessions(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	p := lsptest.Eglot()
	leave(t, &p, root, home, "Make both shorter")
	e := lsptest.NewEditor(t, again(agenttest.NewModel(), home, false), lsptest.Options{Personality: &p, Root: root, Plain: true})
	if err := command(e, "sessions"); err != nil {
		t.Fatal(err)
	}
	says(e, "- Make both shorter · just now · 1 prompt · 1 change to decide")
}
