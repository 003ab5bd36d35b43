package lsp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/agent/model"
	"redline/lsp"
	"redline/lsp/lsptest"
	"redline/lsp/rpc"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Started by an init of a package that genai depends on.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// closer makes a pipe's end what the server owns.
type closer struct{ v any }

func (c closer) Close() error {
	if x, ok := c.v.(io.Closer); ok {
		return x.Close()
	}
	return nil
}

// generating is a scripted or random model.
type generating interface {
	Generator(ctx context.Context) (model.ContentGenerator, error)
}

// server returns a server whose sessions talk to the given model.
func server(m generating, change func(*lsp.Options)) lsptest.Server {
	opt := lsp.Options{
		Version: "test",
		Settings: func([]string) (lsp.Settings, error) {
			return lsp.Settings{Model: "gemini-test", Generator: m.Generator, Auth: func() (string, error) { return "test", nil }}, nil
		},
		Timing: lsp.Timing{Apply: 2 * time.Second, Settle: 100 * time.Millisecond, Refuse: 20 * time.Millisecond, Review: 5 * time.Second},
	}
	if change != nil {
		change(&opt)
	}
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		code := lsp.Serve(ctx, rpc.Pair(struct {
			io.Reader
			io.Closer
		}{in, closer{in}}, struct {
			io.Writer
			io.Closer
		}{out, closer{out}}), opt)
		if code != 0 {
			return fmt.Errorf("exit code %d", code)
		}
		return nil
	}
}

// start opens a session in an editor.
func start(t *testing.T, m *agenttest.Model, opt lsptest.Options) (*lsptest.Editor, string) {
	t.Helper()
	e := lsptest.NewEditor(t, server(m, nil), opt)
	return e, newSession(e)
}

func newSession(e *lsptest.Editor) string {
	var info lsp.SessionInfo
	e.MustCall("agent/session/new", map[string]any{}, &info)
	return info.SessionID
}

func prompt(e *lsptest.Editor, session, text string) string {
	var turn lsp.TurnResult
	e.MustCall("agent/prompt", map[string]any{"sessionId": session, "text": text}, &turn)
	return turn.TurnID
}

// ended waits for the end of a turn.
func ended(e *lsptest.Editor, turn string) (status string, err *lsp.EventError) {
	ev := e.WaitEvent(lsptest.InTurn(turn, "turn/ended"))
	var end struct {
		Status string
		Error  *lsp.EventError
	}
	_ = ev.Decode(&end)
	return end.Status, end.Error
}

// wireProposal is what a client reads of a proposal.
type wireProposal struct {
	ProposalID, State, Diff string
	Rev                     int
	Edit                    json.RawMessage
	Files                   []struct {
		FileID, URI, Op string
		Hunks           []struct {
			HunkID, OldText, NewText, State string
			Range                           lsptest.Range
		}
	}
}

// proposal waits for a proposal in the given state and returns it.
func proposal(e *lsptest.Editor, state string) wireProposal {
	var got struct{ Proposal wireProposal }
	e.WaitEvent(func(ev lsptest.Event) bool {
		if ev.Type != "proposal/updated" {
			return false
		}
		got.Proposal = wireProposal{}
		return ev.Decode(&got) == nil && got.Proposal.State == state
	})
	return got.Proposal
}

func replaceCall(e *lsptest.Editor, file, old, new string) agenttest.Call {
	return agenttest.Call{Name: "replace", Args: map[string]any{"file_path": e.Path(file), "old_string": old, "new_string": new}}
}

const greeting = "package main\n\nfunc hello() string {\n\treturn \"hello\"\n}\n\nfunc bye() string {\n\treturn \"bye\"\n}\n"

func TestInitialize(t *testing.T) {
	e := lsptest.NewEditor(t, server(agenttest.NewModel(), nil), lsptest.Options{})
	var res struct {
		ServerInfo   struct{ Name, Version string }
		Capabilities struct {
			PositionEncoding string
			TextDocumentSync struct {
				OpenClose bool
				Change    int
			}
			Experimental struct {
				Redline struct{ Version, MinVersion int }
			}
			Workspace struct {
				WorkspaceFolders struct{ Supported bool }
				FileOperations   map[string]any
			}
			CodeActionProvider, CodeLensProvider, ExecuteCommandProvider any
		}
	}
	if err := json.Unmarshal(e.InitializeResult, &res); err != nil {
		t.Fatal(err)
	}
	c := res.Capabilities
	if res.ServerInfo.Name != "redline" || c.TextDocumentSync.Change != 2 || !c.TextDocumentSync.OpenClose ||
		c.Experimental.Redline.Version != 1 || c.Experimental.Redline.MinVersion != 1 || !c.Workspace.WorkspaceFolders.Supported ||
		len(c.Workspace.FileOperations) == 0 || c.CodeActionProvider == nil || c.CodeLensProvider == nil || c.ExecuteCommandProvider == nil {
		t.Errorf("initialize answered %s", e.InitializeResult)
	}
}

