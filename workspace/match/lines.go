package match

import "slices"

// wholeLines finds old as a run of whole lines that differ in whitespace, quotes or Unicode forms.
func (s *search) wholeLines(old, new string) ([]Edit, Stage) {
	b := newBlock(old)
	if len(b.lines) == 0 {
		return nil, ""
	}
	ix := s.index()
	runs, more := ix.runs(b.hashes, max(maxPlaces, s.expected))
	ranked := map[Stage][]int{}
	for _, k := range runs {
		if stage := ix.rank(k, b); stage != "" {
			ranked[stage] = append(ranked[stage], k)
		}
	}
	for _, stage := range []Stage{StageTrailing, StageWhitespace, StageQuotes} {
		at := ranked[stage]
		if len(at) == 0 {
			continue
		}
		overlap := false
		for i := 1; i < len(at); i++ {
			overlap = overlap || at[i] < at[i-1]+len(b.lines)
		}
		if len(at) != s.expected || more || overlap {
			s.err = &Error{Kind: Ambiguous, Expected: s.expected, Found: len(at), Many: more, Excerpts: s.runPlaces(at, len(b.lines))}
			return nil, ""
		}
		if s.contradicts(at[0], b, new) {
			return nil, ""
		}
		return s.rewriteAll(at, b, old, new), stage
	}
	return nil, ""
}

// runPlaces makes excerpts of runs of n solid lines.
func (s *search) runPlaces(at []int, n int) []Excerpt {
	var spans [][2]int
	for _, k := range at[:min(len(at), maxExcerpts)] {
		first, last := s.ix.solid[k], s.ix.solid[k+n-1]
		spans = append(spans, [2]int{int(s.ix.start[first]), int(s.ix.start[last+1])})
	}
	return places(s.text, spans)
}

// rank returns the strictest stage at which the solid lines from k on are those of b, or "" when they are not.
func (ix *index) rank(k int, b block) Stage {
	stage := StageTrailing
	for i, l := range b.lines {
		indent, text := splitIndent(ix.solidLine(k + i))
		st := lineStage(indent, text, l)
		if st == "" {
			return ""
		}
		stage = looser(stage, st)
	}
	return stage
}

func lineStage(indent, text string, l blockLine) Stage {
	switch {
	case text == l.text && indent == l.indent:
		return StageTrailing
	case sameTokens(text, l.text):
		return StageWhitespace
	case sameTokens(fold(text), fold(l.text)):
		return StageQuotes
	}
	return ""
}

func looser(a, b Stage) Stage {
	order := []Stage{StageTrailing, StageWhitespace, StageQuotes}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// contradicts reports whether new puts more lines where old has a blank line that the file has not: then the model had
// a line in mind there that it left out of old, most likely a lone bracket, and forgiving the blank line would double or
// keep what is meant to be replaced.
func (s *search) contradicts(k int, b block, new string) bool {
	p := s.ix.place(k, len(b.lines))
	to := newBlock(new)
	m := newMerge(p, b, to, s.ix.style)
	// Each round looks at the lines between two that old and new share, blank ones before the second included.
	from, fromOld := 0, 0
	for j := 0; j <= len(to.lines); j++ {
		if j < len(to.lines) && !m.same[j] {
			continue
		}
		end, gaps := len(b.lines), to.tail
		if j < len(to.lines) {
			end, gaps = m.near[j], to.lines[j].gap
		}
		for _, l := range to.lines[from:j] {
			gaps += l.gap
		}
		missing := false
		for i := fromOld; i <= end; i++ {
			said, has := s.blanks(p, b, i)
			gaps -= said
			missing = missing || said > has
		}
		if missing && gaps < 0 && j-from > end-fromOld {
			return true
		}
		from, fromOld = j+1, end+1
	}
	return false
}

// blanks returns how many blank lines the model says are before line i of the place (after it, when i is past the last
// one), and how many there are.
func (s *search) blanks(p place, b block, i int) (said, has int) {
	switch n := len(b.lines); {
	case i == 0:
		said = b.lines[0].gap
		for row := p.row(0) - 1; has < said && row >= 0 && s.ix.blank(row); row-- {
			has++
		}
	case i < n:
		said, has = b.lines[i].gap, p.gap(i)
	default:
		said = b.tail
		for row := p.row(n-1) + 1; has < said && row < s.ix.rows() && s.ix.blank(row); row++ {
			has++
		}
	}
	return said, has
}

// rewriteAll makes the edits for old at the runs of solid lines that start at each of at.
func (s *search) rewriteAll(at []int, b block, old, new string) []Edit {
	to := newBlock(new)
	edits := make([]Edit, 0, len(at))
	for _, k := range at {
		edits = append(edits, s.rewrite(k, b, to, old, new))
	}
	return edits
}
