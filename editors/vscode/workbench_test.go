//go:build linux

package vscode_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"redline/editors/editortest"
)

// patience is how long is waited for what must come, on a machine that has other work: what comes
// ends the wait.
const patience = 3 * time.Minute

// workbench is a running VS Code with a browser on it.
type workbench struct {
	t     *testing.T
	in    io.Writer
	out   *bufio.Reader
	shots string // folder for pictures; empty: none are kept
	name  string // prefix of the pictures
	data  string // folder of the editor's data
	log   *syncBuffer
}

// setup says what a workbench is started with.
type setup struct {
	folder   string            // the workspace
	file     string            // its .code-workspace, where it has several folders
	env      map[string]string // of the editor, and with it of the redline server; "" removes
	settings map[string]any    // beside those every test has
	open     []string          // files opened at the start
	height   int               // of the window; 900 by default
}

// start runs the workbench on a loopback port and opens it.
func start(t *testing.T, s setup) *workbench {
	t.Helper()
	env := found(t)
	exts := extensions(t, env)
	home := t.TempDir()
	settings := map[string]any{
		"redline.server.path":                          editortest.Binary(t),
		"workbench.startupEditor":                      "none",
		"workbench.enableExperiments":                  false,
		"workbench.tips.enabled":                       false,
		"workbench.secondarySideBar.defaultVisibility": "hidden",
		"security.workspace.trust.enabled":             false,
		"telemetry.telemetryLevel":                     "off",
		"extensions.ignoreRecommendations":             true,
		"extensions.autoUpdate":                        false,
		"update.mode":                                  "none",
		"git.enabled":                                  false,
		"npm.autoDetect":                               "off",
		"files.autoSave":                               "off",
		"window.dialogStyle":                           "custom",
		"editor.cursorBlinking":                        "solid",
		"chat.commandCenter.enabled":                   false,
		"chat.disableAIFeatures":                       true,
	}
	for k, v := range s.settings {
		settings[k] = v
	}
	data, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	// Where the server's program is belongs to the machine the editor's server runs on.
	for _, level := range []string{"User", "Machine"} {
		dir := filepath.Join(home, "server", "data", level)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	w := &workbench{t: t, data: filepath.Join(home, "server", "data"), log: &syncBuffer{}, name: strings.ToLower(strings.TrimPrefix(t.Name(), "TestVSCode"))}
	if w.shots = os.Getenv("REDLINE_SHOTS"); w.shots != "" {
		if err := os.MkdirAll(w.shots, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	code := exec.Command(env.node, "out/server-main.js", "--host", "127.0.0.1", "--port", "0", "--without-connection-token",
		"--accept-server-license-terms", "--telemetry-level", "off",
		"--server-data-dir", filepath.Join(home, "server"), "--extensions-dir", exts)
	code.Dir = env.code
	code.Env = environ(home, s.env)
	stdout, err := code.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	code.Stderr = w.log
	startProcess(t, code)
	port := boundPort(t, stdout, w.log)

	browser := exec.Command(env.node, "testenv/driver.mjs", env.root, env.chromium)
	browser.Env = environ(home, nil)
	browser.Stderr = w.log
	in, err := browser.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := browser.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startProcess(t, browser)
	t.Cleanup(func() {
		if t.Failed() {
			w.keepFailure()
		}
		in.Close() // the driver closes the browser and ends
	})
	w.in, w.out = in, bufio.NewReaderSize(out, 1<<20)

	u := url.URL{Scheme: "http", Host: "127.0.0.1:" + port, Path: "/", RawQuery: url.Values{"folder": {s.folder}}.Encode()}
	if s.file != "" {
		u.RawQuery = url.Values{"workspace": {s.file}}.Encode()
	}
	if s.height == 0 {
		s.height = 900
	}
	w.do(command{"op": "open", "url": u.String(), "height": s.height})
	w.wait(".statusbar-item", "Redline") // the extension is there
	for _, f := range s.open {
		w.do(command{"op": "quick", "text": f})
	}
	return w
}

// environ is the environment of a child: its own home, and none of what would reach
// a model by accident.
func environ(home string, more map[string]string) []string {
	set := map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "XDG_STATE_HOME": filepath.Join(home, ".local", "state"),
		"XDG_CACHE_HOME": filepath.Join(home, ".cache"), "XDG_DATA_HOME": filepath.Join(home, ".local", "share"),
		"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "", "GOOGLE_GEMINI_BASE_URL": "", "GEMINI_MODEL": "", "REDLINE_HOME": filepath.Join(home, "redline"),
		"HTTPS_PROXY": "", "HTTP_PROXY": "", "https_proxy": "", "http_proxy": "", "SHELL": "/bin/sh", "LANG": "C.UTF-8",
	}
	for k, v := range more {
		set[k] = v
	}
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if _, ours := set[name]; !ours && !strings.HasPrefix(name, "VSCODE_") {
			out = append(out, kv)
		}
	}
	for k, v := range set {
		if v != "" {
			out = append(out, k+"="+v)
		}
	}
	return out
}

// startProcess starts cmd in a group of its own, which is ended with the test.
func startProcess(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Children that lead no group of their own go with it.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		done := make(chan struct{})
		go func() { defer close(done); _ = cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-done
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
}

var bound = regexp.MustCompile(`Server bound to 127\.0\.0\.1:(\d+)`)

// boundPort reads the workbench server's output up to its port; the rest goes to log.
func boundPort(t *testing.T, out io.Reader, log io.Writer) string {
	t.Helper()
	ports := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			fmt.Fprintln(log, lines.Text())
			if m := bound.FindStringSubmatch(lines.Text()); m != nil {
				ports <- m[1]
			}
		}
		close(ports)
	}()
	select {
	case p, ok := <-ports:
		if !ok {
			t.Fatalf("the workbench server ended before it listened")
		}
		return p
	case <-time.After(patience):
		t.Fatal("the workbench server does not listen")
	}
	return ""
}

