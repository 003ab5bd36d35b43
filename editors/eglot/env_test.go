// Package eglot_test drives a real Emacs with eglot and nothing of ours, by keys in a
// terminal, against the real redline binary and a fake Gemini. What goes into its init.el is
// what the README says. Emacs is installed by editors/emacs/testenv/install.sh; without it the
// tests are skipped, except where REDLINE_CI is 1.
package eglot_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	editortest.Clean()
	os.Exit(code)
}

// program returns the path of Emacs, or skips the test.
func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a real editor is not driven in short mode")
	}
	path := filepath.Join(editortest.Prefix(t), "emacs-30", "emacs")
	if _, err := os.Stat(path); err != nil {
		editortest.Missing(t, "there is no Emacs 30; run editors/emacs/testenv/install.sh")
	}
	return path
}

// emacs is an Emacs in a terminal, used by keys.
type emacs struct {
	*editortest.Terminal
	t    *testing.T
	root string
	home string
}

// quiet is what the tests want of Emacs beyond the README: nothing written beside the
// files, and nothing on the screen that is not about redline.
const quiet = `
(setq make-backup-files nil auto-save-default nil create-lockfiles nil inhibit-startup-screen t
      native-comp-jit-compilation nil native-comp-enable-subr-trampolines nil
      eglot-sync-connect 30 use-short-answers t ring-bell-function 'ignore extended-command-suggest-shorter nil
      suggest-key-bindings nil require-final-newline nil mode-require-final-newline nil)
(menu-bar-mode -1)
`

// start starts an Emacs on a file of root and connects eglot. url is the fake Gemini's;
// empty: there are no credentials.
func start(t *testing.T, root, url, file string) *emacs {
	t.Helper()
	e := &emacs{t: t, root: root, home: t.TempDir()}
	exe := program(t)
	put(t, filepath.Join(e.home, "init.el"), quiet+snippet(t))
	shim := filepath.Join(e.home, "bin/redline")
	put(t, shim, fmt.Sprintf("#!/bin/sh\nexec %q \"$@\" --trace %q\n", editortest.Binary(t), e.trace()))
	if err := os.Chmod(shim, 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + filepath.Dir(shim) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + e.home,
		"XDG_STATE_HOME=" + filepath.Join(e.home, "state"), "XDG_RUNTIME_DIR=" + e.home,
	}
	if url != "" {
		env = append(env, "GOOGLE_GEMINI_BASE_URL="+url, "GEMINI_API_KEY="+geminitest.DefaultKey)
	}
	if err := os.MkdirAll(filepath.Join(root, ".git"), 0o755); err != nil { // a project
		t.Fatal(err)
	}
	e.Terminal = editortest.StartTerminal(t, root, env, 110, 30, exe, "-Q", "-nw", "-l", filepath.Join(e.home, "init.el"), file)
	t.Cleanup(func() {
		if dir := os.Getenv("REDLINE_KEEP"); dir != "" && t.Failed() {
			if data, err := os.ReadFile(e.trace()); err == nil {
				_ = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-")+".trace"), data, 0o600) // to look at
			}
		}
	})
	e.See("--") // the mode line
	e.mx("eglot")
	e.See("[eglot:")
	e.traced("textDocument/didOpen", 1)
	return e
}

// snippet returns the Emacs Lisp of the README.
func snippet(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "```elisp\n")
	code, _, end := strings.Cut(rest, "```")
	if !ok || !end {
		t.Fatal("there is no Emacs Lisp in README.md")
	}
	return code
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (e *emacs) trace() string { return filepath.Join(e.home, "trace") }

// sent counts how often a text was on the wire.
func (e *emacs) sent(text string) int {
	data, _ := os.ReadFile(e.trace()) // not there yet
	return strings.Count(string(data), text)
}

