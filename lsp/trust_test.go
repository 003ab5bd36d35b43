package lsp_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/agent/model"
	"redline/lsp"
	"redline/lsp/lsptest"
	"redline/tools"
	"redline/workspace"
)

// folders is [lsp.Trust] in memory, of folders that bring settings along: with
// those only read_file is offered.
type folders struct {
	mu       sync.Mutex
	said     map[string]bool
	kept     []string
	begun    int           // backgrounds
	over     chan struct{} // one of them ended
	settings int           // times they were read
	seen     map[int64]int // events by their number, as Observe has them
}

func (f *folders) Check(dirs []string) (workspace.Trust, []string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	state := workspace.Trusted
	for _, d := range dirs {
		switch yes, said := f.said[d]; {
		case !said:
			state = workspace.TrustUnknown
		case !yes:
			return workspace.Untrusted, []string{"its settings"}, nil
		}
	}
	if state == workspace.Trusted {
		return state, nil, nil
	}
	return state, []string{"its settings"}, nil
}

func (f *folders) Say(dirs []string, trusted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range dirs {
		f.said[d] = trusted
	}
}

func (f *folders) Keep(dirs []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = append(f.kept, dirs...)
	return nil
}

func (f *folders) How([]string) string { return "Say so." }

// use makes a server ask f, and offer less once a folder is trusted.
func (f *folders) use(o *lsp.Options) {
	plain := o.Settings
	o.Trust = f
	o.Settings = func(dirs []string) (lsp.Settings, error) {
		set, err := plain(dirs)
		if state, _, _ := f.Check(dirs); state == workspace.Trusted {
			set.Tools = tools.NewRegistry(tools.ReadFile).Filter([]string{"read_file"}, nil) // nothing is added to it
		}
		f.mu.Lock()
		f.settings++
		f.mu.Unlock()
		set.Observe = func(ev agent.Event) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.seen[ev.Seq]++
		}
		set.Background = func(ctx context.Context) {
			f.mu.Lock()
			f.begun++
			f.mu.Unlock()
			<-ctx.Done()
			f.over <- struct{}{}
		}
		return set, err
	}
}

func TestTrust(t *testing.T) {
	redline := func(trusted any) map[string]any {
		r := lsptest.RedlineCapabilities()
		if trusted != nil {
			r["trusted"] = trusted
		}
		return r
	}
	for _, c := range []struct {
		name    string
		opt     lsptest.Options
		answer  string // of agent/approve
		asked   int
		trusted bool
		kept    int
	}{
		{"the editor says yes", lsptest.Options{Redline: redline(true)}, "reject", 0, true, 0},
		{"the editor says no", lsptest.Options{Redline: redline(false)}, "always", 0, false, 0},
		{"the user says yes", lsptest.Options{Redline: redline(nil)}, "session", 1, true, 0},
		{"the user says always", lsptest.Options{Redline: redline(nil)}, "always", 1, true, 1},
		{"the user says no", lsptest.Options{Redline: redline(nil)}, "reject", 1, false, 0},
		{"an option there is not", lsptest.Options{Redline: redline(nil)}, "once", 1, false, 0},
		{"no plugin, yes", lsptest.Options{Plain: true}, "Always trust it", 1, true, 1},
		{"no plugin, dismissed", lsptest.Options{Plain: true}, "", 1, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := agenttest.NewModel(agenttest.Step{Text: []string{"One."}}, agenttest.Step{Text: []string{"Two."}})
			f := &folders{said: map[string]bool{}, seen: map[int64]int{}, over: make(chan struct{}, 9)}
			var mu sync.Mutex
			asked := 0
			count := func() { mu.Lock(); asked++; mu.Unlock() }
			opt := c.opt
			p := lsptest.VSCode()
			opt.Personality = &p
			opt.Handlers = map[string]lsptest.Handler{"agent/approve": func(ctx context.Context, raw json.RawMessage) (any, error) {
				count()
				var got lsp.ApproveParams
				if err := json.Unmarshal(raw, &got); err != nil || got.Subject.Type != "path" || len(got.Subject.Paths) != 1 || !strings.Contains(got.Detail, "its settings") {
					t.Errorf("asked %s (%v)", raw, err)
				}
				return lsptest.Approve(c.answer)(ctx, raw)
			}}
			opt.Message = func(_ context.Context, text string, actions []string) (string, bool) {
				count()
				if !strings.Contains(text, "Do you trust") || !strings.Contains(text, "its settings") {
					t.Errorf("asked %q", text)
				}
				return c.answer, slices.Contains(actions, c.answer)
			}
			if opt.Plain {
				opt.Handlers = nil
			}
			e := lsptest.NewEditor(t, server(m, f.use), opt)
			session := ""
			for _, text := range []string{"One.", "Two."} {
				if opt.Plain {
					e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.ask", "arguments": []any{map[string]any{"text": "x"}}}, nil)
					e.WaitNotification("window/showMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), text) })
					continue
				}
				if session == "" {
					session = newSession(e)
				}
				if status, err := ended(e, prompt(e, session, "x")); status != "completed" {
					t.Fatalf("turn %s: %+v", status, err)
				}
			}
			for i, r := range m.Requests() {
				if got := !offers(r, "grep_search"); got != c.trusted {
					t.Errorf("request %d: the folder's settings count: %v", i, got)
				}
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			mu.Lock()
			defer mu.Unlock()
			for seq, n := range f.seen {
				if n != 1 {
					t.Errorf("event %d is observed %d times", seq, n)
				}
			}
			if asked != c.asked || len(f.kept) != c.kept {
				t.Errorf("asked %d times, kept %q", asked, f.kept)
			}
		})
	}
}

// The editor changes its mind: sessions that are there follow with their next turn,
// and what the settings had running is replaced.
func TestTrustSet(t *testing.T) {
	m := agenttest.NewModel(agenttest.Step{Text: []string{"One."}}, agenttest.Step{Text: []string{"Two."}}, agenttest.Step{Text: []string{"Three."}})
	f := &folders{said: map[string]bool{}, seen: map[int64]int{}, over: make(chan struct{}, 9)}
	r := lsptest.RedlineCapabilities()
	r["trusted"] = false
	p := lsptest.VSCode()
	e := lsptest.NewEditor(t, server(m, f.use), lsptest.Options{Personality: &p, Redline: r})
	session, other := newSession(e), newSession(e)
	turn := func(id string) {
		t.Helper()
		if status, err := ended(e, prompt(e, id, "x")); status != "completed" {
			t.Fatalf("turn %s: %+v", status, err)
		}
	}
	turn(session)
	var status lsp.TrustStatus
	e.MustCall("agent/trust/set", map[string]any{"trusted": true}, &status)
	if !status.Trusted {
		t.Errorf("status %+v", status)
	}
	turn(session)
	turn(other)
	for i, r := range m.Requests() {
		if got := !offers(r, "grep_search"); got != (i > 0) {
			t.Errorf("request %d: the folder's settings count: %v", i, got)
		}
	}
	e.MustCall("agent/trust/set", map[string]any{"trusted": false}, &status)
	if status.Trusted || !strings.Contains(status.Message, "in the editor") || len(status.LeftOut) != 1 {
		t.Errorf("status %+v", status)
	}
	<-f.over
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun != 2 || len(f.over) > 0 || f.settings != 2 {
		t.Errorf("%d backgrounds begun, %d ended; settings read %d times", f.begun, len(f.over)+1, f.settings)
	}
}

func offers(r *model.Request, tool string) bool {
	for _, d := range r.Config.Tools[0].FunctionDeclarations {
		if d.Name == tool {
			return true
		}
	}
	return false
}
