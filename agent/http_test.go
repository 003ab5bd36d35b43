package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/agent"
	"redline/agent/gemini"
	"redline/agent/geminitest"
	"redline/agent/memory"
	"redline/agent/model"
	"redline/agent/retry"
	"redline/tools"
	"redline/workspace"
)

// over is a session that talks to the fake Gemini over HTTP, through the SDK.
type over struct {
	*agent.Session
	t    *testing.T
	srv  *geminitest.Server
	root string
	ws   *workspace.Workspace

	mu     sync.Mutex
	events []agent.Event
	seeing func(agent.Event) // see watch
	ended  chan agent.TurnEnded
}

func newOver(t *testing.T, change func(*agent.Options), steps ...geminitest.Step) *over {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := &over{t: t, srv: geminitest.New(t, steps...), root: filepath.Join(root, "ws"), ended: make(chan agent.TurnEnded, 10)}
	if err := os.MkdirAll(o.root, 0o755); err != nil {
		t.Fatal(err)
	}
	if o.ws, err = workspace.New(o.root); err != nil {
		t.Fatal(err)
	}
	o.write("a.txt", "one\ntwo\nthree\n")
	client, err := gemini.New(context.Background(), gemini.Options{APIKey: geminitest.DefaultKey, BaseURL: o.srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	reg := tools.NewRegistry(tools.Builtin()...)
	reg.Add(tools.SaveMemory(filepath.Join(root, "home", "GEMINI.md")))
	opt := agent.Options{
		Workspace: o.ws, Tools: reg, Reviewer: toDisk{}, Model: "gemini-test", Emit: o.emit,
		Generator:    func(context.Context) (model.ContentGenerator, error) { return client, nil },
		Conversation: agent.Conversation{Memory: memory.Options{Home: filepath.Join(root, "home")}},
		Retry:        retry.Options{Initial: time.Millisecond, Max: 2 * time.Millisecond},
	}
	if change != nil {
		change(&opt)
	}
	o.Session = agent.NewSession(opt)
	t.Cleanup(o.Close)
	return o
}

func (o *over) emit(ev agent.Event) {
	o.mu.Lock()
	o.events = append(o.events, ev)
	seeing := o.seeing
	o.mu.Unlock()
	if seeing != nil {
		seeing(ev)
	}
	if end, ok := ev.Body.(agent.TurnEnded); ok {
		o.ended <- end
	}
}

// write makes a file below the workspace.
func (o *over) write(name, text string) string {
	o.t.Helper()
	path := filepath.Join(o.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		o.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
	return path
}

// turn sends a prompt and waits for the end of its turn.
func (o *over) turn(text string, items ...agent.ContextItem) agent.TurnEnded {
	o.t.Helper()
	if _, err := o.Prompt(o.t.Context(), agent.Message{Text: text, Context: items}); err != nil {
		o.t.Fatal(err)
	}
	return <-o.ended
}

// watch has f called for each event, on the session's goroutine.
func (o *over) watch(f func(agent.Event)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seeing = f
}

// said returns what was shown of the answers, a blank line between two of them.
func (o *over) said() string {
	var out agent.Transcript
	for _, ev := range o.seen() {
		if d, ok := ev.Body.(agent.MessageDelta); ok {
			out.Add(d)
		}
	}
	return out.String()
}

func (o *over) seen() []agent.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]agent.Event(nil), o.events...)
}

// notices returns what was said to the user, a line each.
func (o *over) notices() string {
	var out []string
	for _, ev := range o.seen() {
		if n, ok := ev.Body.(agent.Notice); ok {
			out = append(out, n.Text)
		}
	}
	return strings.Join(out, "\n")
}

// system returns the system prompt of request i.
func (o *over) system(i int) string { return o.srv.Requests()[i].Body.SystemInstruction.Texts() }

// members returns the members of a request's body, as sent.
func members(t *testing.T, r geminitest.Request) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(r.Raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// samePrefix reports where request b does not begin with all of request a.
func samePrefix(t *testing.T, a, b geminitest.Request) error {
	ma, mb := members(t, a), members(t, b)
	for k := range ma {
		if k != "contents" && !bytes.Equal(ma[k], mb[k]) {
			return fmt.Errorf("%s changed", k)
		}
	}
	var ca, cb []json.RawMessage
	if err := json.Unmarshal(ma["contents"], &ca); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(mb["contents"], &cb); err != nil {
		t.Fatal(err)
	}
	if len(cb) < len(ca) {
		return fmt.Errorf("%d contents became %d", len(ca), len(cb))
	}
	for i := range ca {
		if !bytes.Equal(ca[i], cb[i]) {
			return fmt.Errorf("content %d changed", i)
		}
	}
	return nil
}
