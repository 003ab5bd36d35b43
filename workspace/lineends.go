package workspace

import (
	"sort"
	"strings"

	"redline/workspace/diff"
)

// Editors change line ends behind our back: VS Code gives a file with mixed ones a
// single kind when it opens it, and inserted text always gets the buffer's. Texts
// are therefore aligned with every CR LF read as LF, and offsets carried over.

// unix is a text with each CR LF as LF. removed are the offsets in the original of
// the CRs that are gone, in order; none for most texts, which are then not copied.
type unix struct {
	text    string
	removed []int
}

func toUnix(s string) unix {
	n := strings.Count(s, "\r\n")
	if n == 0 {
		return unix{text: s}
	}
	u := unix{removed: make([]int, 0, n)}
	var b strings.Builder
	b.Grow(len(s) - n)
	for at := 0; ; {
		i := strings.Index(s[at:], "\r\n")
		if i < 0 {
			b.WriteString(s[at:])
			u.text = b.String()
			return u
		}
		b.WriteString(s[at : at+i])
		u.removed = append(u.removed, at+i)
		at += i + 1
	}
}

// offset returns the place in u.text of an offset of the original.
func (u unix) offset(original int) int { return original - sort.SearchInts(u.removed, original) }

// original is the inverse of offset; a place in front of an LF is one in front of its CR.
func (u unix) original(offset int) int {
	return offset + sort.Search(len(u.removed), func(i int) bool { return u.removed[i]-i >= offset })
}

// SameText reports whether a and b are equal but for CR LF and LF.
func SameText(a, b string) bool {
	return a == b || (strings.Contains(a, "\r") || strings.Contains(b, "\r")) && toUnix(a).text == toUnix(b).text
}

// alignment says how a text became another one.
type alignment struct {
	from, to unix
	changes  []diff.Change
}

// update returns the alignment of a's first text with to, which differs little from
// a's second one: only the lines around the changes are compared. None of the texts
// may hold a CR.
func (a alignment) update(to string) alignment {
	last := a.to.text
	a.to = unix{text: to}
	if to == a.from.text {
		a.changes = nil
		return a
	}
	p := diff.Prefix(last, to)
	s := diff.Suffix(last[p:], to[p:])
	edits := make([]Edit, len(a.changes))
	for i, c := range a.changes {
		edits[i] = Edit{c.AStart, c.AEnd, last[c.BStart:c.BEnd]}
	}
	edits = compose(edits, []Edit{{p, len(last) - s, to[p : len(to)-s]}})
	a.changes = lineChanges(a.from.text, to, edits)
	return a
}

func align(from, to string) alignment {
	a := alignment{from: toUnix(from), to: toUnix(to)}
	a.changes = diff.Lines(a.from.text, a.to.text)
	return a
}

// beside returns what stands now directly around an offset of the first text where
// something changed.
func (a alignment) beside(at int) string {
	return beside(a.changes, a.from.offset(at), a.from.offset(at), a.to.text)
}

// locate maps the range [from, to) of the first text to the second; see [locate].
func (a alignment) locate(from, to int) (start, end int, ok bool) {
	start, end, ok = locate(a.changes, a.from.offset(from), a.from.offset(to))
	if start > end || end > len(a.to.text) {
		end = start
	}
	return a.to.original(start), a.to.original(end), ok
}
