package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/agent/model"
	"redline/tools"
	"redline/tools/sandbox"
	"redline/workspace"
)

func TestMain(m *testing.M) {
	sandbox.Helper()
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// decider decides every hunk by a function, at once and without a document.
type decider func(i int, h *workspace.Hunk)

func (d decider) Review(ctx context.Context, p *workspace.Proposal, _ bool, updated func()) error {
	updated()
	if d == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	i := 0
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			d(i, h)
			if h.State == workspace.Accepted {
				f.Land(h, h.New)
			}
			i++
		}
	}
	p.Finish()
	p.Rev++
	updated()
	return ctx.Err()
}

// fixture is a session on a folder with the file a.txt of five lines.
type fixture struct {
	*agent.Session
	dir    string
	events chan agent.Event
}

func newFixture(t *testing.T, m *agenttest.Model, r agent.Reviewer, change func(*agent.Options)) *fixture {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\nthree\nfour\nfive\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{dir: dir, events: make(chan agent.Event, 10_000)}
	opt := agent.Options{
		Workspace: ws, Tools: tools.NewRegistry(tools.Builtin()...), Generator: m.Generator, Reviewer: r,
		Emit: func(ev agent.Event) { f.events <- ev },
	}
	if change != nil {
		change(&opt)
	}
	f.Session = agent.NewSession(opt)
	t.Cleanup(f.Close)
	return f
}

// run prompts and returns the events of the turn.
func (f *fixture) run(t *testing.T, text string) []agent.Event {
	t.Helper()
	if _, err := f.Prompt(context.Background(), agent.Message{Text: text}); err != nil {
		t.Fatal(err)
	}
	return f.wait()
}

func (f *fixture) wait() (out []agent.Event) {
	for ev := range f.events {
		out = append(out, ev)
		if _, ok := ev.Body.(agent.TurnEnded); ok {
			break
		}
	}
	return out
}

func ended(evs []agent.Event) agent.TurnEnded { return evs[len(evs)-1].Body.(agent.TurnEnded) }

func (f *fixture) replace(old, new string) agenttest.Call {
	return agenttest.Call{Name: "replace", Args: map[string]any{"file_path": filepath.Join(f.dir, "a.txt"), "old_string": old, "new_string": new}}
}

// What the model is told of each verdict.
func TestOutcomes(t *testing.T) {
	accept := func(h *workspace.Hunk) { h.State = workspace.Accepted }
	reject := func(h *workspace.Hunk) { h.State, h.Reason = workspace.Rejected, "no" }
	for _, tt := range []struct {
		name   string
		decide decider
		output string
		failed bool
	}{
		{"accepted", func(_ int, h *workspace.Hunk) { accept(h) }, "Successfully overwrote file:", false},
		{"rejected", func(_ int, h *workspace.Hunk) { reject(h) }, "was rejected; nothing of it is in the file. Reason: no", true},
		{"in part", func(i int, h *workspace.Hunk) {
			if i == 0 {
				accept(h)
			} else {
				reject(h)
			}
		}, "Of 2 hunks: 1 accepted, 1 rejected.", false},
		{"amended", func(_ int, h *workspace.Hunk) { h.State, h.Final = workspace.Amended, "mine\n" }, "In the file now stands:\n+mine", false},
		{"conflict", func(_ int, h *workspace.Hunk) { h.State = workspace.Conflicted }, "their text stands", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := agenttest.NewModel(
				agenttest.Step{Calls: []agenttest.Call{{Name: "write_file", Args: map[string]any{"file_path": "a.txt", "content": "ONE\ntwo\nthree\nfour\nFIVE\n"}}}},
				agenttest.Step{Text: []string{"ok"}},
			)
			f := newFixture(t, m, tt.decide, nil)
			f.run(t, "x")
			r := m.Responses(1)[0]
			if (r.Error != "") != tt.failed || !strings.Contains(r.Output+r.Error, tt.output) {
				t.Errorf("the model was told %+v, want %q", r, tt.output)
			}
		})
	}
}

