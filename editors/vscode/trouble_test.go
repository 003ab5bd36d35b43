//go:build linux

package vscode_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

// TestVSCodeNoKey asks without a key: the chat says what to do, and the key that is
// then given reaches the server.
func TestVSCodeNoKey(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"a.txt": "text\n"})
	srv := geminitest.New(t, geminitest.Say("Now I can answer."))
	w := start(t, setup{
		folder:   dir,
		env:      map[string]string{"GOOGLE_GEMINI_BASE_URL": srv.URL},
		settings: map[string]any{"workbench.colorTheme": "Default High Contrast"},
	})
	w.ask("Hello")
	w.waitChat(".notice.error", "GEMINI_API_KEY")
	w.waitChat(".notice.error button", "Set API key…")
	w.shot("1-message")
	w.clickChat(`.notice.error button:has-text("Set API key…")`)
	w.wait(".quick-input-widget input[type=password]", "")
	w.shot("2-ask")
	w.typeText(geminitest.DefaultKey)
	w.press("Enter")
	w.gone(".quick-input-widget")
	w.ask("Hello again")
	w.waitChat(".answer", "Now I can answer.")
	if settings := read(t, filepath.Join(w.data, "User", "settings.json")); strings.Contains(settings, geminitest.DefaultKey) {
		t.Error("the key is in the settings")
	}
}

// TestVSCodeNoServer starts without a server program: the user is told, and builds it from the
// source, points at another one, or goes to the setting. A server that is too new is refused with
// what to do; the right one is started without a reload. On the way the extension's own
// start is measured.
func TestVSCodeNoServer(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"a.txt": "text\n"})
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	env := map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOBIN": bin, "GOFLAGS": "-buildvcs=false"}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOTOOLCHAIN"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env[name] = strings.TrimSpace(string(out))
	}
	// The list of extensions, slowest first, draws what is in view only.
	w := start(t, setup{folder: dir, env: env, settings: map[string]any{"redline.server.path": ""}, height: 2400})
	toast := func(button string) {
		t.Helper()
		w.do(command{"op": "click", "sel": ".notification-toast .monaco-button", "has": button})
	}
	path := func(title, text string) { // into the dialog for files, which takes its time with each
		t.Helper()
		w.wait(".quick-input-titlebar", title)
		w.wait(".quick-input-list .monaco-list-row", "")
		w.do(command{"op": "fill", "sel": ".quick-input-widget input[type=text]", "text": text})
		for range 20 {
			w.press("Enter")
			if _, err := w.try(command{"op": "gone", "sel": `.quick-input-titlebar:has-text("` + title + `")`, "timeout": 5000}); err == nil {
				return
			}
		}
		t.Fatalf("%q does not take %s", title, text)
	}
	w.wait(".notification-toast", "The redline program was not found")
	w.wait(".statusbar-item.error-kind, .statusbar-item.has-background-color", "Redline: no server")
	w.shot("1-toast")
	toast("Build with Go")
	path("The folder with redline's source", dir)
	w.wait(".notification-toast", "this is not redline's source")
	w.shot("1-no-source")
	toast("Choose Another")
	path("The folder with redline's source", source)
	w.wait(".notification-toast", "the server is built and runs ("+filepath.Join(bin, "redline"))
	w.shot("1-built")
	w.run("Notifications: Clear All Notifications")

	w.configure("redline.server.path", filepath.Join(dir, "nothing-here"))
	w.wait(".notification-toast", "There is no program at")
	toast("Open Setting")
	w.wait(".settings-editor .setting-item-label", "Path")
	w.shot("2-setting")
	w.press("Escape")
	w.run("Redline: Choose the Server's Program")
	path("The redline program", filepath.Join(bin, "redline"))
	w.gone(`.statusbar-item:has-text("Redline: no server")`)
	if s := read(t, filepath.Join(w.data, "Machine", "settings.json")); !strings.Contains(s, filepath.Join(bin, "redline")) {
		t.Errorf("what was chosen is not in the settings: %s", s)
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tooNew := filepath.Join(t.TempDir(), "redline")
	script := "#!/bin/sh\nexport " + fakeServer + "=/dev/null\nexport " + fakeHello + `='{"serverInfo":{"name":"redline","version":"9.0"},"capabilities":{"experimental":{"redline":{"version":9,"minVersion":9}}}}'` + "\nexec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(tooNew, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	w.configure("redline.server.path", tooNew)
	w.wait(".notification-toast", "is too new for this extension. Update the extension")
	w.wait(".statusbar-item", "Redline: server down")
	w.shot("3-too-new")
	w.press("Escape") // the settings
	w.configure("redline.server.path", editortest.Binary(t))
	w.gone(`.statusbar-item:has-text("Redline: server down")`)
	w.wait(".statusbar-item", "Redline")

	// The server's arguments and the trace act when they are changed.
	trace := filepath.Join(t.TempDir(), "trace")
	w.configure("redline.trace.server", "verbose")
	w.configure("redline.server.args", []string{"--trace", trace})
	for deadline := time.Now().Add(patience); ; {
		if data, err := os.ReadFile(trace); err == nil && strings.Contains(string(data), "verbose") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server was not told to trace")
		}
		w.until("true") // lets the editor work
	}

	w.run("Developer: Show Running Extensions")
	w.wait(".runtime-extensions-editor .extension", "Redline")
	w.shot("4-running")
	var rows []string
	if err := json.Unmarshal(w.do(command{"op": "texts", "sel": ".runtime-extensions-editor .extension"}), &rows); err != nil {
		t.Fatal(err)
	}
	took := activations(t, rows)
	t.Logf("activation of the extensions, in ms: %v", took)
	ms, ok := took["Redline"]
	if !ok {
		t.Fatal("the editor does not say how long Redline took to activate")
	}
	// A busy machine multiplies all: the editor's own of a like size are measured beside ours.
	if beside := max(took["JSON Language Features"], took["Emmet"]); ms > maxActivation && ms > beside {
		t.Errorf("activation takes %d ms; %d are allowed, or what the editor's own take: %d", ms, maxActivation, beside)
	}
}

