//go:build linux

package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent"
	"redline/tools/sandbox"
)

// The user is told whether a command is confined, and it is; what it may not do fails,
// and the model is told why.
func TestSandbox(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.None, sandbox.Bwrap, sandbox.Landlock} {
		t.Run("kind "+string(kind), func(t *testing.T) {
			set := sandbox.Setting{On: kind != sandbox.None, Kind: kind}
			if _, err := sandbox.Open(t.Context(), set); err != nil {
				t.Skip(err)
			}
			u := &user{kinds: []agent.OptionKind{agent.OptionOnce}}
			b := newBench(t, agent.Options{Approver: u, Sandbox: set}, step(sh("echo in >in; cat in; echo $REDLINE_SANDBOX"), sh("echo x >\"$HOME\"/out")), done)
			home := filepath.Join(b.root, "..", "home")
			if err := os.Mkdir(home, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("HOME", home)
			b.turn("x")
			in, out := b.m.Responses(1)[0], b.m.Responses(1)[1]
			if !strings.Contains(in.Output, "in\n"+string(kind)) {
				t.Errorf("inside: %+v", in)
			}
			_, err := os.Stat(filepath.Join(home, "out"))
			if wrote := err == nil; wrote == set.On || set.On != strings.Contains(out.Output, "Note: Runs in a sandbox") {
				t.Errorf("outside, wrote %v: %+v", wrote, out)
			}
			want := map[bool]string{false: "Runs without a sandbox, as you.", true: "Runs in a sandbox ("}[set.On]
			if !strings.Contains(u.asked[0].Detail, want) {
				t.Errorf("asked %q", u.asked[0].Detail)
			}
		})
	}
}

// A sandbox that is wanted and not there is no reason to run without one unasked.
func TestNoSandbox(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(bash, filepath.Join(bin, "bash")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	u := &user{kinds: []agent.OptionKind{agent.OptionReject}}
	b := newBench(t, agent.Options{Approver: u, Mode: agent.ModeYolo, Sandbox: sandbox.Setting{On: true, Kind: sandbox.Bwrap}}, step(sh("echo x >ran")), done)
	b.turn("x")
	if len(u.asked) != 1 || !strings.Contains(u.asked[0].Detail, "bwrap: it is not installed") {
		t.Errorf("asked %+v", u.asked)
	}
	if _, err := os.Stat(filepath.Join(b.root, "ran")); err == nil {
		t.Error("it ran without the sandbox")
	}
}
