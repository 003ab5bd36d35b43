package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/agent/model"
	"redline/workspace"
)

// lastTexts returns the plain texts in the last message of request i.
func lastTexts(m *agenttest.Model, i int) string {
	reqs := m.Requests()
	if i >= len(reqs) {
		return ""
	}
	var out []string
	cs := reqs[i].Contents
	for _, p := range cs[len(cs)-1].Parts {
		if v := p.Value(); v.Text != "" {
			out = append(out, v.Text)
		}
	}
	return strings.Join(out, "\n")
}

func atTurn(o *agent.Options) { o.ReviewAt = agent.AtTurn }

// Edits of several steps are one proposal at the end of the turn; tools see what is
// staged, the responses do not claim more than that, and the verdict comes with the
// next prompt when everything was taken.
func TestReviewAtTurn(t *testing.T) {
	m := agenttest.NewModel()
	var seen []*workspace.Proposal
	accept := decider(func(_ int, h *workspace.Hunk) { h.State = workspace.Accepted })
	f := newFixture(t, m, accept, atTurn)
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{f.replace("two", "zwei")}},
		agenttest.Step{Calls: []agenttest.Call{
			{Name: "grep_search", Args: map[string]any{"pattern": "zwei"}},
			{Name: "read_file", Args: map[string]any{"path": "a.txt"}},
			{Name: "write_file", Args: map[string]any{"file_path": "new.txt", "content": "neu\n"}},
		}},
		agenttest.Step{Calls: []agenttest.Call{
			{Name: "list_directory", Args: map[string]any{"path": "."}},
			{Name: "glob", Args: map[string]any{"pattern": "new*"}},
			{Name: "read_many_files", Args: map[string]any{"paths": []string{"new.txt"}}},
			f.replace("four", "vier"),
		}},
		agenttest.Step{Text: []string{"done"}},
		agenttest.Step{Text: []string{"welcome"}},
	)
	for _, ev := range f.run(t, "x") {
		if p, ok := ev.Body.(agent.ProposalUpdated); ok {
			seen = append(seen, p.Proposal)
		}
	}
	if len(seen) == 0 || len(seen[0].Files) != 2 || len(seen[0].Files[0].Hunks) != 2 {
		t.Fatalf("proposals: %+v", seen)
	}
	for _, p := range seen {
		if p.ID != seen[0].ID {
			t.Errorf("a second proposal: %+v", p)
		}
	}
	r1, r2, r3 := m.Responses(1), m.Responses(2), m.Responses(3)
	if !strings.HasPrefix(r1[0].Output, "Staged, not yet reviewed: ") {
		t.Errorf("told %+v", r1)
	}
	if !strings.Contains(r2[0].Output, "L2: zwei") || !strings.Contains(r2[1].Output, "zwei") || !strings.HasPrefix(r2[2].Output, "Staged, not yet") {
		t.Errorf("told %+v", r2)
	}
	for i, want := range []string{"new.txt", "new.txt", "neu", "Staged, not yet"} {
		if !strings.Contains(r3[i].Output, want) {
			t.Errorf("call %d sees %+v, want %q", i, r3[i], want)
		}
	}
	if n := len(m.Requests()); n != 4 {
		t.Errorf("%d requests before the next prompt, want 4", n)
	}
	f.run(t, "thanks")
	told := lastTexts(m, 4)
	if strings.Count(told, "Successfully modified file") != 2 || !strings.Contains(told, "Successfully created") || !strings.HasSuffix(told, "thanks") {
		t.Errorf("with the next prompt the model was told %q", told)
	}
}

// What was not taken is told before the turn ends, with the reason.
func TestReviewAtTurnRejected(t *testing.T) {
	m := agenttest.NewModel()
	f := newFixture(t, m, decider(func(_ int, h *workspace.Hunk) { h.State, h.Reason = workspace.Rejected, "not like this" }), atTurn)
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{f.replace("two", "zwei")}},
		agenttest.Step{Text: []string{"done"}},
		agenttest.Step{Text: []string{"I see"}},
	)
	evs := f.run(t, "x")
	if told := lastTexts(m, 2); !strings.Contains(told, "not like this") || !strings.Contains(told, "replace") {
		t.Errorf("the model was told %q", told)
	}
	if end := ended(evs); end.Status != agent.Completed {
		t.Errorf("ended %+v", end)
	}
	var last agent.CallStatus
	for _, ev := range evs {
		if u, ok := ev.Body.(agent.ToolUpdated); ok {
			last = u.Status
		}
	}
	if last != agent.CallRejected {
		t.Errorf("the call ends %s", last)
	}
}

