package workspace

import (
	"fmt"
	"slices"
	"strings"

	"redline/workspace/diff"
)

// An Edit replaces the bytes [Start, End) of a text.
type Edit struct {
	Start, End int
	New        string
}

// Apply returns t with the edits made, which must be in order and not overlap.
func Apply(t string, edits []Edit) (string, error) {
	if err := inOrder(edits, len(t)); err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(len(t) + growth(edits))
	at := 0
	for _, e := range edits {
		b.WriteString(t[at:e.Start])
		b.WriteString(e.New)
		at = e.End
	}
	b.WriteString(t[at:])
	return b.String(), nil
}

// inOrder checks that edits fit a text of the given size.
func inOrder(edits []Edit, size int) error {
	at := 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > size {
			return fmt.Errorf("edit of bytes %d to %d is out of order or out of range", e.Start, e.End)
		}
		at = e.End
	}
	return nil
}

// growth returns how many bytes longer a text is after the edits.
func growth(edits []Edit) (n int) {
	for _, e := range edits {
		n += len(e.New) - (e.End - e.Start)
	}
	return n
}

// compose returns the edits of a text that do what first does and then second,
// which refers to the text after first. Both must be in order.
func compose(first, second []Edit) []Edit {
	if len(first) == 0 {
		return slices.Clone(second)
	}
	var out []Edit
	delta := 0 // growth of the text by the edits of first up to i
	i := 0
	for j := 0; j < len(second); {
		// Edits of first that end before the next of second stay as they are.
		for i < len(first) && first[i].Start+delta+len(first[i].New) < second[j].Start {
			out = append(out, first[i])
			delta += growth(first[i : i+1])
			i++
		}
		// One edit takes in everything that touches: start and end are in the middle
		// text, the one after first.
		start, end := second[j].Start, second[j].End
		before, from, m := delta, i, j
		j++
		for grown := true; grown; {
			grown = false
			for i < len(first) && first[i].Start+delta <= end {
				start = min(start, first[i].Start+delta)
				end = max(end, first[i].Start+delta+len(first[i].New))
				delta += growth(first[i : i+1])
				i++
				grown = true
			}
			for j < len(second) && second[j].Start <= end {
				end = max(end, second[j].End)
				j++
				grown = true
			}
		}
		out = append(out, Edit{start - before, end - delta, middle(first[from:i], second[m:j], start, end, before)})
	}
	return append(out, first[i:]...)
}

// middle returns the text that stands for the bytes [start, end) of the middle text
// after second. Every byte of that range that second keeps is of some edit of
// first: what neither touches is not in a range.
func middle(first, second []Edit, start, end, delta int) string {
	var b strings.Builder
	kept := func(from, to int) { // bytes of the middle text
		d := delta
		for _, e := range first {
			s := e.Start + d
			t := s + len(e.New)
			if lo, hi := max(from, s), min(to, t); lo < hi {
				b.WriteString(e.New[lo-s : hi-s])
			}
			d += len(e.New) - (e.End - e.Start)
		}
	}
	at := start
	for _, e := range second {
		kept(at, e.Start)
		b.WriteString(e.New)
		at = e.End
	}
	kept(at, end)
	return b.String()
}

// shift moves a position over edits; a position inside an edited range goes to
// its start, or to the end of the new text when end is set.
func shift(edits []Edit, pos int, end bool) int {
	delta := 0
	for _, e := range edits {
		switch {
		case pos < e.Start || (pos == e.Start && !end && e.Start != e.End):
			return pos + delta
		case pos >= e.End && !(pos == e.Start && end && e.Start == e.End):
			delta += len(e.New) - (e.End - e.Start)
		default:
			if end {
				return e.Start + delta + len(e.New)
			}
			return e.Start + delta
		}
	}
	return pos + delta
}

// lineChanges returns the changes of whole lines that edits make to base, as
// [diff.Lines] would, but looks only at the lines around the edits and counts none.
func lineChanges(base, after string, edits []Edit) []diff.Change {
	var out []diff.Change
	delta, last := 0, 0
	for i := 0; i < len(edits); {
		// A window of whole lines in both texts, around as many edits as touch it.
		start := max(last, lineBegin(base, edits[i].Start))
		end, grown := edits[i].End, delta+growth(edits[i:i+1])
		i++
		for {
			end = max(end, lineClose(base, end))
			if i < len(edits) && lineBegin(base, edits[i].Start) <= end {
				end = max(end, edits[i].End)
				grown += growth(edits[i : i+1])
				i++
				continue
			}
			// The window of the new text must end where a line does.
			if b := after[start+delta : end+grown]; end < len(base) && b != "" && (!endsLine(b) || (b[len(b)-1] == '\r' && base[end] == '\n')) {
				end += diff.NextLine(base[end:])
				continue
			}
			break
		}
		for _, c := range diff.Lines(base[start:end], after[start+delta:end+grown]) {
			out = append(out, diff.Change{AStart: c.AStart + start, AEnd: c.AEnd + start, BStart: c.BStart + start + delta, BEnd: c.BEnd + start + delta})
		}
		delta, last = grown, end
	}
	return out
}

func endsLine(s string) bool { return s[len(s)-1] == '\n' || s[len(s)-1] == '\r' }

// lineBegin returns the start of the line at byte i of t. A line that a lone "\r"
// ends is taken together with the next: an edit may make "\r\n" of it.
func lineBegin(t string, i int) int {
	for i > 0 && t[i-1] != '\n' {
		j := strings.LastIndexByte(t[:i], '\n')
		if j < 0 || i-j > 4096 {
			return crBegin(t, i) // a very long line, or "\r" for line ends
		}
		i = j + 1
	}
	return i
}

// crBegin is lineBegin where "\n" is far: two lines that "\r" ends.
func crBegin(t string, i int) int {
	for n := 0; i > 0; i-- {
		if c := t[i-1]; c == '\n' {
			return i
		} else if c == '\r' && (i == len(t) || t[i] != '\n') {
			if n++; n == 2 {
				return i
			}
		}
	}
	return 0
}

// lineClose returns i when a line ends there, else the end of its line.
func lineClose(t string, i int) int {
	if i == 0 || i == len(t) || t[i-1] == '\n' || (t[i-1] == '\r' && t[i] != '\n') {
		return i
	}
	return i + diff.NextLine(t[i:])
}
