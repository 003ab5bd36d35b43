package search

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// naive is Grep on one text, in the plainest way.
func naive(re *regexp.Regexp, text string, around int) []Line {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	keep := make([]bool, len(lines))
	var out []Line
	match := make([]bool, len(lines))
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
		if match[i] = re.MatchString(lines[i]); match[i] {
			for j := max(0, i-around); j <= min(len(lines)-1, i+around); j++ {
				keep[j] = true
			}
		}
	}
	for i, l := range lines {
		if keep[i] {
			out = append(out, Line{Number: i + 1, Text: l, Match: match[i]})
		}
	}
	return out
}

// TestLargeFiles searches files of several windows, in which lines and contexts fall across the seams.
func TestLargeFiles(t *testing.T) {
	noGlobalGit(t)
	re := regexp.MustCompile("needle")
	for _, c := range []struct {
		name          string
		lines, length int
		chance        float64
	}{{"short", 60000, 80, 0.003}, {"dense", 150000, 20, 0.5}, {"long", 300, 30000, 0.2}, {"huge", 4, 3 << 20, 0.5}} {
		rnd := rand.New(rand.NewSource(1))
		var b strings.Builder
		for i := range c.lines {
			b.WriteString(strings.Repeat("x", rnd.Intn(c.length)))
			if rnd.Float64() < c.chance {
				b.WriteString("needle")
			}
			if i < c.lines-1 || c.lines%2 == 0 {
				b.WriteString([]string{"\n", "\r\n"}[rnd.Intn(2)])
			}
		}
		root := t.TempDir()
		write(t, filepath.Join(root, "f"), b.String())
		for around := range 4 {
			opts := GrepOptions{Scope: Scope{Root: root}, Pattern: "needle", Context: around, MaxLine: 1 << 30}
			r, err := Grep(context.Background(), opts)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Files) != 1 {
				t.Fatalf("%s: %d files", c.name, len(r.Files))
			}
			if want := naive(re, b.String(), around); !cmp.Equal(want, r.Files[0].Lines) {
				t.Errorf("%s with context %d: %d lines, want %d", c.name, around, len(r.Files[0].Lines), len(want))
			}
		}
	}
}

func TestEncodings(t *testing.T) {
	noGlobalGit(t)
	text := "first line\nzweite Zeile: grün 😀\n"
	utf16le := []byte{0xff, 0xfe}
	utf16be := []byte{0xfe, 0xff}
	for _, u := range utf16.Encode([]rune(strings.Repeat(text, 5000))) {
		utf16le = binary.LittleEndian.AppendUint16(utf16le, u)
		utf16be = binary.BigEndian.AppendUint16(utf16be, u)
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "be"), string(utf16be))
	write(t, filepath.Join(root, "le"), string(utf16le))
	write(t, filepath.Join(root, "bom"), "\xef\xbb\xbf"+strings.Repeat(text, 5000))
	write(t, filepath.Join(root, "nul"), text+"\x00")
	r, err := Grep(context.Background(), GrepOptions{Scope: Scope{Root: root}, Pattern: "^first|GRÜN 😀$"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Files) != 3 || r.Matches != 30000 || r.Binary != 1 {
		t.Fatalf("%d files, %d matches, %d binary", len(r.Files), r.Matches, r.Binary)
	}
	for _, f := range r.Files {
		if f.Lines[0].Text != "first line" || f.Lines[9999].Text != "zweite Zeile: grün 😀" || f.Lines[9999].Number != 10000 {
			t.Errorf("%s: %+v", f.Path, f.Lines[9999])
		}
	}
}

// TestLimitsAreDeterministic compares limited results with the beginning of the unlimited one.
func TestLimitsAreDeterministic(t *testing.T) {
	noGlobalGit(t)
	root := t.TempDir()
	rnd := rand.New(rand.NewSource(2))
	for i := range 300 {
		write(t, filepath.Join(root, fmt.Sprintf("d%d/e%d/f%d", rnd.Intn(8), rnd.Intn(8), i)), strings.Repeat("a hit\nnone\n", rnd.Intn(6)))
	}
	opts := GrepOptions{Scope: Scope{Root: root, Workers: 8}, Pattern: "hit"}
	all, err := Grep(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	var flat []string
	for _, f := range all.Files {
		for _, l := range f.Lines {
			flat = append(flat, fmt.Sprint(f.Path, l.Number))
		}
	}
	for _, limit := range []int{1, 2, 17, 100, len(flat) - 1, len(flat), len(flat) + 1} {
		opts.MaxMatches = limit
		r, err := Grep(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Files {
			for _, l := range f.Lines {
				got = append(got, fmt.Sprint(f.Path, l.Number))
			}
		}
		if d := cmp.Diff(flat[:min(limit, len(flat))], got); d != "" {
			t.Errorf("limit %d: %s", limit, d)
		}
		if r.Matches != len(flat) || r.MatchedFiles != all.MatchedFiles || r.Shown != len(got) || r.AtLeast {
			t.Errorf("limit %d: %d matches in %d files, %d shown", limit, r.Matches, r.MatchedFiles, r.Shown)
		}
	}
}

func TestCancel(t *testing.T) {
	noGlobalGit(t)
	root := t.TempDir()
	for i := range 500 {
		write(t, filepath.Join(root, fmt.Sprintf("d%d/f%d", i%50, i)), strings.Repeat("text\n", 100))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Grep(ctx, GrepOptions{Scope: Scope{Root: root}, Pattern: "text"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	// Cancelled from within, when the first file is visited: the walk ends early, with every directory closed and every
	// goroutine gone, which TestMain checks.
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	target, err := Scope{Root: root, Workers: 4}.resolve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]*cancelling, 4)
	_, err = target.walk(ctx, nil, func(i int) visitor { v[i] = &cancelling{cancel: cancel, done: ctx.Done()}; return v[i] })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled within: %v", err)
	}
	seen := 0
	for _, v := range v {
		if v != nil {
			seen += len(v.paths)
		}
	}
	if seen == 500 {
		t.Error("every file was visited all the same")
	}
}

type cancelling struct {
	pathList
	cancel context.CancelFunc
	done   <-chan struct{}
}

func (c *cancelling) file(d *dir, rel, name string, k kind) {
	c.pathList.file(d, rel, name, k)
	c.cancel()
	<-c.done
}

// TestAllocations: what a search allocates follows the number of entries, in a small proportion, not their size or the
// number of lines and matches.
func TestAllocations(t *testing.T) {
	noGlobalGit(t)
	root := t.TempDir()
	for i := range 200 {
		write(t, filepath.Join(root, fmt.Sprintf("f%d", i)), strings.Repeat("some text with words\n", 500))
	}
	opts := GrepOptions{Scope: Scope{Root: root, Workers: 1}, Pattern: `w[io]\w+\b`, MaxMatches: 10}
	n := testing.AllocsPerRun(5, func() {
		if r, err := Grep(context.Background(), opts); err != nil || r.Matches != 100000 {
			t.Fatal(r, err)
		}
	})
	if n > 200*12+500 {
		t.Errorf("%v allocations for 200 files of 500 lines", n)
	}
}
