package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"redline/tools/sandbox"
	"redline/tools/shell"
)

func TestMain(m *testing.M) {
	sandbox.Helper()
	os.Exit(m.Run())
}

// each runs a test in every kind of sandbox that there is. CI has both.
func each(t *testing.T, f func(t *testing.T, kind sandbox.Kind)) {
	found := 0
	for _, k := range []sandbox.Kind{sandbox.Bwrap, sandbox.Landlock} {
		t.Run(string(k), func(t *testing.T) {
			if _, err := sandbox.Open(t.Context(), sandbox.Setting{On: true, Kind: k}); err != nil {
				t.Skip(err)
			}
			found++
			f(t, k)
		})
	}
	if found == 0 && os.Getenv("REDLINE_CI") == "1" && runtime.GOOS == "linux" {
		t.Error("this system has no sandbox")
	}
}

// box is a sandbox and what it is used on.
type box struct {
	t         *testing.T
	box       *sandbox.Box
	use       sandbox.Use
	ws, apart string // the workspace, and a folder outside of it
}

func open(t *testing.T, set sandbox.Setting) *box {
	t.Helper()
	// Not in /tmp, which is another one in bubblewrap.
	top, err := os.MkdirTemp(".", "testdir-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	if top, err = filepath.Abs(top); err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, ws: filepath.Join(top, "ws"), apart: filepath.Join(top, "apart")}
	b.use = sandbox.Use{Folders: []string{b.ws}, Temp: filepath.Join(top, "temp")}
	for _, d := range []string{b.ws, b.apart, b.use.Temp, filepath.Join(b.ws, ".git", "hooks")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(b.apart, "f"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set.On = true
	if b.box, err = sandbox.Open(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	return b
}

// run runs a line in the sandbox; {A} in it is the folder outside.
func (b *box) run(line string) shell.Result {
	b.t.Helper()
	r, err := shell.Run(b.t.Context(), shell.Command{
		Line: strings.ReplaceAll(line, "{A}", b.apart), Dir: b.ws, Prefix: b.box.Prefix(b.use), Env: append(os.Environ(), b.box.Env(b.use)...),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func TestFiles(t *testing.T) {
	each(t, func(t *testing.T, kind sandbox.Kind) {
		b := open(t, sandbox.Setting{Kind: kind})
		// A checkout below /tmp: bubblewrap gives commands a /tmp of their own.
		hidden := kind == sandbox.Bwrap && strings.HasPrefix(b.apart, "/tmp/")
		for _, c := range []struct {
			line string
			ok   bool
		}{
			{"echo x >new && cat new", true},
			{"mkdir -p a/b && mv new a/b/c && rm -r a", true},
			{`echo x >"$TMPDIR/f" && cat "$TMPDIR/f"`, true},
			{`mkdir -p "$XDG_CACHE_HOME/go"`, true},
			{"cat {A}/f", !hidden},
			{"ls / >/dev/null", true},
			{"echo x >{A}/new", false},
			{"echo x >>{A}/f", false},
			{"rm {A}/f", false},
			{"mv {A}/f .", false},
			{": >{A}/f", false},
			{"mkdir {A}/d", false},
			{"ln -s {A} out && echo x >out/new", false},
			{"chmod 777 {A}/f && test -w {A}/f && echo x >{A}/f", false},
			{"echo x >~/redline-sandbox-test", false},
			{"echo x >/etc/redline-sandbox-test", false},
			{"bash -c 'echo x >{A}/new'", false},
			{"mount -t tmpfs none {A}", false},
			{"umount /proc/sys; : >>/proc/sys/kernel/hostname", false},
			{": >>/proc/sys/kernel/hostname", false},
		} {
			if r := b.run(c.line); (r.ExitCode == 0) != c.ok {
				t.Errorf("%s: exit code %d: %s", c.line, r.ExitCode, r.Output)
			}
		}
		if data, err := os.ReadFile(filepath.Join(b.apart, "f")); string(data) != "old\n" {
			t.Errorf("the file outside is %q (%v)", data, err)
		}
		if entries, _ := os.ReadDir(b.apart); len(entries) != 1 {
			t.Errorf("outside there is %v", entries)
		}
	})
}

// What runs outside of the sandbox later, and keys, are out of reach in bubblewrap.
func TestBwrapOnly(t *testing.T) {
	each(t, func(t *testing.T, kind sandbox.Kind) {
		if kind != sandbox.Bwrap {
			t.SkipNow()
		}
		home := t.TempDir()
		t.Setenv("HOME", home)
		if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, ".ssh", "id_rsa"), []byte("key"), 0o600); err != nil {
			t.Fatal(err)
		}
		b := open(t, sandbox.Setting{Kind: kind})
		for line, want := range map[string]bool{
			"echo x >.git/hooks/pre-commit":        false,
			"cat ~/.ssh/id_rsa":                    false,
			"echo x >/dev/tty":                     true, // into nothing
			fmt.Sprintf("kill -0 %d", os.Getpid()): false,
			"ls /run/*/* 2>/dev/null | grep .":     false,
		} {
			if r := b.run(line); (r.ExitCode == 0) != want {
				t.Errorf("%s: exit code %d: %s", line, r.ExitCode, r.Output)
			}
		}
	})
}

// The network is there with leave only. The listener is on the loopback.
func TestNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	each(t, func(t *testing.T, kind sandbox.Kind) {
		for _, network := range []bool{false, true} {
			b := open(t, sandbox.Setting{Kind: kind, Network: network})
			r := b.run("exec 3<>/dev/tcp/127.0.0.1/" + port)
			if got := r.ExitCode == 0; got != network {
				t.Errorf("network %v: connected %v: %s", network, got, r.Output)
			}
		}
	})
}

// Ending a command ends what it started in the sandbox, and a background process goes
// on after it.
func TestProcesses(t *testing.T) {
	each(t, func(t *testing.T, kind sandbox.Kind) {
		b := open(t, sandbox.Setting{Kind: kind})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		mark := filepath.Join(b.ws, "late")
		r, err := shell.Run(ctx, shell.Command{Line: "(trap '' TERM; sleep 1; echo x >late) & sleep 60", Dir: b.ws, Prefix: b.box.Prefix(b.use), KillDelay: 100 * time.Millisecond})
		if err != nil || !r.Canceled {
			t.Errorf("result %+v (%v)", r, err)
		}
		log := filepath.Join(b.apart, "log")
		newLog := func() *shell.Log {
			l, err := shell.NewLog(log, 1<<20, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(l.Close)
			return l
		}
		b.use.Detach = true
		c := shell.Command{Line: "echo begun; while [ ! -e stop ]; do sleep 0.02; done; echo over", Dir: b.ws, Prefix: b.box.Prefix(b.use)}
		c.Background(newLog())
		r, err = shell.Run(t.Context(), c)
		if err != nil || r.ExitCode != 0 || len(r.Background) == 0 {
			t.Fatalf("result %+v (%v)", r, err)
		}
		if err := os.WriteFile(filepath.Join(b.ws, "stop"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		await(t, func() bool { data, _ := os.ReadFile(log); return string(data) == "begun\nover\n" })
		left, err := shell.Run(t.Context(), func() shell.Command {
			c := shell.Command{Line: "sleep 60", Dir: b.ws, Prefix: b.box.Prefix(b.use)}
			c.Background(newLog())
			return c
		}())
		if err != nil {
			t.Fatal(err)
		}
		left.Leftover().End()
		await(t, func() bool {
			out, _ := exec.Command("ps", "-o", "pid=", "-g", fmt.Sprint(left.Background[0])).Output()
			return strings.TrimSpace(string(out)) == "" || defunct(left.Background)
		})
		if _, err := os.Stat(mark); err == nil {
			t.Error("a process of a command that was ended went on")
		}
	})
}

// defunct reports whether none of the processes runs any more.
func defunct(pids []int) bool {
	for _, pid := range pids {
		if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(data), ") Z ") {
			return false
		}
	}
	return true
}

// await waits for what happens in another process.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestOpen(t *testing.T) {
	if b, err := sandbox.Open(t.Context(), sandbox.Setting{}); b != nil || err != nil {
		t.Errorf("not wanted: %v, %v", b, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := sandbox.Open(t.Context(), sandbox.Setting{On: true, Kind: sandbox.Bwrap}); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("without bwrap: %v", err)
	}
	var none *sandbox.Box
	if none.Kind() != sandbox.None || !strings.Contains(none.String(), "without a sandbox") {
		t.Errorf("%q", none)
	}
}
