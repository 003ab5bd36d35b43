//go:build unix

package workspace_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/workspace"
)

// place is a path and whether it may be used. {T} is the folder above the workspace.
type place struct {
	ID, Input, Expect string
	Soft              bool // the other answer is right as well, as long as nothing outside is touched
}

// tree is the surroundings of a workspace at {T}/ws.
type tree struct {
	Dirs, Files []string
	Links       map[string]string
}

func TestResolve(t *testing.T) {
	check(t, tree{
		Dirs:  []string{"ws/src", "ws-evil", "out"},
		Files: []string{"ws/a.txt", "ws/src/b.txt", "ws/..foo", "ws-evil/s.txt", "out/s.txt"},
		Links: map[string]string{
			"ws/in": "src", "ws/out": "../out", "ws/abs": "{T}/out", "ws/gone": "../out/none", "ws/goneIn": "src/none",
			"ws/l1": "l2", "ws/l2": "l1", "ws/up": "..", "ws/chain": "out",
		},
	}, []place{
		{"relative", "a.txt", "accept", false},
		{"absolute", "{T}/ws/src/b.txt", "accept", false},
		{"the root", "{T}/ws", "accept", false},
		{"two dots in a name", "{T}/ws/..foo", "accept", false},
		{"new in a new folder", "x/y/z.txt", "accept", false},
		{"out and in again", "../ws/a.txt", "accept", false},
		{"link inside", "in/b.txt", "accept", false},
		{"dangling link inside", "goneIn", "accept", false},
		{"parent", "..", "refuse", false},
		{"sibling with the same beginning", "{T}/ws-evil/s.txt", "refuse", false},
		{"link", "out/s.txt", "refuse", false},
		{"absolute link", "abs/s.txt", "refuse", false},
		{"chain", "chain/s.txt", "refuse", false},
		{"new behind a link", "out/new/x.txt", "refuse", false},
		{"dangling link outside", "gone", "refuse", false},
		{"link to above", "up/out/s.txt", "refuse", false},
		{"loop", "l1", "refuse", false},
		{"below a loop", "l1/x", "refuse", false},
		{"NUL", "a.txt\x00.png", "refuse", false},
	})
}

// TestResolveCases plays the shared cases where they are.
func TestResolveCases(t *testing.T) {
	dir := os.Getenv("REDLINE_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "cases")
	}
	data, err := os.ReadFile(filepath.Join(dir, "paths.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the shared cases are not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "paths_tree.json"))
	if err != nil {
		t.Fatal(err)
	}
	var tr tree
	if err := json.Unmarshal(raw, &tr); err != nil {
		t.Fatal(err)
	}
	var places []place
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		var p place
		if err := json.Unmarshal(s.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		places = append(places, p)
	}
	check(t, tr, places)
}

// check builds the tree and asks for each place.
func check(t *testing.T, tr tree, places []place) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	full := func(s string) string { return strings.ReplaceAll(s, "{T}", top) }
	for _, d := range tr.Dirs {
		if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range tr.Files {
		if err := os.WriteFile(filepath.Join(top, f), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range tr.Links {
		if err := os.Symlink(full(target), filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	root := filepath.Join(top, "ws")
	ws, err := workspace.New(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		got, err := ws.Snapshot().Resolve(full(p.Input))
		var refused *workspace.PathError
		if err != nil && !errors.As(err, &refused) {
			t.Errorf("%s: %q: error %v is no PathError", p.ID, p.Input, err)
		}
		if (err != nil) != (p.Expect == "refuse") && !p.Soft {
			t.Errorf("%s: %q: got %q, %v; want it to %s", p.ID, p.Input, got, err, p.Expect)
		}
		if err != nil {
			continue
		}
		// Whatever was said of it: where it leads to must be inside.
		real, err := workspace.Canonical(got)
		if rel, rerr := filepath.Rel(root, real); err != nil || rerr != nil || !filepath.IsLocal(rel) {
			t.Errorf("%s: %q leads to %q, outside of the workspace", p.ID, p.Input, real)
		}
	}
}
