package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/agent/geminitest"
	"redline/cmd/internal/signin"
	"redline/lsp/lsptest"
)

// binary returns an editor whose server is this program, as a process of its own,
// with a fake Gemini to talk to (none when nil).
func binary(t *testing.T, gemini *geminitest.Server, opt lsptest.Options, env ...string) *lsptest.Editor {
	t.Helper()
	return binaryWith(t, gemini, opt, []string{"--model", "gemini-test"}, env...)
}

// binaryWith is binary with the flags of serve that are given.
func binaryWith(t *testing.T, gemini *geminitest.Server, opt lsptest.Options, flags []string, env ...string) *lsptest.Editor {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"serve"}, flags...)...)
	cmd.Args[0] = "redline" // what TestMain goes by
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "REDLINE_HOME=" + t.TempDir(), "GORACE=atexit_sleep_ms=0"}
	if gemini != nil {
		cmd.Env = append(cmd.Env, "GOOGLE_GEMINI_BASE_URL="+gemini.URL, "GEMINI_API_KEY="+geminitest.DefaultKey)
	}
	cmd.Env = append(cmd.Env, env...)
	return lsptest.NewEditor(t, lsptest.Process(cmd), opt)
}

func ask(e *lsptest.Editor, text string) (session, turn string) {
	var s struct{ SessionID string }
	e.MustCall("agent/session/new", map[string]any{}, &s)
	var p struct{ TurnID string }
	e.MustCall("agent/prompt", map[string]any{"sessionId": s.SessionID, "text": text}, &p)
	return s.SessionID, p.TurnID
}

func end(t *testing.T, e *lsptest.Editor, turn string) (status, message string) {
	t.Helper()
	var got struct {
		Status string
		Error  struct{ Message string }
	}
	if err := e.WaitEvent(lsptest.InTurn(turn, "turn/ended")).Decode(&got); err != nil {
		t.Fatal(err)
	}
	return got.Status, got.Error.Message
}

// The main job through the real binary and real HTTP: two hunks, one accepted, one
// rejected, and the next request says which was which.
func TestServeMainJob(t *testing.T) {
	root := t.TempDir()
	gemini := geminitest.New(t,
		geminitest.Do(geminitest.NewCall("read_file", map[string]any{"path": "a.go"})),
		geminitest.Do(
			geminitest.NewCall("replace", map[string]any{"file_path": filepath.Join(root, "a.go"), "old_string": "one", "new_string": "ONE"}),
			geminitest.NewCall("replace", map[string]any{"file_path": filepath.Join(root, "b.go"), "old_string": "two", "new_string": "TWO"}),
		),
		geminitest.Say("All ", "done."),
	)
	e := binary(t, gemini, lsptest.Options{Root: root, Files: map[string]string{"a.go": "// one\n", "b.go": "// two\n"}})
	e.Open("a.go")
	e.Type("a.go", lsptest.Position{}, "// unsaved\n")
	_, turn := ask(e, "shout")

	var p struct {
		Proposal struct {
			ProposalID string
			Rev        int
			Files      []struct{ FileID string }
		}
	}
	if err := e.WaitEvent(lsptest.OfType("proposal/updated")).Decode(&p); err != nil {
		t.Fatal(err)
	}
	e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.Proposal.ProposalID, "rev": p.Proposal.Rev, "decisions": []any{
		map[string]any{"target": map[string]any{"fileId": p.Proposal.Files[0].FileID}, "decision": "accept"},
		map[string]any{"target": map[string]any{"fileId": p.Proposal.Files[1].FileID}, "decision": "reject", "reason": "too loud"},
	}}, nil)
	if status, message := end(t, e, turn); status != "completed" {
		t.Fatalf("turn %s: %s", status, message)
	}
	if a, b := e.Text("a.go"), e.Text("b.go"); a != "// unsaved\n// ONE\n" || b != "// two\n" {
		t.Errorf("documents %q and %q", a, b)
	}
	reqs := gemini.Requests()
	if out, _ := reqs[1].Last().Responses()[0].Output(); !strings.Contains(out, "// unsaved") {
		t.Errorf("read_file gave %q", out)
	}
	told := reqs[2].Last().Responses()
	out, failed := told[0].Output()
	if failed || !strings.HasPrefix(out, "Successfully modified file:") {
		t.Errorf("of the accepted one the model was told %q", out)
	}
	if out, failed := told[1].Output(); !failed || !strings.Contains(out, "too loud") {
		t.Errorf("of the rejected one the model was told %q", out)
	}
	if got := reqs[0].Functions(); len(got) < 6 {
		t.Errorf("declared functions: %v", got)
	}
}

