package acp_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"redline/agent/agenttest"
	"redline/agent/journal"
	"redline/lsp/acp"
	"redline/workspace"
)

// A client that goes while a question is open: the proposal stays open, is asked about
// again when the session is loaded, and the model is told the outcome.
func TestQuestionOutlivesClient(t *testing.T) {
	store := &journal.Store{Dir: t.TempDir()}
	change := func(o *acp.Options) { o.Journal = store }
	c := &client{dir: t.TempDir()}
	m := agenttest.NewModel(calls(c.replace("f", "one", "two")))
	a := start(t, setup{model: m, dir: c.dir, change: change, files: map[string]string{"f": "one\n"}})
	asked := make(chan struct{})
	a.permit = func(ctx context.Context, _ permission) (any, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	o := a.open()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = a.call("session/prompt", map[string]any{"sessionId": o.SessionID, "prompt": []any{text("x")}}, nil)
	}()
	<-asked
	_ = a.pipe.Close() // without a word
	<-gone
	if got := a.disk("f"); got != "one\n" {
		t.Fatalf("the file is %q", got)
	}

	m2 := agenttest.NewModel(say("I see."))
	b := start(t, setup{model: m2, dir: c.dir, change: change})
	deadline := func() bool { return b.call("session/load", load(o.SessionID, c.dir), nil) == nil }
	for !deadline() { // until the first process has let go of it
		if t.Context().Err() != nil {
			t.Fatal("it was never let go")
		}
	}
	b.until("the question", func() bool { return len(b.permissions) == 1 })
	b.await("the end of the review", func(u update) bool {
		return strings.Contains(string(u.raw), `"status":"in_progress"`) || u.Update.Status == "completed"
	})
	for b.disk("f") != "two\n" {
		if t.Context().Err() != nil {
			t.Fatalf("the file is %q", b.disk("f"))
		}
	}
	if got := b.prompt(o.SessionID, text("and?")); got != "end_turn" {
		t.Errorf("stop reason %s", got)
	}
	var told strings.Builder
	for _, content := range m2.Requests()[0].Contents {
		for _, p := range content.Parts {
			told.WriteString(p.Value().Text)
		}
	}
	if !strings.Contains(told.String(), "All of it is in the files now") {
		t.Errorf("the model was told %s", told.String())
	}
}

func load(id, dir string) map[string]any {
	return map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}}
}

// fakeTrust is a folder that nobody has spoken of yet.
type fakeTrust struct{ said atomic.Int32 }

func (f *fakeTrust) Check([]string) (workspace.Trust, []string, error) {
	switch f.said.Load() {
	case 1:
		return workspace.Trusted, nil, nil
	case 2:
		return workspace.Untrusted, []string{"settings"}, nil
	}
	return workspace.TrustUnknown, []string{"settings"}, nil
}
func (f *fakeTrust) Say(_ []string, trusted bool) {
	if trusted {
		f.said.Store(1)
	} else {
		f.said.Store(2)
	}
}
func (f *fakeTrust) Keep([]string) error { f.said.Store(1); return nil }
func (f *fakeTrust) How([]string) string { return "Say so." }

// A folder that brings settings along is asked for once, in the client.
func TestTrust(t *testing.T) {
	for kind, want := range map[string]int32{"allow_always": 1, "reject_once": 0} {
		t.Run(kind, func(t *testing.T) {
			trust := &fakeTrust{}
			m := agenttest.NewModel(say("a"), say("b"))
			c := start(t, setup{model: m, change: func(o *acp.Options) { o.Trust = trust }})
			c.permit = func(_ context.Context, p permission) (any, error) { return p.pick(kind), nil }
			o := c.open()
			c.prompt(o.SessionID, text("x"))
			c.prompt(o.SessionID, text("y"))
			if len(c.permissions) != 1 || !strings.Contains(c.permissions[0].ToolCall.Title, "trust") || trust.said.Load() != want {
				t.Errorf("questions %+v, said %d", c.permissions, trust.said.Load())
			}
		})
	}
}