// A command needs the disk: what is staged is reviewed before it is asked for.
func TestReviewAtTurnBeforeCommand(t *testing.T) {
	m := agenttest.NewModel()
	f := newFixture(t, m, nil, func(o *agent.Options) {
		atTurn(o)
		o.Reviewer = acceptToDisk{}
		o.Mode = agent.ModeDefault
		o.Commands.Allow = []string{"cat"}
	})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{f.replace("two", "zwei")}},
		agenttest.Step{Calls: []agenttest.Call{{Name: "run_shell_command", Args: map[string]any{"command": "cat a.txt"}}}},
		agenttest.Step{Text: []string{"done"}},
	)
	f.run(t, "x")
	if r := m.Responses(2); len(r) != 1 || !strings.Contains(r[0].Output, "zwei") {
		t.Errorf("the command saw %+v", r)
	}
	if told := lastTexts(m, 2); !strings.Contains(told, "Successfully modified") {
		t.Errorf("the model was told %q", told)
	}
}

// acceptToDisk accepts everything and writes it.
type acceptToDisk struct{}

func (acceptToDisk) Review(_ context.Context, p *workspace.Proposal, _ bool, updated func()) error {
	for _, f := range p.Files {
		if err := (workspace.Disk{}).Apply(f, f.Hunks); err != nil {
			return err
		}
	}
	p.Finish()
	updated()
	return nil
}

// gated decides when it is told to.
type gated struct {
	asked chan *workspace.Proposal
	gate  chan struct{}
}

func (g *gated) Review(ctx context.Context, p *workspace.Proposal, _ bool, updated func()) error {
	updated()
	g.asked <- p.Clone()
	select {
	case <-g.gate:
	case <-ctx.Done():
		return ctx.Err()
	}
	for h := range p.Hunks() {
		h.State = workspace.Accepted
	}
	p.Finish()
	updated()
	return nil
}

// A turn that is cancelled loses nothing: what it staged is open for review, and
// the model is told both that, and later the verdict.
func TestCancelKeepsLayer(t *testing.T) {
	m := agenttest.NewModel()
	g := &gated{asked: make(chan *workspace.Proposal, 4), gate: make(chan struct{})}
	f := newFixture(t, m, g, atTurn)
	started := make(chan struct{})
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{f.replace("two", "zwei")}},
		agenttest.Step{Hang: true, Started: started},
		agenttest.Step{Text: []string{"ok"}},
		agenttest.Step{Text: []string{"ok"}},
	)
	if _, err := f.Prompt(context.Background(), agent.Message{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	<-started
	f.Cancel("")
	if end := ended(f.wait()); end.Status != agent.Cancelled {
		t.Fatalf("ended %+v", end)
	}
	p := <-g.asked
	if p.State != workspace.Open || len(p.Files) != 1 {
		t.Fatalf("proposal %+v", p)
	}
	f.run(t, "and now?")
	if told := lastTexts(m, 2); !strings.Contains(told, "were reviewed") || !strings.Contains(told, "can still decide") {
		t.Errorf("the model was told %q", told)
	}
	valid(t, m.Requests()[2].Contents)
	close(g.gate)
	for ev := range f.events {
		if u, ok := ev.Body.(agent.ToolUpdated); ok && u.Status == agent.CallCompleted && u.Name == "replace" {
			break
		}
	}
	f.SettleReviews()
	f.run(t, "thanks")
	if told := lastTexts(m, 3); !strings.Contains(told, "Successfully modified") {
		t.Errorf("the model was told %q", told)
	}
}

// The session ends while a layer is open: it stays open, nobody is told otherwise.
func TestCloseLeavesOpen(t *testing.T) {
	m := agenttest.NewModel()
	g := &gated{asked: make(chan *workspace.Proposal, 4), gate: make(chan struct{})}
	f := newFixture(t, m, g, atTurn)
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{f.replace("two", "zwei")}},
		agenttest.Step{Text: []string{"done"}},
	)
	if _, err := f.Prompt(context.Background(), agent.Message{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	<-g.asked
	f.Close()
	for {
		select {
		case ev := <-f.events:
			if p, ok := ev.Body.(agent.ProposalUpdated); ok && p.Proposal.State != workspace.Open {
				t.Errorf("the proposal became %s", p.Proposal.State)
			}
			continue
		default:
		}
		break
	}
	if data, _ := os.ReadFile(filepath.Join(f.dir, "a.txt")); !strings.Contains(string(data), "two") {
		t.Errorf("the file is %s", data)
	}
}

func valid(t *testing.T, cs []model.Content) {
	t.Helper()
	for i, c := range cs {
		if want := []model.Role{model.RoleUser, model.RoleModel}[i%2]; c.Role != want {
			t.Errorf("message %d has role %s", i, c.Role)
		}
	}
}
