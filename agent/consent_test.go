//go:build unix

package agent_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/tools/shell"
)

// consents is [agent.Consents] that forgets with the test.
type consents struct {
	commands, keys []string
	err            error
}

func (m *consents) Allowed() (commands, keys []string) { return m.commands, m.keys }

func (m *consents) Allow(commands, keys []string) error {
	if m.err == nil {
		m.commands, m.keys = append(m.commands, commands...), append(m.keys, keys...)
	}
	return m.err
}

// What is allowed for good holds in other sessions, until it is forgotten.
func TestConsents(t *testing.T) {
	mem := &consents{}
	run := func(u *user, lines ...string) string {
		var calls []agenttest.Call
		for _, l := range lines {
			calls = append(calls, sh(l))
		}
		b := newBench(t, agent.Options{Approver: u, Consents: mem}, step(calls...), done)
		b.turn("x")
		return u.lines()
	}
	always := func() *user { return &user{kinds: []agent.OptionKind{agent.OptionAlways}} }
	if got, want := run(always(), "echo a", "echo b", "echo c >f"), "echo a|echo c >f"; got != want {
		t.Errorf("asked for %q, want %q", got, want)
	}
	if got := run(always(), "echo d", "printf e"); got != "printf e" {
		t.Errorf("in the next session asked for %q", got)
	}
	mem.commands = nil
	if got := run(always(), "echo d"); got != "echo d" {
		t.Errorf("once forgotten asked for %q", got)
	}
	u := &user{kinds: []agent.OptionKind{agent.OptionOnce}}
	run(u, "echo x >f")
	if slices.ContainsFunc(u.asked[0].Options, func(o agent.Option) bool { return o.Kind == agent.OptionAlways }) {
		t.Errorf("always is offered for what no prefix can allow: %+v", u.asked[0].Options)
	}
}

// Where it cannot be kept it holds for the session, and the user is told.
func TestConsentsNotKept(t *testing.T) {
	u := &user{kinds: []agent.OptionKind{agent.OptionAlways}}
	b := newBench(t, agent.Options{Approver: u, Consents: &consents{err: errors.New("disk full")}}, step(sh("echo a"), sh("echo b")), done)
	b.turn("x")
	if got := u.lines(); got != "echo a" {
		t.Errorf("asked for %q", got)
	}
	notice := ""
	for _, ev := range b.events {
		if n, ok := ev.Body.(agent.Notice); ok {
			notice += n.Text
		}
	}
	if !strings.Contains(notice, "in this session only: disk full") {
		t.Errorf("the user is told %q", notice)
	}
	u = &user{kinds: []agent.OptionKind{agent.OptionAlways, agent.OptionSession}}
	b = newBench(t, agent.Options{Approver: u}, step(sh("echo a")), done)
	b.turn("x")
	if slices.ContainsFunc(u.asked[0].Options, func(o agent.Option) bool { return o.Kind == agent.OptionAlways }) {
		t.Error("always is offered with nothing to keep it in")
	}
}

// All commands are allowed when the settings name the tool alone.
func TestCommandAllowAll(t *testing.T) {
	b := newBench(t, agent.Options{Commands: shell.Policy{AllowAll: true, Deny: []string{"rm"}}}, step(sh("echo a; printf b"), sh("rm x")), done)
	b.turn("x")
	if r := b.m.Responses(1); !strings.Contains(r[0].Output, "a\nb") || !strings.Contains(r[1].Error, "forbid") {
		t.Errorf("told %+v", r)
	}
}

// Unsaved files are saved before a command that needs no question only when the user
// agrees to that.
func TestSaveNeedsAgreement(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  agent.Mode
		kinds []agent.OptionKind
		lines []string
		asked int
		want  string // what the last command saw
	}{
		{"yes", "", []agent.OptionKind{agent.OptionOnce}, []string{"cat a.txt"}, 1, "new"},
		{"no", "", []agent.OptionKind{agent.OptionReject}, []string{"cat a.txt"}, 1, "old"},
		{"in this session", "", []agent.OptionKind{agent.OptionSession}, []string{"cp b.txt a.txt", "cat a.txt"}, 1, "new"},
		{"yolo", agent.ModeYolo, nil, []string{"cat a.txt"}, 0, "new"},
		{"said with the command", "", []agent.OptionKind{agent.OptionSession}, []string{"grep . a.txt", "grep . a.txt"}, 1, "new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := &user{kinds: append(c.kinds, agent.OptionSession)}
			sv := &saver{can: true}
			var calls []agenttest.Call
			for _, l := range c.lines {
				calls = append(calls, sh(l))
			}
			b := newBench(t, agent.Options{Mode: c.mode, Approver: u, Saver: sv, Commands: shell.Policy{Allow: []string{"cat", "cp"}}}, step(calls...), done)
			sv.b = b
			b.write("a.txt", "old\n")
			b.write("b.txt", "old\n")
			b.open("a.txt", "new\n")
			b.turn("x")
			r := b.m.Responses(1)
			got := r[len(r)-1].Output
			if !strings.Contains(got, c.want+"\n") || strings.Contains(got, "Note: the command saw") != (c.want == "old") || len(u.asked) != c.asked {
				t.Errorf("asked %d times %+v, told %q", len(u.asked), u.asked, got)
			}
			if c.asked > 0 && len(u.asked[0].Subject.Unsaved) != 1 {
				t.Errorf("asked %+v", u.asked[0].Subject)
			}
			if s := b.statuses("run_shell_command"); strings.Contains(s, "rejected") {
				t.Errorf("states %s", s)
			}
		})
	}
}

