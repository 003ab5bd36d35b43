package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"redline/agent/agenttest"
	"redline/agent/journal"
	"redline/agent/slash"
	"redline/lsp"
	"redline/lsp/acp"
	"redline/lsp/rpc"
	"redline/tools/mcp"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Started by an init of a package that genai depends on.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// update is one session/update as it came.
type update struct {
	SessionID string
	Update    struct {
		SessionUpdate string
		Content       json.RawMessage
		ToolCallID    string
		Title         string
		Kind          string
		Status        string
		Name          string
		CurrentModeID string
		Entries       []struct{ Content, Status, Priority string }
		Used, Size    int
		Severity      string
	}
	raw json.RawMessage
}

// text is the text of a chunk.
func (u update) text() string {
	var c struct{ Text string }
	_ = json.Unmarshal(u.Update.Content, &c)
	return c.Text
}

// item is one piece of a tool call's content.
type item struct {
	Type       string
	Content    struct{ Text string }
	Path       string
	OldText    *string
	NewText    string
	TerminalID string
}

func (u update) items() []item {
	var out []item
	_ = json.Unmarshal(u.Update.Content, &out)
	return out
}

type option struct{ OptionID, Name, Kind string }

// permission is a session/request_permission.
type permission struct {
	SessionID string
	ToolCall  struct {
		ToolCallID, Title, Kind, Status string
		Content                         []item
		Locations                       []struct{ Path string }
	}
	Options []option
}

// pick returns the answer that chooses the first option of a kind.
func (p permission) pick(kind string) any {
	i := slices.IndexFunc(p.Options, func(o option) bool { return o.Kind == kind })
	if i < 0 {
		return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
	}
	return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": p.Options[i].OptionID}}
}

// client is a client of the protocol as a test wants it.
type client struct {
	t    testing.TB
	conn *rpc.Conn
	pipe net.Conn
	dir  string

	mu          sync.Mutex
	updates     []update
	changed     chan struct{}
	buffers     map[string]string // unsaved text by path
	fs          func(method, path string) error
	written     map[string]string // by fs/write_text_file
	onWrite     func(path, content string) (store string, ok bool)
	permissions []permission
	permit      func(context.Context, permission) (any, error)
	form        func(json.RawMessage) (any, error)
	terminals   map[string]func(context.Context, json.RawMessage) (any, error)
	called      []string // methods of the requests that came, in order
}

// setup is what a client works with.
type setup struct {
	model  *agenttest.Model
	caps   map[string]any
	files  map[string]string
	change func(*acp.Options)
	dir    string // made when empty
	raw    bool   // initialize is left to the test
	name   string // of the client; test when empty
}

// start connects a client to a server of its own.
func start(t testing.TB, s setup) *client {
	t.Helper()
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	c := &client{t: t, dir: s.dir, changed: make(chan struct{}), buffers: map[string]string{}, written: map[string]string{}}
	for name, text := range s.files {
		c.write(name, text)
	}
	opt := acp.Options{
		Version: "test", Journal: &journal.Store{Dir: t.TempDir()}, Methods: []acp.Method{{ID: "key", Name: "A key"}},
		Settings: func([]string, []mcp.Server) (lsp.Settings, error) {
			return lsp.Settings{Model: "gemini-test", Generator: s.model.Generator, Slash: &slash.Set{}, Auth: func() (string, error) { return "test", nil }}, nil
		},
		Timing: acp.Timing{Review: patience, Files: patience, Start: patience, Poll: 10 * time.Millisecond},
	}
	if s.change != nil {
		s.change(&opt)
	}
	here, there := net.Pipe()
	c.pipe = here
	done := make(chan int, 1)
	go func() { done <- acp.Serve(context.Background(), there, opt) }()
	c.conn = rpc.NewConn(here, rpc.Options{Framing: rpc.Lines, NoLifecycle: true, ACPCancel: true, Tap: tap(t)})
	c.conn.Go(context.Background(), c.routes())
	t.Cleanup(func() {
		_ = c.conn.Close()
		select {
		case <-done:
		case <-time.After(patience):
			t.Error("the server did not end")
		}
	})
	if s.name == "" {
		s.name = "test"
	}
	if !s.raw {
		c.must("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": s.caps, "clientInfo": map[string]any{"name": s.name, "version": "1"}}, nil)
	}
	return c
}

