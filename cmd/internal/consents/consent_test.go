package consents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestConsents(t *testing.T) {
	state, a, b := filepath.Join(t.TempDir(), "state"), t.TempDir(), t.TempDir()
	inA, inB := New(state).In([]string{a, b}), New(state).In([]string{b})
	if c, o := inA.Allowed(); len(c)+len(o) != 0 {
		t.Errorf("at first: %v, %v", c, o)
	}
	for _, c := range []string{"go test", "git status", "go test"} {
		if err := inA.Allow([]string{c}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := inA.Allow(nil, []string{"mcp x__y"}); err != nil {
		t.Fatal(err)
	}
	if c, o := inA.Allowed(); strings.Join(c, "|") != "git status|go test" || strings.Join(o, "|") != "mcp x__y" {
		t.Errorf("allowed: %v, %v", c, o)
	}
	if c, o := inB.Allowed(); len(c)+len(o) != 0 {
		t.Errorf("in another folder: %v, %v", c, o)
	}
	if info, err := os.Stat(New(state).File()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if gone, err := New(state).Forget(a, "go test"); err != nil || len(gone) != 1 {
		t.Errorf("forgot %v, %v", gone, err)
	}
	if c, _ := inA.Allowed(); strings.Join(c, "|") != "git status" {
		t.Errorf("allowed: %v", c)
	}
	if gone, err := New(state).Forget(a, ""); err != nil || len(gone) != 2 {
		t.Errorf("forgot %v, %v", gone, err)
	}
	if all, err := New(state).All(); err != nil || len(all) != 0 {
		t.Errorf("left: %v, %v", all, err)
	}
}

func TestConsentsOfManyProcesses(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			if err := New(state).In([]string{dir}).Allow([]string{fmt.Sprint("c", i)}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if c, _ := New(state).In([]string{dir}).Allowed(); len(c) != 10 {
		t.Errorf("kept %v", c)
	}
}

// A file that cannot be read allows nothing and is not overwritten.
func TestConsentsBroken(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	s := New(state)
	if err := os.WriteFile(s.File(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := s.In([]string{dir})
	if c, o := f.Allowed(); len(c)+len(o) != 0 {
		t.Errorf("allowed: %v, %v", c, o)
	}
	if err := f.Allow([]string{"x"}, nil); err == nil || !strings.Contains(err.Error(), "mend or remove it") {
		t.Errorf("got %v", err)
	}
	if data, _ := os.ReadFile(s.File()); string(data) != "{" {
		t.Errorf("the file is now %q", data)
	}
	if err := New("").In([]string{dir}).Allow([]string{"x"}, nil); err == nil || !strings.Contains(err.Error(), "REDLINE_HOME") {
		t.Errorf("with no home: %v", err)
	}
	if err := s.In(nil).Allow([]string{"x"}, nil); err == nil {
		t.Error("with no folder")
	}
}