// The main job: one hunk accepted, one rejected; the document and the model's
// account of it agree.
func TestAcceptOneHunkRejectAnother(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"main.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Text: []string{"I'll ", "change both."}, Calls: []agenttest.Call{
			replaceCall(e, "main.go", `return "hello"`, `return "good day"`),
			replaceCall(e, "main.go", `return "bye"`, `return "farewell"`),
		}},
		agenttest.Step{Text: []string{"Done."}},
	)
	e.Open("main.go")
	turn := prompt(e, session, "be polite")
	p := proposal(e, "open")
	if len(p.Files) != 1 || len(p.Files[0].Hunks) != 2 || p.Rev == 0 || p.Edit == nil || !strings.Contains(p.Diff, "+\treturn \"farewell\"") {
		t.Fatalf("proposal: %+v", p)
	}
	if e.Text("main.go") != greeting {
		t.Fatal("the document was changed before a decision")
	}
	var after wireProposal
	e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev, "decisions": []any{
		map[string]any{"target": map[string]any{"hunkId": p.Files[0].Hunks[0].HunkID}, "decision": "accept"},
		map[string]any{"target": map[string]any{"hunkId": p.Files[0].Hunks[1].HunkID}, "decision": "reject", "reason": "keep it short"},
	}}, &after)
	if status, err := ended(e, turn); status != "completed" {
		t.Fatalf("turn %s: %v", status, err)
	}
	if after.State != "settled" {
		t.Errorf("state %q after the last decision", after.State)
	}
	if got := e.Text("main.go"); got != strings.Replace(greeting, "hello\"", "good day\"", 1) {
		t.Errorf("document:\n%s", got)
	}
	if disk, _ := e.Disk("main.go"); disk != greeting {
		t.Errorf("the server wrote the disk:\n%s", disk)
	}
	rs := m.Responses(1)
	if len(rs) != 2 || !strings.HasPrefix(rs[0].Output, "Successfully modified file: ") || !strings.Contains(rs[1].Error, "rejected") || !strings.Contains(rs[1].Error, "keep it short") {
		t.Errorf("the model was told %+v", rs)
	}
}

// Tools see what was typed and not saved, and that text survives the edit.
func TestUnsavedTextIsReadAndSurvives(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"main.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			{Name: "read_file", Args: map[string]any{"path": "main.go"}},
			{Name: "grep_search", Args: map[string]any{"pattern": "unsaved"}},
		}},
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", "// unsaved\n\treturn \"hello\"", "// unsaved\n\treturn \"hi\"")}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.Open("main.go")
	e.Replace("main.go", "\treturn \"hello\"", "\t// unsaved\n\treturn \"hello\"")
	turn := prompt(e, session, "x")
	p := proposal(e, "open")
	accept(e, p)
	ended(e, turn)
	rs := m.Responses(1)
	if !strings.Contains(rs[0].Output, "// unsaved") || !strings.Contains(rs[1].Output, "L4: \t// unsaved") {
		t.Errorf("the tools read %+v", rs)
	}
	if got := e.Text("main.go"); !strings.Contains(got, "// unsaved\n\treturn \"hi\"") {
		t.Errorf("document:\n%s", got)
	}
}

func accept(e *lsptest.Editor, p wireProposal) {
	e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev, "decisions": []any{
		map[string]any{"target": "all", "decision": "accept"},
	}}, nil)
}

