package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/agent/journal"
	"redline/tools"
	"redline/workspace"
	"redline/workspace/blob"
)

// dyingBlobs is the disk of a store of contents that dies with the journal: both count
// their operations in s. The real one is not synced: the power is not cut here.
type dyingBlobs struct{ s *dyingStore }

func (d dyingBlobs) MkdirAll(dir string) error {
	if dead, _ := d.s.step(); dead {
		return errDead
	}
	return os.MkdirAll(dir, 0o700)
}

func (d dyingBlobs) Create(dir string) (blob.File, error) {
	if dead, _ := d.s.step(); dead {
		return nil, errDead
	}
	f, err := os.CreateTemp(dir, ".new-*")
	return dyingFile{f, d.s}, err
}

func (d dyingBlobs) Rename(from, to string) error {
	if dead, _ := d.s.step(); dead {
		return errDead
	}
	return os.Rename(from, to)
}

func (d dyingBlobs) SyncDir(string) error {
	if dead, _ := d.s.step(); dead {
		return errDead
	}
	return nil
}

// writer is a reviewer that writes what was accepted into the files, before anybody is
// told of it.
type writer struct{ decider }

func (w writer) Review(ctx context.Context, p *workspace.Proposal, auto bool, updated func()) error {
	decided := false
	return w.decider.Review(ctx, p, auto, func() {
		for _, f := range p.Files {
			if !decided {
				continue
			}
			if err := os.WriteFile(f.Path, []byte(f.Text()), 0o600); err != nil {
				panic(err)
			}
		}
		decided = true
		updated()
	})
}

var acceptAll = writer{func(_ int, h *workspace.Hunk) { h.State = workspace.Accepted }}

// The process dies at every write, sync and rename of the journal or of a content. The
// edits the user had been told of can be taken back in the next process, to the byte.
func TestCheckpointsKilledAtEveryWrite(t *testing.T) {
	const original = "one\ntwo\nthree\nfour\nfive\n"
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	// run tells the story; it returns what was told and the file at the death.
	run := func(home string, d *dyingStore) (got acked, id, file string) {
		store := &journal.Store{Dir: home, Open: func(path string) (journal.File, error) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
			return dyingFile{f, d}, err
		}}
		d.onFile = func() {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
			}
			file = string(data)
		}
		got, id = tellWith(t, dir, store, &blob.Store{Dir: home + "-blobs", Disk: dyingBlobs{d}}, d, func(r decider) agent.Reviewer { return writer{r} })
		return got, id, file
	}
	whole := &dyingStore{left: -1}
	run(t.TempDir(), whole)
	step := 1
	if testing.Short() {
		step = 7
	}
	exact, edited := 0, 0
	for k := 0; k < whole.writes; k += step {
		home := t.TempDir()
		got, id, file := run(home, &dyingStore{left: k})
		// The rest of the story did not happen.
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		told := original // what the file is by what the user was told
		for _, ev := range got.events {
			if p, ok := ev.Body.(agent.ProposalUpdated); ok {
				told = p.Proposal.Files[0].Text()
			}
		}
		ws, err := workspace.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := agent.Resume(agent.Options{
			Workspace: ws, Tools: tools.NewRegistry(tools.Builtin()...), Generator: agenttest.NewModel().Generator,
			Journal: &journal.Store{Dir: home}, Blobs: &blob.Store{Dir: home + "-blobs", Disk: dyingBlobs{&dyingStore{left: -1}}},
			Reviewer: acceptAll, Emit: func(agent.Event) {},
		}, id)
		if err != nil {
			if len(got.events) > 0 {
				t.Fatalf("dead at %d: %v", k, err)
			}
			continue
		}
		cks := s.Checkpoints()
		if told != original && len(cks) == 0 {
			t.Fatalf("dead at %d: an edit was told of, and there is no checkpoint", k)
		}
		for _, c := range cks {
			r, err := s.PreviewCheckpoint(c.ID, agent.ScopeFiles, nil)
			if err != nil {
				t.Fatalf("dead at %d: %v", k, err)
			}
			for _, why := range r.Skipped {
				if strings.Contains(why, "kept") {
					t.Fatalf("dead at %d: a content is lost: %s", k, why)
				}
			}
		}
		if len(cks) > 0 && file == told {
			if _, err := s.RestoreCheckpoint(context.Background(), cks[0].ID, agent.ScopeFiles, nil); err != nil {
				t.Fatalf("dead at %d: %v", k, err)
			}
			data, err := os.ReadFile(path)
			if err != nil || string(data) != original {
				t.Fatalf("dead at %d: told %q, the way back leads to %q (%v)", k, told, data, err)
			}
			exact++
			if told != original {
				edited++
			}
		}
		s.Close()
	}
	t.Logf("%d deaths, %d ways back, %d of them over edits", whole.writes, exact, edited)
	if edited < whole.writes/step/5 {
		t.Errorf("only %d of %d ways back are over edits", edited, exact)
	}
}

