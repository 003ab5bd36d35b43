//go:build unix

package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/tools/shell"
	"redline/workspace"
)

// What the model is told of a command, by mode, policy and the user's word.
func TestCommand(t *testing.T) {
	for _, c := range []struct {
		name   string
		mode   agent.Mode
		policy shell.Policy
		user   *user
		line   string
		asked  string
		output string // part of it
		err    string // part of it
	}{
		{name: "once", user: &user{kinds: []agent.OptionKind{agent.OptionOnce}}, line: "echo hi; exit 3", asked: "echo hi; exit 3", output: "Output:\nhi\nExit Code: 3"},
		{name: "no output", user: &user{kinds: []agent.OptionKind{agent.OptionOnce}}, line: "true", asked: "true", output: "Output: (none)\nExit Code: 0"},
		{name: "signal", user: &user{kinds: []agent.OptionKind{agent.OptionOnce}}, line: "kill -9 $$", asked: "kill -9 $$", output: "Signal: killed"},
		{name: "rejected", user: &user{kinds: []agent.OptionKind{agent.OptionReject}, feedback: "use make"}, line: "touch no", asked: "touch no", err: "did not allow this; it was not done. Do not try it again in another way; go on without it, or ask. The user says: use make"},
		{name: "an answer that was not offered", user: &user{kinds: []agent.OptionKind{"always"}}, line: "touch no", asked: "touch no", err: "did not allow"},
		{name: "nobody to ask", line: "touch no", err: "no way to ask"},
		{name: "autoEdit asks", mode: agent.ModeAutoEdit, user: &user{kinds: []agent.OptionKind{agent.OptionReject}}, line: "touch no", asked: "touch no", err: "did not allow"},
		{name: "plan", mode: agent.ModePlan, user: &user{kinds: []agent.OptionKind{agent.OptionOnce}}, line: "touch no", err: "plan mode"},
		{name: "yolo", mode: agent.ModeYolo, line: "echo hi", output: "hi"},
		{name: "allowed", policy: shell.Policy{Allow: []string{"echo"}}, line: "echo hi", output: "hi"},
		{name: "allowed but for a redirection", policy: shell.Policy{Allow: []string{"echo"}}, line: "echo hi >no", err: "no way to ask"},
		{name: "forbidden, also in yolo", mode: agent.ModeYolo, policy: shell.Policy{Deny: []string{"touch"}}, line: "true && touch no", err: "settings forbid this command: touch is denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := agent.Options{Mode: c.mode, Commands: c.policy}
			if c.user != nil {
				opt.Approver = c.user
			}
			b := newBench(t, opt, step(sh(c.line)), done)
			if end := b.turn("x"); end.Status != agent.Completed {
				t.Fatalf("turn %s: %v", end.Status, end.Err)
			}
			got := b.m.Responses(1)[0]
			if (c.err == "") != (got.Error == "") || !strings.Contains(got.Output, c.output) || !strings.Contains(got.Error, c.err) {
				t.Errorf("the model is told %+v", got)
			}
			if c.user != nil && c.user.lines() != c.asked {
				t.Errorf("asked for %q, want %q", c.user.lines(), c.asked)
			}
			if _, err := os.Stat(filepath.Join(b.root, "no")); err == nil {
				t.Error("a command ran that must not")
			}
		})
	}
}

// What is allowed for the session is not asked for again, and nothing else is.
func TestCommandRemembered(t *testing.T) {
	u := &user{kinds: []agent.OptionKind{agent.OptionSession}}
	b := newBench(t, agent.Options{Approver: u},
		step(sh("echo a"), sh("echo b"), sh("echo $(echo c)"), sh("printf d"), sh("echo x && printf y"), sh("echo e >f"), sh("echo e >f")), done)
	b.turn("x")
	if got, want := u.lines(), "echo a|printf d|echo e >f|echo e >f"; got != want {
		t.Errorf("asked for %q, want %q", got, want)
	}
	for _, o := range u.asked[2].Options {
		if o.Kind == agent.OptionSession {
			t.Errorf("for a redirection the session is offered: %+v", o)
		}
	}
	a := u.asked[0]
	if a.Subject.Type != "command" || a.Subject.Directory != b.root || strings.Join(a.Subject.Roots, " ") != "echo" || a.CallID == "" || a.TurnID == "" {
		t.Errorf("asked: %+v", a)
	}
}

