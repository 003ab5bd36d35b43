package agent_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/agent/journal"
	"redline/agent/model"
	"redline/tools"
	"redline/workspace"
	"redline/workspace/blob"
)

// Every kind of event there is can be saved and read again.
func TestEveryEventIsKept(t *testing.T) {
	kept := agent.KeptKinds()
	set := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "body" || fn.Recv == nil {
				continue
			}
			found++
			if name := fn.Recv.List[0].Type.(*ast.Ident).Name; !slices.Contains(kept, name) {
				t.Errorf("the event %s is missing in kept_event.go", name)
			}
		}
	}
	if found != len(kept) || found < 10 {
		t.Errorf("found %d events, %d are kept", found, len(kept))
	}
}

// dyingFile passes writes on until its store dies, in the middle of one.
type dyingFile struct {
	*os.File
	s *dyingStore
}

type dyingStore struct {
	mu     sync.Mutex
	left   int // operations before the death; negative: none comes
	dead   bool
	onDie  func()
	onFile func() // at the death too; may be nil
	writes int
}

func (s *dyingStore) step() (dead, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.dead {
		return true, false
	}
	if s.left == 0 {
		s.dead = true
		s.onDie()
		if s.onFile != nil {
			s.onFile()
		}
		return true, true
	}
	s.left--
	return false, false
}

var errDead = errors.New("the process is dead")

func (f dyingFile) Write(b []byte) (int, error) {
	dead, now := f.s.step()
	if !dead {
		return f.File.Write(b)
	}
	if now {
		_, _ = f.File.Write(b[:len(b)/2]) // and nobody learns of it
	}
	return 0, errDead
}

func (f dyingFile) Sync() error {
	if dead, _ := f.s.step(); dead {
		return errDead
	}
	return nil // the test does not cut the power
}

func (f dyingFile) Truncate(n int64) error {
	if dead, _ := f.s.step(); dead {
		return errDead
	}
	return f.File.Truncate(n)
}

// story is what happens in the sessions of the crash test.
func story(dir string) []agenttest.Step {
	edit := func(old, new string) agenttest.Call {
		return agenttest.Call{ID: "id-" + old, Name: "replace", Args: map[string]any{"file_path": filepath.Join(dir, "a.txt"), "old_string": old, "new_string": new}}
	}
	return []agenttest.Step{
		{Text: []string{"Let me ", "look. "}, Calls: []agenttest.Call{{ID: "r1", Name: "read_file", Args: map[string]any{"path": "a.txt"}}, {ID: "l1", Name: "list_directory", Args: map[string]any{"path": "."}}}},
		{Thought: "**Edit** now", Calls: []agenttest.Call{edit("two", "zwei"), edit("four", "vier")}},
		{Text: []string{"Done."}},
		{Calls: []agenttest.Call{edit("one", "eins"), {ID: "g", Name: "grep_search", Args: map[string]any{"pattern": "e"}}}},
		{Text: []string{"And ", "that."}},
	}
}

type acked struct {
	events  []agent.Event
	prompts []string
}

// tell runs the story on a store and returns what the user had been told before the
// store died, and the session's name.
func tell(t *testing.T, dir string, store *journal.Store, d *dyingStore) (got acked, id string) {
	t.Helper()
	return tellWith(t, dir, store, &blob.Store{Dir: store.Dir + "-blobs"}, d, func(r decider) agent.Reviewer { return r })
}

