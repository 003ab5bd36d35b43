//go:build linux

package vscode_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

// TestVSCodeFolders opens a workspace of the user's that is not trusted: none of its programs
// is run, and the person is told. Folders that are added and removed while the server runs are
// there for the agent and gone for it, and with trust all of it counts.
func TestVSCodeFolders(t *testing.T) {
	installed(t)
	base := workspace(t, map[string]string{
		"one/a.txt": "one\n", "two/b.txt": "two\n",
		"one/.gemini/settings.json": `{"mcpServers": {"things": {"command": "true"}}}`,
	})
	one, two := filepath.Join(base, "one"), filepath.Join(base, "two")
	// A server of the project's own, which tells that it was run.
	ran, evil := filepath.Join(base, "ran"), filepath.Join(base, "redline")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho run >> '"+ran+"'\nexec '"+editortest.Binary(t)+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "both.code-workspace")
	folders := func(names ...string) {
		t.Helper()
		list := make([]string, len(names))
		for i, n := range names {
			list[i] = `{"path": "` + n + `"}`
		}
		text := `{"folders": [` + strings.Join(list, ", ") + `], "settings": {"redline.server.path": "` + evil + `"}}`
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	folders("one")
	read := func() geminitest.Step {
		return geminitest.Do(geminitest.NewCall("read_file", map[string]any{"file_path": filepath.Join(two, "b.txt")}))
	}
	shell := geminitest.NewCall("run_shell_command", map[string]any{"command": "echo it-ran"})
	srv := geminitest.New(t,
		geminitest.Do(shell), geminitest.Say("No commands here."),
		read(), geminitest.Say("Not there."),
		read(), geminitest.Say("There it is."),
		read(), geminitest.Say("Gone."),
		geminitest.Do(shell), geminitest.Say("It ran."),
	)
	w := start(t, setup{
		folder: one, file: file,
		env:      map[string]string{"GEMINI_API_KEY": geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL": srv.URL},
		settings: map[string]any{"security.workspace.trust.enabled": true, "security.workspace.trust.startupPrompt": "never"},
	})
	last := func() string { return heard(srv) }
	row := func(name string) string {
		return `.explorer-folders-view .monaco-list-row[aria-label^="` + name + `"]`
	}

	// Not trusted: the server is the user's, and no command runs.
	w.wait(".statusbar-item", "Restricted Mode")
	w.ask("Run something.")
	w.waitChat(".notice.warning", "so this is left out")
	w.waitChat(".answer", "No commands here.")
	w.shot("1-restricted")
	if _, err := os.Stat(ran); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the project's program was run (%v)", err)
	}
	if said := last(); !strings.Contains(said, "does not trust this folder") {
		t.Errorf("the model was told %s", said)
	}

	// A folder comes and goes.
	w.ask("Read the other one.")
	w.waitChat(".answer", "Not there.")
	if said := last(); !strings.Contains(said, "outside") {
		t.Errorf("a file outside of the workspace: %s", said)
	}
	w.click(`.activitybar [aria-label^="Explorer"]`)
	folders("one", "two")
	w.wait(row("two"), "")
	w.ask("Read it now.")
	w.waitChat(".answer", "There it is.")
	if said := last(); !strings.Contains(said, "two") || strings.Contains(said, "outside") {
		t.Errorf("a file of the folder that was added: %s", said)
	}
	w.shot("2-two-folders")
	w.click(`.activitybar [aria-label^="Explorer"]`)
	folders("one")
	w.gone(row("two"))
	w.ask("And now?")
	w.waitChat(".answer", "Gone.")
	if said := last(); !strings.Contains(said, "outside") {
		t.Errorf("a file of the folder that was removed: %s", said)
	}

	// Trusted: the project's word counts.
	w.run("Workspaces: Manage Workspace Trust")
	w.do(command{"op": "click", "sel": ".workspace-trust-editor .monaco-button", "has": "Trust"})
	w.gone(`.statusbar-item:has-text("Restricted Mode")`)
	w.click(".monaco-modal-editor-block .codicon-close")
	w.gone(".workspace-trust-editor")
	w.ask("Run it.")
	w.waitChat(".approve", "echo it-ran")
	w.shot("3-trusted")
	w.clickChat(`.approve button:has-text("Run once")`)
	w.waitChat(".answer", "It ran.")
	if said := last(); !strings.Contains(said, "it-ran") {
		t.Errorf("the command's output: %s", said)
	}
	if _, err := os.Stat(ran); err != nil {
		t.Errorf("the server that the workspace names does not run: %v", err)
	}
}

// heard returns what the model was told last: the results of the tools it called.
func heard(srv *geminitest.Server) string {
	requests := srv.Requests()
	var out []string
	for _, r := range requests[len(requests)-1].Last().Responses() {
		text, _ := r.Output()
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}