// A command sees the edits before it in the same step, and what comes after it sees
// what the command did.
func TestCommandAfterEdits(t *testing.T) {
	b := newBench(t, agent.Options{Mode: agent.ModeYolo})
	path := b.write("a.txt", "one\n")
	edit := func(old, new string) agenttest.Call {
		return agenttest.Call{Name: "replace", Args: map[string]any{"file_path": path, "old_string": old, "new_string": new}}
	}
	read := agenttest.Call{Name: "read_file", Args: map[string]any{"path": path}}
	*b.m = *agenttest.NewModel(step(edit("one", "two"), sh("cat a.txt; echo three >a.txt"), read, edit("three", "four"), read), done)
	b.turn("x")
	var got []string
	for _, r := range b.m.Responses(1) {
		got = append(got, r.Output+r.Error)
	}
	want := []string{"Successfully modified", "Output:\ntwo\n", "three\n", "Successfully modified", "four\n"}
	for i := range want {
		if i >= len(got) || !strings.Contains(got[i], want[i]) {
			t.Errorf("response %d: %q, want %q", i, got, want[i])
		}
	}
	if data, _ := os.ReadFile(path); string(data) != "four\n" {
		t.Errorf("the file has %q", data)
	}
}

// The output comes as events, the model has less of a long one, and no escape codes.
func TestCommandOutput(t *testing.T) {
	b := newBench(t, agent.Options{Mode: agent.ModeYolo}, step(sh(`printf '\033[1mbold\033[0m\n'; seq 1 100000`)), done)
	b.turn("x")
	if live := b.live(); !strings.HasPrefix(live, "bold\n1\n2\n") || !strings.HasSuffix(live, "\n99999\n100000\n") {
		t.Errorf("live output of %d bytes: %.40q", len(live), live)
	}
	got := b.m.Responses(1)[0].Output
	if len(got) > 60<<10 || !strings.Contains(got, "bold\n1\n") || !strings.Contains(got, "\n100000\n") || !strings.Contains(got, "read on with read_file") {
		t.Errorf("the model is told %d bytes: %.60q", len(got), got)
	}
	if got := b.statuses("run_shell_command"); got != "pending running completed" {
		t.Errorf("states: %s", got)
	}
}

// The credentials are ours, not the commands'.
func TestCommandEnvironment(t *testing.T) {
	t.Setenv("GEMINI_API_KEY", "very-secret")
	t.Setenv("OTHER", "kept")
	b := newBench(t, agent.Options{Mode: agent.ModeYolo}, step(sh("env")), done)
	b.turn("x")
	got := b.m.Responses(1)[0].Output
	if strings.Contains(got, "very-secret") || !strings.Contains(got, "OTHER=kept") || !strings.Contains(got, "PAGER=cat") {
		t.Errorf("environment:\n%s", got)
	}
}

// A background process goes on, its output can be read, without secrets, and it ends with
// the session.
func TestCommandBackground(t *testing.T) {
	b := newBench(t, agent.Options{Mode: agent.ModeYolo, Secrets: []string{"own-credential-2"}})
	gate := filepath.Join(b.root, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	*b.m = *agenttest.NewModel(
		step(agenttest.Call{Name: "run_shell_command", Args: map[string]any{"command": "echo started with own-credential-2; cat gate; echo going on; : >gate2; sleep 1000", "is_background": true}}),
		done)
	if err := syscall.Mkfifo(gate+"2", 0o600); err != nil {
		t.Fatal(err)
	}
	b.turn("x")
	got := b.m.Responses(1)[0].Output
	m := regexp.MustCompile(`goes to (\S+), which read_file can read`).FindStringSubmatch(got)
	p := regexp.MustCompile(`Background PIDs: (\d+)`).FindStringSubmatch(got)
	if m == nil || p == nil {
		t.Fatalf("the model is told %q", got)
	}
	f, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	f, err = os.Open(gate + "2") // until the process has come so far
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // it comes through a pipe
		if data, _ := os.ReadFile(m[1]); strings.HasSuffix(string(data), "going on\n") || time.Now().After(deadline) {
			break
		}
	}
	view := workspace.NewView(b.ws.Snapshot())
	if _, err := view.ResolveRead(m[1]); err == nil {
		t.Error("a view of nobody's may read the file")
	}
	*b.m = *agenttest.NewModel(step(agenttest.Call{Name: "read_file", Args: map[string]any{"path": m[1]}}), done)
	b.turn("y")
	if r := b.m.Responses(1)[0]; !strings.HasPrefix(r.Output, "started with ") || strings.Contains(r.Output, "own-credential-2") || !strings.HasSuffix(r.Output, "\ngoing on\n") {
		t.Errorf("its output: %+v", r)
	}
	b.s.Close()
	pid, _ := strconv.Atoi(p[1])
	for deadline := time.Now().Add(20 * time.Second); syscall.Kill(pid, 0) == nil; {
		// Its parent is init, which may not collect it at once.
		if stat, _ := os.ReadFile("/proc/" + p[1] + "/stat"); strings.Contains(string(stat), ") Z ") || time.Now().After(deadline) {
			break
		}
	}
	if stat, err := os.ReadFile("/proc/" + p[1] + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("process %d still runs: %s", pid, stat)
	}
	if _, err := os.Stat(m[1]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the session's folder is still there: %v", err)
	}
}

