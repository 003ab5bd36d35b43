package lsp_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// Vim-lsp tells of a change in a buffer that is not in front only when the user goes there:
// the user is told so, and the change counts as what it is.
func TestVimLSPTellsLater(t *testing.T) {
	m := agenttest.NewModel()
	p := lsptest.VimLSP()
	e := lsptest.NewEditor(t, server(m, func(o *lsp.Options) {
		o.Review, o.Timing.Review = "codeAction", time.Minute
	}), lsptest.Options{Personality: &p, Plain: true, Files: map[string]string{"main.go": greeting, "other.go": "package main\n"}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `return "hello"`, `return "hi"`)}},
		agenttest.Step{Text: []string{"That is it."}},
	)
	e.Open("main.go")
	e.Open("other.go") // is in front now
	if err := command(e, "ask", "shorter"); err != nil {
		t.Fatal(err)
	}
	e.WaitFor("a hint", func() bool { return len(e.Diagnostics("main.go")) == 1 })
	var diff struct{ URI string }
	e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.showDiff"}, &diff)
	if data, err := os.ReadFile(lsptest.PathOf(diff.URI)); err != nil || !strings.Contains(string(data), `+	return "hi"`) {
		t.Errorf("the difference is answered as %q: %v\n%s", diff.URI, err, data)
	}
	if err := command(e, "accept"); err != nil {
		t.Fatal(err)
	}
	says(e, "go to the buffer main.go, so that vim-lsp tells of the change")
	e.Type("other.go", lsptest.Position{}, "// typed\n")
	if len(m.Requests()) != 1 {
		t.Fatal("the model was told before the document was seen")
	}
	e.Open("main.go")
	says(e, "That is it.")
	if r := m.Responses(1)[0]; r.Error != "" {
		t.Errorf("the model was told %+v", r)
	}
}

// A new file is a new buffer of Vim's, which has a line end already.
func TestVimLSPNewFile(t *testing.T) {
	m := agenttest.NewModel()
	p := lsptest.VimLSP()
	e := lsptest.NewEditor(t, server(m, func(o *lsp.Options) {
		o.Review, o.Timing.Review = "codeAction", time.Minute
	}), lsptest.Options{Personality: &p, Plain: true, Files: map[string]string{"main.go": greeting}})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{writeCall(e.Path("doc/new.md"), "# new\n\ntext\n")}},
		agenttest.Step{Text: []string{"There it is."}},
	)
	e.Open("main.go")
	if err := command(e, "ask", "a page"); err != nil {
		t.Fatal(err)
	}
	says(e, "1 change in doc/new.md")
	if err := command(e, "accept"); err != nil {
		t.Fatal(err)
	}
	says(e, "go to the buffer doc/new.md")
	e.Open("doc/new.md")
	says(e, "There it is.")
	if got := e.Text("doc/new.md"); got != "# new\n\ntext\n" {
		t.Errorf("the buffer has %q", got)
	}
	if r := m.Responses(1)[0]; r.Error != "" {
		t.Errorf("the model was told %+v", r)
	}
}