// traced waits until a text was n times on the wire.
func (e *emacs) traced(text string, n int) {
	e.t.Helper()
	e.until(fmt.Sprintf("%s %d times on the wire", text, n), func() bool { return e.sent(text) >= n })
}

func (e *emacs) until(what string, ok func() bool) {
	e.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			e.t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(15 * time.Millisecond) // between two looks
	}
}

// mx runs a command by its name.
func (e *emacs) mx(command string) {
	e.t.Helper()
	e.Keys("M-x")
	e.See("M-x")
	e.Text(command)
	e.Keys("Enter")
}

// ask asks redline.
func (e *emacs) ask(prompt string) {
	e.t.Helper()
	e.mx("my-redline")
	e.See("Redline:")
	e.Text(prompt)
	e.Keys("Enter")
}

// do runs another command of redline's.
func (e *emacs) do(command string) {
	e.t.Helper()
	e.mx("my-redline-do")
	e.See("Redline:")
	e.Text(command)
	e.Keys("Enter")
}

// open shows a file in the only window, with the cursor at a 1-based line.
func (e *emacs) open(file string, line int) {
	e.t.Helper()
	e.Keys("C-x", "1", "C-x", "C-f")
	e.See("Find file:")
	e.Text(filepath.Join(e.root, file))
	e.Keys("Enter")
	e.Until(file, func(s string) bool {
		return strings.Contains(s, filepath.Base(file)+" ") && !strings.Contains(s, "Find file:")
	})
	e.Keys("M-g", "g")
	e.See("Goto line")
	e.Text(fmt.Sprint(line))
	e.Keys("Enter")
	e.Until(fmt.Sprintf("line %d", line), func(s string) bool {
		return !strings.Contains(s, "Goto line") && regexp.MustCompile(fmt.Sprintf(` L%d\b`, line)).MatchString(s)
	})
}

// act runs the code action with that title, without "Redline: ". Like a person it then stops
// until an edit is done: eglot tells of changes only when nothing is typed for a moment.
func (e *emacs) act(title string) {
	e.t.Helper()
	edits := e.sent(`"workspace/applyEdit"`)
	changes := e.sent(`"textDocument/didChange"`)
	e.mx("eglot-code-actions")
	e.See("Pick an action")
	e.Text("Redline: " + title)
	e.Keys("Enter")
	e.Gone("Pick an action")
	if strings.HasPrefix(title, "accept") {
		e.traced(`"workspace/applyEdit"`, edits+1)
		e.until("the change", func() bool {
			return e.sent(`"textDocument/didChange"`) > changes || strings.Contains(e.Screen(), "read-only on disk.")
		})
	}
}

// marks counts the changes that wait, in all files, as flymake lists them.
func (e *emacs) marks() int {
	e.t.Helper()
	e.mx("flymake-show-project-diagnostics")
	e.See("*Flymake diagnostics for")
	s := e.Still()
	e.Keys("C-x", "1")
	e.Gone("*Flymake diagnostics for")
	return strings.Count(s, "Redline propos")
}

// idle waits until no turn runs: the mode line shows no progress.
func (e *emacs) idle() {
	e.t.Helper()
	e.Until("the end of the turn", func(s string) bool {
		return strings.Contains(s, "[eglot:") && !strings.Contains(s, "/?%")
	})
}

// clean takes out of a screen what is different each time.
func (e *emacs) clean(s string) string {
	s = regexp.MustCompile(`changes-\d+-`).ReplaceAllString(s, "changes-4242-")
	s = strings.ReplaceAll(s, "/100%", "") // of turns that are over; eglot shows it for a while
	s = regexp.MustCompile(`(?m)-{5,}$`).ReplaceAllString(s, "-----")
	return regexp.MustCompile(`/tmp/\S+`).ReplaceAllString(s, "/home/you/greet")
}

// told returns what the model was told with its request i of its calls.
func told(t *testing.T, srv *geminitest.Server, i int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
	return strings.Join(out, "\n---\n")
}
