package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/agent/geminitest"
	"redline/lsp/lsptest"
)

// killable is [binary] with a home that outlives the process, and a way to kill it.
func killable(t *testing.T, home string, gemini *geminitest.Server, opt lsptest.Options, args ...string) (*lsptest.Editor, *exec.Cmd) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"serve", "--model", "gemini-test"}, args...)...)
	cmd.Args[0] = "redline" // what TestMain goes by
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "REDLINE_HOME=" + home, "GORACE=atexit_sleep_ms=0",
		"GOOGLE_GEMINI_BASE_URL=" + gemini.URL, "GEMINI_API_KEY=" + geminitest.DefaultKey,
	}
	return lsptest.NewEditor(t, lsptest.Process(cmd), opt), cmd
}

func kill(e *lsptest.Editor, cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	e.Vanish()
	_ = e.WaitEnd()
}

type wireProposal struct {
	ProposalID, State string
	Rev               int
	Files             []struct {
		FileID string
		Hunks  []struct{ HunkID, State, Reason string }
	}
}

// openProposal waits for a proposal that can be decided.
func openProposal(t *testing.T, e *lsptest.Editor) wireProposal {
	t.Helper()
	var got struct{ Proposal wireProposal }
	e.WaitEvent(func(ev lsptest.Event) bool {
		if ev.Type != "proposal/updated" {
			return false
		}
		got.Proposal = wireProposal{}
		return ev.Decode(&got) == nil && got.Proposal.State == "open"
	})
	return got.Proposal
}

// Kill -9 in the middle of a review, and everything goes on in the next process: what
// was decided stays decided, what was open is open, and the model is told.
func TestKilledInReview(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	gemini := geminitest.New(t,
		geminitest.Do(
			geminitest.NewCall("replace", map[string]any{"file_path": filepath.Join(root, "a.go"), "old_string": "one", "new_string": "ONE"}),
			geminitest.NewCall("replace", map[string]any{"file_path": filepath.Join(root, "b.go"), "old_string": "two", "new_string": "TWO"}),
		),
		geminitest.Say("I see."),
	)
	files := map[string]string{"a.go": "// one\n", "b.go": "// two\n"}
	e, cmd := killable(t, home, gemini, lsptest.Options{Root: root, Files: files})
	e.Open("a.go")
	e.Open("b.go")
	session, _ := ask(e, "shout")
	p := openProposal(t, e)
	e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev, "decisions": []any{
		map[string]any{"target": map[string]any{"fileId": p.Files[0].FileID}, "decision": "accept"},
	}}, nil)
	e.Save("a.go")
	kill(e, cmd)

	e, _ = killable(t, home, gemini, lsptest.Options{Root: root})
	e.Open("a.go")
	e.Open("b.go")
	e.Type("b.go", lsptest.Position{}, "// typed after the crash\n")
	var list struct {
		Sessions []struct {
			SessionID, Title string
			LastSeq          int64
		}
	}
	e.MustCall("agent/session/list", map[string]any{}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != session || list.Sessions[0].Title != "shout" {
		t.Fatalf("sessions: %+v", list)
	}
	var info struct{ LastSeq, Turns int }
	e.MustCall("agent/session/resume", map[string]any{"sessionId": session}, &info)
	status := e.WaitEvent(lsptest.OfType("turn/ended"))
	if !strings.Contains(string(status.Raw), `"interrupted"`) {
		t.Errorf("the turn ended with %s", status.Raw)
	}
	var again wireProposal
	e.MustCall("agent/proposal/get", map[string]any{"proposalId": p.ProposalID}, &again)
	if again.State != "open" || again.Files[0].Hunks[0].State != "accepted" || again.Files[1].Hunks[0].State != "pending" {
		t.Fatalf("proposal after the crash: %+v", again)
	}
	e.MustCall("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": again.Rev, "decisions": []any{
		map[string]any{"target": map[string]any{"hunkId": again.Files[1].Hunks[0].HunkID}, "decision": "accept"},
	}}, &again)
	if again.State != "settled" {
		t.Errorf("proposal after the decision: %+v", again)
	}
	if a, b := e.Text("a.go"), e.Text("b.go"); a != "// ONE\n" || b != "// typed after the crash\n// TWO\n" {
		t.Errorf("documents %q and %q", a, b)
	}
	var turn struct{ TurnID string }
	e.MustCall("agent/prompt", map[string]any{"sessionId": session, "text": "and now?"}, &turn)
	if status, message := end(t, e, turn.TurnID); status != "completed" {
		t.Fatalf("turn %s: %s", status, message)
	}
	reqs := gemini.Requests()
	last := reqs[len(reqs)-1].Last()
	rs := last.Responses()
	if len(rs) != 2 {
		t.Fatalf("responses: %+v", rs)
	}
	for i, r := range rs {
		out, _ := r.Output()
		if !strings.Contains(out, "Interrupted") || !strings.Contains(out, "review") {
			t.Errorf("response %d: %q", i, out)
		}
	}
	if text := last.Texts(); !strings.Contains(text, "All of it is in the files now") || !strings.Contains(text, "and now?") {
		t.Errorf("the model was told %q", text)
	}
}

