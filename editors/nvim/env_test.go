// Package nvim_test drives real Neovims with the plugin and the real redline binary
// against a fake Gemini. The Neovims are installed by testenv/install.sh; without
// them the tests are skipped, except where REDLINE_CI is 1.
package nvim_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

// versions are the Neovims that the plugin is tested in: the oldest and the newest.
var versions = []string{"0.10", "0.12"}

// program returns the path of a Neovim, or skips the test.
func program(t *testing.T, version string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a real editor is not driven in short mode")
	}
	prefix := editortest.Prefix(t)
	path := filepath.Join(prefix, "nvim-"+version, "nvim")
	if _, err := os.Stat(path); err != nil {
		editortest.Missing(t, "Neovim "+version+" is not installed in "+prefix+"; run editors/nvim/testenv/install.sh")
	}
	return path
}

func TestMain(m *testing.M) {
	code := m.Run()
	editortest.Clean()
	os.Exit(code)
}

// nvim is a running Neovim.
type nvim struct {
	t      *testing.T
	exe    string
	root   string // the workspace
	socket string
	env    []string
	quit   func() // ends it and waits for that
}

// each runs a test in every version of Neovim, at the same time as other tests.
func each(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			program(t, v) // before anything is set up that would miss it
			t.Parallel()
			test(t, v)
		})
	}
}

// environment returns the variables that Neovim, and the server it starts, run with.
// url is the fake Gemini's; empty: there are no credentials.
func environment(t *testing.T, root, url string) []string {
	t.Helper()
	home := t.TempDir()
	plugin, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color", "HOME=" + home,
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "NVIM_LOG_FILE=" + filepath.Join(home, "nvim.log"), "XDG_RUNTIME_DIR=" + home,
		"REDLINE_PLUGIN=" + plugin, "REDLINE_BIN=" + editortest.Binary(t), "REDLINE_ROOT=" + root,
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

// start starts a headless Neovim in root. It is ended with the test.
func start(t *testing.T, version, root, url string, more ...string) *nvim {
	t.Helper()
	n := &nvim{t: t, exe: program(t, version), root: root, env: append(environment(t, root, url), more...)}
	dir, err := os.MkdirTemp("", "nv") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	n.socket = filepath.Join(dir, "s")
	init, err := filepath.Abs("testdata/init.lua")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, n.exe, "--clean", "--headless", "--listen", n.socket, "--cmd", "luafile "+init)
	cmd.Dir, cmd.Env, cmd.WaitDelay = root, n.env, 10*time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("Neovim did not start: %q %v %s", line, err, stderr.String())
	}
	n.quit = sync.OnceFunc(func() {
		quit := exec.Command(n.exe, "--server", n.socket, "--remote-expr", `execute("qall!")`)
		quit.Env = n.env
		_ = quit.Run() // it may have ended on the way to the answer
		if err := cmd.Wait(); err != nil {
			t.Errorf("Neovim ended with %v: %s", err, stderr.String())
		}
		if s := stderr.String(); strings.Contains(s, "Error") {
			t.Errorf("Neovim reported errors:\n%s", s)
		}
	})
	t.Cleanup(n.quit)
	return n
}

// lua runs Lua code in Neovim and decodes what it returns into result, unless that
// is nil.
func (n *nvim) lua(code string, result any) {
	n.t.Helper()
	file := filepath.Join(n.t.TempDir(), "code.lua")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.exe, "--server", n.socket, "--remote-expr", fmt.Sprintf("v:lua.redline_eval(%q)", file))
	cmd.Env = n.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		n.t.Fatalf("run Lua: %v\n%s\n%s", err, stderr.String(), code)
	}
	var got struct {
		Value json.RawMessage
		Error string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		n.t.Fatalf("Neovim answered %q %q: %v", out, stderr.String(), err)
	}
	if got.Error != "" {
		n.t.Fatalf("%s\n--- in\n%s", got.Error, code)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(got.Value, result); err != nil {
		n.t.Fatalf("decode %s: %v", got.Value, err)
	}
}

// get is lua with a result of type T.
func get[T any](n *nvim, code string) T {
	n.t.Helper()
	var v T
	n.lua(code, &v)
	return v
}

// keys types keys, in the notation of Neovim's maps, and waits until they are used up.
func (n *nvim) keys(keys string) {
	n.t.Helper()
	n.lua(fmt.Sprintf("vim.api.nvim_feedkeys(vim.keycode(%s), 'tx', false)", quote(keys)), nil)
}

// quote returns s as a Lua string.
func quote(s string) string {
	level := ""
	for strings.Contains(s, "]"+level+"]") {
		level += "="
	}
	return "[" + level + "[\n" + s + "]" + level + "]"
}

// told returns the output or error of each function response that the model got with
// request i.
func told(t *testing.T, srv *geminitest.Server, i int) []string {
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
	return out
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