// tellWith is tell with a store of contents that may die too, and another reviewer.
func tellWith(t *testing.T, dir string, store *journal.Store, blobs *blob.Store, d *dyingStore, reviewer func(decider) agent.Reviewer) (got acked, id string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\nthree\nfour\nfive\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	dead := false
	d.onDie = func() {
		mu.Lock()
		defer mu.Unlock()
		dead = true
	}
	n := 0
	s := agent.NewSession(agent.Options{
		Workspace: ws, Tools: tools.NewRegistry(tools.Builtin()...), Generator: agenttest.NewModel(story(dir)...).Generator, Journal: store, Blobs: blobs,
		Reviewer: reviewer(func(_ int, h *workspace.Hunk) {
			if n++; n%2 == 0 {
				h.State, h.Reason = workspace.Rejected, "no <thanks>"
			} else {
				h.State = workspace.Accepted
			}
		}),
		Emit: func(ev agent.Event) {
			mu.Lock()
			defer mu.Unlock()
			if !dead {
				got.events = append(got.events, ev)
			}
		},
	})
	defer s.Close()
	for _, text := range []string{"first & <foremost>", "second"} {
		if _, err := s.Prompt(context.Background(), agent.Message{Text: text}); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		if !dead {
			got.prompts = append(got.prompts, text)
		}
		mu.Unlock()
		if err := s.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	return got, s.Info().ID
}

// checkHistory fails unless the conversation can be sent to the API.
func checkHistory(t *testing.T, cs []model.Content) {
	t.Helper()
	if len(cs) == 0 {
		return
	}
	if cs[0].Role != model.RoleUser {
		t.Error("the history begins with the model")
	}
	for i, c := range cs {
		if i > 0 && c.Role == cs[i-1].Role {
			t.Errorf("messages %d and %d are both of the %s", i-1, i, c.Role)
		}
		if len(c.Parts) == 0 {
			t.Errorf("message %d is empty", i)
		}
		var calls, answers []string
		for _, p := range c.Parts {
			if fc, ok := p.FunctionCall(); ok {
				calls = append(calls, fc.ID)
			}
		}
		if i+1 < len(cs) {
			for _, p := range cs[i+1].Parts {
				if r := p.Value().FunctionResponse; r != nil {
					answers = append(answers, r.ID)
				}
			}
		}
		if !slices.Equal(calls, answers) {
			t.Errorf("calls %v of message %d are answered by %v", calls, i, answers)
		}
	}
}

func textOf(cs []model.Content) string {
	var b strings.Builder
	for _, c := range cs {
		b.WriteString(c.Text() + "\n")
	}
	return b.String()
}

// The process dies at every write of a session. Nothing that had been acknowledged is
// lost, the numbers go on without a gap, and the conversation can be sent.
func TestKilledAtEveryWrite(t *testing.T) {
	dir := t.TempDir()
	whole := &dyingStore{left: -1}
	store := func(home string, d *dyingStore) *journal.Store {
		return &journal.Store{Dir: home, Open: func(path string) (journal.File, error) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
			return dyingFile{f, d}, err
		}}
	}
	tell(t, dir, store(t.TempDir(), whole), whole)
	if whole.writes < 40 {
		t.Fatalf("the story writes only %d times", whole.writes)
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for k := 0; k <= whole.writes; k += step {
		d := &dyingStore{left: k}
		home := t.TempDir()
		got, id := tell(t, dir, store(home, d), d)
		ws, err := workspace.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		m := agenttest.NewModel(agenttest.Step{Text: []string{"Hello again."}})
		var later []agent.Event
		s, events, err := agent.Resume(agent.Options{
			Workspace: ws, Tools: tools.NewRegistry(tools.Builtin()...), Generator: m.Generator, Journal: &journal.Store{Dir: home}, Blobs: &blob.Store{Dir: home + "-blobs"},
			Reviewer: decider(nil), Emit: func(ev agent.Event) { later = append(later, ev) },
		}, id)
		if err != nil {
			if len(got.events) > 0 || len(got.prompts) > 0 {
				t.Fatalf("dead at %d: %v, and %d events were told", k, err, len(got.events))
			}
			continue
		}
		for i, ev := range got.events {
			if _, ok := ev.Body.(agent.Notice); ok && i == len(got.events)-1 {
				continue // that it is not saved any more
			}
			if i >= len(events) || events[i].Seq != ev.Seq || !sameEvent(events[i].Body, ev.Body) {
				t.Fatalf("dead at %d: event %d was %+v, is lost", k, i+1, ev)
			}
		}
		changed := false // an edit that the user had been told of is in the files
		for _, ev := range got.events {
			if p, ok := ev.Body.(agent.ProposalUpdated); ok && p.Proposal.Files[0].Hunks[0].State == workspace.Accepted {
				changed = true
			}
		}
		for i, c := range s.Checkpoints() {
			if r, err := s.PreviewCheckpoint(c.ID, agent.ScopeBoth, nil); err != nil || i == 0 && changed && len(c.Files) == 0 {
				t.Errorf("dead at %d: checkpoint %+v: %+v, %v", k, c, r, err)
			}
		}
		if _, err := s.Prompt(context.Background(), agent.Message{Text: "go on"}); err != nil {
			t.Fatal(err)
		}
		_ = s.Wait(context.Background())
		cs := m.Requests()[0].Contents
		checkHistory(t, cs)
		for _, p := range append(got.prompts, "go on") {
			if n := strings.Count(textOf(cs), p+"\n") + strings.Count(textOf(cs), p+"[Since"); n == 0 && !strings.Contains(textOf(cs), p) {
				t.Errorf("dead at %d: the model does not know the prompt %q", k, p)
			}
		}
		for i, ev := range append(events, later...) {
			if ev.Seq != int64(i+1) {
				t.Fatalf("dead at %d: event %d has the number %d", k, i+1, ev.Seq)
			}
		}
		s.Close()
		// And once more: what was mended is on the disk too.
		_, again, err := agent.SavedEvents(&journal.Store{Dir: home}, id)
		if err != nil || len(again) != len(events)+len(later) {
			t.Errorf("dead at %d: %d events are saved, want %d (%v)", k, len(again), len(events)+len(later), err)
		}
		if t.Failed() {
			t.Fatalf("dead at write %d", k)
		}
	}
}

func sameEvent(a, b agent.Body) bool {
	switch x := a.(type) {
	case agent.ProposalUpdated:
		y, ok := b.(agent.ProposalUpdated)
		return ok && x.Proposal.ID == y.Proposal.ID && x.Proposal.Rev == y.Proposal.Rev && x.Proposal.State == y.Proposal.State
	case agent.MessageDelta:
		return a == b
	case agent.ToolUpdated:
		y, ok := b.(agent.ToolUpdated)
		return ok && x.CallID == y.CallID && x.Status == y.Status && x.Output == y.Output
	}
	return agent.KindOf(a) == agent.KindOf(b)
}