// The process is killed at random moments while it talks, edits and is decided on.
// Afterwards the session can always be resumed, the model's service takes the history
// (the fake checks it), and what had been acknowledged is there.
func TestKilledAtRandom(t *testing.T) {
	runs := 6
	if testing.Short() {
		runs = 2
	}
	for i := range runs {
		rnd := rand.New(rand.NewPCG(uint64(i), 5))
		t.Run(fmt.Sprint(i), func(t *testing.T) { killAtRandom(t, time.Duration(rnd.IntN(120))*time.Millisecond) })
	}
}

func killAtRandom(t *testing.T, after time.Duration) {
	home, root := t.TempDir(), t.TempDir()
	var steps []geminitest.Step
	for i := range 40 {
		steps = append(steps, optional(geminitest.Do(
			geminitest.NewCall("read_file", map[string]any{"path": "a.go"}),
			geminitest.NewCall("replace", map[string]any{"file_path": filepath.Join(root, "a.go"), "old_string": fmt.Sprintf("line %d\n", i), "new_string": fmt.Sprintf("LINE %d\n", i)}),
		)))
	}
	gemini := geminitest.New(t, steps...)
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	e, cmd := killable(t, home, gemini, lsptest.Options{Root: root, Files: map[string]string{"a.go": text.String()}})
	e.Open("a.go")
	session, _ := ask(e, "acknowledged prompt")
	openProposal(t, e)
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	accepted := map[string]int{} // proposals whose acceptance was acknowledged
	for seen := 0; ; {
		var p wireProposal
		over := false
		for _, ev := range e.Events(session)[seen:] {
			seen++
			var got struct{ Proposal wireProposal }
			if ev.Type == "proposal/updated" && ev.Decode(&got) == nil && got.Proposal.State == "open" && accepted[got.Proposal.ProposalID] == 0 {
				p = got.Proposal
			}
			over = over || ev.Type == "turn/ended"
		}
		if over {
			break
		}
		if p.ProposalID == "" {
			if !e.Go("agent/usage/get", map[string]any{"sessionId": session}).WaitOrEnd(nil) {
				break
			}
			continue
		}
		var after wireProposal
		if !e.Go("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": p.Rev, "decisions": []any{map[string]any{"target": "all", "decision": "accept"}}}).WaitOrEnd(&after) {
			break
		}
		accepted[p.ProposalID] = 1
	}
	lastSeq := int64(0)
	if evs := e.Events(session); len(evs) > 0 {
		lastSeq = int64(evs[len(evs)-1].Seq)
	}
	document := e.Text("a.go")
	kill(e, cmd)

	next := geminitest.New(t, optional(geminitest.Say("Hello again.")))
	e, _ = killable(t, home, next, lsptest.Options{Root: root, Files: map[string]string{"a.go": document}})
	e.Open("a.go")
	var info struct{ LastSeq int64 }
	e.MustCall("agent/session/resume", map[string]any{"sessionId": session}, &info)
	if info.LastSeq < lastSeq {
		t.Errorf("event %d was sent, %d are known", lastSeq, info.LastSeq)
	}
	var list struct{ Proposals []wireProposal }
	e.MustCall("agent/proposal/list", map[string]any{"sessionId": session}, &list)
	for _, p := range list.Proposals {
		if accepted[p.ProposalID] == 1 && (p.State != "settled" || p.Files[0].Hunks[0].State != "accepted") {
			t.Errorf("the acknowledged proposal is %+v", p)
		}
		delete(accepted, p.ProposalID)
	}
	if len(accepted) > 0 {
		t.Errorf("acknowledged proposals are lost: %v", accepted)
	}
	// What the model did is taken back by the first checkpoint, but for the edit that
	// was on its way when the process died: nobody knows whose text that is.
	e.MustCall("agent/checkpoint/restore", map[string]any{"checkpointId": session + ".k1"}, nil)
	if n := strings.Count(e.Text("a.go"), "LINE"); n > 1 || strings.Count(e.Text("a.go"), "\n") != 40 {
		t.Errorf("%d edits are left after going back:\n%s", n, e.Text("a.go"))
	}
	var turn struct{ TurnID string }
	e.MustCall("agent/prompt", map[string]any{"sessionId": session, "text": "go on"}, &turn)
	if status, message := end(t, e, turn.TurnID); status != "completed" {
		t.Fatalf("turn %s: %s", status, message)
	}
	if req := next.Requests()[0]; !strings.Contains(string(req.Raw), "acknowledged prompt") {
		t.Error("the acknowledged prompt is lost")
	}
}

func optional(s geminitest.Step) geminitest.Step {
	s.Optional = true
	return s
}
