package match

import (
	"slices"
	"sort"
	"strings"
)

// nearest returns the real text that is most like old, for the model to quote in its next try; nil when nothing is.
func (s *search) nearest(old string) []Excerpt {
	if len(s.text) > maxForgiving {
		return nil
	}
	b := newBlock(old)
	if len(b.lines) == 0 {
		return nil
	}
	best, ok := s.nearestRun(b)
	if ok {
		return []Excerpt{s.linesFrom(best, b)}
	}
	for _, v := range unwrappings(old, "") {
		u := newBlock(v.old)
		if best, ok = s.nearestRun(u); ok {
			return []Excerpt{s.linesFrom(best, u)}
		}
	}
	line, i, ok := s.nearestLine(b)
	if !ok {
		return nil
	}
	return []Excerpt{s.linesFrom(line-i, b)}
}

// nearestRun returns where b would start for the most of its lines to be in the file where they stand in b.
func (s *search) nearestRun(b block) (solid int, ok bool) {
	weight, _ := s.index().votes(b)
	most := 0
	for k, w := range weight {
		if w > most || w == most && k < solid {
			solid, most = k, w
		}
	}
	return solid, most > 0
}

// linesFrom cuts out the solid lines from k on, as many as b has. Of a long block it shows the part where the file
// starts to differ.
func (s *search) linesFrom(k int, b block) Excerpt {
	ix, n := s.ix, len(b.lines)
	from := 0
	if n > maxExcerptLines/2 {
		for from < n && k+from >= 0 && k+from < len(ix.hash) && ix.hash[k+from] == b.hashes[from] {
			from++
		}
		from = max(0, from-3)
	}
	first := min(max(0, k+from), len(ix.solid)-1)
	last := min(max(first, k+n-1), len(ix.solid)-1)
	row := int(ix.solid[first])
	return excerpt(s.text, int(ix.start[row]), int(ix.start[ix.solid[last]+1]), row+1, maxExcerptLines, maxExcerptBytes)
}

// nearestLine returns the solid line of the file that shares most with a line of b, and that line, going by the
// longest words of b.
func (s *search) nearestLine(b block) (solid, line int, ok bool) {
	const (
		wordsTried = 3
		hitsTried  = 100
	)
	type word struct {
		text string
		line int
	}
	var all []word
	for i, l := range b.lines[:min(len(b.lines), 50)] {
		for _, w := range words(l.text) {
			if len(w) >= 3 && !slices.ContainsFunc(all, func(x word) bool { return x.text == w }) {
				all = append(all, word{w, i})
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return len(all[i].text) > len(all[j].text) })
	most := 0
	for _, w := range all[:min(len(all), wordsTried)] {
		want := words(b.lines[w.line].text)
		for at, hits := 0, 0; hits < hitsTried; hits++ {
			i := strings.Index(s.text[at:], w.text)
			if i < 0 {
				break
			}
			i += at
			row := sort.Search(s.ix.rows(), func(r int) bool { return int(s.ix.start[r+1]) > i })
			at = int(s.ix.start[row+1])
			k, found := slices.BinarySearch(s.ix.solid, int32(row))
			if !found {
				continue
			}
			if n := shared(want, words(cut(s.ix.line(row), 2000))); n > most {
				most, solid, line, ok = n, k, w.line, true
			}
		}
	}
	return solid, line, ok
}

// shared is the total length of the words of a that are in b.
func shared(a, b []string) int {
	n := 0
	for _, w := range a {
		if slices.Contains(b, w) {
			n += len(w)
		}
	}
	return n
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
