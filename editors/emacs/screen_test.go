package emacs_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"redline/editors/editortest"
)

// terminal is an Emacs in tmux: what a person sees.
type terminal struct {
	*emacs
	dir string // tmux' own
}

// inTerminal starts an Emacs of width by height cells.
func inTerminal(t *testing.T, root, url string, width, height int, more ...string) *terminal {
	t.Helper()
	exe := program(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		editortest.Missing(t, "there is no tmux; run editors/emacs/testenv/install.sh")
	}
	e := &emacs{t: t, root: root, socket: socket(t)}
	e.env = append(environment(t, root, e.socket, url), more...)
	x := &terminal{e, filepath.Dir(e.socket)}
	x.tmux("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-c", root,
		fmt.Sprintf("exec %s -Q -nw -l %s", exe, abs(t, "testdata/drive.el")))
	t.Cleanup(func() { x.tmux("kill-server") })
	deadline := time.Now().Add(30 * time.Second)
	for {
		if _, err := e.send("t", 20*time.Second); err == nil {
			return x
		} else if time.Now().After(deadline) {
			t.Fatalf("Emacs did not start: %v\n%s", err, x.tmux("capture-pane", "-p"))
		}
		time.Sleep(20 * time.Millisecond) // its socket is not there yet
	}
}

// tmux runs a command of tmux in a server of its own.
func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-S", filepath.Join(x.dir, "t")}, args...)...)
	cmd.Env = x.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// press types keys, in tmux' notation.
func (x *terminal) press(keys ...string) {
	x.t.Helper()
	x.tmux(append([]string{"send-keys"}, keys...)...)
}

// screen returns the text of the screen once it holds a text.
func (x *terminal) screen(until string) string {
	x.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		// Emacs is not asked to draw: a question that comes up while it answers would be asked inside
		// of the answer, which then waits for it.
		got := x.tmux("capture-pane", "-p")
		if strings.Contains(got, until) {
			return got
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("waited in vain for %q on the screen:\n%s", until, got)
		}
		time.Sleep(20 * time.Millisecond) // between two looks
	}
}

// until waits for an expression to hold. It is evaluated again and again, not waited for in Emacs: that
// could be inside of what it waits for.
func (x *terminal) until(expression string) {
	x.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !get[bool](x.emacs, "(and %s t)", expression) {
		if time.Now().After(deadline) {
			x.t.Fatalf("waited in vain for %s on the screen:\n%s", expression, x.tmux("capture-pane", "-p"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// trimmed takes the spaces at the ends of lines away.
func trimmed(screen string) string {
	return strings.TrimRight(regexp.MustCompile(`(?m)[ \t]+$`).ReplaceAllString(screen, ""), "\n") + "\n"
}
