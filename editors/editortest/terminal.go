package editortest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Terminal is a program in a terminal of its own, in tmux: what a person types and sees.
type Terminal struct {
	t    testing.TB
	dir  string // the socket's; its path must be short
	env  []string
	wait time.Duration
}

// StartTerminal starts a command in a terminal of width by height cells. It ends with the test.
// PATH is needed in env.
func StartTerminal(t testing.TB, dir string, env []string, width, height int, command ...string) *Terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		Missing(t, "there is no tmux")
	}
	tmp, err := os.MkdirTemp("", "tt")
	if err != nil {
		t.Fatal(err)
	}
	x := &Terminal{t: t, dir: tmp, env: append([]string{"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8"}, env...), wait: time.Minute}
	conf := filepath.Join(tmp, "conf")
	// The screen stays when the program ends, so that its last words can be read; a lone
	// Escape is not waited on.
	if err := os.WriteFile(conf, []byte("set -g remain-on-exit on\nset -g status off\nset -sg escape-time 0\nset -g default-terminal tmux-256color\nset -ga terminal-overrides ',*:Tc'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-f", conf, "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-c", dir}
	x.Tmux(append(args, command...)...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen was last:\n%s", x.Screen())
		}
		x.Tmux("kill-server")
		_ = os.RemoveAll(tmp)
	})
	return x
}

// Tmux runs a command of tmux and returns what it prints.
func (x *Terminal) Tmux(args ...string) string {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), x.wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-S", filepath.Join(x.dir, "s")}, args...)...)
	cmd.Env = x.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Keys presses keys by tmux' names: Enter, Escape, Down, C-g, M-x, x.
func (x *Terminal) Keys(names ...string) {
	x.t.Helper()
	x.Tmux(append([]string{"send-keys"}, names...)...)
}

// Text types a text.
func (x *Terminal) Text(text string) {
	x.t.Helper()
	if strings.HasSuffix(text, ";") { // tmux takes it for the end of the command
		text = strings.TrimSuffix(text, ";") + `\;`
	}
	x.Tmux("send-keys", "-l", "--", text)
}

// Pid returns the process of the program.
func (x *Terminal) Pid() string {
	x.t.Helper()
	return strings.TrimSpace(x.Tmux("display-message", "-p", "#{pane_pid}"))
}

var trailing = regexp.MustCompile(`(?m)[ \t]+$`)

// Screen returns the text of the screen now, without spaces at the ends of lines.
func (x *Terminal) Screen() string {
	x.t.Helper()
	return strings.TrimRight(trailing.ReplaceAllString(x.Tmux("capture-pane", "-p"), ""), "\n") + "\n"
}

// Until waits until ok is true of the screen, and returns it.
func (x *Terminal) Until(what string, ok func(screen string) bool) string {
	x.t.Helper()
	deadline := time.Now().Add(x.wait)
	for {
		got := x.Screen()
		if ok(got) {
			return got
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(15 * time.Millisecond) // between two looks
	}
}

// See waits until a text is on the screen.
func (x *Terminal) See(text string) string {
	x.t.Helper()
	return x.Until(fmt.Sprintf("%q", text), func(s string) bool { return strings.Contains(s, text) })
}

// Gone waits until a text is not on the screen any more.
func (x *Terminal) Gone(text string) string {
	x.t.Helper()
	return x.Until(fmt.Sprintf("%q to go", text), func(s string) bool { return !strings.Contains(s, text) })
}

// Still returns the screen once it has not changed for a moment.
func (x *Terminal) Still() string {
	x.t.Helper()
	last, since := "", time.Now()
	return x.Until("the screen to be still", func(s string) bool {
		if s != last {
			last, since = s, time.Now()
		}
		return time.Since(since) > 250*time.Millisecond
	})
}
