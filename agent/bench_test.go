package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/tools"
	"redline/workspace"
)

// bench is a session with a scripted model in a folder of its own.
type bench struct {
	t    *testing.T
	root string
	ws   *workspace.Workspace
	m    *agenttest.Model
	s    *agent.Session

	mu     sync.Mutex
	events []agent.Event
	ended  chan agent.TurnEnded
}

// newBench starts a session. Proposals are accepted and written to the disk.
func newBench(t *testing.T, opt agent.Options, steps ...agenttest.Step) *bench {
	t.Helper()
	return newBenchAt(t, t.TempDir(), opt, steps...)
}

func newBenchAt(t *testing.T, root string, opt agent.Options, steps ...agenttest.Step) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.New(root)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, root: root, ws: ws, m: agenttest.NewModel(steps...), ended: make(chan agent.TurnEnded, 10)}
	opt.Workspace, opt.Generator, opt.Emit = ws, b.m.Generator, b.emit
	if opt.Tools == nil {
		opt.Tools = tools.NewRegistry(tools.Builtin()...)
	}
	if opt.Reviewer == nil {
		opt.Reviewer = toDisk{}
	}
	b.s = agent.NewSession(opt)
	t.Cleanup(b.s.Close)
	return b
}

func (b *bench) emit(ev agent.Event) {
	b.mu.Lock()
	b.events = append(b.events, ev)
	b.mu.Unlock()
	if end, ok := ev.Body.(agent.TurnEnded); ok {
		b.ended <- end
	}
}

// write makes a file and returns its path.
func (b *bench) write(name, text string) string {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// open shows a text in the editor that is not on disk.
func (b *bench) open(name, text string) {
	path := filepath.Join(b.root, name)
	b.ws.Put(&workspace.Document{Key: workspace.Key(path), URI: "file://" + path, Path: path, Text: text})
}

// turn sends a prompt and waits until the turn has ended.
func (b *bench) turn(text string) agent.TurnEnded {
	b.t.Helper()
	if _, err := b.s.Prompt(b.t.Context(), agent.Message{Text: text}); err != nil {
		b.t.Fatal(err)
	}
	return <-b.ended
}

// live returns what commands printed, as it was shown.
func (b *bench) live() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out strings.Builder
	for _, ev := range b.events {
		if o, ok := ev.Body.(agent.ToolOutput); ok {
			out.WriteString(o.Text)
		}
	}
	return out.String()
}

// statuses returns the states that the calls of a tool went through.
func (b *bench) statuses(tool string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, ev := range b.events {
		if u, ok := ev.Body.(agent.ToolUpdated); ok && u.Name == tool {
			out = append(out, string(u.Status))
		}
	}
	return strings.Join(out, " ")
}

func sh(line string) agenttest.Call {
	return agenttest.Call{Name: "run_shell_command", Args: map[string]any{"command": line}}
}

func step(calls ...agenttest.Call) agenttest.Step { return agenttest.Step{Calls: calls} }

var done = agenttest.Step{Text: []string{"ok"}}

// toDisk accepts everything.
type toDisk struct{}

func (toDisk) Review(_ context.Context, p *workspace.Proposal, _ bool, updated func()) error {
	for _, f := range p.Files {
		if err := (workspace.Disk{}).Apply(f, f.Hunks); err != nil {
			return err
		}
	}
	p.Finish()
	updated()
	return nil
}

// user answers approvals with an option of the given kind, one after the other; the
// last one stays.
type user struct {
	mu       sync.Mutex
	kinds    []agent.OptionKind
	feedback string
	asked    []agent.Approval
	hook     func()
}

func (u *user) Approve(_ context.Context, a agent.Approval) (agent.Answer, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, a)
	if u.hook != nil {
		u.hook()
	}
	kind := u.kinds[min(len(u.asked), len(u.kinds))-1]
	for _, o := range a.Options {
		if o.Kind == kind {
			return agent.Answer{OptionID: o.ID, Feedback: u.feedback}, nil
		}
	}
	return agent.Answer{OptionID: "not offered"}, nil
}

func (u *user) lines() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []string
	for _, a := range u.asked {
		out = append(out, a.Subject.Command)
	}
	return strings.Join(out, "|")
}

// autos notes which proposals were to be applied without asking.
type autos struct {
	toDisk
	got []string
}

func (r *autos) Review(ctx context.Context, p *workspace.Proposal, auto bool, updated func()) error {
	for _, f := range p.Files {
		r.got = append(r.got, fmt.Sprintf("%s:%v", filepath.Base(f.Path), auto))
	}
	return r.toDisk.Review(ctx, p, auto, updated)
}
