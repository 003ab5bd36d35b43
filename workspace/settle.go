package workspace

import (
	"slices"
	"strings"

	"redline/workspace/diff"
)

// Landing is what the document says of one hunk after an edit was sent.
type Landing struct {
	Hunk *Hunk
	// Landed is false when the lines are as they were before, or the user's.
	Landed bool
	// Final is the text that stands for the hunk now; equal to Hunk.New when
	// exactly that landed.
	Final string
}

// landing is a hunk on its way through the states of a document. Offsets and texts
// are those of the texts with unix line ends.
type landing struct {
	Hunk          // Start and End in the state of the moment; Old and New
	landed, exact bool
	touched       bool // the user changed its lines before it could land
	placed        bool // Start and End are those of the next state already
}

// Settle tells for each hunk that was sent whether it is in the document. states are
// the texts the document went through: first the one the hunks refer to, in order,
// last the one of now. What the editor answered does not matter.
//
// An editor applies an edit in one change, so a state that is the one before with
// some of the hunks in it, each whole, is the edit; any other change is somebody's
// typing, and moves the hunks along. Only where both came in one change, or a
// formatter ran within it, is the result judged line by line.
func Settle(states []string, hunks []*Hunk) []Landing {
	first := toUnix(states[0])
	all := make([]*landing, len(hunks))
	for i, h := range hunks {
		all[i] = &landing{Hunk: Hunk{
			Start: first.offset(h.Start), End: first.offset(h.End), Old: toUnix(h.Old).text, New: toUnix(h.New).text,
		}}
	}
	for _, l := range all {
		if l.Old == l.New { // an empty file: its being there is all there is
			l.landed, l.exact = true, true
		}
	}
	last := first
	for _, s := range states[1:] {
		next := toUnix(s)
		if next.text != last.text {
			advance(all, last.text, next.text)
		}
		last = next
	}
	out := make([]Landing, len(hunks))
	now := states[len(states)-1]
	for i, l := range all {
		out[i] = Landing{Hunk: hunks[i], Landed: l.landed, Final: hunks[i].New}
		if l.landed && !l.exact {
			out[i].Final = now[last.original(l.Start):last.original(l.End)]
		}
	}
	return out
}

// advance takes the hunks from one state of the document to the next.
func advance(all []*landing, a, b string) {
	var open []*Hunk
	var waiting []*landing
	for _, l := range all {
		if !l.landed && !l.touched {
			open, waiting = append(open, &l.Hunk), append(waiting, l)
		}
	}
	changes := diff.Lines(a, b)
	if picks, ok := subset(a, b, open); ok {
		changes = nil
		grown := 0
		for i, l := range waiting {
			if !picks[i] {
				continue
			}
			changes = append(changes, diff.Change{
				AStart: l.Start, AEnd: l.End, BStart: l.Start + grown, BEnd: l.Start + grown + len(l.New),
			})
			grown += len(l.New) - (l.End - l.Start)
			l.landed, l.exact = true, true
		}
	} else {
		judge(waiting, open, changes, a, b)
	}
	for _, l := range all {
		if l.placed {
			l.placed = false
			continue
		}
		start, end, ok := locate(changes, l.Start, l.End)
		if !ok && l.landed && b[start:end] != l.New {
			l.exact = false
		}
		l.Start, l.End = start, end
	}
}

// judge decides, where more than the edit can have changed the text, which hunks are
// in it.
func judge(waiting []*landing, open []*Hunk, changes []diff.Change, a, b string) {
	expected, _, err := Splice(a, open)
	if err != nil {
		return // overlapping hunks are not made
	}
	fromExpected := diff.Lines(expected, b)
	grown := 0
	for _, l := range waiting {
		start := l.Start + grown
		grown += len(l.New) - (l.End - l.Start)
		s, e, untouched := locate(changes, l.Start, l.End)
		es, ee, asExpected := locate(fromExpected, start, start+len(l.New))
		switch {
		case l.New == "" && untouched:
		case l.New == "":
			// Of a deletion nothing shows where it would be, but its lines are gone.
			l.landed = !alike(l.Old, b[s:e])
			l.touched = !l.landed
		case asExpected && alike(added(l.Old, l.New), beside(fromExpected, start, start+len(l.New), b)):
			// The new lines are there, and so are those they were to replace: these are
			// the old lines still, of which the new ones are some.
		case asExpected:
			l.landed, l.exact, l.placed = true, true, true
			l.Start, l.End = es, ee
		case untouched:
		default:
			l.landed = alike(l.New, b[s:e]) && !(l.Old != "" && alike(l.Old, b[s:e]) && !alike(added(l.New, l.Old), b[s:e]))
			l.touched = !l.landed
		}
	}
}

// beside returns what changes put directly in front of a range and behind it.
func beside(changes []diff.Change, from, to int, b string) string {
	out := ""
	for _, c := range changes {
		if c.AEnd == from || c.AStart == to {
			out += b[c.BStart:c.BEnd]
		}
	}
	return out
}

// added returns the lines of text that old does not have.
func added(text, old string) string {
	has := map[string]bool{}
	for line := range strings.Lines(old) {
		has[strings.TrimSpace(line)] = true
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !has[strings.TrimSpace(line)] {
			b.WriteString(line)
		}
	}
	return b.String()
}

// alike reports whether most of text, by length, stands in found line by line: what a
// formatter leaves of a text is like it, and so is a line in which somebody typed.
func alike(text, found string) bool {
	var lines [][]string
	for line := range strings.Lines(found) {
		lines = append(lines, strings.Fields(line))
	}
	all, there := 0, 0
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		size := len(strings.Join(words, ""))
		all += size
		if slices.ContainsFunc(lines, func(f []string) bool { return sameLine(words, f) }) {
			there += size
		}
	}
	return 2*there > all
}

// sameLine reports whether a line is another one with other white space, with
// something put before or behind it, or with no more than a fifth of its words changed.
func sameLine(words, found []string) bool {
	line, other := strings.Join(words, ""), strings.Join(found, "")
	if len(line) < 4 {
		return line == other
	}
	if strings.Contains(other, line) {
		return true
	}
	n := 0
	for _, w := range words {
		if slices.Contains(found, w) {
			n++
		}
	}
	return len(words) > 1 && 5*n >= 4*len(words)
}

// subset finds which of the hunks, each taken whole or not at all, turn before
// into after. Where two choices give the same text the hunk counts as landed.
func subset(before, after string, hunks []*Hunk) (picks []bool, ok bool) {
	picks = make([]bool, len(hunks))
	type point struct{ hunk, pos int }
	dead := map[point]bool{} // known not to lead to the end
	var walk func(i, at, pos int) bool
	walk = func(i, at, pos int) bool {
		if i == len(hunks) {
			return after[pos:] == before[at:]
		}
		if dead[point{i, pos}] {
			return false
		}
		h := hunks[i]
		if n := h.Start - at; len(after)-pos >= n && after[pos:pos+n] == before[at:h.Start] {
			p := pos + n
			for _, take := range [...]bool{true, false} {
				t := h.New
				if !take {
					t = before[h.Start:h.End]
				}
				if len(after)-p >= len(t) && after[p:p+len(t)] == t {
					picks[i] = take
					if walk(i+1, h.End, p+len(t)) {
						return true
					}
				}
			}
		}
		dead[point{i, pos}] = true
		return false
	}
	return picks, walk(0, 0, 0)
}