func (c *client) path(name string) string { return filepath.Join(c.dir, name) }

func (c *client) write(name, text string) {
	c.t.Helper()
	p := c.path(name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) disk(name string) string {
	c.t.Helper()
	data, err := os.ReadFile(c.path(name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

func (c *client) routes() *rpc.Router {
	r := rpc.NewRouter()
	rpc.HandleNotify(r, "session/update", rpc.Inline, func(_ context.Context, raw *json.RawMessage) error {
		var u update
		if err := json.Unmarshal(*raw, &u); err != nil {
			c.t.Errorf("update %s: %v", *raw, err)
		}
		u.raw = *raw
		c.mu.Lock()
		defer c.mu.Unlock()
		c.updates = append(c.updates, u)
		close(c.changed)
		c.changed = make(chan struct{})
		return nil
	})
	handle(r, "session/request_permission", func(ctx context.Context, p *permission) (any, error) {
		c.mu.Lock()
		c.permissions = append(c.permissions, *p)
		permit := c.permit
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		if permit == nil {
			return p.pick("allow_once"), nil
		}
		return permit(ctx, *p)
	})
	rpc.Handle(r, "elicitation/create", rpc.Async, func(_ context.Context, raw *json.RawMessage) (any, error) {
		c.note("elicitation/create")
		if c.form == nil {
			return map[string]any{"action": "cancel"}, nil
		}
		return c.form(*raw)
	})
	handle(r, "fs/read_text_file", func(_ context.Context, p *struct{ SessionID, Path string }) (any, error) {
		c.note("fs/read_text_file")
		c.mu.Lock()
		text, open := c.buffers[p.Path]
		fail := c.fs
		c.mu.Unlock()
		if fail != nil {
			if err := fail("fs/read_text_file", p.Path); err != nil {
				return nil, err
			}
		}
		if !open {
			data, err := os.ReadFile(p.Path)
			if err != nil {
				return nil, &rpc.Error{Code: -32002, Message: "no such file"}
			}
			text = string(data)
		}
		return map[string]any{"content": text}, nil
	})
	handle(r, "fs/write_text_file", func(_ context.Context, p *struct{ SessionID, Path, Content string }) (any, error) {
		c.note("fs/write_text_file")
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.fs != nil {
			if err := c.fs("fs/write_text_file", p.Path); err != nil {
				return nil, err
			}
		}
		store := p.Content
		if c.onWrite != nil {
			var ok bool
			if store, ok = c.onWrite(p.Path, p.Content); !ok {
				return nil, errors.New("cannot write")
			}
		}
		c.written[p.Path] = p.Content
		delete(c.buffers, p.Path)
		return struct{}{}, os.WriteFile(p.Path, []byte(store), 0o644)
	})
	for _, m := range []string{"create", "output", "wait_for_exit", "kill", "release"} {
		method := "terminal/" + m
		rpc.Handle(r, method, rpc.Async, func(ctx context.Context, raw *json.RawMessage) (any, error) {
			c.note(method)
			c.mu.Lock()
			f := c.terminals[method]
			c.mu.Unlock()
			if f == nil {
				return struct{}{}, nil
			}
			return f(ctx, *raw)
		})
	}
	return r
}

func (c *client) note(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.called = append(c.called, method)
}

func (c *client) calledTimes(method string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.called {
		if m == method {
			n++
		}
	}
	return n
}

func (c *client) call(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var raw json.RawMessage
	if err := c.conn.Call(ctx, method, params, &raw); err != nil || result == nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

// handle registers a request whose parameters are read without regard to case.
func handle[P any](r *rpc.Router, method string, fn func(context.Context, *P) (any, error)) {
	rpc.Handle(r, method, rpc.Async, func(ctx context.Context, raw *json.RawMessage) (any, error) {
		p := new(P)
		if err := json.Unmarshal(*raw, p); err != nil {
			return nil, err
		}
		return fn(ctx, p)
	})
}

func (c *client) must(method string, params, result any) {
	c.t.Helper()
	if err := c.call(method, params, result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

// refused calls and returns the error, which has to have the code.
func (c *client) refused(method string, params any, code int) *rpc.Error {
	c.t.Helper()
	var e *rpc.Error
	if err := c.call(method, params, nil); !errors.As(err, &e) || e.Code != code {
		c.t.Fatalf("%s answered %v, want an error with code %d", method, err, code)
	}
	return e
}

// opened is the answer to session/new, load and resume.
type opened struct {
	SessionID string
	Modes     struct {
		CurrentModeID  string
		AvailableModes []struct{ ID, Name string }
	}
	ConfigOptions []struct {
		ID, Type, Category, CurrentValue string
		Options                          []struct{ Value, Name string }
	}
}

func (c *client) open() opened {
	c.t.Helper()
	var o opened
	c.must("session/new", map[string]any{"cwd": c.dir, "mcpServers": []any{}}, &o)
	return o
}

func text(s string) any { return map[string]any{"type": "text", "text": s} }

// prompt runs a turn and returns its stop reason.
func (c *client) prompt(session string, blocks ...any) string {
	c.t.Helper()
	var res struct{ StopReason string }
	c.must("session/prompt", map[string]any{"sessionId": session, "prompt": blocks}, &res)
	return res.StopReason
}

// await waits until an update fits, or is there already, and returns it.
func (c *client) await(what string, fits func(update) bool) update {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		i := slices.IndexFunc(c.updates, fits)
		changed := c.changed
		var u update
		if i >= 0 {
			u = c.updates[i]
		}
		c.mu.Unlock()
		if i >= 0 {
			return u
		}
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("no update with %s came; there were:\n%s", what, c.log())
		}
	}
}

// until waits until f holds of what came.
func (c *client) until(what string, f func() bool) {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		ok, changed := f(), c.changed
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("did not come: %s; there were:\n%s", what, c.log())
		}
	}
}

func (c *client) all() []update {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.updates)
}

func (c *client) log() string {
	var b strings.Builder
	for _, u := range c.all() {
		b.WriteString(string(u.raw) + "\n")
	}
	return b.String()
}

// said joins the chunks of a kind.
func (c *client) said(kind string) string {
	var b strings.Builder
	for _, u := range c.all() {
		if u.Update.SessionUpdate == kind {
			b.WriteString(u.text())
		}
	}
	return b.String()
}

// of returns the updates of a tool call.
func (c *client) of(id string) (out []update) {
	for _, u := range c.all() {
		if u.Update.ToolCallID == id {
			out = append(out, u)
		}
	}
	return out
}

// callNamed returns the name of the tool call of a tool.
func (c *client) callNamed(tool string) string {
	c.t.Helper()
	return c.await("tool "+tool, func(u update) bool { return u.Update.SessionUpdate == "tool_call" && u.Update.Name == tool }).Update.ToolCallID
}

// shownLast is the content that a call has in the end: an update without any leaves it.
func shownLast(us []update) (out []item) {
	for _, u := range us {
		if its := u.items(); its != nil {
			out = its
		}
	}
	return out
}

func call(name string, args any) agenttest.Call { return agenttest.Call{Name: name, Args: args} }

func calls(cs ...agenttest.Call) agenttest.Step { return agenttest.Step{Calls: cs} }

func say(text string) agenttest.Step { return agenttest.Step{Text: []string{text}} }

// replace is a call that replaces text in a file.
func (c *client) replace(name, old, new string) agenttest.Call {
	return call("replace", map[string]any{"file_path": c.path(name), "old_string": old, "new_string": new})
}