// When a content cannot be kept the user is told, and a way back leaves the file: that
// its name is missing must not say that there had been no file.
func TestContentThatCannotBeKept(t *testing.T) {
	for k := range 12 {
		dir, home := t.TempDir(), t.TempDir()
		path := filepath.Join(dir, "a.txt")
		full := &dyingStore{left: k, onDie: func() {}}
		warned := false
		if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		ws, err := workspace.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		blobs := &blob.Store{Dir: home + "-blobs", Disk: onceFull{dyingBlobs{full}}}
		s := agent.NewSession(agent.Options{
			Workspace: ws, Tools: tools.NewRegistry(tools.Builtin()...), Journal: &journal.Store{Dir: home}, Blobs: blobs,
			Generator: agenttest.NewModel(agenttest.Step{Calls: []agenttest.Call{{ID: "r", Name: "replace", Args: map[string]any{"file_path": path, "old_string": "two", "new_string": "zwei"}}}}, agenttest.Step{Text: []string{"Done."}}).Generator,
			Reviewer:  acceptAll,
			Emit: func(ev agent.Event) {
				if n, ok := ev.Body.(agent.Notice); ok && strings.Contains(n.Text, "cannot be taken back") {
					warned = true
				}
			},
		})
		if _, err := s.Prompt(context.Background(), agent.Message{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		r, err := s.RestoreCheckpoint(context.Background(), s.Checkpoints()[0].ID, agent.ScopeFiles, nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		switch {
		case err != nil:
			t.Fatalf("full at %d: the file is gone: %v", k, err)
		case warned && (string(data) != "one\nzwei\n" || len(r.Skipped) != 1):
			t.Errorf("full at %d: the file is %q, left are %v", k, data, r.Skipped)
		case !warned && string(data) != "one\ntwo\n":
			t.Errorf("full at %d: the file is %q, and nobody was told", k, data)
		}
		if k == 0 && !warned {
			t.Error("nothing failed")
		}
		s.Close()
	}
}

// onceFull fails one operation, then there is space again.
type onceFull struct{ dyingBlobs }

func (d onceFull) once(err error) error {
	if errors.Is(err, errDead) {
		d.s.mu.Lock()
		d.s.dead, d.s.left = false, -1
		d.s.mu.Unlock()
	}
	return err
}

func (d onceFull) MkdirAll(dir string) error    { return d.once(d.dyingBlobs.MkdirAll(dir)) }
func (d onceFull) Rename(from, to string) error { return d.once(d.dyingBlobs.Rename(from, to)) }
func (d onceFull) SyncDir(dir string) error     { return d.once(d.dyingBlobs.SyncDir(dir)) }
func (d onceFull) Create(dir string) (blob.File, error) {
	f, err := d.dyingBlobs.Create(dir)
	return f, d.once(err)
}