// Typing while a proposal is open moves hunks along; typing in one is a conflict
// that the user's text wins; the stale revision is refused with the current one.
func TestTypingWhileOpen(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"main.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			replaceCall(e, "main.go", `return "hello"`, `return "good day"`),
			replaceCall(e, "main.go", `return "bye"`, `return "farewell"`),
		}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.Open("main.go")
	turn := prompt(e, session, "x")
	p := proposal(e, "open")
	e.Type("main.go", lsptest.Position{}, "// typed above\n")
	e.Replace("main.go", `"hello"`, `"hello, you"`)
	var current wireProposal
	e.WaitEvent(func(ev lsptest.Event) bool {
		var got struct{ Proposal wireProposal }
		if ev.Type != "proposal/updated" || ev.Decode(&got) != nil {
			return false
		}
		current = got.Proposal
		return current.Files[0].Hunks[0].State == "conflict" && current.Files[0].Hunks[1].Range.Start.Line == 8
	})
	err := e.Call("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev, "decisions": []any{
		map[string]any{"target": "all", "decision": "accept"},
	}}, nil)
	if err == nil || !strings.Contains(err.Error(), "-32801") {
		t.Errorf("an outdated rev was answered %v", err)
	}
	accept(e, current)
	ended(e, turn)
	want := "// typed above\n" + strings.NewReplacer(`"hello"`, `"hello, you"`, `"bye"`, `"farewell"`).Replace(greeting)
	if got := e.Text("main.go"); got != want {
		t.Errorf("document:\n%s", got)
	}
	rs := m.Responses(1)
	if !strings.Contains(rs[0].Error, "conflict") || !strings.HasPrefix(rs[1].Output, "Successfully") {
		t.Errorf("the model was told %+v", rs)
	}
}

// Line ends, BOM and the missing final newline stay.
func TestBytesStay(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Personality: ptr(lsptest.Neovim012().WithPlugin()), Files: map[string]string{
		"crlf.txt": "one\r\ntwo\r\nthree", "mixed.txt": "a\r\nb\nc\n",
	}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			replaceCall(e, "crlf.txt", "two", "2\n2"),
			{Name: "write_file", Args: map[string]any{"file_path": "mixed.txt", "content": "a\nB\nc\n"}},
		}},
		agenttest.Step{Text: []string{"ok"}},
	)
	turn := prompt(e, session, "x")
	accept(e, proposal(e, "open"))
	ended(e, turn)
	for file, want := range map[string]string{"crlf.txt": "one\r\n2\r\n2\r\nthree"} {
		if got := e.Text(file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// A new file is created through the editor.
func TestCreateFile(t *testing.T) {
	for _, p := range lsptest.Personalities() {
		t.Run(p.Name, func(t *testing.T) {
			p := p.WithPlugin()
			m := agenttest.NewModel(
				agenttest.Step{Calls: []agenttest.Call{{Name: "write_file", Args: map[string]any{"file_path": "sub/new.go", "content": "package sub\n"}}}},
				agenttest.Step{Text: []string{"ok"}},
			)
			e, session := start(t, m, lsptest.Options{Personality: &p})
			turn := prompt(e, session, "x")
			accept(e, proposal(e, "open"))
			ended(e, turn)
			if got := e.Text("sub/new.go"); got != "package sub\n" {
				t.Errorf("new file is %q", got)
			}
			if rs := m.Responses(1); !strings.HasPrefix(rs[0].Output, "Successfully created and wrote to new file: ") {
				t.Errorf("the model was told %+v", rs)
			}
		})
	}
}

// Every editor without a plugin: reviewed with what LSP has, by annotations or by
// a message, accepted or not; the model is told what is in the document.
func TestPlainReview(t *testing.T) {
	for _, p := range lsptest.Personalities() {
		for _, yes := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", p.Name, yes), func(t *testing.T) {
				m := agenttest.NewModel()
				e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{
					Personality: &p, Plain: true, Files: map[string]string{"main.go": greeting},
					Preview: func(cs []lsptest.Change) ([]int, bool) {
						var all []int
						for i := range cs {
							all = append(all, i)
						}
						return all, yes
					},
					Confirm: func(lsptest.Change) bool { return yes },
					Message: func(_ context.Context, _ string, actions []string) (string, bool) {
						if yes {
							return "Apply all", true
						}
						return "Reject", true
					},
				})
				*m = *agenttest.NewModel(
					agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `return "hello"`, `return "hi"`)}},
					agenttest.Step{Text: []string{"That is it."}},
				)
				e.Open("main.go")
				e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.ask", "arguments": []any{map[string]any{"text": "shorter"}}}, nil)
				if p.Messages == lsptest.MessageUnknown && !p.Annotations {
					// No way to ask: the command decides.
					e.WaitNotification("window/showMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "redline.accept") })
					word := map[bool]string{true: "redline.accept", false: "redline.reject"}[yes]
					e.MustCall("workspace/executeCommand", map[string]any{"command": word}, nil)
				}
				e.WaitNotification("window/showMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "That is it.") })
				applied := strings.Contains(e.Text("main.go"), `"hi"`)
				told := strings.HasPrefix(m.Responses(1)[0].Output, "Successfully modified")
				if applied != told {
					t.Errorf("in the document: %v, the model was told %+v", applied, m.Responses(1))
				}
				asks := p.Confirmation != lsptest.IgnoresConfirmation || !p.Annotations
				if asks && applied != yes {
					t.Errorf("the user said %v, applied is %v", yes, applied)
				}
			})
		}
	}
}

