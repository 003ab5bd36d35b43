//go:build linux

package vscode_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

// TestVSCodeQuickStart is the README's quick start, step by step, with nothing set up: the
// server is found where go install puts it, a key is refused and another taken, and the first change is
// asked for and accepted.
func TestVSCodeQuickStart(t *testing.T) {
	installed(t)
	dir := workspace(t, map[string]string{"hello.go": "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n"})
	hello := filepath.Join(dir, "hello.go")
	srv := geminitest.New(t,
		geminitest.Do(edit(hello, "func main() {\n", "// main greets the world.\nfunc main() {\n")),
		geminitest.Say("`main` has its comment."),
	)
	w := start(t, setup{
		folder: dir,
		env: map[string]string{
			"GOOGLE_GEMINI_BASE_URL": srv.URL,
			"GOBIN":                  filepath.Dir(editortest.Binary(t)), // as after go install
		},
		settings: map[string]any{"redline.server.path": ""},
		open:     []string{"hello.go"},
	})
	w.run("Redline: Get Started")
	w.wait(".getting-started-step", "The server")
	w.wait(`.getting-started-step .codicon-getting-started-step-checked`, "") // it was found
	w.click(`.getting-started-step:has-text("Sign in")`)
	w.wait(".getting-started-step.expanded", "With a Gemini API key")
	w.shot("1-walkthrough")
	w.do(command{"op": "click", "sel": ".getting-started-step.expanded .monaco-button", "has": "Sign in"})
	w.wait(".quick-input-widget", "Gemini API key")
	w.shot("2-methods")
	w.do(command{"op": "click", "sel": ".quick-input-list .monaco-list-row", "has": "Gemini API key"})
	w.wait(".quick-input-widget input[type=password]", "")
	w.typeText("wrong-key")
	w.press("Enter")
	w.wait(".quick-input-widget", "API key not valid")
	w.shot("2-refused")
	w.typeText(geminitest.DefaultKey)
	w.press("Enter")
	w.wait(".notification-toast", "signed in (Gemini API key")
	w.shot("3-signed-in")
	w.openFile("hello.go")
	w.ask("Write a comment for main.")
	w.inView(".review-widget", "main greets the world.")
	w.shot("4-change")
	w.click(`.review-widget .comment-body a:has-text("Accept")`)
	w.waitEditor("// main greets the world.")
	w.waitChat(".answer", "has its comment.")
	w.shot("5-accepted")
	w.run("File: Save All")
	w.gone(".tab.dirty")
	if !strings.Contains(read(t, hello), "// main greets the world.\nfunc main() {") {
		t.Errorf("hello.go: %s", read(t, hello))
	}

	// The menu of the status bar, and out of it the way back.
	w.click(`.statusbar-item[id="redline.redline.redline.status"], .statusbar-item[id*="redline.status"]`)
	w.wait(".quick-input-widget", "Sign in another way")
	w.shot("6-menu")
	w.press("Escape")
	if settings := read(t, filepath.Join(w.data, "Machine", "settings.json")) + read(t, filepath.Join(w.data, "User", "settings.json")); strings.Contains(settings, geminitest.DefaultKey) {
		t.Error("the key is in the settings")
	}
}
