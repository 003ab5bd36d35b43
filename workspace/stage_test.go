package workspace

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"redline/workspace/text"
)

// randomText has lines of every kind of line end.
func randomText(r *rand.Rand, n int) string {
	ends := []string{"\n", "\n", "\n", "\r\n", "\r", ""}
	var b strings.Builder
	for range n {
		b.WriteString(strings.Repeat(string(rune('a'+r.IntN(4))), r.IntN(3)))
		b.WriteString(ends[r.IntN(len(ends))])
	}
	return b.String()
}

func randomEdits(r *rand.Rand, t string) []Edit {
	var cuts []int
	for range 2 * (1 + r.IntN(3)) {
		cuts = append(cuts, r.IntN(len(t)+1))
	}
	slices.Sort(cuts)
	var out []Edit
	for i := 0; i+1 < len(cuts); i += 2 {
		out = append(out, Edit{cuts[i], cuts[i+1], randomText(r, r.IntN(3))})
	}
	return out
}

// Composed edits do what the edits do one after the other, and the changes of
// whole lines they are turned into do the same again.
func TestCompose(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		base := randomText(r, r.IntN(12))
		now, all := base, []Edit(nil)
		for range 1 + r.IntN(4) {
			edits := randomEdits(r, now)
			next, err := Apply(now, edits)
			if err != nil {
				t.Fatal(err)
			}
			all = compose(all, edits)
			now = next
		}
		got, err := Apply(base, all)
		if err != nil || got != now {
			t.Fatalf("seed %d: composed %+v give %q (%v), want %q", seed, all, got, err, now)
		}
		var lines []Edit
		for _, c := range lineChanges(base, now, all) {
			lines = append(lines, Edit{c.AStart, c.AEnd, now[c.BStart:c.BEnd]})
			for _, at := range []int{c.AStart, c.AEnd} {
				if lineClose(base, at) != at {
					t.Fatalf("seed %d: %q is cut within a line at %d", seed, base, at)
				}
			}
		}
		if got, err := Apply(base, lines); err != nil || got != now {
			t.Fatalf("seed %d: lines %+v of %q give %q (%v), want %q", seed, lines, base, got, err, now)
		}
	}
}

// The user types while edits are staged: what is staged moves along, what the user
// typed is all there, and what collides is told as a conflict.
func TestMove(t *testing.T) {
	const base = "a\nb\nc\nd\ne\n"
	snap := func(text string) *Snapshot {
		return &Snapshot{docs: map[string]*Document{"/x": {Key: "/x", Path: "/x", Text: text}}}
	}
	v := NewView(snap(base))
	for i, w := range []string{"b", "d"} {
		f, err := v.Read("/x")
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Stage([]string{"c1", "c2"}[i], f, []Edit{sub(f.Text, w+"\n", strings.ToUpper(w)+"\n")}); err != nil {
			t.Fatal(err)
		}
	}
	v.Move(snap("typed\na\nb\nc\nd, mine\ne\n"))
	f, _ := v.Read("/x")
	if want := "typed\na\nB\nc\nd, mine\ne\n"; f.Text != want {
		t.Fatalf("the view has %q, want %q", f.Text, want)
	}
	v.Move(snap("more\ntyped\na\nb\nc\nd, mine\ne\n"))
	p := v.Propose()
	hs := p.Files[0].Hunks
	if len(hs) != 2 || hs[0].State != Pending || hs[0].CallIDs[0] != "c1" || hs[1].State != Conflicted || hs[1].CallIDs[0] != "c2" || hs[1].New != "D\n" {
		t.Fatalf("hunks: %+v %+v", hs[0], hs[1])
	}
	now := "more\ntyped\na\nb\nc\nd, mine\ne\n"
	if now[hs[0].Start:hs[0].End] != "b\n" || now[hs[1].Start:hs[1].End] != "d, mine\n" {
		t.Errorf("hunks stand on %q and %q", now[hs[0].Start:hs[0].End], now[hs[1].Start:hs[1].End])
	}
}

// A random user types while a random model stages: the lines of the user are never
// touched, and the proposal gives what the tools were shown.
func TestRandomMove(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		now := lines(r, 4+r.IntN(20), "old")
		snap := func() *Snapshot {
			return &Snapshot{docs: map[string]*Document{"/x": {Key: "/x", Path: "/x", Text: now}}}
		}
		v := NewView(snap())
		for range 2 + r.IntN(6) {
			if r.IntN(2) == 0 {
				now, _ = Apply(now, []Edit{randomEdit(r, now, "user")})
				v.Move(snap())
				continue
			}
			f, err := v.Read("/x")
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Stage("c", f, []Edit{randomEdit(r, f.Text, "model")}); err != nil {
				t.Fatal(err)
			}
		}
		f, _ := v.Read("/x")
		if strings.Count(f.Text, "user") != strings.Count(now, "user") {
			t.Fatalf("seed %d: the user's lines are lost:\n%s\nof\n%s", seed, f.Text, now)
		}
		p := v.Propose()
		if p == nil {
			continue
		}
		var open []*Hunk
		for _, h := range p.Files[0].Hunks {
			if h.State == Pending {
				open = append(open, h)
			}
		}
		if got, _, err := Splice(now, open); err != nil || got != f.Text {
			t.Fatalf("seed %d: the proposal gives %q (%v), the tools were shown %q", seed, got, err, f.Text)
		}
	}
}

