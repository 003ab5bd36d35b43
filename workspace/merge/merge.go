// Package merge merges two changed versions of a text line by line, as
// "git merge-file" does: changes that touch each other are a conflict unless both
// sides made the same of them.
//
// Where no line is in a text twice, in thousands of random cases [Merge] has a conflict exactly where git
// has one, and a clean merge is git's to the byte. Where lines repeat, a change can be
// seen in several ways that are equally short; in a few of a thousand small random
// texts with many equal lines git takes another one, so that one of the two may have a
// conflict more or put a repeated line elsewhere. Guaranteed in all cases: the same
// input gives the same result, and what only one side changed is taken as it is.
package merge

import (
	"strings"

	"redline/workspace/diff"
)

// A Conflict is a run of whole lines that both sides changed, differently.
type Conflict struct {
	Base, Ours, Theirs string
	// Start and End are bytes of the merged text, where the lines of ours stand.
	Start, End int
}

// Merge returns base with the changes of both sides in it. Where they collide the
// text has the lines of ours, and the conflict is returned. Lines end with "\n"; a
// "\r" is a character like any other.
func Merge(base, ours, theirs string) (text string, conflicts []Conflict) {
	return run(base, ours, theirs, func(c diff.Change, _, end int) bool { return c.AStart <= end }, changes)
}

// MergeTouching is [Merge], but changes of both sides that only touch each other are
// both taken, and a "\r" that no "\n" follows ends a line too. Insertions at the same
// place still collide: nobody can know which goes first.
func MergeTouching(base, ours, theirs string) (text string, conflicts []Conflict) {
	return run(base, ours, theirs, func(c diff.Change, start, end int) bool {
		return c.AStart < end || (c.AStart == c.AEnd && start == end && c.AStart == start)
	}, diff.Lines)
}

// run merges; collides says whether a change belongs to the region [start, end) of
// base that changes of the other side have taken.
func run(base, ours, theirs string, collides func(c diff.Change, start, end int) bool, changes func(base, text string) []diff.Change) (text string, conflicts []Conflict) {
	switch {
	case ours == theirs || theirs == base:
		return ours, nil
	case ours == base:
		return theirs, nil
	}
	a, b := side{text: ours, changes: changes(base, ours)}, side{text: theirs, changes: changes(base, theirs)}
	var out strings.Builder
	at := 0 // in base
	for !a.done() || !b.done() {
		na, nb := a.i, b.i
		var first diff.Change
		if a.first(&b) {
			first, na = a.changes[na], na+1
		} else {
			first, nb = b.changes[nb], nb+1
		}
		start, end := first.AStart, first.AEnd
		// All changes of both sides that collide with the region belong to it.
		for grown := true; grown; {
			grown = false
			if na < len(a.changes) && collides(a.changes[na], start, end) {
				end = max(end, a.changes[na].AEnd)
				na, grown = na+1, true
			}
			if nb < len(b.changes) && collides(b.changes[nb], start, end) {
				end = max(end, b.changes[nb].AEnd)
				nb, grown = nb+1, true
			}
		}
		out.WriteString(base[at:start])
		mine, its := a.region(start, end, na), b.region(start, end, nb)
		switch {
		case na == a.i:
			out.WriteString(its)
		case nb == b.i || mine == its:
			out.WriteString(mine)
		default:
			from := out.Len()
			out.WriteString(mine)
			conflicts = append(conflicts, Conflict{base[start:end], mine, its, from, out.Len()})
		}
		a.take(na)
		b.take(nb)
		at = end
	}
	out.WriteString(base[at:])
	return out.String(), conflicts
}

// side is one changed version on its way through its changes.
type side struct {
	text    string
	changes []diff.Change
	i       int // the next change
	delta   int // growth of the text by the changes before
}

func (s *side) done() bool { return s.i == len(s.changes) }

// first reports whether the next change of s comes before that of o; an insertion
// comes before a change that begins there.
func (s *side) first(o *side) bool {
	switch {
	case s.done():
		return false
	case o.done():
		return true
	}
	c, d := s.changes[s.i], o.changes[o.i]
	return c.AStart < d.AStart || c.AStart == d.AStart && c.AEnd <= d.AEnd
}

// region returns the lines that stand for the bytes [start, end) of base, which hold
// the changes up to n.
func (s *side) region(start, end, n int) string {
	grown := s.delta
	for _, c := range s.changes[s.i:n] {
		grown += (c.BEnd - c.BStart) - (c.AEnd - c.AStart)
	}
	return s.text[start+s.delta : end+grown]
}

func (s *side) take(n int) {
	for ; s.i < n; s.i++ {
		c := s.changes[s.i]
		s.delta += (c.BEnd - c.BStart) - (c.AEnd - c.AStart)
	}
}

// changes returns how base became text. A run of inserted or deleted lines that could
// as well stand further down, because the lines after it repeat its beginning, is
// moved down as far as it goes: both sides then agree on where it is.
func changes(base, text string) []diff.Change {
	cs := diff.LinesLF(base, text)
	for i := len(cs) - 1; i >= 0; i-- {
		c := &cs[i]
		limitA, limitB := len(base), len(text)
		if i+1 < len(cs) {
			limitA, limitB = cs[i+1].AStart, cs[i+1].BStart
		}
		for {
			switch {
			case c.AStart == c.AEnd && c.BStart < c.BEnd: // inserted
				n := lineLen(text[c.BStart:])
				if c.BEnd+n > limitB || c.AEnd+n > limitA || text[c.BStart:c.BStart+n] != text[c.BEnd:c.BEnd+n] || !whole(text[c.BStart:c.BStart+n]) {
					break
				}
				*c = move(*c, n)
				continue
			case c.BStart == c.BEnd && c.AStart < c.AEnd: // deleted
				n := lineLen(base[c.AStart:])
				if c.AEnd+n > limitA || c.BEnd+n > limitB || base[c.AStart:c.AStart+n] != base[c.AEnd:c.AEnd+n] || !whole(base[c.AStart:c.AStart+n]) {
					break
				}
				*c = move(*c, n)
				continue
			}
			break
		}
	}
	return join(cs)
}

func move(c diff.Change, n int) diff.Change {
	return diff.Change{AStart: c.AStart + n, AEnd: c.AEnd + n, BStart: c.BStart + n, BEnd: c.BEnd + n}
}

// join makes one of changes that touch each other after they were moved.
func join(cs []diff.Change) []diff.Change {
	var out []diff.Change
	for _, c := range cs {
		if n := len(out); n > 0 && out[n-1].AEnd == c.AStart && out[n-1].BEnd == c.BStart {
			out[n-1].AEnd, out[n-1].BEnd = c.AEnd, c.BEnd
			continue
		}
		out = append(out, c)
	}
	return out
}

func lineLen(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i + 1
	}
	return len(s)
}

func whole(line string) bool { return strings.HasSuffix(line, "\n") }
