package workspace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	for _, tt := range []struct{ name, base, ours, theirs, want string }{
		{"one side", "a\nb\n", "a\nb\n", "a\nB\n", "a\nB\n"},
		{"other side", "a\nb\n", "A\nb\n", "a\nb\n", "A\nb\n"},
		{"both, apart", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"},
		{"both the same", "a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n", "a\nX\nc\n"},
		{"next to each other", "a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n"},
		{"insertion before a change", "a\nb\n", "x\na\nb\n", "A\nb\n", "x\nA\nb\n"},
		{"at the end", "a\n", "a\nmine\n", "", "mine\n"},
		{"the same lines", "a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", "conflict"},
		{"the same place", "a\nc\n", "a\nX\nc\n", "a\nY\nc\n", "conflict"},
		{"deleted and changed", "a\nb\nc\n", "a\nc\n", "a\nB\nc\n", "conflict"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Merge(tt.base, tt.ours, tt.theirs)
			if !ok {
				got = "conflict"
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// Where git merges without a conflict the result is the same, and a merge keeps what
// either side added.
func TestMergeAsGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("REDLINE_CI") != "" {
			t.Fatal("git is missing")
		}
		t.Skip("git is missing")
	}
	rnd := rand.New(rand.NewPCG(5, 9))
	dir := t.TempDir()
	edit := func(lines []string, mark string) string {
		var out []string
		for i, l := range lines {
			switch rnd.IntN(12) {
			case 0:
				out = append(out, fmt.Sprintf("%s%d", mark, i))
			case 1:
				out = append(out, l, fmt.Sprintf("%s+%d", mark, i))
			case 2:
			default:
				out = append(out, l)
			}
		}
		return strings.Join(out, "\n") + "\n"
	}
	clean := 0
	for n := range 60 {
		var lines []string
		for i := range 14 + rnd.IntN(10) {
			lines = append(lines, fmt.Sprintf("line %d", i))
		}
		base := strings.Join(lines, "\n") + "\n"
		ours, theirs := edit(lines, "o"), edit(lines, "t")
		var names []string
		for i, s := range []string{ours, base, theirs} {
			name := filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(name, []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		want, err := exec.Command(git, append([]string{"merge-file", "-p", "-q"}, names...)...).Output()
		got, ok := Merge(base, ours, theirs)
		if err == nil {
			clean++
			if !ok || got != string(want) {
				t.Errorf("case %d: base\n%s\nours\n%s\ntheirs\n%s\ngit\n%s\nwe (%v)\n%s", n, base, ours, theirs, want, ok, got)
			}
		}
	}
	if clean < 5 {
		t.Errorf("git merged only %d cases", clean)
	}
}
