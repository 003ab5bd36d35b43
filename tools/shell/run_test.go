//go:build unix

package shell

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, ctx context.Context, c Command) Result {
	t.Helper()
	r, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		cmd  Command
		want Result
	}{
		{"output and error in order", Command{Line: "echo a; echo b >&2; echo c"}, Result{Output: "a\nb\nc\n"}},
		{"exit code", Command{Line: "echo no; exit 3"}, Result{Output: "no\n", ExitCode: 3}},
		{"unknown command", Command{Line: "exec 2>/dev/null; no-such-command-here"}, Result{ExitCode: 127}},
		{"signal", Command{Line: "kill -KILL $$"}, Result{ExitCode: -1, Signal: "killed"}},
		{"no input", Command{Line: "cat; read x || echo end"}, Result{Output: "end\n"}},
		{"bash", Command{Line: "[[ x == x ]] && echo ${BASH_VERSION:+yes}"}, Result{Output: "yes\n"}},
		{"folder", Command{Line: "touch here && echo *", Dir: dir}, Result{Output: "here\n"}},
		{"environment", Command{Line: "echo $A-$HOME", Env: []string{"A=1", "PATH=/usr/bin:/bin"}}, Result{Output: "1-\n"}},
		{"escape codes", Command{Line: `printf '\033[31mred\033[0m\n'`}, Result{Output: "red\n"}},
		{"nothing", Command{Line: "true"}, Result{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, t.Context(), c.cmd)
			if r.Output != c.want.Output || r.ExitCode != c.want.ExitCode || r.Signal != c.want.Signal || len(r.Background) > 0 || r.TimedOut || r.Canceled {
				t.Errorf("got %+v, want %+v", r, c.want)
			}
		})
	}
}

func TestRunCannotStart(t *testing.T) {
	if _, err := Run(t.Context(), Command{Line: "true", Dir: "/no/such/folder"}); err == nil || !strings.Contains(err.Error(), "/no/such/folder") {
		t.Errorf("error %v, want one that names the folder", err)
	}
}

func TestRunOutputComesLive(t *testing.T) {
	fifo := t.TempDir() + "/go"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	var parts []string
	r := run(t, t.Context(), Command{Line: "echo first; cat <" + fifo + "; echo last", OnOutput: func(s string) {
		parts = append(parts, s)
		if len(parts) == 1 {
			// The command goes on only now, when its first line has arrived here.
			if err := os.WriteFile(fifo, []byte("second\n"), 0); err != nil {
				t.Error(err)
			}
		}
	}})
	if all := strings.Join(parts, ""); parts[0] != "first\n" || all != "first\nsecond\nlast\n" || r.Output != all {
		t.Errorf("got %q, and %q", parts, r.Output)
	}
}

func TestRunCapsOutput(t *testing.T) {
	live := 0
	r := run(t, t.Context(), Command{Line: "seq 1 200000", MaxOutput: 1000, OnOutput: func(s string) { live += len(s) }})
	if !strings.HasPrefix(r.Output, "1\n2\n3\n") || !strings.HasSuffix(r.Output, "\n199999\n200000\n") || len(r.Output) > 1100 {
		t.Errorf("kept %d bytes: %q", len(r.Output), r.Output)
	}
	if r.Omitted+1000 != live || !strings.Contains(r.Output, "["+"... "+strconv.Itoa(r.Omitted)+" bytes") {
		t.Errorf("%d bytes left out of %d", r.Omitted, live)
	}
}

// gone waits until a process group has no running member.
func gone(t *testing.T, group int, mark string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); len(groupMembers(t.Context(), group, mark)) > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("group %d still runs: %v", group, groupMembers(t.Context(), group, mark))
		}
	}
}

