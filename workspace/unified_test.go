package workspace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"redline/workspace/text"
)

// Unified diffs must be what patch understands, and say the same as the hunks. One
// patch of many files is one case each for a single process; REDLINE_LONG=N runs N
// times as many.
func TestUnifiedAppliesWithPatch(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		if os.Getenv("REDLINE_CI") != "" {
			t.Fatal("patch is not installed")
		}
		t.Skip("patch is not installed")
	}
	rounds := 12
	if n, err := strconv.Atoi(os.Getenv("REDLINE_LONG")); err == nil && n > 0 {
		rounds *= n
	}
	const files = 250
	cases, some := 0, 0
	for round := range rounds {
		dir := t.TempDir()
		v := NewView(&Snapshot{})
		base := make(map[string]string, files)
		r := rand.New(rand.NewPCG(uint64(round), 9))
		for i := range files {
			name := fmt.Sprintf("d%d/f%03d", i%7, i)
			was, after := unifiedCase(r)
			if was == after {
				continue
			}
			base[name] = was
			if err := v.Stage("c", &File{Path: "/" + name, Text: was, Format: text.Plain}, []Edit{{0, len(was), after}}); err != nil {
				t.Fatal(err)
			}
		}
		p := v.Propose()
		// In every other round only some of the hunks are printed, as after decisions.
		kept := make(map[*Hunk]bool)
		want := make(map[string]string, files)
		for _, f := range p.Files {
			name := strings.TrimPrefix(f.Path, "/")
			var edits []Edit
			for _, h := range f.Hunks {
				if round%2 == 0 || r.IntN(3) > 0 {
					kept[h] = true
					edits = append(edits, Edit{h.Start, h.End, h.New})
				}
			}
			after, err := Apply(base[name], edits)
			if err != nil {
				t.Fatal(err)
			}
			want[name] = after
			if len(edits) > 0 {
				cases++
			}
			if len(edits) < len(f.Hunks) {
				some++
			}
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(base[name]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		u := p.Unified(func(path string) string { return strings.TrimPrefix(path, "/") }, func(h *Hunk) bool { return kept[h] })
		// Without fuzz: the context must be exact.
		cmd := exec.Command(patch, "--binary", "--batch", "--fuzz=0", "-p1", "-d", dir)
		cmd.Stdin = strings.NewReader(u)
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "offset") {
			t.Errorf("round %d: patch: %v\n%s", round, err, out)
		}
		for name, after := range want {
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && string(got) == after || os.IsNotExist(err) && after == "" { // patch removes what is empty
				continue
			}
			t.Fatalf("round %d, %s: %v\nbase %q\ngot  %q\nwant %q\n%s", round, name, err, base[name], got, after, u)
		}
	}
	t.Logf("%d cases, %d of them with some of the hunks", cases, some)
	if cases < 2000 || some < 200 {
		t.Errorf("only %d cases, %d with some of the hunks", cases, some)
	}
}

// unifiedCase returns a text and what a few random edits made of it.
func unifiedCase(r *rand.Rand) (base, after string) {
	base = lines(r, r.IntN(60), "line")
	if r.IntN(3) == 0 {
		base = strings.TrimSuffix(base, "\n")
	}
	switch r.IntN(8) {
	case 0, 1:
		base = strings.ReplaceAll(base, "\n", "\r\n")
	case 2: // mixed, with lone "\r"
		ends := []string{"\n", "\r\n", "\r", "\n\n"}
		ls := strings.Split(base, "\n")
		base = ls[0]
		for _, l := range ls[1:] {
			base += ends[r.IntN(len(ends))] + l
		}
	}
	after = base
	for range 1 + r.IntN(4) {
		if r.IntN(3) > 0 {
			after, _ = Apply(after, []Edit{randomEdit(r, after, "new")})
			continue
		}
		ls := strings.SplitAfter(after, "\n") // lines go, at times all of them
		i := r.IntN(len(ls))
		j := min(len(ls), i+1+r.IntN(8))
		after = strings.Join(append(ls[:i:i], ls[j:]...), "")
	}
	switch r.IntN(6) {
	case 0:
		after = strings.TrimSuffix(after, "\n")
	case 1:
		after += lines(r, 1, "last")
	}
	return base, after
}
