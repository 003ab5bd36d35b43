package main

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/agent/geminitest"
	"redline/lsp/lsptest"
)

// redlineCmd returns this program as a process of its own, with a home.
func redlineCmd(t *testing.T, home string, gemini *geminitest.Server, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Args[0] = "redline"
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "REDLINE_HOME=" + home, "GORACE=atexit_sleep_ms=0",
		"GOOGLE_GEMINI_BASE_URL=" + gemini.URL, "GEMINI_API_KEY=" + geminitest.DefaultKey,
	}
	return cmd
}

// Two windows in one process: both see the session, one decides in the other's
// documents, and when the first is gone the second goes on.
func TestServeListen(t *testing.T) {
	home, err := os.MkdirTemp("", "rl") // sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	root := t.TempDir()
	gemini := geminitest.New(t,
		geminitest.Do(geminitest.NewCall("replace", map[string]any{"file_path": filepath.Join(root, "a.go"), "old_string": "one", "new_string": "ONE"})),
		geminitest.Say("Done."),
		geminitest.Say("Still here."),
	)
	socket := filepath.Join(home, "run", "s")
	server := redlineCmd(t, home, gemini, "serve", "--listen", "unix:"+socket, "--model", "gemini-test", "--idle", "4s")
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	defer func() { _ = server.Process.Kill() }()
	waitSocket(t, socket)
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v (%v)", info, err)
	}
	join := func() *lsptest.Editor {
		return lsptest.NewEditor(t, lsptest.Process(redlineCmd(t, home, gemini, "serve", "--remote", "unix:"+socket)), lsptest.Options{Root: root, Files: map[string]string{"a.go": "// one\n"}})
	}
	first, second := join(), join()
	first.Open("a.go")
	session, turn := ask(first, "shout")
	second.MustCall("agent/session/resume", map[string]any{"sessionId": session}, nil)
	p := openProposal(t, second)
	second.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev, "decisions": []any{map[string]any{"target": "all", "decision": "accept"}}}, nil)
	for _, e := range []*lsptest.Editor{first, second} {
		if status, message := end(t, e, turn); status != "completed" {
			t.Errorf("turn %s: %s", status, message)
		}
	}
	if got := first.Text("a.go"); got != "// ONE\n" {
		t.Errorf("the first window has %q", got)
	}
	if disk, _ := first.Disk("a.go"); disk != "// one\n" {
		t.Errorf("on the disk is %q", disk)
	}
	first.Vanish()
	_ = first.WaitEnd()
	var got struct{ TurnID string }
	for range 100 { // until the first window's end has come through
		if err := second.Call("agent/prompt", map[string]any{"sessionId": session, "text": "and now"}, &got); err == nil {
			break
		}
	}
	if status, message := end(t, second, got.TurnID); status != "completed" {
		t.Errorf("turn %s: %s", status, message)
	}
	if err := second.Shutdown(); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the server does not end when it is idle")
	}
}

// Each window of a process gets its own log and trace, and nothing of the others'.
func TestListenLogs(t *testing.T) {
	home, err := os.MkdirTemp("", "rl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	gemini := geminitest.New(t)
	socket := filepath.Join(home, "run", "s")
	server := redlineCmd(t, home, gemini, "serve", "--listen", "unix:"+socket, "--log-level", "debug")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	waitSocket(t, socket)
	var windows [2]*lsptest.Editor
	var ids [2]string
	for i := range windows {
		e := lsptest.NewEditor(t, lsptest.Process(redlineCmd(t, home, gemini, "serve", "--remote", "unix:"+socket)), lsptest.Options{Root: t.TempDir()})
		windows[i] = e
		if i == 0 {
			e.Notify("$/setTrace", map[string]any{"value": "messages"})
		}
		var info struct{ SessionID string }
		e.MustCall("agent/session/new", map[string]any{}, &info)
		e.MustCall("agent/session/delete", map[string]any{"sessionId": info.SessionID}, nil)
		ids[i] = info.SessionID
	}
	for i, e := range windows {
		own := func(raw json.RawMessage) bool { return strings.Contains(string(raw), ids[i]) }
		e.WaitNotification("window/logMessage", own)
		if i == 0 {
			e.WaitNotification("$/logTrace", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "agent/session/delete") })
		} else if n := e.Notifications("$/logTrace"); len(n) > 0 {
			t.Errorf("window %d did not ask for %d traces", i, len(n))
		}
		for _, raw := range e.Notifications("window/logMessage") {
			if strings.Contains(string(raw), ids[1-i]) {
				t.Errorf("window %d got of the other's log: %s", i, raw)
			}
		}
	}
}

func waitSocket(t *testing.T, path string) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return
		}
	}
	t.Fatal("the server does not listen")
}

// Who does not know the token gets nothing; addresses of other machines are refused.
func TestListenToken(t *testing.T) {
	home := t.TempDir()
	getenv := func(k string) string {
		if k == "REDLINE_HOME" {
			return home
		}
		return ""
	}
	for _, bad := range []string{"0.0.0.0:0", "example.org:80", "[::]:0", "nonsense"} {
		if l, _, err := listen(getenv, bad); err == nil {
			l.Close()
			t.Errorf("%s is served", bad)
		}
	}
	l, token, err := listen(getenv, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := os.Stat(filepath.Join(home, "serve-token"))
	if err != nil || info.Mode().Perm() != 0o600 || len(token) < 32 {
		t.Errorf("token of %d characters in %v (%v)", len(token), info, err)
	}
	for _, tt := range []struct {
		send string
		ok   bool
	}{
		{strings.Replace(preface, "%s", token, 1), true},
		{strings.Replace(preface, "%s", strings.Repeat("0", len(token)), 1), false},
		{"Content-Length: 2\r\n\r\n{}" + strings.Repeat(" ", 200), false},
	} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(tt.send)); err != nil {
			t.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got := authorized(s, token); got != tt.ok {
			t.Errorf("%q: %v", tt.send[:20], got)
		}
		s.Close()
		c.Close()
	}
	open := filepath.Join(home, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if l, _, err := listen(getenv, "unix:"+filepath.Join(open, "s")); err == nil {
		l.Close()
		t.Error("a socket in a folder that others can reach")
	}
}
