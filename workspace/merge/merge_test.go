package merge

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestMerge(t *testing.T) {
	for _, tt := range []struct{ name, base, ours, theirs, want, conflicts string }{
		{"nothing", "a\nb\n", "a\nb\n", "a\nb\n", "a\nb\n", ""},
		{"one side", "a\nb\n", "a\nb\n", "a\nB\n", "a\nB\n", ""},
		{"both, apart", "a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n", ""},
		{"both, the same", "a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n", "a\nX\nc\n", ""},
		{"both, touching", "a\nb\n", "A\nb\n", "a\nB\n", "A\nb\n", "a\nb\n|A\nb\n|a\nB\n"},
		{"both, differently", "a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", "a\nX\nc\n", "b\n|X\n|Y\n"},
		{"edited and deleted", "a\nb\nc\n", "a\nX\nc\n", "a\nc\n", "a\nX\nc\n", "b\n|X\n|"},
		{"inserted at one place", "a\nb\n", "a\nX\nb\n", "a\nY\nb\n", "a\nX\nb\n", "|X\n|Y\n"},
		{"no final newline", "a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC", ""},
		{"line ends", "a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\n", "A\r\nb\r\nC\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, conflicts := Merge(tt.base, tt.ours, tt.theirs)
			var got []string
			for _, c := range conflicts {
				got = append(got, c.Base+"|"+c.Ours+"|"+c.Theirs)
				if text[c.Start:c.End] != c.Ours {
					t.Errorf("the conflict stands on %q", text[c.Start:c.End])
				}
			}
			if text != tt.want || strings.Join(got, ";") != tt.conflicts {
				t.Errorf("got %q with %q, want %q with %q", text, got, tt.want, tt.conflicts)
			}
		})
	}
}

// random returns a text like code; with repeat set some lines are there often.
func random(r *rand.Rand, n int, repeat bool) []string {
	var out []string
	for i := range n {
		kind := 2
		if repeat {
			kind = r.IntN(8)
		}
		switch kind {
		case 0:
			out = append(out, "\n")
		case 1:
			out = append(out, "}\n")
		default:
			out = append(out, fmt.Sprintf("line %d %d\n", i, r.IntN(1000)))
		}
	}
	return out
}

// edited returns lines with a few edits of a random side.
func edited(r *rand.Rand, lines []string, who string, repeat bool) string {
	name := func() string { return fmt.Sprintf("%s %d\n", who, r.IntN(3)) }
	if !repeat {
		name = func() string { return fmt.Sprintf("%s %d\n", who, r.IntN(1<<30)) }
	}
	out := append([]string(nil), lines...)
	for range 1 + r.IntN(4) {
		i := r.IntN(len(out) + 1)
		switch r.IntN(5) {
		case 0:
			out = append(out[:i:i], append([]string{name()}, out[i:]...)...)
		case 1:
			blank := "\n"
			if !repeat {
				blank = name()
			}
			out = append(out[:i:i], append([]string{blank}, out[i:]...)...)
		case 2:
			j := min(len(out), i+1+r.IntN(3))
			out = append(out[:i:i], out[j:]...)
		default:
			if i < len(out) {
				out[i] = name()
			}
		}
	}
	text := strings.Join(out, "")
	if r.IntN(10) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

// Thousands of random merges: clean where git's are, with the same bytes, and in
// conflict where git's are. Where lines repeat, a change can be seen in several ways
// that are equally short; in a few of a thousand git takes another one. REDLINE_LONG=N runs N times as many.
func TestLikeGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("REDLINE_CI") != "" {
			t.Fatal("git is not installed")
		}
		t.Skip("git is not installed")
	}
	for _, tt := range []struct {
		name   string
		repeat bool
		others int // of a thousand
	}{{"every line once", false, 0}, {"lines repeat", true, 5}} {
		t.Run(tt.name, func(t *testing.T) {
			cases := 1200
			if n, err := strconv.Atoi(os.Getenv("REDLINE_LONG")); err == nil && n > 0 {
				cases *= n
			}
			var mu sync.Mutex
			clean, collided := 0, 0
			var others []string
			var wg sync.WaitGroup
			for w := range runtime.GOMAXPROCS(0) {
				dir := t.TempDir()
				wg.Go(func() {
					for seed := w; seed < cases; seed += runtime.GOMAXPROCS(0) {
						base, ours, theirs := texts(uint64(seed), tt.repeat)
						want, conflict := gitMerge(t, git, dir, base, ours, theirs)
						got, conflicts := Merge(base, ours, theirs)
						mu.Lock()
						switch {
						case conflict != (len(conflicts) > 0) || !conflict && got != want:
							others = append(others, fmt.Sprintf("seed %d: git has conflicts: %v, we %d\nbase %q\nours %q\ntheirs %q\ngot %q\nwant %q", seed, conflict, len(conflicts), base, ours, theirs, got, want))
						case conflict:
							collided++
						default:
							clean++
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			t.Logf("%d clean merges and %d conflicts as git's, %d not", clean, collided, len(others))
			if len(others)*1000 > tt.others*cases {
				t.Errorf("%d differ from git's, such as\n%s", len(others), strings.Join(others[:min(3, len(others))], "\n"))
			}
			if clean < cases/5 || collided < cases/20 {
				t.Errorf("the cases say little: %d clean, %d in conflict", clean, collided)
			}
		})
	}
}

// texts returns a random case.
func texts(seed uint64, repeat bool) (base, ours, theirs string) {
	r := rand.New(rand.NewPCG(seed, 8))
	lines := random(r, 1+r.IntN(40), repeat)
	ours, theirs = edited(r, lines, "ours", repeat), edited(r, lines, "theirs", repeat)
	if r.IntN(6) == 0 { // theirs has what ours has, and more
		theirs = edited(r, strings.SplitAfter(ours, "\n"), "theirs", repeat)
	}
	return strings.Join(lines, ""), ours, theirs
}

// gitMerge runs git merge-file.
func gitMerge(t *testing.T, git, dir, base, ours, theirs string) (text string, conflict bool) {
	for name, data := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Error(err)
		}
	}
	cmd := exec.Command(git, "merge-file", "-p", "-q", "ours", "base", "theirs")
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 127) {
		t.Error(err)
	}
	return string(out), err != nil
}
