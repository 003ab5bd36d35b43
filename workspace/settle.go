package workspace

import (
	"strings"

	"redline/workspace/diff"
)

// Landing is what the document says of one hunk after an edit was sent.
type Landing struct {
	Hunk *Hunk
	// Landed is false when the lines are as they were before.
	Landed bool
	// Final is the text that stands for the hunk now; equal to Hunk.New when
	// exactly that landed.
	Final string
	// Lost is set when neither the old nor the new lines are there.
	Lost bool
}

// Settle compares the text after an edit with the text before it and tells for
// each hunk that was sent whether it is in the document. What the editor answered
// does not matter. The hunks must be in order and refer to before.
func Settle(before, after string, hunks []*Hunk) []Landing {
	out := make([]Landing, len(hunks))
	for i, h := range hunks {
		out[i] = Landing{Hunk: h, Final: h.New}
	}
	if picks, ok := subset(before, after, hunks); ok {
		for i := range out {
			out[i].Landed = picks[i]
		}
		return out
	}
	// Something else changed as well: typing, a formatter. Compare with what was
	// expected; lines that are as expected have landed.
	expected, _, err := Splice(before, hunks)
	if err != nil {
		return out
	}
	fromExpected, fromBefore := diff.Lines(expected, after), diff.Lines(before, after)
	delta := 0
	for i, h := range hunks {
		start := h.Start + delta
		end := start + len(h.New)
		delta += len(h.New) - (h.End - h.Start)
		s, e, asExpected := locate(fromExpected, start, end)
		_, _, untouched := locate(fromBefore, h.Start, h.End)
		switch {
		case asExpected && h.New == "" && (untouched || stillIn(fromExpected, start, h.Old, after)):
			// Of a deletion nothing shows where it would be; but its lines are there.
		case asExpected:
			out[i].Landed = true
		case untouched:
		default:
			out[i].Landed, out[i].Lost = true, true
			if s <= e && e <= len(after) {
				out[i].Final = after[s:e]
			}
		}
	}
	return out
}

// stillIn reports whether a change of the text at offset at brought back a line of
// old: what looks like typing in the next line is then typing there, with the lines
// in front of it never deleted.
func stillIn(changes []diff.Change, at int, old, after string) bool {
	for _, c := range changes {
		if c.AStart > at || c.AEnd < at {
			continue
		}
		got := after[c.BStart:c.BEnd]
		for line := range strings.Lines(old) {
			if strings.TrimSpace(line) != "" && (strings.HasPrefix(got, line) || strings.Contains(got, "\n"+line)) {
				return true
			}
		}
	}
	return false
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