// command is one of driver.mjs.
type command map[string]any

// try runs a command and returns its value.
func (w *workbench) try(c command) (json.RawMessage, error) {
	line, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("driver: %w", err)
	}
	reply, err := w.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("driver: %w", err)
	}
	var answer struct {
		Value json.RawMessage `json:"value"`
		Error string          `json:"error"`
	}
	if err := json.Unmarshal(reply, &answer); err != nil {
		return nil, fmt.Errorf("driver: %w", err)
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%v: %s", c, answer.Error)
	}
	return answer.Value, nil
}

// do is try, failing the test.
func (w *workbench) do(c command) json.RawMessage {
	w.t.Helper()
	v, err := w.try(c)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *workbench) click(sel string) { w.t.Helper(); w.do(command{"op": "click", "sel": sel}) }
func (w *workbench) wait(sel, has string) {
	w.t.Helper()
	w.do(command{"op": "wait", "sel": sel, "has": has})
}
func (w *workbench) gone(sel string)      { w.t.Helper(); w.do(command{"op": "gone", "sel": sel}) }
func (w *workbench) press(key string)     { w.t.Helper(); w.do(command{"op": "press", "key": key}) }
func (w *workbench) typeText(text string) { w.t.Helper(); w.do(command{"op": "type", "text": text}) }
func (w *workbench) run(title string)     { w.t.Helper(); w.do(command{"op": "menu", "text": title}) }
func (w *workbench) openFile(name string) { w.t.Helper(); w.do(command{"op": "quick", "text": name}) }
func (w *workbench) clickChat(sel string) {
	w.t.Helper()
	w.do(command{"op": "click", "in": "chat", "sel": sel})
}
func (w *workbench) waitChat(sel, has string) {
	w.t.Helper()
	w.do(command{"op": "wait", "in": "chat", "sel": sel, "has": has})
}

// until waits until a JavaScript expression of the page is true.
func (w *workbench) until(js string) { w.t.Helper(); w.do(command{"op": "until", "js": js}) }

// shot keeps a picture of the window when they are asked for.
func (w *workbench) shot(name string) {
	w.t.Helper()
	if w.shots != "" {
		w.do(command{"op": "shot", "path": filepath.Join(w.shots, w.name+"-"+name+".png")})
	}
}

// keepFailure saves a picture and prints what the workbench said.
func (w *workbench) keepFailure() {
	dir := w.shots
	if dir == "" {
		dir = os.TempDir()
	}
	path := filepath.Join(dir, w.name+"-failed.png")
	if _, err := w.try(command{"op": "shot", "path": path}); err == nil {
		w.t.Logf("picture: %s", path)
	}
	log := w.log.String()
	if len(log) > 8000 {
		log = log[len(log)-8000:]
	}
	w.t.Logf("workbench:\n%s", log)
}

// syncBuffer collects the output of several processes.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
