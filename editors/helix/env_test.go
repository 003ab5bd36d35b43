// Package helix_test drives real Helixes, without a plugin, against the real redline binary
// and a fake Gemini, with the languages.toml of this folder. The Helixes are installed by
// testenv/install.sh; without them the tests are skipped, except where REDLINE_CI is 1.
package helix_test

import (
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

// versions are the Helixes that the page is true for.
var versions = []string{"25.01", "25.07"}

func TestMain(m *testing.M) {
	code := m.Run()
	editortest.Clean()
	os.Exit(code)
}

// program returns the path of a Helix, or skips the test.
func program(t *testing.T, version string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a real editor is not driven in short mode")
	}
	path := filepath.Join(editortest.Prefix(t), "helix-"+version, "hx")
	if _, err := os.Stat(path); err != nil {
		editortest.Missing(t, "there is no Helix "+version+"; run editors/helix/testenv/install.sh")
	}
	return path
}

// each runs a test in every version of Helix, at the same time as other tests.
func each(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			program(t, v)
			t.Parallel()
			test(t, v)
		})
	}
}

// helix is a Helix in a terminal, used by keys.
type helix struct {
	*editortest.Terminal
	t       *testing.T
	version string
	root    string
	home    string
}

// start starts a Helix on a file of root. url is the fake Gemini's; empty: there are no
// credentials. config is added to Helix' config.toml.
func start(t *testing.T, version, root, url, file, config string) *helix {
	t.Helper()
	h := &helix{t: t, version: version, root: root, home: t.TempDir()}
	languages, err := os.ReadFile("languages.toml")
	if err != nil {
		t.Fatal(err)
	}
	// What is typed is what gets there; 25.07 runs nothing of a folder that is not trusted.
	config = "[editor]\nauto-pairs = false\ninsert-final-newline = false\n" + config
	if version != "25.01" {
		config += "\n[editor.workspace-trust]\nlevel = \"insecure\"\n"
	}
	put(t, filepath.Join(h.home, "config/helix/languages.toml"), string(languages))
	put(t, filepath.Join(h.home, "config/helix/config.toml"), config)
	// "redline" on the PATH, as a user has it, with a trace to wait by.
	shim := filepath.Join(h.home, "bin/redline")
	put(t, shim, fmt.Sprintf("#!/bin/sh\nexec %q \"$@\" --trace %q\n", editortest.Binary(t), h.trace()))
	if err := os.Chmod(shim, 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + filepath.Dir(shim) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + h.home,
		"XDG_CONFIG_HOME=" + filepath.Join(h.home, "config"), "XDG_CACHE_HOME=" + filepath.Join(h.home, "cache"),
		"XDG_STATE_HOME=" + filepath.Join(h.home, "state"), "XDG_RUNTIME_DIR=" + h.home,
	}
	if url != "" {
		env = append(env, "GOOGLE_GEMINI_BASE_URL="+url, "GEMINI_API_KEY="+geminitest.DefaultKey)
	}
	// A marker of a root, so that Helix does not look for one above.
	if err := os.MkdirAll(filepath.Join(root, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.Terminal = editortest.StartTerminal(t, root, env, 110, 30, program(t, version), file)
	h.traced("textDocument/didOpen", 1)
	return h
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

func (h *helix) trace() string { return filepath.Join(h.home, "trace") }

// traced waits until a text was n times on the wire.
func (h *helix) traced(text string, n int) {
	h.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		if h.sent(text) >= n {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("waited in vain for %s %d times on the wire; the screen:\n%s", text, n, h.Screen())
		}
		time.Sleep(15 * time.Millisecond) // between two looks
	}
}

// insert types a text where the cursor is. A key that follows Escape at once would count as
// Alt with that key, so it is waited for what Escape does.
func (h *helix) insert(text string) {
	h.t.Helper()
	h.Keys("i")
	h.See(" INS ")
	h.Text(text)
	h.See(text)
	h.Keys("Escape")
	h.See(" NOR ")
}

// sent counts how often a text was on the wire.
func (h *helix) sent(text string) int {
	data, _ := os.ReadFile(h.trace()) // not there yet
	return strings.Count(string(data), text)
}

// command types a command of Helix' own.
func (h *helix) command(line string) {
	h.t.Helper()
	h.Text(":" + line)
	h.Keys("Enter")
}

// redline runs a command of the server.
func (h *helix) redline(command string) {
	h.t.Helper()
	h.command("lsp-workspace-command redline." + command)
}

// statusLine is what Helix shows of the file in the only or the focused window.
var statusLine = regexp.MustCompile(`(?m)(NOR|INS|SEL) +[⣾⣽⣻⢿⡿⣟⣯⣷ ]? *(\S+)`)

// open shows a file, and nothing else, with the cursor at a 1-based line.
func (h *helix) open(file string, line int) {
	h.t.Helper()
	h.command(fmt.Sprintf("open %s:%d", file, line))
	h.Until(file, func(s string) bool {
		m := statusLine.FindStringSubmatch(s)
		return m != nil && strings.HasSuffix(m[2], file) && strings.Contains(s, fmt.Sprintf(" %d:", line))
	})
}

// actions opens the menu of code actions and returns what is in it.
func (h *helix) actions() []string {
	h.t.Helper()
	h.Keys("Space", "a")
	s := h.Until("code actions", func(s string) bool {
		return strings.Contains(s, " Redline: ") || strings.Contains(s, "No code actions available")
	})
	var out []string
	for _, l := range strings.Split(s, "\n") {
		if _, title, ok := strings.Cut(l, " Redline: "); ok {
			title, _, _ = strings.Cut(title, "  ")
			out = append(out, strings.TrimSpace(title))
		}
	}
	return out
}

// act runs the code action whose title begins so, without "Redline: ".
func (h *helix) act(title string) {
	h.t.Helper()
	list := h.actions()
	for i, l := range list {
		if strings.HasPrefix(l, title) {
			for range i { // the first one is chosen already
				h.Keys("Down")
			}
			h.Keys("Enter")
			return
		}
	}
	h.t.Fatalf("there is no code action %q in %q", title, list)
}

// marks counts the changes that wait, as the list of all diagnostics has them.
func (h *helix) marks() int {
	h.t.Helper()
	h.Keys("Space", "D")
	h.Until("the list of diagnostics", func(s string) bool { return listed.MatchString(s) })
	s := h.Still()
	h.Keys("Escape")
	h.Until("the list to close", func(s string) bool { return !listed.MatchString(s) })
	return strings.Count(s, "Redline propos")
}

// listed is what the head of a list of Helix' shows: how many there are.
var listed = regexp.MustCompile(`\d+/\d+`)

// idle waits until no turn runs: the spinner is gone.
func (h *helix) idle() {
	h.t.Helper()
	h.Until("the end of the turn", func(s string) bool { return !strings.ContainsAny(s, "⣾⣽⣻⢿⡿⣟⣯⣷") })
}

// clean takes out of a screen what is different each time.
func (h *helix) clean(s string) string {
	s = regexp.MustCompile("[⣾⣽⣻⢿⡿⣟⣯⣷]").ReplaceAllString(s, "⣾")
	// With the process' number; cut where it does not fit.
	s = regexp.MustCompile(`documents/changes-[-\d]*(\.diff)? +(\d+ sel)`).ReplaceAllString(s, "documents/changes-4242-1.diff  $2")
	s = regexp.MustCompile(`chat-\d{4}-\d\d-\d\d`).ReplaceAllString(s, "chat-2026-01-02")
	s = regexp.MustCompile(`/tmp/\S+ *│`).ReplaceAllString(s, "/home/you/greet"+strings.Repeat(" ", 63)+"│")
	return s
}
