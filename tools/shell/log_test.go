//go:build unix

package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// intoLog runs a line in the background and returns what is in its log when it has ended.
func intoLog(t *testing.T, max int64, clean func(string) string, line string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	l, err := NewLog(path, max, clean)
	if err != nil {
		t.Fatal(err)
	}
	c := Command{Line: line, Dir: t.TempDir()}
	c.Background(l)
	r, err := Run(t.Context(), c)
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	select {
	case <-l.done:
	case <-time.After(time.Minute):
		t.Fatal("the log does not end with the command")
	}
	l.Close()
	l.Close() // twice is once
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A log never grows beyond its size; its start and its end are there, whole lines, and the
// count of what is missing is right.
func TestLogIsBounded(t *testing.T) {
	const max, n = 64 << 10, 60000
	got := intoLog(t, max, nil, fmt.Sprintf("seq -f 'line %%g' 1 %d; printf end", n))
	if len(got) > max || len(got) < max/3 {
		t.Errorf("the log has %d bytes", len(got))
	}
	head, tail, ok := strings.Cut(got, "[... ")
	m := regexp.MustCompile(`^(\d+) bytes of output left out \.\.\.\]\n`).FindStringSubmatch(tail)
	if !ok || m == nil || strings.Contains(tail[1:], "[... ") {
		t.Fatalf("there is no note, or several:\n%.300s", tail)
	}
	tail = tail[len(m[0]):]
	if !strings.HasPrefix(head, "line 1\nline 2\n") || !strings.HasSuffix(head, "\n") || len(head) < max/8 {
		t.Errorf("%d bytes of the start: %.40q…", len(head), head)
	}
	if !strings.HasPrefix(tail, "line ") || !strings.HasSuffix(tail, fmt.Sprintf("line %d\nend", n)) {
		t.Errorf("the end: %.40q…", tail)
	}
	all := 3
	for i := 1; i <= n; i++ {
		all += len("line \n") + len(strconv.Itoa(i))
	}
	if left, _ := strconv.Atoi(m[1]); len(head)+left+len(tail) != all {
		t.Errorf("%d bytes are there, %d are said to be left out, %d were printed", len(head)+len(tail), left, all)
	}
}

// What must not be on the disk is taken out, also where it comes in pieces; a line that
// is not finished is there after a moment.
func TestLogIsCleaned(t *testing.T) {
	clean := func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	got := intoLog(t, 1<<20, clean, "printf 'pass: hun'; printf 'ter2\\n'; for i in $(seq 2000); do echo hunter2; done; printf 'no newline hunter2'")
	if strings.Contains(got, "hunter2") || !strings.HasPrefix(got, "pass: ***\n") || strings.Count(got, "***") != 2002 {
		t.Errorf("%d bytes: %.200q", len(got), got)
	}
	long := intoLog(t, 1<<20, clean, "head -c 300000 /dev/zero | tr '\\0' x")
	if long != strings.Repeat("x", 300000) {
		t.Errorf("a long line: %d bytes", len(long))
	}

	path := filepath.Join(t.TempDir(), "log")
	l, err := NewLog(path, 1<<20, clean)
	if err != nil {
		t.Fatal(err)
	}
	c := Command{Line: "printf 'name? '; sleep 1000"}
	c.Background(l)
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if data, _ := os.ReadFile(path); string(data) == "name? " {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("the log has %q", data)
		}
	}
	left := r.Leftover()
	left.End()
	l.Close()
}

// A process that has left the group does not hold up the end of the log.
func TestLogEndsAnyway(t *testing.T) {
	l, err := NewLog(filepath.Join(t.TempDir(), "log"), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	pid := filepath.Join(t.TempDir(), "pid")
	c := Command{Line: "setsid sh -c 'echo $$ >" + pid + "; exec sleep 1000'"}
	c.Background(l)
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	var id int
	for limit := time.Now().Add(time.Minute); id == 0; time.Sleep(5 * time.Millisecond) {
		data, _ := os.ReadFile(pid)
		if id, _ = strconv.Atoi(strings.TrimSpace(string(data))); time.Now().After(limit) {
			t.Fatal("setsid does not start")
		}
	}
	l.Close()
	if p, err := os.FindProcess(id); err == nil {
		_ = p.Kill()
	}
}
