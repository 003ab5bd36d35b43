//go:build unix

package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redline/agent"
	"redline/tools"
	"redline/workspace"
)

// keeper is an [agent.TrustKeeper] that keeps in memory.
type keeper struct {
	mu             sync.Mutex
	info           agent.TrustInfo
	kept, declined int
	forever        bool
	renew          func(*agent.Options)
}

func (k *keeper) Trust() agent.TrustInfo {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.info
}

func (k *keeper) Keep(forever bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept++
	k.forever = forever
	k.info.State, k.info.LeftOut = workspace.Trusted, nil
	return nil
}

func (k *keeper) Declined() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.declined++
	k.info.Ask = false
}

func (k *keeper) Renew() (func(*agent.Options), error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.info.State != workspace.Trusted {
		return nil, nil
	}
	f := k.renew
	k.renew = nil
	return f, nil
}

func notices(b *bench) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, ev := range b.events {
		if n, ok := ev.Body.(agent.Notice); ok {
			out = append(out, n.Text)
		}
	}
	return strings.Join(out, "|")
}

// What a folder brings along is asked for once, at the start, and only there.
func TestTrustAtTheStart(t *testing.T) {
	brings := []string{"its settings"}
	for _, c := range []struct {
		name    string
		info    agent.TrustInfo
		answer  agent.OptionKind
		asked   int
		kept    int
		renewed bool
		notice  string
	}{
		{"nothing to switch on", agent.TrustInfo{Ask: true}, agent.OptionSession, 0, 0, false, ""},
		{"trusted", agent.TrustInfo{State: workspace.Trusted, Ask: true}, agent.OptionSession, 0, 0, true, ""},
		{"yes, for now", agent.TrustInfo{LeftOut: brings, Ask: true}, agent.OptionSession, 1, 1, true, ""},
		{"yes, for good", agent.TrustInfo{LeftOut: brings, Ask: true}, agent.OptionAlways, 1, 1, true, ""},
		{"no", agent.TrustInfo{LeftOut: brings, Ask: true, How: "Trust it."}, agent.OptionReject, 1, 0, false, "This folder is not yet trusted, so this is left out: its settings. Trust it."},
		{"an answer there is not", agent.TrustInfo{LeftOut: brings, Ask: true, How: "Trust it."}, agent.OptionOnce, 1, 0, false, "left out: its settings"},
		{"nobody to ask", agent.TrustInfo{LeftOut: brings, How: "Use --trust."}, agent.OptionSession, 0, 0, false, "Use --trust."},
		{"denied", agent.TrustInfo{State: workspace.Untrusted, LeftOut: brings, Ask: true}, agent.OptionSession, 0, 0, false, "This folder is not trusted, so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := &user{kinds: []agent.OptionKind{c.answer}}
			k := &keeper{info: c.info}
			k.renew = func(o *agent.Options) { o.Tools = tools.NewRegistry(tools.ReadFile) }
			b := newBench(t, agent.Options{Approver: u, Trust: k}, done, done)
			b.turn("x")
			b.turn("y")
			if len(u.asked) != c.asked || k.kept != c.kept || k.forever != (c.kept > 0 && c.answer == agent.OptionAlways) {
				t.Errorf("asked %d times, kept %d times, forever %v", len(u.asked), k.kept, k.forever)
			}
			if renewed := len(b.m.Requests()[0].Config.Tools[0].FunctionDeclarations) == 1; renewed != c.renewed {
				t.Errorf("renewed: %v", renewed)
			}
			if got := notices(b); !strings.Contains(got, c.notice) || (c.notice == "") != (got == "") || strings.Count(got, "left out") > 1 {
				t.Errorf("notices %q", got)
			}
			for _, a := range u.asked {
				if a.Subject.Type != "path" || len(a.Subject.Paths) != 1 || a.Subject.Paths[0] != b.root || a.TurnID == "" || a.CallID == "" || !strings.Contains(a.Detail, "its settings") {
					t.Errorf("asked %+v", a)
				}
			}
		})
	}
}

