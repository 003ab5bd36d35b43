//go:build linux

package vscode_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"redline/agent/geminitest"
)

// TestVSCodeSettings changes, while the editor runs, the settings that are for new sessions,
// for the next window and for the server's process: each acts at once, or it is said when it does.
func TestVSCodeSettings(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"a.txt": "one\ntwo\n", "b.txt": "three\n"})
	a, b := filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")
	srv := geminitest.New(t,
		geminitest.Say("Something."), geminitest.Do(edit(a, "one\n", "1\n")), geminitest.Say("It is applied."),
		geminitest.Do(edit(a, "two\n", "2\n")), geminitest.Do(edit(b, "three\n", "3\n")), geminitest.Say("Both are there."),
		geminitest.Say("I am."), geminitest.Say("Here too."),
	)
	w := start(t, setup{
		folder:   dir,
		env:      map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		settings: map[string]any{"redline.mode": "plan"},
		open:     []string{"a.txt"},
	})
	t.Cleanup(w.endShared)
	toast := func(has, button string) {
		t.Helper()
		w.wait(".notification-toast", has)
		w.do(command{"op": "click", "sel": ".notification-toast .monaco-button", "has": button})
	}
	servers := func(args string) (n int) {
		for _, line := range w.processes() {
			if strings.Contains(line, "\x00serve\x00"+args) {
				n++
			}
		}
		return n
	}

	// The mode: shown before there is a session, and then of the one that is open.
	w.run("Redline: Focus Chat")
	w.waitChat("#mode", "Plan")
	w.configure("redline.mode", "default")
	w.waitChat("#mode", "Review")
	w.ask("Say something.")
	w.waitChat(".answer", "Something.")
	w.configure("redline.mode", "autoEdit")
	w.wait(".notification-toast", "the mode of the settings is for new sessions")
	w.waitChat("#mode", "Review")
	w.shot("1-mode")
	toast("the mode of the settings", "Use It in This Session")
	w.waitChat("#mode", "Auto-edit")
	w.ask("Change one.")
	w.waitChat(".answer", "It is applied.")
	w.waitEditor("1")

	// When edits are reviewed: those of the whole turn, in a new session.
	w.configure("redline.mode", "default")
	toast("the mode of the settings", "Use It in This Session")
	w.waitChat("#mode", "Review")
	w.configure("redline.reviewAt", "turn")
	w.shot("2-review-at")
	toast("when edits are reviewed is for new sessions", "New Session")
	w.waitChat(".welcome", "Ask for a change")
	w.ask("Change two and three.")
	w.wait(".statusbar-item", "Redline: review 2")
	if n := len(srv.Requests()); n < 6 { // both steps went before the review
		t.Errorf("the review came after %d requests", n)
	}
	w.shot("3-turn")
	w.run("Redline: Accept All Changes")
	w.waitChat(".proposal.closed .verdict", "All 2 changes accepted")
	w.do(command{"op": "wait", "in": "chat", "sel": "body:not(.running)"})

	// A window without a session to go on with.
	w.configure("redline.restoreSession", false)
	w.do(command{"op": "reload"})
	w.wait(".statusbar-item", "Redline")
	w.run("Redline: Focus Chat")
	w.waitChat(".welcome", "Ask for a change")
	w.configure("redline.restoreSession", true)
	w.do(command{"op": "reload"})
	w.waitChat(".user", "Change two and three.")

	// One server for two windows: the second one takes up the session of the first.
	w.configure("redline.server.shared", true)
	w.ask("Still there?")
	w.waitChat(".answer", "I am.")
	w.do(command{"op": "window", "n": 1})
	w.wait(".statusbar-item", "Redline")
	w.run("Redline: Sessions")
	w.do(command{"op": "click", "sel": ".quick-input-list .monaco-list-row", "has": "Change two and three."})
	w.waitChat(".answer", "I am.")
	w.shot("4-shared")
	if joined, shared := servers("--remote\x00auto"), servers("--listen\x00"); joined != 2 || shared != 1 {
		t.Errorf("%d windows share %d servers", joined, shared)
	}
	w.ask("And here?")
	w.waitChat(".answer", "Here too.")
	w.do(command{"op": "window", "n": 0})
	w.waitChat(".answer", "Here too.")
}

// endShared ends the server that windows shared; it outlives them for a while.
func (w *workbench) endShared() {
	for pid, line := range w.processes() {
		if strings.Contains(line, "\x00--listen\x00") {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}
}

// processes returns the command lines of redline's processes for this workbench, with NUL
// between the arguments.
func (w *workbench) processes() map[int]string {
	home := "REDLINE_HOME=" + filepath.Join(filepath.Dir(filepath.Dir(w.data)), "redline") + "\x00"
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[int]string{}
	for _, d := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(d))
		line, err := os.ReadFile(filepath.Join(d, "cmdline"))
		env, err2 := os.ReadFile(filepath.Join(d, "environ"))
		if err == nil && err2 == nil && strings.Contains(string(line), "\x00serve\x00") && strings.Contains(string(env), home) {
			out[pid] = string(line)
		}
	}
	return out
}