// Files that are unsaved in the editor are saved first, or the model is told.
func TestCommandUnsaved(t *testing.T) {
	for _, can := range []bool{true, false} {
		u := &user{kinds: []agent.OptionKind{agent.OptionOnce}}
		sv := &saver{can: can}
		b := newBench(t, agent.Options{Approver: u, Saver: sv}, step(sh("cat a.txt b.txt")), done)
		sv.b = b
		b.write("a.txt", "old a\n")
		b.write("b.txt", "same b\n")
		b.open("a.txt", "new a\n")
		b.open("b.txt", "same b\n")
		b.turn("x")
		got := b.m.Responses(1)[0].Output
		note := strings.Contains(got, "unsaved in the editor: a.txt.")
		switch {
		case can && (!strings.Contains(got, "new a\nsame b") || note || len(u.asked[0].Subject.Unsaved) != 1):
			t.Errorf("it could be saved: %q, asked %+v", got, u.asked[0].Subject)
		case !can && (!strings.Contains(got, "old a\nsame b") || !note || len(u.asked[0].Subject.Unsaved) != 0):
			t.Errorf("it could not be saved: %q", got)
		}
	}
}

type saver struct {
	can bool
	b   *bench
}

func (s *saver) CanSave() bool { return s.can }

func (s *saver) Save(_ context.Context, paths []string) []string {
	for _, p := range paths {
		d, _ := s.b.ws.Snapshot().Document(p)
		s.b.write(strings.TrimPrefix(p, s.b.root), d.Text)
	}
	return paths
}

// Cancelling ends a running command, and while the user is asked nothing runs.
func TestCommandCancelled(t *testing.T) {
	t.Run("running", func(t *testing.T) {
		b := newBench(t, agent.Options{Mode: agent.ModeYolo})
		gate := filepath.Join(b.root, "gate")
		if err := syscall.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
		*b.m = *agenttest.NewModel(step(sh("echo begun; : >gate; sleep 1000"), sh("touch no")))
		if _, err := b.s.Prompt(t.Context(), agent.Message{Text: "x"}); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(gate)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		b.s.Cancel("")
		if end := <-b.ended; end.Status != agent.Cancelled {
			t.Errorf("turn %s: %v", end.Status, end.Err)
		}
		if got := b.statuses("run_shell_command"); !strings.HasSuffix(got, "cancelled cancelled") {
			t.Errorf("states: %s", got)
		}
		*b.m = *agenttest.NewModel(done)
		b.turn("and then?")
		rs := b.m.Requests()[0].Contents
		if text := rs[len(rs)-1].Parts[0].Value().FunctionResponse.Response["error"].(string); !strings.Contains(text, "begun") {
			t.Errorf("the model is told %q", text)
		}
		if _, err := os.Stat(filepath.Join(b.root, "no")); err == nil {
			t.Error("the command after it ran")
		}
	})
	t.Run("asking", func(t *testing.T) {
		u := &user{kinds: []agent.OptionKind{agent.OptionOnce}}
		b := newBench(t, agent.Options{Approver: u}, step(sh("touch no")))
		u.hook = func() { b.s.Cancel("") }
		if end := b.turn("x"); end.Status != agent.Cancelled {
			t.Errorf("turn %s: %v", end.Status, end.Err)
		}
		if _, err := os.Stat(filepath.Join(b.root, "no")); err == nil {
			t.Error("it ran")
		}
	})
}
