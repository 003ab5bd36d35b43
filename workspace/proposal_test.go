package workspace

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"redline/workspace/text"
)

// propose stages edits of one file that is not on disk and cuts them into hunks.
func propose(t testing.TB, base string, edits ...Edit) *FileChange {
	t.Helper()
	v := NewView(&Snapshot{})
	f := &File{Path: "/x", Text: base, Format: text.Plain}
	for i, e := range edits {
		if err := v.Stage(fmt.Sprint("call", i), f, []Edit{e}); err != nil {
			t.Fatal(err)
		}
		f, _ = v.Read("/x")
	}
	p := v.Propose()
	if p == nil {
		return nil
	}
	return p.Files[0]
}

func sub(base, old, new string) Edit {
	i := strings.Index(base, old)
	return Edit{i, i + len(old), new}
}

func TestProposeHunks(t *testing.T) {
	const base = "a\nb\nc\nd\ne\nf\ng\n"
	f := propose(t, base, sub(base, "b", "B"), sub(base, "f", "F"))
	if len(f.Hunks) != 2 {
		t.Fatalf("%d hunks, want 2: %+v", len(f.Hunks), f.Hunks)
	}
	for i, want := range []string{"b\n→B\n [call0]", "f\n→F\n [call1]"} {
		h := f.Hunks[i]
		if got := fmt.Sprintf("%s→%s %v", h.Old, h.New, h.CallIDs); got != want {
			t.Errorf("hunk %d is %q, want %q", i, got, want)
		}
	}
}

// Two calls in neighbouring places stay two hunks, each its own call's; two places
// of one call with a line between are one.
func TestProposeKeepsCallsApart(t *testing.T) {
	const base = "a\nb\nc\nd\n"
	f := propose(t, base, sub(base, "a", "A"), sub(base, "c", "C"))
	if len(f.Hunks) != 2 {
		t.Errorf("two calls gave %d hunks, want 2", len(f.Hunks))
	}
	f = propose(t, base, Edit{0, 5, "A\nb\nC"})
	if len(f.Hunks) != 1 || f.Hunks[0].Old != "a\nb\nc\n" {
		t.Errorf("one call gave %+v, want one hunk", f.Hunks)
	}
}

func TestProposeNothing(t *testing.T) {
	if f := propose(t, "a\n", Edit{0, 1, "b"}, Edit{0, 1, "a"}); f != nil {
		t.Errorf("edits that cancel out gave %+v", f.Hunks)
	}
}

func TestRebase(t *testing.T) {
	const base = "one\ntwo\nthree\nfour\n"
	for _, tt := range []struct {
		name  string
		edit  Edit
		now   string
		state HunkState
		want  string // the text once the hunk is spliced in, if still pending
	}{
		{"nothing typed", sub(base, "two", "2"), base, Pending, "one\n2\nthree\nfour\n"},
		{"typed above", sub(base, "two", "2"), "zero\none\ntwo\nthree\nfour\n", Pending, "zero\none\n2\nthree\nfour\n"},
		{"typed on the line above", sub(base, "two", "2"), "one!\ntwo\nthree\nfour\n", Pending, "one!\n2\nthree\nfour\n"},
		{"typed on the line below", sub(base, "two", "2"), "one\ntwo\nthree!\nfour\n", Pending, "one\n2\nthree!\nfour\n"},
		{"line put in right above", sub(base, "two", "2"), "one\nnew\ntwo\nthree\nfour\n", Pending, "one\nnew\n2\nthree\nfour\n"},
		{"line put in right below", sub(base, "two", "2"), "one\ntwo\nnew\nthree\nfour\n", Pending, "one\n2\nnew\nthree\nfour\n"},
		{"typed in it", sub(base, "two", "2"), "one\ntwo!\nthree\nfour\n", Conflicted, ""},
		{"removed", sub(base, "two", "2"), "one\nthree\nfour\n", Conflicted, ""},
		{"everything removed", sub(base, "two", "2"), "", Conflicted, ""},
		{"the same typed", sub(base, "two", "2"), "one\n2\nthree\nfour\n", Accepted, ""},
		{"insertion, typed elsewhere", Edit{4, 4, "new\n"}, "one\ntwo\nthree\nfour!\n", Pending, "one\nnew\ntwo\nthree\nfour!\n"},
		{"insertion, typed on the line after", Edit{4, 4, "new\n"}, "one\ntwo!\nthree\nfour\n", Pending, "one\nnew\ntwo!\nthree\nfour\n"},
		{"insertion, another at the same place", Edit{4, 4, "new\n"}, "one\nmine\ntwo\nthree\nfour\n", Conflicted, ""},
		{"deletion, typed in it", Edit{4, 8, ""}, "one\ntwo!\nthree\nfour\n", Conflicted, ""},
		{"at the end without newline", sub("x\ny", "y", "z"), "w\nx\ny", Pending, "w\nx\nz"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := base
			if strings.HasPrefix(tt.name, "at the end") {
				b = "x\ny"
			}
			f := propose(t, b, tt.edit)
			f.Rebase(tt.now, nil)
			h := f.Hunks[0]
			if h.State != tt.state {
				t.Fatalf("hunk is %v, want %v (%+v)", h.State, tt.state, h)
			}
			if h.State == Pending {
				got, _, err := Splice(tt.now, f.Hunks)
				if err != nil || got != tt.want {
					t.Errorf("spliced: %q (%v), want %q", got, err, tt.want)
				}
			}
			// What was typed is taken back: the hunk is as at the start.
			if h.State == Conflicted {
				f.Rebase(b, nil)
				if h.State != Pending || b[h.Start:h.End] != h.Old {
					t.Errorf("after undo the hunk is %v at %q", h.State, b[h.Start:h.End])
				}
			}
		})
	}
}

