// Package emacs_test drives a real Emacs with the package and the real redline binary
// against a fake Gemini. The Emacs is installed by testenv/install.sh; without it the
// tests are skipped, except where REDLINE_CI is 1.
package emacs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

// oldest stands in for the oldest Emacs that the package is for; see testdata/floor.el.
const oldest = "emacs-28"

// program returns the path of Emacs, or skips the test.
func program(t testing.TB) string {
	t.Helper()
	return version(t, "emacs-30")
}

// version returns the path of an Emacs by its folder, or skips the test.
func version(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a real editor is not driven in short mode")
	}
	prefix := editortest.Prefix(t)
	path := filepath.Join(prefix, name, "emacs")
	if _, err := os.Stat(path); err != nil {
		editortest.Missing(t, name+" is not installed in "+prefix+"; run editors/emacs/testenv/install.sh")
	}
	return path
}

func TestMain(m *testing.M) {
	if os.Getenv("REDLINE_FAKE_LSP") != "" {
		languageServer(os.Stdin, os.Stdout) // started by eglot
		return
	}
	code := m.Run()
	editortest.Clean()
	os.Exit(code)
}

// emacs is a running Emacs.
type emacs struct {
	t      *testing.T
	root   string // the workspace
	socket string
	env    []string
}

// environment returns the variables that Emacs, and the server it starts, run with.
// url is the fake Gemini's; empty: there are no credentials.
func environment(t *testing.T, root, socket, url string) []string {
	t.Helper()
	home := t.TempDir()
	plugin, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color", "COLORTERM=truecolor", "HOME=" + home,
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "TMPDIR=" + os.TempDir(),
		"REDLINE_PLUGIN=" + plugin, "REDLINE_BIN=" + editortest.Binary(t), "REDLINE_ROOT=" + root, "REDLINE_SOCKET=" + socket,
	}
	if url != "" {
		env = append(env, "GOOGLE_GEMINI_BASE_URL="+url, "GEMINI_API_KEY="+geminitest.DefaultKey)
	}
	return env
}

// workspace makes a folder with files; a name with a slash is in a folder of its own.
func workspace(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// socket returns a name for a socket, which must be short.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "em")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// start starts Emacs in root, without a screen. It is ended with the test.
func start(t *testing.T, root, url string, more ...string) *emacs {
	t.Helper()
	return startIn(t, program(t), root, url, more...)
}

// startIn is start with another Emacs.
func startIn(t *testing.T, exe, root, url string, more ...string) *emacs {
	t.Helper()
	e := &emacs{t: t, root: root, socket: socket(t)}
	e.env = append(environment(t, root, e.socket, url), more...)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, exe, "-Q", "--batch", "-l", abs(t, "testdata/drive.el"))
	cmd.Dir, cmd.Env, cmd.WaitDelay = root, e.env, 10*time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, 6)
	if _, err := io.ReadFull(stdout, ready); err != nil || string(ready) != "ready\n" {
		t.Fatalf("Emacs did not start: %q %v %s", ready, err, stderr.String())
	}
	t.Cleanup(func() {
		if _, err := e.send("(run-with-timer 0 nil (lambda () (kill-emacs 0)))", 5*time.Second); err != nil {
			cancel()
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("Emacs ended with %v", err)
		}
		if s := stderr.String(); t.Failed() || strings.Contains(s, "Error running timer") || strings.Contains(s, "error in process") {
			t.Errorf("Emacs said:\n%s", s)
		}
	})
	return e
}

func abs(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// send has Emacs evaluate an expression and returns the answer.
func (e *emacs) send(expression string, wait time.Duration) (answer []byte, err error) {
	conn, err := net.DialTimeout("unix", e.socket, 10*time.Second)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, expression+"\x00"); err != nil {
		return nil, err
	}
	return io.ReadAll(conn)
}

// eval evaluates Lisp in Emacs, in the buffer that is shown, and decodes its value
// into result, unless that is nil.
func (e *emacs) eval(result any, format string, args ...any) {
	e.t.Helper()
	expression := "(progn " + fmt.Sprintf(format, args...) + ")"
	answer, err := e.send(expression, 40*time.Second)
	if err != nil {
		e.t.Fatalf("%v\n--- in\n%s", err, expression)
	}
	var got struct {
		Value json.RawMessage
		Error string
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		e.t.Fatalf("Emacs answered %q: %v\n--- to\n%s", answer, err, expression)
	}
	if got.Error != "" {
		e.t.Fatalf("%s\n--- in\n%s", got.Error, expression)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(got.Value, result); err != nil {
		e.t.Fatalf("decode %s: %v\n--- of\n%s", got.Value, err, expression)
	}
}

// do evaluates Lisp for what it does.
func (e *emacs) do(format string, args ...any) {
	e.t.Helper()
	e.eval(nil, format, args...)
}

// get evaluates Lisp to a value of type T.
func get[T any](e *emacs, format string, args ...any) T {
	e.t.Helper()
	var v T
	e.eval(&v, format, args...)
	return v
}

// quote returns s as a Lisp string.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// told returns the output or error of each function response that the model got with
// request i, and the text beside them.
func told(t *testing.T, srv *geminitest.Server, i int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := srv.Await(ctx, i)
	if err != nil {
		t.Fatalf("the model's request %d: %v", i, err)
	}
	var out []string
	for _, f := range r.Last().Responses() {
		text, _ := f.Output()
		out = append(out, text)
	}
	return strings.Join(append(out, r.Last().Texts()), "\n")
}

// replace is a call of the tool of that name.
func replace(path, old, text string) geminitest.Call {
	return geminitest.NewCall("replace", map[string]any{"file_path": path, "old_string": old, "new_string": text})
}

func onDisk(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: there is no %q in\n%s", what, p, text)
		}
	}
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}
