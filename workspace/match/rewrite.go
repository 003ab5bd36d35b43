package match

import (
	"slices"
	"strings"
)

// place is the solid lines of the file that the model's old lines stand for, one for one.
type place struct {
	ix     *index
	first  int      // number of the first one among the solid lines
	indent []string // of each
	text   []string // of each, trimmed
}

func (ix *index) place(k, n int) place {
	p := place{ix: ix, first: k, indent: make([]string, n), text: make([]string, n)}
	for i := range n {
		p.indent[i], p.text[i] = splitIndent(ix.solidLine(k + i))
	}
	return p
}

// row is the number of the file's line that old line i stands for.
func (p place) row(i int) int { return int(p.ix.solid[p.first+i]) }

// gap is the number of blank lines before line i, i > 0.
func (p place) gap(i int) int { return p.row(i) - p.row(i-1) - 1 }

// rewrite carries the change from the lines of old to the lines of new over to the place at solid line k: a three-way
// merge in which the model's old text is the base. What it left alone keeps the file's bytes.
func (s *search) rewrite(k int, old, new block, oldText, newText string) Edit {
	p := s.ix.place(k, len(old.lines))
	last := len(old.lines) - 1
	// Blank lines around the old text belong to the place as far as the file has them.
	_, before := s.blanks(p, old, 0)
	_, after := s.blanks(p, old, len(old.lines))
	start, end := int(s.ix.start[p.row(0)]), s.ix.contentEnd(p.row(last))
	if newText == "" {
		return Edit{Start: int(s.ix.start[p.row(0)-before]), End: int(s.ix.start[p.row(last)+after+1])}
	}
	usual := s.ends.near(s.text, int(s.ix.start[p.row(0)]), int(s.ix.start[p.row(last)+1]))
	var b strings.Builder
	m := newMerge(p, old, new, s.ix.style)
	written := -1 // the old line whose gap was written before a line put in there
	for j := range new.lines {
		gap := new.lines[j].gap
		switch i := m.near[j]; {
		case j == 0:
			if lead := old.lines[0].gap; gap == lead {
				gap = 0 // whatever the file has before the place stays
			} else {
				start = int(s.ix.start[p.row(0)-before])
				gap = max(0, before+gap-lead)
			}
			b.WriteString(strings.Repeat(usual, gap))
		case i > 0 && m.near[j-1] < i && gap == old.lines[i].gap && i != written:
			s.writeGap(&b, p, i, usual)
		case i < 0 && gap > 0 && m.gapAfter(j-1) == gap:
			written = m.near[j-1] + 1
			s.writeGap(&b, p, written, usual)
		case i > 0 && i != written:
			b.WriteString(strings.Repeat(usual, max(0, p.gap(i)+gap-old.lines[i].gap)))
		default:
			b.WriteString(strings.Repeat(usual, gap))
		}
		if m.kept[j] {
			b.WriteString(s.ix.line(p.row(m.near[j])))
		} else {
			b.WriteString(m.indent(j))
			b.WriteString(straighten(new.lines[j].text, oldText, s.text[start:end]))
			b.WriteString(m.trail(j))
		}
		if j < len(new.lines)-1 {
			e := usual
			if i := m.near[j]; i >= 0 {
				e = orElse(s.ix.lineEnd(p.row(i)), usual)
			}
			b.WriteString(e)
		}
	}
	if len(new.lines) == 0 {
		// Nothing but blank lines: tail of them, the last of which keeps the line end after the place.
		b.WriteString(strings.Repeat(usual, max(0, new.tail-1)))
	} else if new.tail != old.tail {
		tail := max(0, after+new.tail-old.tail)
		b.WriteString(strings.Repeat(usual, tail))
		if after > 0 {
			end = s.ix.contentEnd(p.row(last) + after)
		}
	}
	if new.ended && !old.ended {
		b.WriteString(usual)
	}
	return Edit{Start: start, End: end, New: b.String()}
}

// writeGap writes the file's own blank lines before line i of the place, with the blanks in them.
func (s *search) writeGap(b *strings.Builder, p place, i int, usual string) {
	for r := p.row(i) - p.gap(i); r < p.row(i); r++ {
		b.WriteString(s.ix.line(r))
		b.WriteString(orElse(s.ix.lineEnd(r), usual))
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// rows is the number of lines.
func (ix *index) rows() int { return len(ix.start) - 1 }

// contentEnd is the offset of the end of line i, before its line end.
func (ix *index) contentEnd(i int) int { return int(ix.start[i]) + len(ix.line(i)) }

// blank reports whether line i holds nothing but whitespace.
func (ix *index) blank(i int) bool {
	_, found := slices.BinarySearch(ix.solid, int32(i))
	return !found
}
