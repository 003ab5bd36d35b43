package lsp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/agent/journal"
	"redline/lsp"
	"redline/lsp/lsptest"
	"redline/workspace/blob"
)

// keeping returns a server that keeps sessions in home.
func keeping(m *agenttest.Model, home string) lsptest.Server {
	return server(m, func(o *lsp.Options) {
		o.Journal = &journal.Store{Dir: filepath.Join(home, "sessions")}
		o.Blobs = &blob.Store{Dir: filepath.Join(home, "checkpoints")}
	})
}

type wireRewind struct {
	Edit             json.RawMessage
	Diff             string
	Skipped          []string
	UndoCheckpointID string
}

func writeCall(file, content string) agenttest.Call {
	return agenttest.Call{Name: "write_file", Args: map[string]any{"file_path": file, "content": content}}
}

// Two turns edit, create and delete; the user types in between. Going back takes the
// model's edits out and leaves the user's; what cannot be merged is named and left; and
// going back can be undone, also in the next process.
func TestCheckpoints(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	m := agenttest.NewModel()
	e := lsptest.NewEditor(t, keeping(m, home), lsptest.Options{Root: root, Files: map[string]string{
		"main.go": greeting, "b.txt": "b1\nb2\nb3\n",
	}})
	var info lsp.SessionInfo
	e.MustCall("agent/session/new", map[string]any{"mode": "autoEdit"}, &info)
	session := info.SessionID
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `"hello"`, `"good day"`), writeCall("new.txt", "new\n"), replaceCall(e, "b.txt", "b2", "B2")}},
		agenttest.Step{Text: []string{"One."}},
		agenttest.Step{Calls: []agenttest.Call{replaceCall(e, "main.go", `"good day"`, `"good evening"`), replaceCall(e, "main.go", `"bye"`, `"farewell"`)}},
		agenttest.Step{Text: []string{"Two."}},
		agenttest.Step{Text: []string{"Three."}},
	)
	e.Open("main.go")
	e.Open("b.txt")
	ended(e, prompt(e, session, "turn one"))
	e.Type("main.go", lsptest.Position{}, "// typed\n")
	ended(e, prompt(e, session, "turn two"))
	e.Replace("b.txt", "B2", "B2 and mine")
	for _, f := range []string{"main.go", "b.txt", "new.txt"} {
		if e.IsOpen(f) {
			e.Save(f)
		}
	}
	edited := e.Text("main.go")

	var list lsp.CheckpointList
	e.MustCall("agent/checkpoint/list", map[string]any{"sessionId": session}, &list)
	if len(list.Checkpoints) != 2 || list.Checkpoints[0].Title != "turn one" || len(list.Checkpoints[0].Files) != 3 || len(list.Checkpoints[1].Files) != 1 {
		t.Fatalf("checkpoints: %+v", list)
	}
	first := list.Checkpoints[0].CheckpointID
	var pre, res wireRewind
	e.MustCall("agent/checkpoint/preview", map[string]any{"checkpointId": first}, &pre)
	if !strings.Contains(pre.Diff, "+\treturn \"hello\"") || len(pre.Skipped) != 1 || e.Text("main.go") != edited {
		t.Errorf("preview: %+v", pre)
	}
	e.MustCall("agent/checkpoint/restore", map[string]any{"checkpointId": first, "scope": "both"}, &res)
	if got := e.Text("main.go"); got != "// typed\n"+greeting {
		t.Errorf("main.go is\n%s", got)
	}
	if got := e.Text("b.txt"); got != "b1\nB2 and mine\nb3\n" {
		t.Errorf("what the user changed is %q", got)
	}
	if len(res.Skipped) != 1 || !strings.HasSuffix(res.Skipped[0], "b.txt") || res.UndoCheckpointID == "" {
		t.Errorf("restored: %+v", res)
	}
	if _, err := os.Stat(e.Path("new.txt")); err == nil && e.IsOpen("new.txt") && e.Text("new.txt") != "" {
		t.Error("new.txt is still there")
	}
	ended(e, prompt(e, session, "and now"))
	reqs := m.Requests()
	last := reqs[len(reqs)-1].Contents
	if text := last[len(last)-1].Text(); len(last) != 1 || !strings.Contains(text, "took files back") || !strings.Contains(text, "b.txt") || !strings.Contains(text, "and now") {
		t.Errorf("after going back the model gets %d messages, the last %q", len(last), text)
	}
	e.Save("main.go")
	if err := e.Shutdown(); err != nil {
		t.Errorf("shutdown: %v", err)
	}

	m2 := agenttest.NewModel()
	e = lsptest.NewEditor(t, keeping(m2, home), lsptest.Options{Root: root})
	e.Open("main.go")
	e.MustCall("agent/session/resume", map[string]any{"sessionId": session}, nil)
	e.MustCall("agent/checkpoint/restore", map[string]any{"checkpointId": res.UndoCheckpointID}, &res)
	if got := e.Text("main.go"); got != edited {
		t.Errorf("after the undo main.go is\n%s", got)
	}
	if err := e.Call("agent/checkpoint/restore", map[string]any{"checkpointId": session + ".k99"}, nil); err == nil || !strings.Contains(err.Error(), "no such checkpoint") {
		t.Errorf("an unknown checkpoint: %v", err)
	}
	if err := e.Call("agent/checkpoint/restore", map[string]any{"checkpointId": first, "scope": "all"}, nil); err == nil || !strings.Contains(err.Error(), "scope") {
		t.Errorf("an unknown scope: %v", err)
	}
}