// An editor that misbehaves: what counts is the document.
func TestFaultyEditors(t *testing.T) {
	for _, f := range []struct {
		name  string
		fault lsptest.Fault
		want  string // in the model's response
	}{
		{"never answers", lsptest.Silent, "conflict"},
		{"half", lsptest.Half, ""},
		{"formats", lsptest.Formats, ""},
	} {
		t.Run(f.name, func(t *testing.T) {
			m := agenttest.NewModel()
			p := lsptest.VSCode().WithFault(f.fault)
			e := lsptest.NewEditor(t, server(m, func(o *lsp.Options) { o.Timing.Apply = 50 * time.Millisecond }), lsptest.Options{
				Personality: &p, Files: map[string]string{"a.go": greeting, "b.go": greeting},
				Format: func(_, text string) string { return strings.ReplaceAll(text, "return \"hi\"", "return  \"hi\"") },
			})
			session := newSession(e)
			*m = *agenttest.NewModel(
				agenttest.Step{Calls: []agenttest.Call{
					replaceCall(e, "a.go", `return "hello"`, `return "hi"`), replaceCall(e, "b.go", `return "hello"`, `return "hi"`),
				}},
				agenttest.Step{Text: []string{"ok"}},
			)
			e.Open("a.go")
			e.Open("b.go")
			turn := prompt(e, session, "x")
			accept(e, proposal(e, "open"))
			ended(e, turn)
			for i, file := range []string{"a.go", "b.go"} {
				r := m.Responses(1)[i]
				text := e.Text(file)
				landed := text != greeting
				if landed != (r.Error == "") {
					t.Errorf("%s: in the document %v, the model was told %+v", file, landed, r)
				}
				if f.want != "" && !strings.Contains(r.Output+r.Error, f.want) {
					t.Errorf("%s: the model was told %+v, want %q", file, r, f.want)
				}
			}
		})
	}
}

// What goes wrong on the model's side is told to it, and the turn goes on.
func TestBadCalls(t *testing.T) {
	m := agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			{Name: "no_such_tool", Args: map[string]any{}},
			{Name: "read_file", Args: map[string]any{"pth": "main.go"}},
			{Name: "read_file", Args: map[string]any{"path": 7}},
			{Name: "read_file", Args: map[string]any{"path": "../outside"}},
			{Name: "replace", Args: map[string]any{"file_path": "main.go", "old_string": "a", "new_string": "b"}},
			{ID: "seven", Name: "read_file", Args: map[string]any{"path": "main.go"}},
		}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"main.go": greeting}})
	turn := prompt(e, session, "x")
	if status, err := ended(e, turn); status != "completed" {
		t.Fatalf("turn %s: %v", status, err)
	}
	rs := m.Responses(1)
	for i, want := range []string{
		"does not exist; the tools are: ", `there is no parameter "pth"`, "must be a string", "outside the workspace", "must be absolute",
	} {
		if !strings.Contains(rs[i].Error, want) {
			t.Errorf("call %d: %+v, want %q", i, rs[i], want)
		}
	}
	if last := rs[5]; last.ID != "seven" || !strings.Contains(last.Output, "func hello") {
		t.Errorf("the good call: %+v", last)
	}
}

