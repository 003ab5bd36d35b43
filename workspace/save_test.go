package workspace

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type mapTexts map[int]string

func (m mapTexts) Put(_, t string) int {
	n := len(m) + 1
	m[n] = t
	return n
}

func (m mapTexts) Get(n int) (string, error) {
	t, ok := m[n]
	if !ok {
		return "", errors.New("missing")
	}
	return t, nil
}

// What is saved of a proposal in the middle of its review is all of it: it goes on as
// it would have.
func TestSaveProposal(t *testing.T) {
	v := NewView(&Snapshot{docs: map[string]*Document{"/w/a.txt": {Key: "/w/a.txt", Path: "/w/a.txt", Version: 7, Text: "a\nb\nc\nd\ne\nf\ng\n"}}})
	f, err := v.Read("/w/a.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Stage("c1", f, []Edit{{2, 3, "B"}, {10, 11, "<F>"}}); err != nil {
		t.Fatal(err)
	}
	if err := v.Create("c2", "/w/new.txt", "n\n"); err != nil {
		t.Fatal(err)
	}
	p := v.Propose()
	p.ID, p.Notes = "p1", []string{"note"}
	a := p.Files[0]
	a.Rebase("typed\na\nb\nc\nd\ne\nf\ng\n", ptrTo(int32(8)))
	a.Land(a.Hunks[0], "BB\n")
	texts := mapTexts{}
	raw, err := SaveProposal(p, texts)
	if err != nil {
		t.Fatal(err)
	}
	got, err := RestoreProposal(raw, texts)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, got, cmp.AllowUnexported(FileChange{}, Hunk{}), cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
		t.Error(d)
	}
	for i := range texts {
		lost := mapTexts{}
		for j, s := range texts {
			if i != j {
				lost[j] = s
			}
		}
		if _, err := RestoreProposal(raw, lost); err == nil {
			t.Errorf("restored without text %d", i)
		}
	}
}

func ptrTo[T any](v T) *T { return &v }

// A field that is not exported is saved only if savedFile and savedHunk know it.
func TestSaveKnowsEveryField(t *testing.T) {
	for typ, known := range map[reflect.Type][]string{
		reflect.TypeFor[Proposal]():   nil,
		reflect.TypeFor[FileChange](): {"now", "version", "moved", "text"}, // moved follows from text and now
		reflect.TypeFor[Hunk]():       {"from", "to"},
		reflect.TypeFor[File]():       nil,
	} {
		var got []string
		for i := range typ.NumField() {
			if f := typ.Field(i); !f.IsExported() {
				got = append(got, f.Name)
			}
		}
		if d := cmp.Diff(known, got); d != "" {
			t.Errorf("%v has fields that save.go does not know:\n%s", typ, d)
		}
	}
}