// A command runs in a trusted folder, or when the user has seen it.
func TestTrustOfCommands(t *testing.T) {
	const once, session, always, no = agent.OptionOnce, agent.OptionSession, agent.OptionAlways, agent.OptionReject
	for _, c := range []struct {
		name    string
		state   workspace.Trust
		mode    agent.Mode
		answers []agent.OptionKind
		asked   string // subjects
		ran     string
		kept    int
		err     string
	}{
		{"once each", workspace.TrustUnknown, agent.ModeDefault, []agent.OptionKind{once, once}, "path path", "12", 0, ""},
		{"for the session", workspace.TrustUnknown, agent.ModeDefault, []agent.OptionKind{session, once}, "path command", "12", 1, ""},
		{"for good", workspace.TrustUnknown, agent.ModeDefault, []agent.OptionKind{always, no}, "path command", "1", 1, ""},
		{"no", workspace.TrustUnknown, agent.ModeDefault, []agent.OptionKind{no}, "path path", "", 0, "did not allow this"},
		{"yolo is no trust", workspace.TrustUnknown, agent.ModeYolo, []agent.OptionKind{no}, "path path", "", 0, "did not allow this"},
		{"denied", workspace.Untrusted, agent.ModeDefault, []agent.OptionKind{once}, "", "", 0, "does not trust this folder"},
		{"denied, yolo", workspace.Untrusted, agent.ModeYolo, []agent.OptionKind{once}, "", "", 0, "tell the user: Trust it."},
		{"trusted", workspace.Trusted, agent.ModeDefault, []agent.OptionKind{once}, "command command", "12", 0, ""},
		{"trusted, yolo", workspace.Trusted, agent.ModeYolo, []agent.OptionKind{no}, "", "12", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := &user{kinds: c.answers}
			k := &keeper{info: agent.TrustInfo{State: c.state, How: "Trust it."}}
			b := newBench(t, agent.Options{Approver: u, Trust: k, Mode: c.mode}, step(sh("touch ran1"), sh("touch ran2")), done)
			b.turn("x")
			ran, subjects := "", []string{}
			for _, n := range []string{"1", "2"} {
				if _, err := os.Stat(filepath.Join(b.root, "ran"+n)); err == nil {
					ran += n
				}
			}
			for _, a := range u.asked {
				subjects = append(subjects, a.Subject.Type)
				if a.Subject.Command == "" || !strings.Contains(a.Detail, a.Subject.Command) {
					t.Errorf("the command is not shown: %+v", a)
				}
			}
			if got := strings.Join(subjects, " "); ran != c.ran || got != c.asked || k.kept != c.kept {
				t.Errorf("ran %q, asked for %q, kept %d", ran, got, k.kept)
			}
			if r := b.m.Responses(1)[0]; !strings.Contains(r.Error, c.err) || (c.err == "") != (r.Error == "") {
				t.Errorf("the model is told %+v", r)
			}
		})
	}
}

// A question that nobody answers does not hold up the turn for long, and is not
// put again.
func TestTrustUnanswered(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{info: agent.TrustInfo{LeftOut: []string{"its settings"}, Ask: true}}
		b := newBenchAt(t, root, agent.Options{Approver: silent{}, Trust: k}, done)
		start := time.Now()
		if end := b.turn("x"); end.Status != agent.Completed {
			t.Errorf("turn %s: %v", end.Status, end.Err)
		}
		if waited := time.Since(start); waited < time.Minute || waited > 5*time.Minute || k.declined != 1 {
			t.Errorf("waited %v, declined %d", waited, k.declined)
		}
		b.s.Close()
	})
}

// silent never answers.
type silent struct{}

func (silent) Approve(ctx context.Context, _ agent.Approval) (agent.Answer, error) {
	<-ctx.Done()
	return agent.Answer{}, ctx.Err()
}
