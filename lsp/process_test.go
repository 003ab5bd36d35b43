//go:build unix

package lsp_test

import (
	"os"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// What commands left running is listed to the client, which can stop it.
func TestProcesses(t *testing.T) {
	p := lsptest.VSCode()
	m := agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{{Name: "run_shell_command", Args: map[string]any{"command": "echo up; sleep 1003", "is_background": true}}}},
		agenttest.Step{Text: []string{"ok"}})
	e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{Personality: &p, Handlers: map[string]lsptest.Handler{"agent/approve": lsptest.Approve("once")}})
	session := newSession(e)
	var got lsp.ProcessList
	e.MustCall("agent/process/list", lsp.ProcessParams{SessionID: session}, &got)
	if got.Processes == nil || len(got.Processes) != 0 {
		t.Errorf("at first: %+v", got)
	}
	if status, err := ended(e, prompt(e, session, "x")); status != "completed" {
		t.Fatalf("turn %s: %v", status, err)
	}
	e.MustCall("agent/process/list", lsp.ProcessParams{SessionID: session}, &got)
	if len(got.Processes) != 1 || !got.Processes[0].Running || !strings.HasPrefix(got.Processes[0].Command, "echo up") || got.Processes[0].StartedAt == "" {
		t.Fatalf("listed %+v", got)
	}
	if _, err := os.Stat(got.Processes[0].LogFile.Path()); err != nil {
		t.Errorf("its log: %v", err)
	}
	if err := e.Call("agent/process/stop", lsp.ProcessParams{SessionID: session, PID: 1}, nil); err == nil || !strings.Contains(err.Error(), "no background process") {
		t.Errorf("stopping what is not ours: %v", err)
	}
	e.MustCall("agent/process/stop", lsp.ProcessParams{SessionID: session, PID: got.Processes[0].PID}, &got)
	if len(got.Processes) != 1 || got.Processes[0].Running {
		t.Errorf("once stopped: %+v", got)
	}
}

// A command that is allowed sees what is unsaved when the user agrees to save it,
// and the model is told what it did not see.
func TestSaveBeforeAllowedCommand(t *testing.T) {
	for _, c := range []struct {
		answer, want string
		dirty        bool
	}{
		{"once", "// typed\n", false},
		{"reject", "Note: the command saw these files as they are on disk, without the changes that are unsaved in the editor: main.go.", true},
	} {
		t.Run(c.answer, func(t *testing.T) {
			p := lsptest.VSCode()
			m := agenttest.NewModel(
				agenttest.Step{Calls: []agenttest.Call{{Name: "run_shell_command", Args: map[string]any{"command": "cat main.go"}}}},
				agenttest.Step{Text: []string{"ok"}})
			e := lsptest.NewEditor(t, server(m, func(o *lsp.Options) {
				before := o.Settings
				o.Settings = func(folders []string) (lsp.Settings, error) {
					set, err := before(folders)
					set.Commands.Allow = []string{"cat"}
					return set, err
				}
			}), lsptest.Options{
				Personality: &p, Files: map[string]string{"main.go": greeting},
				Handlers: map[string]lsptest.Handler{"agent/approve": lsptest.Approve(c.answer)},
			})
			session := newSession(e)
			e.Open("main.go")
			e.Replace("main.go", "package", "// typed\npackage")
			if status, err := ended(e, prompt(e, session, "x")); status != "completed" {
				t.Fatalf("turn %s: %v", status, err)
			}
			if r := m.Responses(1)[0]; !strings.Contains(r.Output, c.want) {
				t.Errorf("told %+v", r)
			}
			if e.Dirty("main.go") != c.dirty {
				t.Errorf("dirty: %v", e.Dirty("main.go"))
			}
		})
	}
}