// Edits of one step compose: the second sees what the first one wrote.
func TestEditsCompose(t *testing.T) {
	m := agenttest.NewModel()
	f := newFixture(t, m, decider(func(_ int, h *workspace.Hunk) { h.State = workspace.Accepted }), nil)
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{f.replace("two", "zwei"), f.replace("zwei", "deux"), {Name: "read_file", Args: map[string]any{"path": "a.txt"}}}},
		agenttest.Step{Text: []string{"ok"}},
	)
	var hunks []*workspace.Hunk
	for _, ev := range f.run(t, "x") {
		if p, ok := ev.Body.(agent.ProposalUpdated); ok {
			hunks = p.Proposal.Files[0].Hunks
		}
	}
	if len(hunks) != 1 || hunks[0].New != "deux\n" || len(hunks[0].CallIDs) != 2 {
		t.Errorf("hunks: %+v", hunks)
	}
	rs := m.Responses(1)
	if len(rs) != 3 || !strings.Contains(rs[2].Output, "deux") {
		t.Errorf("responses: %+v", rs)
	}
}

func TestThoughtsAreShownAndNotKept(t *testing.T) {
	m := agenttest.NewModel(
		agenttest.Step{Thought: "**Plan** think hard", Text: []string{"a", "b"}},
		agenttest.Step{Text: []string{"c"}},
	)
	f := newFixture(t, m, nil, nil)
	var thought agent.ThoughtDelta
	for _, ev := range f.run(t, "one") {
		if x, ok := ev.Body.(agent.ThoughtDelta); ok {
			thought = x
		}
	}
	if thought.Subject != "Plan" || thought.Text != "think hard" {
		t.Errorf("thought: %+v", thought)
	}
	f.run(t, "two")
	cs := m.Requests()[1].Contents
	if len(cs) != 3 || cs[1].Text() != "ab" || len(cs[1].Parts) != 1 {
		t.Errorf("history: %+v", cs)
	}
}

func TestLimits(t *testing.T) {
	again := agenttest.Step{Calls: []agenttest.Call{{Name: "list_directory", Args: map[string]any{"path": "."}}}}
	m := agenttest.NewModel(again, again, again)
	f := newFixture(t, m, nil, func(o *agent.Options) { o.MaxSteps, o.MaxTurns = 2, 1 })
	if end := ended(f.run(t, "x")); end.Status != agent.Limit || end.Err == nil {
		t.Errorf("ended %+v", end)
	}
	if _, err := f.Prompt(context.Background(), agent.Message{Text: "y"}); !errors.Is(err, agent.ErrTurnLimit) {
		t.Errorf("a prompt past the limit: %v", err)
	}
}