// Background processes are listed to the model and the user, can be stopped, and
// their end is told.
func TestProcesses(t *testing.T) {
	b := newBench(t, agent.Options{Mode: agent.ModeYolo})
	bg := func(line string) agenttest.Call {
		return agenttest.Call{Name: "run_shell_command", Args: map[string]any{"command": line, "is_background": true}}
	}
	*b.m = *agenttest.NewModel(
		step(bg("printf '\\033[1mup\\033[0m AIza%s\\n' "+strings.Repeat("x1Yz", 9)[:35]+"; : >ready; sleep 1001"), bg("sleep 1002"), sh("until [ -e ready ]; do :; done")), done)
	b.turn("x")
	r := b.m.Responses(1)
	ps := b.s.Processes(t.Context())
	if len(ps) != 2 || !ps[0].Running || !ps[1].Running || ps[1].Command != "sleep 1002" || ps[0].LogFile == "" || ps[0].Dir != b.root {
		t.Fatalf("processes %+v", ps)
	}
	if !regexp.MustCompile(`Background PIDs: \d+\nTo stop it: kill -- -\d+$`).MatchString(r[0].Output) {
		t.Errorf("the first says %q", r[0].Output)
	}
	for _, p := range ps {
		if want := fmt.Sprintf("- %d (", p.PID); !strings.Contains(r[2].Output, want) {
			t.Errorf("the listing lacks %q: %q", want, r[2].Output)
		}
	}
	if !strings.Contains(r[1].Output, "Also running in the background:\n- "+strconv.Itoa(ps[0].PID)) || strings.Contains(r[1].Output, "- "+strconv.Itoa(ps[1].PID)) {
		t.Errorf("the second says %q", r[1].Output)
	}
	// The user stops one, the model the other; the log is read without escape codes.
	if err := b.s.StopProcess(t.Context(), ps[1].PID); err != nil {
		t.Error(err)
	}
	if err := b.s.StopProcess(t.Context(), ps[1].PID); !errors.Is(err, agent.ErrNoProcess) {
		t.Errorf("stopping it again: %v", err)
	}
	*b.m = *agenttest.NewModel(
		step(agenttest.Call{Name: "read_file", Args: map[string]any{"path": ps[0].LogFile}}, sh(fmt.Sprintf("kill -- -%d; while [ -e /proc/%d ]; do sleep 0.01; done", ps[0].Group, ps[0].PID))), done, done)
	b.turn("y")
	b.turn("z")
	if r := b.m.Responses(1); !strings.HasPrefix(r[0].Output, "up ") || strings.Contains(r[0].Output, "x1Yz") {
		t.Errorf("the log: %+v", r[0])
	}
	all := ""
	for _, c := range b.m.Requests()[2].Contents {
		all += c.Text()
	}
	for _, p := range ps {
		if want := fmt.Sprintf("A background process has ended: %d (", p.PID); strings.Count(all, want) != 1 {
			t.Errorf("%q is told %d times", want, strings.Count(all, want))
		}
	}
	for _, p := range b.s.Processes(t.Context()) {
		if p.Running {
			t.Errorf("%+v still runs", p)
		}
	}
}

// How long a command may be silent is a setting.
func TestSilence(t *testing.T) {
	b := newBench(t, agent.Options{Mode: agent.ModeYolo, Silence: 100 * time.Millisecond}, step(sh("sleep 1000")), done)
	b.turn("x")
	if r := b.m.Responses(1)[0]; !strings.Contains(r.Output, "ended after 100ms without output") {
		t.Errorf("told %+v", r)
	}
	b = newBench(t, agent.Options{Mode: agent.ModeYolo, Silence: -1}, step(sh("echo a >"+filepath.Join(t.TempDir(), "f"))), done)
	b.turn("x")
	if r := b.m.Responses(1)[0]; !strings.Contains(r.Output, "Exit Code: 0") {
		t.Errorf("told %+v", r)
	}
}
