package diff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// check fails unless the changes turn a into b and stand at line boundaries.
func check(t testing.TB, a, b string) []Change {
	t.Helper()
	changes := Lines(a, b)
	var out strings.Builder
	at, bt := 0, 0
	for i, c := range changes {
		if c.AStart < at || c.BStart < bt || c.AEnd < c.AStart || c.BEnd < c.BStart {
			t.Fatalf("change %d out of order: %+v", i, c)
		}
		if i > 0 && c.AStart == at && c.BStart == bt {
			t.Fatalf("change %d touches the one before: %+v", i, c)
		}
		for _, p := range []struct {
			s string
			i int
		}{{a, c.AStart}, {a, c.AEnd}, {b, c.BStart}, {b, c.BEnd}} {
			if !boundary(p.s, p.i, true) {
				t.Fatalf("change %+v: %d is inside a line of %q", c, p.i, p.s)
			}
		}
		if got := countLines(a[:c.AStart]); got != c.ALine {
			t.Fatalf("change %+v: line of a is %d", c, got)
		}
		if got := countLines(b[:c.BStart]); got != c.BLine {
			t.Fatalf("change %+v: line of b is %d", c, got)
		}
		out.WriteString(a[at:c.AStart])
		out.WriteString(b[c.BStart:c.BEnd])
		at, bt = c.AEnd, c.BEnd
	}
	out.WriteString(a[at:])
	if out.String() != b {
		t.Fatalf("changes %+v turn\n%q into\n%q, want\n%q", changes, a, out.String(), b)
	}
	return changes
}

func countLines(s string) (n int) {
	for ; s != ""; n++ {
		s = s[NextLine(s):]
	}
	return n
}

func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		want       int // number of changes
	}{
		{"equal", "a\nb\n", "a\nb\n", 0},
		{"from nothing", "", "a\nb\n", 1},
		{"to nothing", "a\nb\n", "", 1},
		{"one line", "a\nb\nc\n", "a\nB\nc\n", 1},
		{"two lines apart", "a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", 2},
		{"final newline added", "a\nb", "a\nb\n", 1},
		{"final newline removed", "a\nb\n", "a\nb", 1},
		{"only a line end", "a\r\nb\n", "a\nb\n", 1},
		{"carriage returns", "a\rb\rc\r", "a\rB\rc\r", 1},
		{"cr before crlf", "a\r\r\nb", "a\r\nb", 1},
		{"insert at the end", "f {\n}\n", "f {\n}\n\ng {\n}\n", 1},
		{"moved", "1\n2\n3\n4\n", "3\n4\n1\n2\n", 2},
		{"prefix of a line", "abc\n", "ab\n", 1},
		{"nothing in common", "1\n2\n3\n", "4\n5\n", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := check(t, tt.a, tt.b); len(got) != tt.want {
				t.Errorf("%d changes, want %d: %+v", len(got), tt.want, got)
			}
			check(t, tt.b, tt.a)
		})
	}
}

// Random edits of a text with many equal lines: the result must be exact, and no
// longer than what git's own minimal diff needs.
func TestLinesRandom(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		a := randomText(r, r.IntN(30), 6)
		b := mutate(r, a)
		check(t, a, b)
		if d := editLength(Lines(a, b), a, b); d > lcsDistance(a, b) {
			t.Fatalf("seed %d: %d lines changed, minimum is %d\n%q\n%q", seed, d, lcsDistance(a, b), a, b)
		}
	}
}

func TestAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 10 {
		a := randomText(r, 300, 100)
		b := mutate(r, mutate(r, mutate(r, a)))
		fa, fb := filepath.Join(dir, fmt.Sprint("a", i)), filepath.Join(dir, fmt.Sprint("b", i))
		write(t, fa, a)
		write(t, fb, b)
		out, _ := exec.Command(git, "diff", "--no-index", "--minimal", "--numstat", fa, fb).Output()
		var add, del int
		fmt.Sscan(string(out), &add, &del)
		if got := editLength(check(t, a, b), a, b); got != add+del {
			t.Errorf("text %d: %d lines changed, git --minimal has %d", i, got, add+del)
		}
	}
}

// A complete rewrite must not take time or memory in the square of its size.
func TestRewriteIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	a, b := randomText(r, 20000, 1<<30), randomText(r, 20000, 1<<30)
	done := make(chan struct{})
	go func() { defer close(done); check(t, a, b) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("still running after 30 s")
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\nb\n", "a\r\nb")
	f.Add("\r\r\n", "\n\r")
	f.Fuzz(func(t *testing.T, a, b string) { check(t, a, b) })
}

func BenchmarkOneEdit4MB(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	old := randomText(r, 100_000, 1<<30)
	i := strings.Index(old[len(old)/2:], "\n") + len(old)/2 + 1
	new := old[:i] + "inserted\n" + old[i:]
	b.SetBytes(int64(len(old)))
	b.ReportAllocs()
	for b.Loop() {
		Lines(old, new)
	}
}

func Benchmark200Edits(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	old := randomText(r, 100_000, 1<<30)
	ls := strings.SplitAfter(old, "\n")
	for range 200 {
		ls[r.IntN(len(ls))] = "edited\n"
	}
	new := strings.Join(ls, "")
	b.SetBytes(int64(len(old)))
	b.ReportAllocs()
	for b.Loop() {
		Lines(old, new)
	}
}

func BenchmarkRewrite20000(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x, y := randomText(r, 20000, 1<<30), randomText(r, 20000, 1<<30)
	b.ReportAllocs()
	for b.Loop() {
		Lines(x, y)
	}
}

func write(t *testing.T, path, s string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
}

func randomText(r *rand.Rand, n, kinds int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "line number %d of the text\n", r.IntN(kinds))
	}
	return b.String()
}

func mutate(r *rand.Rand, s string) string {
	ls := strings.SplitAfter(s, "\n")
	for range 1 + r.IntN(5) {
		i := r.IntN(len(ls))
		switch r.IntN(3) {
		case 0:
			ls[i] = "changed\n"
		case 1:
			ls = append(ls[:i], ls[min(len(ls), i+1+r.IntN(3)):]...)
			if len(ls) == 0 {
				ls = []string{""}
			}
		case 2:
			ls = append(ls[:i], append([]string{"new\n", "new\n"}[:1+r.IntN(2)], ls[i:]...)...)
		}
	}
	return strings.Join(ls, "")
}

func editLength(cs []Change, a, b string) (n int) {
	for _, c := range cs {
		n += countLines(a[c.AStart:c.AEnd]) + countLines(b[c.BStart:c.BEnd])
	}
	return n
}

func lcsDistance(a, b string) int {
	x, y := splitLines(a), splitLines(b)
	row := make([]int, len(y)+1)
	for i := range x {
		diag := 0
		for j := range y {
			up := row[j+1]
			if x[i] == y[j] {
				row[j+1] = diag + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diag = up
		}
	}
	return len(x) + len(y) - 2*row[len(y)]
}

func splitLines(s string) (ls []string) {
	for s != "" {
		n := NextLine(s)
		ls = append(ls, s[:n])
		s = s[n:]
	}
	return ls
}