func TestRunCancelEndsTheGroup(t *testing.T) {
	for _, c := range []struct{ name, line string }{
		{"obedient", "sleep 1000 & echo $$; wait"},
		{"deaf", "trap '' TERM; sleep 1000 & echo $$; while :; do wait; done"},
		{"deaf child", "bash -c 'trap \"\" TERM; while :; do sleep 1000; done' & echo $$; wait"},
		{"pipeline", "echo $$; sleep 1000 | cat"},
		{"deserter", "echo $$; setsid sleep 1000 & setsid -f bash -c 'trap \"\" TERM; while :; do sleep 1000; done'; sleep 1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "deserter" && runtime.GOOS != "linux" {
				t.Skip("who leaves the group is found on Linux only")
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := run(t, ctx, Command{Line: c.line, KillDelay: 50 * time.Millisecond, OnOutput: func(string) { cancel() }})
			if !r.Canceled || r.TimedOut || r.Signal == "" && r.ExitCode == 0 || len(r.Background) > 0 {
				t.Errorf("got %+v", r)
			}
			group, err := strconv.Atoi(strings.TrimSpace(r.Output))
			if err != nil {
				t.Fatal(err)
			}
			gone(t, group, r.mark)
		})
	}
}

func TestRunCanceledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := t.TempDir() + "/made"
	if r := run(t, ctx, Command{Line: "touch " + file}); !r.Canceled {
		t.Errorf("got %+v", r)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the command ran")
	}
}

func TestRunSilence(t *testing.T) {
	r := run(t, t.Context(), Command{Line: "echo $$; sleep 1000", Timeout: 100 * time.Millisecond, KillDelay: time.Second})
	if !r.TimedOut || r.Canceled || r.Signal != "terminated" {
		t.Errorf("got %+v", r)
	}
	group, _ := strconv.Atoi(strings.TrimSpace(r.Output))
	gone(t, group, r.mark)

	// Longer than the timeout altogether, but never silent that long.
	r = run(t, t.Context(), Command{Line: "for i in 1 2 3 4 5 6; do echo $i; sleep 0.25; done", Timeout: time.Second})
	if r.TimedOut || r.Output != "1\n2\n3\n4\n5\n6\n" {
		t.Errorf("got %+v", r)
	}
}

func TestRunBackground(t *testing.T) {
	began := time.Now()
	r := run(t, t.Context(), Command{Line: "sleep 1000 & echo $!", DrainDelay: 50 * time.Millisecond})
	pid, err := strconv.Atoi(strings.TrimSpace(r.Output))
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	if !slices.Equal(r.Background, []int{pid}) || r.ExitCode != 0 {
		t.Errorf("got %+v, want %d in the background", r, pid)
	}
	if d := time.Since(began); d > 100*time.Second {
		t.Errorf("it took %v: the background process held it", d)
	}
}

func TestRunSideBySide(t *testing.T) {
	type end struct {
		r   Result
		err error
	}
	ends := make(chan end)
	for i := range 8 {
		go func() {
			r, err := Run(t.Context(), Command{Line: "echo " + strconv.Itoa(i)})
			ends <- end{r, err}
		}()
	}
	sum := 0
	for range 8 {
		e := <-ends
		n, _ := strconv.Atoi(strings.TrimSpace(e.r.Output))
		sum += n
		if e.err != nil {
			t.Error(e.err)
		}
	}
	if sum != 28 {
		t.Errorf("sum %d, want 28", sum)
	}
}

func TestRunInputAndErrorsApart(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name string
		cmd  Command
		want Result
	}{
		{"read", Command{Line: "cat", Input: []byte("hello")}, Result{Output: "hello"}},
		{"not read", Command{Line: "echo a", Input: []byte(big)}, Result{Output: "a\n"}},
		{"apart", Command{Line: "echo a; echo b >&2; exit 2", Apart: true}, Result{Output: "a\n", Errors: "b\n", ExitCode: 2}},
		{"together", Command{Line: "echo a; echo b >&2"}, Result{Output: "a\nb\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, t.Context(), c.cmd)
			if r.Output != c.want.Output || r.Errors != c.want.Errors || r.ExitCode != c.want.ExitCode {
				t.Errorf("got %+v, want %+v", r, c.want)
			}
		})
	}
}