func TestPromptErrors(t *testing.T) {
	started := make(chan struct{})
	m := agenttest.NewModel(agenttest.Step{Hang: true, Started: started})
	f := newFixture(t, m, nil, nil)
	ctx := context.Background()
	if _, err := f.Prompt(ctx, agent.Message{Text: " \n"}); !errors.Is(err, agent.ErrEmpty) {
		t.Errorf("an empty prompt: %v", err)
	}
	if _, err := f.Steer(agent.Message{Text: "x"}); !errors.Is(err, agent.ErrIdle) {
		t.Errorf("steering nothing: %v", err)
	}
	if _, err := f.Prompt(ctx, agent.Message{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	<-started
	if _, err := f.Prompt(ctx, agent.Message{Text: "y"}); !errors.Is(err, agent.ErrBusy) {
		t.Errorf("a second prompt: %v", err)
	}
	f.Close()
	if _, err := f.Prompt(ctx, agent.Message{Text: "z"}); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("a prompt after the end: %v", err)
	}
}

func TestSteer(t *testing.T) {
	gate, asked := make(chan struct{}), make(chan struct{})
	m := agenttest.NewModel(
		agenttest.Step{Gate: gate, Asked: asked, Text: []string{"working"}},
		agenttest.Step{Text: []string{"as you say"}},
	)
	f := newFixture(t, m, nil, nil)
	if _, err := f.Prompt(context.Background(), agent.Message{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	<-asked
	if _, err := f.Steer(agent.Message{Text: "rather this", Context: []agent.ContextItem{{Kind: "image", MIMEType: "image/png", Data: []byte("pixels")}}}); err != nil {
		t.Fatal(err)
	}
	close(gate)
	f.wait()
	reqs := m.Requests()
	if len(reqs) != 2 || reqs[1].Contents[len(reqs[1].Contents)-1].Text() != "rather this" {
		t.Fatalf("%d requests", len(reqs))
	}
	last := reqs[1].Contents[len(reqs[1].Contents)-1].Parts
	if blob := last[len(last)-1].Value().InlineData; blob == nil || blob.MIMEType != "image/png" || string(blob.Data) != "pixels" {
		t.Errorf("the picture was sent as %+v", last)
	}
}

// Whatever the model does and whenever the user cancels, the next request is valid:
// roles alternate, every call is answered, events have no gap.
func TestHistoryStaysValid(t *testing.T) {
	rounds := uint64(150)
	if testing.Short() {
		rounds = 30
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(seed, 5))
		m := agenttest.NewModel()
		coin := rand.New(rand.NewPCG(seed, 6)) // of the session's goroutine
		f := newFixture(t, m, decider(func(_ int, h *workspace.Hunk) {
			h.State = workspace.HunkState(1 + coin.IntN(2))
		}), nil)
		var steps []agenttest.Step
		for range 12 {
			steps = append(steps, randomStep(r, f))
		}
		*m = *agenttest.NewModel(steps...)
		seq := int64(0)
		for turn := range 4 {
			if _, err := f.Prompt(context.Background(), agent.Message{Text: fmt.Sprint("turn ", turn)}); err != nil {
				t.Fatal(err)
			}
			cancelAt := r.IntN(25)
			for n := 0; ; n++ {
				ev := <-f.events
				if seq++; ev.Seq != seq {
					t.Fatalf("seed %d: event %d has number %d", seed, seq, ev.Seq)
				}
				if n == cancelAt {
					f.Cancel("")
				}
				if _, ok := ev.Body.(agent.TurnEnded); ok {
					break
				}
			}
		}
		for i, req := range m.Requests() {
			if err := check(req.Contents); err != nil {
				t.Fatalf("seed %d, request %d: %v", seed, i, err)
			}
		}
		f.Close()
	}
}

func randomStep(r *rand.Rand, f *fixture) agenttest.Step {
	s := agenttest.Step{}
	for range r.IntN(3) {
		s.Text = append(s.Text, "text ")
	}
	for range r.IntN(4) {
		s.Calls = append(s.Calls, []agenttest.Call{
			{Name: "read_file", Args: map[string]any{"path": "a.txt"}},
			{Name: "nonsense", Args: map[string]any{}},
			{Name: "grep_search", Args: map[string]any{"pattern": "("}},
			f.replace("two", "2"), f.replace("four", "4"),
		}[r.IntN(5)])
	}
	switch r.IntN(8) {
	case 0:
		s.Err = errors.New("broken")
	case 1:
		s.Hang = r.IntN(2) == 0
		if s.Hang {
			s.Err = nil
		}
	case 2:
		s.Finish = genai.FinishReasonMalformedFunctionCall
		s.Calls = nil
	case 3:
		s.Finish = genai.FinishReasonSafety
	}
	if s.Hang {
		// Somebody has to cancel: make it an error instead when nobody may.
		s.Hang, s.Err = false, context.DeadlineExceeded
	}
	return s
}

// check says what the API would refuse.
func check(cs []model.Content) error {
	for i, c := range cs {
		want := model.RoleUser
		if i%2 == 1 {
			want = model.RoleModel
		}
		if c.Role != want {
			return fmt.Errorf("message %d is %s's", i, c.Role)
		}
		if len(c.Parts) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		var calls, answers []string
		for _, p := range c.Parts {
			if fc, ok := p.FunctionCall(); ok {
				calls = append(calls, fc.Name)
			}
		}
		if c.Role != model.RoleModel {
			continue
		}
		if i+1 == len(cs) {
			return fmt.Errorf("the last message is the model's")
		}
		for _, p := range cs[i+1].Parts {
			if fr := p.Value().FunctionResponse; fr != nil {
				answers = append(answers, fr.Name)
			}
		}
		if strings.Join(calls, " ") != strings.Join(answers, " ") {
			return fmt.Errorf("message %d calls %v, answered are %v", i, calls, answers)
		}
	}
	return nil
}

// A tool that crashes is answered like one that fails.
func TestCrashingTool(t *testing.T) {
	m := agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{{Name: "crash", Args: map[string]any{}}}},
		agenttest.Step{Text: []string{"ok"}},
	)
	f := newFixture(t, m, nil, func(o *agent.Options) { o.Tools.Add(crash{}) })
	if end := ended(f.run(t, "x")); end.Status != agent.Completed {
		t.Errorf("ended %+v", end)
	}
	if r := m.Responses(1)[0]; !strings.Contains(r.Error, "crashed") {
		t.Errorf("the model was told %+v", r)
	}
}