func TestStageFileOperations(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{"a.txt": "a\n", "b.txt": "b\n", "pic.png": "\x89PNG\x00\x01"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	ws, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	type step struct {
		do      string // delete, rename, create, edit
		a, b    string
		wantErr error
	}
	for _, tt := range []struct {
		name  string
		steps []step
		want  string // op path newPath old→new of each hunk
	}{
		{"delete", []step{{"delete", "a.txt", "", nil}}, `delete a.txt: "a\n"→""`},
		{"delete what is not there", []step{{"delete", "none", "", fs.ErrNotExist}}, ""},
		{"delete and create is an edit", []step{{"delete", "a.txt", "", nil}, {"create", "a.txt", "z\n", nil}}, `edit a.txt: "a\n"→"z\n"`},
		{"create and delete is nothing", []step{{"create", "n.txt", "z\n", nil}, {"delete", "n.txt", "", nil}}, ""},
		{"rename", []step{{"rename", "a.txt", "n.txt", nil}}, `rename a.txt n.txt: ""→""`},
		{"rename, edited before and after", []step{{"edit", "a.txt", "x\n", nil}, {"rename", "a.txt", "n.txt", nil}, {"edit", "n.txt", "y\n", nil}}, `rename a.txt n.txt: ""→"" "a\n"→"y\n"`},
		{"rename there and back", []step{{"rename", "a.txt", "n.txt", nil}, {"rename", "n.txt", "a.txt", nil}}, ""},
		{"rename twice", []step{{"rename", "a.txt", "n.txt", nil}, {"rename", "n.txt", "o.txt", nil}}, `rename a.txt o.txt: ""→""`},
		{"rename onto another", []step{{"rename", "a.txt", "b.txt", ErrExists}}, ""},
		{"rename and delete", []step{{"rename", "a.txt", "n.txt", nil}, {"delete", "n.txt", "", nil}}, `delete a.txt: "a\n"→""`},
		{"rename a new file", []step{{"create", "n.txt", "z\n", nil}, {"rename", "n.txt", "o.txt", nil}}, `create o.txt: ""→"z\n"`},
		{"the old name is gone", []step{{"rename", "a.txt", "n.txt", nil}, {"delete", "a.txt", "", fs.ErrNotExist}}, `rename a.txt n.txt: ""→""`},
		{"no text", []step{{"rename", "pic.png", "n.png", nil}}, `rename pic.png n.png: ""→""`},
		{"no text, deleted", []step{{"delete", "pic.png", "", nil}}, `delete pic.png: ""→""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := NewView(ws.Snapshot())
			for _, s := range tt.steps {
				var err error
				switch s.do {
				case "delete":
					err = v.Delete("c", at(s.a))
				case "rename":
					err = v.Rename("c", at(s.a), at(s.b))
				case "create":
					err = v.Create("c", at(s.a), s.b)
				case "edit":
					f, rerr := v.Read(at(s.a))
					if rerr != nil {
						t.Fatal(rerr)
					}
					err = v.Stage("c", f, []Edit{{0, len(f.Text), s.b}})
				}
				if !errors.Is(err, s.wantErr) {
					t.Fatalf("%s %s: %v, want %v", s.do, s.a, err, s.wantErr)
				}
			}
			var got []string
			if p := v.Propose(); p != nil {
				for _, f := range p.Files {
					line := string(f.Op) + " " + filepath.Base(f.Path)
					if f.NewPath != "" {
						line += " " + filepath.Base(f.NewPath)
					}
					line += ":"
					for _, h := range f.Hunks {
						line += strings.ReplaceAll(" "+quoted(h.Old)+"→"+quoted(h.New), "\n", `\n`)
					}
					got = append(got, line)
				}
			}
			if s := strings.Join(got, "; "); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
}

func quoted(s string) string { return `"` + s + `"` }

func TestStageKeepsEncoding(t *testing.T) {
	v := NewView(&Snapshot{})
	f := &File{Path: "/x", Text: "é\n", Format: text.Format{Encoding: text.Latin1}}
	if err := v.Stage("c", f, []Edit{{0, 0, "日\n"}}); err == nil {
		t.Error("a character that the file cannot hold was staged")
	}
}

// An alignment that is brought up to date change by change maps places as one that is
// made anew does, wherever a text does not repeat itself; and is always one of the two
// texts.
func TestAlignmentUpdate(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 5))
		base := lines(r, 2+r.IntN(12), "old")
		now, a := base, align(base, base)
		for range 1 + r.IntN(6) {
			var next string
			if r.IntN(5) == 0 {
				next = base // everything taken back
			} else {
				next, _ = Apply(now, randomEdits(r, strings.ReplaceAll(now, "\r", ""))[:1])
			}
			next = strings.ReplaceAll(next, "\r", "")
			a = a.update(next)
			now = next
			edits := make([]Edit, len(a.changes))
			for i, c := range a.changes {
				edits[i] = Edit{c.AStart, c.AEnd, now[c.BStart:c.BEnd]}
			}
			if got, err := Apply(base, edits); err != nil || got != now {
				t.Fatalf("seed %d: the changes give %q (%v), want %q", seed, got, err, now)
			}
			if now == base && len(a.changes) > 0 {
				t.Fatalf("seed %d: taken back, and yet %+v", seed, a.changes)
			}
		}
	}
}
