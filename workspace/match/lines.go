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

// rewriteAll makes the edits for old at the runs of solid lines that start at each of at.
func (s *search) rewriteAll(at []int, b block, old, new string) []Edit {
	to := newBlock(new)
	edits := make([]Edit, 0, len(at))
	for _, k := range at {
		edits = append(edits, s.rewrite(k, b, to, old, new))
	}
	return edits
}