func TestSettle(t *testing.T) {
	const before = "a\nb\nc\nd\ne\n"
	f := propose(t, before, sub(before, "b\n", "B\n"), sub(before, "d\n", "D1\nD2\n"))
	for _, tt := range []struct {
		name, after string
		want        string
	}{
		{"all", "a\nB\nc\nD1\nD2\ne\n", "landed landed"},
		{"none", before, "no no"},
		{"the first", "a\nB\nc\nd\ne\n", "landed no"},
		{"the second", "a\nb\nc\nD1\nD2\ne\n", "no landed"},
		{"all, and a line was typed", "a!\nB\nc\nD1\nD2\ne\n", "landed landed"},
		{"none, and a line was typed", "a!\nb\nc\nd\ne\n", "no no"},
		{"the first, and a line was typed", "a\nB\nc\nd\ne\nf\n", "landed no"},
		{"a formatter changed the second", "a\nB\nc\n  D1\n  D2\ne\n", "landed amended:  D1\n  D2\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, l := range Settle([]string{before, tt.after}, f.Hunks) {
				switch {
				case l.Landed && l.Final != l.Hunk.New:
					got = append(got, "amended:"+l.Final)
				case l.Landed:
					got = append(got, "landed")
				default:
					got = append(got, "no")
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
		})
	}
}

// A random model edits, a random user types, the editor lets a random part of the
// hunks through: the account must be exactly what the document says, what the user
// typed must be all there, and the hunks left over must still fit.
func TestRandomReview(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		base := lines(r, 5+r.IntN(25), "old")
		v := NewView(&Snapshot{})
		f := &File{Path: "/x", Text: base, Format: text.Plain}
		for c := range 1 + r.IntN(4) {
			if err := v.Stage(fmt.Sprint(c), f, []Edit{randomEdit(r, f.Text, "model")}); err != nil {
				t.Fatal(err)
			}
			f, _ = v.Read("/x")
		}
		p := v.Propose()
		if p == nil {
			continue
		}
		fc := p.Files[0]
		if all, _, err := Splice(base, fc.Hunks); err != nil || all != f.Text {
			t.Fatalf("seed %d: the hunks give %q (%v), want %q", seed, all, err, f.Text)
		}
		now := base
		for p.Pending() {
			if r.IntN(2) == 0 {
				typed, _ := Apply(now, []Edit{randomEdit(r, now, "user")})
				now = typed
			}
			fc.Rebase(now, nil)
			var picked, taken []*Hunk
			for _, h := range fc.Hunks {
				if h.State != Pending {
					continue
				}
				if now[h.Start:h.End] != h.Old {
					t.Fatalf("seed %d: hunk stands on %q, want %q", seed, now[h.Start:h.End], h.Old)
				}
				switch r.IntN(3) {
				case 0:
					h.State = Rejected
				case 1:
					picked = append(picked, h)
					if r.IntN(4) > 0 {
						taken = append(taken, h)
					}
				}
			}
			after, _, err := Splice(now, taken)
			if err != nil {
				t.Fatal(err)
			}
			users := strings.Count(now, "user")
			for _, l := range Settle([]string{now, after}, picked) {
				if l.Landed {
					fc.Land(l.Hunk, l.Final)
				} else {
					l.Hunk.State = Rejected
				}
			}
			if strings.Count(after, "user") != users {
				t.Fatalf("seed %d: text of the user is lost", seed)
			}
			now = after
			fc.Rebase(now, nil)
			for _, h := range fc.Hunks {
				if h.State == Accepted && h.Start >= 0 && h.End <= len(now) && h.Start <= h.End && h.Reason == "" && now[h.Start:h.End] != h.New {
					// Typing over an accepted hunk is the user's right; it then no longer equals.
					if !strings.Contains(now, "user") {
						t.Fatalf("seed %d: accepted hunk stands as %q, want %q", seed, now[h.Start:h.End], h.New)
					}
				}
			}
		}
	}
}

func lines(r *rand.Rand, n int, word string) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%s %d\n", word, r.IntN(8))
	}
	return b.String()
}

// randomEdit inserts lines, or replaces old ones; it never removes a user's line.
func randomEdit(r *rand.Rand, s, word string) Edit {
	ls := strings.SplitAfter(s, "\n")
	i := r.IntN(len(ls))
	at := len(strings.Join(ls[:i], ""))
	end := at
	if r.IntN(2) == 0 && !strings.Contains(ls[i], "user") {
		end += len(ls[i])
	}
	return Edit{at, end, lines(r, 1+r.IntN(2), word)}
}
