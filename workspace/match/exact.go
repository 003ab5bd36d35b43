package match

import "strings"

// maxPlaces bounds the places one search collects when fewer are expected; the rest is only counted.
const maxPlaces = 10000

// exact finds old byte for byte. With bounded set, places inside a word do not count.
func (s *search) exact(old, new string, bounded bool) []Edit {
	spans, found := s.occurrences(s.text, old, bounded)
	if found == 1 && s.expected == 1 && !bounded {
		if other, ok := s.overlapping(spans[0], old, new); ok {
			s.err = &Error{Kind: Count, Expected: 1, Found: 2, Excerpts: places(s.text, [][2]int{spans[0], other})}
			return nil
		}
	}
	return s.edits(spans, found, old, new, Count)
}

// overlapping returns another place of old that begins in the one that was found, if replacing it would make another
// text: of "}\n}\n}\n" either pair of braces may be meant.
func (s *search) overlapping(found [2]int, old, new string) (other [2]int, ok bool) {
	// Text that repeats itself has as many such places as bytes; the first few tell.
	for at, tries := found[0]+1, 0; at < found[1] && at+len(old) <= len(s.text) && tries < 8; tries++ {
		i := strings.Index(s.text[at:min(len(s.text), found[1]-1+len(old))], old)
		if i < 0 {
			return other, false
		}
		at += i
		// The texts differ in what stands between the two places.
		if new+s.text[found[1]:at+len(old)] != s.text[found[0]:at]+new {
			return [2]int{at, at + len(old)}, true
		}
		at++
	}
	return other, false
}

// occurrences returns the spans of old in text, not overlapping, and their number, which may exceed the spans kept.
func (s *search) occurrences(text, old string, bounded bool) (spans [][2]int, found int) {
	limit := max(maxPlaces, s.expected)
	f := newFinder(old)
	for at := 0; ; {
		i := f.index(text[at:])
		if i < 0 {
			return spans, found
		}
		i += at
		at = i + len(old)
		if bounded && !wordBounded(text, i, at) {
			at = i + 1
			continue
		}
		found++
		if found > limit {
			// Enough is known to refuse; the rest is only counted.
			return spans, found + strings.Count(text[at:], old)
		}
		spans = append(spans, [2]int{i, at})
	}
}

// edits replaces the spans by new, or sets the error when their number is not the expected one.
func (s *search) edits(spans [][2]int, found int, old, new string, wrong Kind) []Edit {
	if found == 0 {
		return nil
	}
	if found != s.expected || len(spans) != found {
		s.err = &Error{Kind: wrong, Expected: s.expected, Found: found, Excerpts: places(s.text, spans)}
		return nil
	}
	out := make([]Edit, 0, len(spans))
	for _, sp := range spans {
		out = append(out, Edit{Start: sp[0], End: sp[1], New: s.ends.adopt(s.text, sp[0], sp[1], new)})
	}
	return out
}

// exactButLineEnds finds old with the line ends of both sides taken alike.
func (s *search) exactButLineEnds(old, new string, bounded bool) []Edit {
	lf := strings.ReplaceAll(strings.TrimPrefix(old, "\uFEFF"), "\r\n", "\n")
	if lf == "" {
		return nil
	}
	if s.ends.cr > 0 {
		if lf = withReturnsOnly(lf); lf == old {
			return nil
		}
		spans, found := s.occurrences(s.text, lf, bounded)
		return s.edits(spans, found, lf, new, Count)
	}
	if lf == old && (s.ends.crlf == 0 || strings.IndexByte(old, '\n') < 0) {
		return nil // the same search as the exact one
	}
	if strings.HasPrefix(old, "\uFEFF") {
		new = strings.TrimPrefix(new, "\uFEFF")
	}
	if s.ends.crlf == 0 {
		spans, found := s.occurrences(s.text, lf, bounded)
		return s.edits(spans, found, lf, new, Count)
	}
	spans, found := s.occurrences(strings.ReplaceAll(s.text, "\r\n", "\n"), lf, bounded)
	return s.edits(s.withReturns(spans), found, lf, new, Count)
}

// withReturns moves spans of the text without its carriage returns to the text as it is.
func (s *search) withReturns(spans [][2]int) [][2]int {
	at, skipped := 0, 0 // at counts in the text as it is
	move := func(to int) int {
		for {
			i := strings.Index(s.text[at:], "\r\n")
			if i < 0 || at+i-skipped >= to {
				return to + skipped
			}
			at += i + 2
			skipped++
		}
	}
	for i := range spans {
		spans[i][0] = move(spans[i][0])
		spans[i][1] = move(spans[i][1])
	}
	return spans
}

// finder is strings.Index for one long string in a long text. The standard search looks for the first bytes of the
// string, which in code are blanks; looking for a word in the middle of it is several times as fast.
type finder struct {
	s        string
	word     string // part of s, short enough for the vectorised search
	off      int    // where it is in s
	failures int    // candidates that were none
}

func newFinder(s string) *finder {
	const short = 60 // up to here the standard search is vectorised
	if len(s) <= short {
		return &finder{s: s}
	}
	from, to := longestWord(s)
	if to-from < 4 {
		return &finder{s: s}
	}
	return &finder{s: s, word: s[from:min(to, from+short)], off: from}
}

func (f *finder) index(text string) int {
	// Text that repeats itself would make comparing candidates quadratic: there the standard search, linear whatever
	// comes, takes over.
	enough := 1000 + len(text)/len(f.s)
	for at := f.off; f.word != "" && f.failures < enough; {
		if at > len(text) {
			return -1
		}
		i := strings.Index(text[at:], f.word)
		if i < 0 {
			return -1
		}
		if start := at + i - f.off; strings.HasPrefix(text[start:], f.s) {
			return start
		}
		f.failures++
		at += i + 1
	}
	return strings.Index(text, f.s)
}
