package workspace

import (
	"strings"

	"redline/workspace/diff"
)

// Merge brings what leads from base to theirs into ours, line by line. ok is false
// when both sides changed the same lines in different ways, or inserted different
// lines at the same place.
func Merge(base, ours, theirs string) (merged string, ok bool) {
	switch {
	case ours == theirs || theirs == base:
		return ours, true
	case ours == base:
		return theirs, true
	}
	mine, other := diff.Lines(base, ours), diff.Lines(base, theirs)
	var b strings.Builder
	at, i := 0, 0
	take := func(text string, c diff.Change) {
		b.WriteString(base[at:c.AStart])
		b.WriteString(text[c.BStart:c.BEnd])
		at = c.AEnd
	}
	for _, c := range other {
		for i < len(mine) && before(mine[i], c) {
			take(ours, mine[i])
			i++
		}
		if i == len(mine) || before(c, mine[i]) {
			take(theirs, c)
			continue
		}
		m := mine[i]
		if m.AStart != c.AStart || m.AEnd != c.AEnd || ours[m.BStart:m.BEnd] != theirs[c.BStart:c.BEnd] {
			return "", false
		}
		take(ours, m)
		i++
	}
	for ; i < len(mine); i++ {
		take(ours, mine[i])
	}
	b.WriteString(base[at:])
	return b.String(), true
}

// before reports whether a ends where b begins or earlier. Two insertions at the same
// place are not in order: nobody can know which goes first.
func before(a, b diff.Change) bool {
	if a.AStart == a.AEnd && b.AStart == b.AEnd {
		return a.AEnd < b.AStart
	}
	return a.AEnd <= b.AStart
}