// Fork, close, resume and delete through the protocol; two processes cannot have one
// session.
func TestSavedSessions(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	m := agenttest.NewModel(agenttest.Step{Text: []string{"One."}}, agenttest.Step{Text: []string{"Two."}}, agenttest.Step{Text: []string{"Forked."}})
	e := lsptest.NewEditor(t, keeping(m, home), lsptest.Options{Root: root})
	session := newSession(e)
	if err := e.Call("agent/session/fork", map[string]any{"sessionId": session}, nil); err == nil || !strings.Contains(err.Error(), "nothing was said") {
		t.Errorf("fork of an empty session: %v", err)
	}
	ended(e, prompt(e, session, "first"))
	second := prompt(e, session, "second")
	ended(e, second)
	var fork lsp.SessionInfo
	e.MustCall("agent/session/fork", map[string]any{"sessionId": session, "beforeTurnId": second}, &fork)
	if fork.SessionID == session || fork.Turns != 1 || fork.Title != "Fork of first" {
		t.Fatalf("fork: %+v", fork)
	}
	e.MustCall("agent/session/resume", map[string]any{"sessionId": fork.SessionID}, nil)
	ended(e, prompt(e, fork.SessionID, "third"))
	cs := m.Requests()[2].Contents
	if len(cs) != 3 || !strings.Contains(cs[0].Text(), "first") || cs[1].Text() != "One." || strings.Contains(cs[2].Text(), "second") {
		t.Errorf("the fork was sent %+v", cs)
	}
	if err := e.Call("agent/session/fork", map[string]any{"sessionId": session, "beforeTurnId": "nonsense"}, nil); err == nil || !strings.Contains(err.Error(), "beforeTurnId") {
		t.Errorf("fork before an unknown turn: %v", err)
	}

	other := lsptest.NewEditor(t, keeping(agenttest.NewModel(), home), lsptest.Options{Root: root})
	if err := other.Call("agent/session/resume", map[string]any{"sessionId": session}, nil); err == nil || !strings.Contains(err.Error(), "open in another redline process") {
		t.Errorf("a session in use: %v", err)
	}
	e.MustCall("agent/session/close", map[string]any{"sessionId": session}, nil)
	other.MustCall("agent/session/resume", map[string]any{"sessionId": session}, nil)
	if err := e.Call("agent/session/delete", map[string]any{"sessionId": session}, nil); err == nil {
		t.Error("a session in use was deleted")
	}
	other.MustCall("agent/session/delete", map[string]any{"sessionId": session}, nil)
	if err := other.Call("agent/session/resume", map[string]any{"sessionId": session}, nil); err == nil {
		t.Error("a deleted session was resumed")
	}
	var list lsp.SessionList
	other.MustCall("agent/session/list", map[string]any{}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != fork.SessionID {
		t.Errorf("sessions: %+v", list)
	}
}