// Cancelling: while the model streams, while a proposal is open. The history stays
// valid and the next prompt works.
func TestCancel(t *testing.T) {
	t.Run("streaming", func(t *testing.T) {
		started := make(chan struct{})
		m := agenttest.NewModel(
			agenttest.Step{Text: []string{"begin"}, Hang: true, Started: started},
			agenttest.Step{Text: []string{"again"}},
		)
		e, session := start(t, m, lsptest.Options{})
		turn := prompt(e, session, "one")
		<-started
		e.MustCall("agent/cancel", map[string]any{"sessionId": session}, nil)
		if status, _ := ended(e, turn); status != "cancelled" {
			t.Errorf("turn %s", status)
		}
		if status, err := ended(e, prompt(e, session, "two")); status != "completed" {
			t.Errorf("next turn %s: %v", status, err)
		}
		valid(t, m.Requests()[1].Contents)
	})
	t.Run("reviewing", func(t *testing.T) {
		m := agenttest.NewModel()
		e, session := start(t, m, lsptest.Options{Files: map[string]string{"main.go": greeting}})
		*m = *agenttest.NewModel(
			agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `"hello"`, `"hi"`)}},
			agenttest.Step{Text: []string{"again"}},
		)
		e.Open("main.go")
		turn := prompt(e, session, "one")
		p := proposal(e, "open")
		e.MustCall("agent/cancel", map[string]any{"sessionId": session, "turnId": turn}, nil)
		if status, _ := ended(e, turn); status != "cancelled" {
			t.Errorf("turn %s", status)
		}
		proposal(e, "withdrawn")
		if err := e.Call("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev, "decisions": []any{map[string]any{"target": "all", "decision": "accept"}}}, nil); err == nil {
			t.Error("a withdrawn proposal was resolved")
		}
		if got := e.Text("main.go"); got != greeting {
			t.Errorf("document:\n%s", got)
		}
		ended(e, prompt(e, session, "two"))
		valid(t, m.Requests()[1].Contents)
	})
}

// valid fails unless user and model alternate and every call is answered.
func valid(t *testing.T, cs []model.Content) {
	t.Helper()
	for i, c := range cs {
		want := model.RoleUser
		if i%2 == 1 {
			want = model.RoleModel
		}
		if c.Role != want || len(c.Parts) == 0 {
			t.Errorf("message %d: role %s with %d parts", i, c.Role, len(c.Parts))
		}
		calls, answers := 0, 0
		for _, p := range c.Parts {
			if _, ok := p.FunctionCall(); ok {
				calls++
			}
		}
		if i+1 < len(cs) {
			for _, p := range cs[i+1].Parts {
				if p.Value().FunctionResponse != nil {
					answers++
				}
			}
			if calls != answers {
				t.Errorf("message %d: %d calls, %d responses", i, calls, answers)
			}
		}
	}
}

// A client that vanishes in mid-turn: the server ends, with nothing written.
func TestVanish(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"main.go": greeting}})
	*m = *agenttest.NewModel(agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `"hello"`, `"hi"`)}})
	prompt(e, session, "x")
	proposal(e, "open")
	began := time.Now()
	e.Vanish()
	_ = e.WaitEnd()
	if d := time.Since(began); d > time.Second {
		t.Errorf("the server took %v to end", d)
	}
	if data, _ := os.ReadFile(e.Path("main.go")); string(data) != greeting {
		t.Errorf("the disk was changed:\n%s", data)
	}
}

func TestNoCredentials(t *testing.T) {
	e := lsptest.NewEditor(t, server(nil, func(o *lsp.Options) {
		o.Settings = func([]string) (lsp.Settings, error) {
			return lsp.Settings{Generator: func(context.Context) (model.ContentGenerator, error) {
				return nil, fmt.Errorf("set the key: %w", agent.ErrCredentials)
			}}, nil
		}
	}), lsptest.Options{})
	session := newSession(e)
	status, err := ended(e, prompt(e, session, "x"))
	if status != "failed" || err == nil || err.Kind != "auth" || !strings.Contains(err.Message, "set the key") {
		t.Errorf("turn %s: %+v", status, err)
	}
}

func TestAutoEdit(t *testing.T) {
	m := agenttest.NewModel()
	e, session := start(t, m, lsptest.Options{Files: map[string]string{"main.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `"hello"`, `"hi"`)}},
		agenttest.Step{Text: []string{"ok"}},
	)
	e.MustCall("agent/session/configure", map[string]any{"sessionId": session, "mode": "autoEdit"}, nil)
	ended(e, prompt(e, session, "x"))
	if got := e.Text("main.go"); !strings.Contains(got, `"hi"`) {
		t.Errorf("document:\n%s", got)
	}
}