// maxActivation is how long the extension may take to load and activate, in milliseconds.
const maxActivation = 60

// activation is how the host tells that.
var activation = regexp.MustCompile(`Activation: (\d+)ms`)

// activations returns how long extensions took to load and activate, in milliseconds, by name.
func activations(t *testing.T, rows []string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, r := range rows {
		name, _, _ := strings.Cut(strings.TrimSpace(r), "\n")
		if m := activation.FindStringSubmatch(r); m != nil {
			ms, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			out[strings.TrimSpace(name)] = ms
		}
	}
	return out
}

// configure changes a setting of the machine, by its file.
func (w *workbench) configure(name string, value any) {
	w.t.Helper()
	file := filepath.Join(w.data, "Machine", "settings.json")
	var settings map[string]any
	if err := json.Unmarshal([]byte(read(w.t, file)), &settings); err != nil {
		w.t.Fatal(err)
	}
	settings[name] = value
	data, err := json.Marshal(settings)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// TestVSCodeServerDies kills the server in the middle of a review: it is started again,
// the session goes on, and what it had proposed is there to decide on.
func TestVSCodeServerDies(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"a.txt": "one\ntwo\n"})
	srv := geminitest.New(t,
		geminitest.Do(edit(filepath.Join(dir, "a.txt"), "two\n", "2\n")),
		geminitest.Say("I am back."),
	)
	w := start(t, setup{
		folder: dir,
		env:    map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		open:   []string{"a.txt"},
	})
	w.ask("Change it.")
	w.inView(".review-widget", "Change 1 of 1")
	pid, err := serverOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.waitChat(".notice.warning", "ended in the middle of the turn")
	w.waitChat(".notice", "Stopped.") // as the resumed session tells
	w.inView(".review-widget", "Change 1 of 1")
	w.shot("1-again")
	w.click(`.review-widget .comment-body a:has-text("Accept")`)
	w.gone(".review-widget")
	w.waitEditor("2")
	w.waitChat(".proposal.closed .verdict", "Accepted")
	w.ask("Still there?")
	w.waitChat(".answer", "I am back.")
	w.shot("2-back")
	if said := srv.Requests()[1].Last().Texts(); !strings.Contains(said, "was reviewed. All of it is in the files now.") {
		t.Errorf("the model was told: %s", said)
	}
}

// serverOf finds the redline server that an editor started in dir.
func serverOf(dir string) (int, error) {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, p := range procs {
		cwd, err := os.Readlink(filepath.Join(p, "cwd"))
		if err != nil || cwd != dir {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join(p, "cmdline"))
		if err == nil && strings.Contains(string(cmdline), "\x00serve\x00") {
			return strconv.Atoi(filepath.Base(p))
		}
	}
	return 0, fmt.Errorf("no redline server runs in %s", dir)
}