type crash struct{}

func (crash) Spec() *tools.Spec {
	return &tools.Spec{Name: "crash", Kind: tools.KindRead, Schema: []byte(`{"type":"object","properties":{}}`)}
}

func (crash) Prepare(*workspace.View, json.RawMessage) (*tools.Call, error) { panic("boom") }

// The part of a request before the newest message is the same from step to step.
func TestPrefixIsStable(t *testing.T) {
	m := agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{{Name: "list_directory", Args: map[string]any{"path": "."}}}},
		agenttest.Step{Text: []string{"ok"}},
	)
	f := newFixture(t, m, nil, func(o *agent.Options) { o.Now = func() time.Time { return time.Unix(0, 0) } })
	f.run(t, "x")
	reqs := m.Requests()
	for i, c := range reqs[0].Contents {
		a, b := fmt.Sprint(c.Parts), fmt.Sprint(reqs[1].Contents[i].Parts)
		if a != b {
			t.Errorf("message %d changed", i)
		}
	}
	if fmt.Sprintf("%+v", reqs[0].Config.SystemInstruction.Parts[0]) != fmt.Sprintf("%+v", reqs[1].Config.SystemInstruction.Parts[0]) {
		t.Error("the system prompt changed")
	}
}

// An answer that breaks off is kept, and the model is asked to go on.
func TestBrokenStream(t *testing.T) {
	m := agenttest.NewModel(
		agenttest.Step{Text: []string{"first half"}, Calls: []agenttest.Call{{Name: "list_directory", Args: map[string]any{"path": "."}}}, Err: &model.Error{Kind: model.KindNetwork, Message: "reset"}},
		agenttest.Step{Text: []string{" second half"}},
	)
	f := newFixture(t, m, nil, nil)
	evs := f.run(t, "x")
	if end := ended(evs); end.Status != agent.Completed {
		t.Fatalf("ended %+v", end)
	}
	text, retries := "", 0
	for _, ev := range evs {
		switch b := ev.Body.(type) {
		case agent.MessageDelta:
			text += b.Text
		case agent.Retry:
			retries++
		case agent.ToolUpdated:
			t.Errorf("a call of the broken answer ran: %+v", b)
		}
	}
	if text != "first half second half" || retries != 1 {
		t.Errorf("shown %q with %d retries", text, retries)
	}
	cs := m.Requests()[1].Contents
	if err := check(cs); err != nil || cs[1].Text() != "first half" {
		t.Errorf("history: %v, %+v", err, cs)
	}
}