func TestServeNoKey(t *testing.T) {
	e := binary(t, nil, lsptest.Options{})
	_, turn := ask(e, "hello")
	if status, message := end(t, e, turn); status != "failed" || message != signin.NoKey {
		t.Errorf("turn %s: %q", status, message)
	}
}

func TestServeUnknownModel(t *testing.T) {
	gemini := geminitest.New(t)
	e := binary(t, gemini, lsptest.Options{})
	var s struct{ SessionID string }
	e.MustCall("agent/session/new", map[string]any{"model": "gemini-nowhere"}, &s)
	var p struct{ TurnID string }
	e.MustCall("agent/prompt", map[string]any{"sessionId": s.SessionID, "text": "x"}, &p)
	if status, message := end(t, e, p.TurnID); status != "failed" || !strings.Contains(message, "gemini-nowhere") {
		t.Errorf("turn %s: %q", status, message)
	}
}

// Malformed JSON is answered, and the connection lives.
func TestServeMalformed(t *testing.T) {
	e := binary(t, nil, lsptest.Options{})
	e.SendRaw([]byte("Content-Length: 9\r\n\r\n{nonsense"))
	e.WaitNotification("error", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "-32700") })
	e.MustCall("agent/tool/list", map[string]any{}, nil)
}

// A client that vanishes in mid-turn: the process ends within a second and leaves
// nothing half written.
func TestServeVanish(t *testing.T) {
	gemini := geminitest.New(t, geminitest.Step{Gate: "never", Optional: true})
	e := binary(t, gemini, lsptest.Options{Files: map[string]string{"a.go": "// one\n"}})
	ask(e, "hello")
	if _, err := gemini.Await(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	e.Vanish()
	_ = e.WaitEnd()
	if d := time.Since(began); d > time.Second {
		t.Errorf("the process took %v to end", d)
	}
	entries, err := os.ReadDir(e.Root())
	if err != nil || len(entries) != 1 {
		t.Errorf("the workspace holds %v (%v)", entries, err)
	}
}

// A folder with settings of its own: the user is asked, once for good, and then they
// count, in this process and in the next.
func TestServeTrust(t *testing.T) {
	home := t.TempDir()
	files := map[string]string{"a.go": "// one\n", ".gemini/settings.json": `{"tools": {"core": ["read_file"]}}`}
	root := t.TempDir()
	for i, answer := range []string{"reject", "always", "reject"} {
		gemini := geminitest.New(t, geminitest.Say("Yes."))
		asked := 0
		e := binary(t, gemini, lsptest.Options{Root: root, Files: files, Handlers: map[string]lsptest.Handler{
			"agent/approve": func(ctx context.Context, raw json.RawMessage) (any, error) {
				asked++
				return lsptest.Approve(answer)(ctx, raw)
			},
		}}, "REDLINE_HOME="+home)
		_, turn := ask(e, "hello")
		if status, message := end(t, e, turn); status != "completed" {
			t.Fatalf("turn %s: %s", status, message)
		}
		reqs := gemini.Requests()
		if got := len(reqs[0].Functions()); (got == 1) != (i > 0) || (asked == 1) != (i < 2) {
			t.Errorf("process %d: %d functions, asked %d times", i, got, asked)
		}
	}
}
