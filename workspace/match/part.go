package match

import (
	"strings"
	"unicode/utf8"
)

// maxAnchors bounds the occurrences of its anchor word that foldedPart looks at.
const maxAnchors = 4000

// foldedPart finds old as any part of the text, not only whole lines, when nothing but quotes, Unicode punctuation and
// the line ends differ. Whitespace must agree and both ends must be word boundaries.
func (s *search) foldedPart(old, new string) []Edit {
	old = strings.ReplaceAll(strings.TrimPrefix(old, "\uFEFF"), "\r\n", "\n")
	from, to := longestWord(old)
	if to-from < 2 {
		return nil
	}
	if !strings.ContainsAny(old, "\"'`") && isASCII(old) && s.ends.crlf == 0 && s.plainText() {
		return nil // there is nothing to fold: the search for old as it is has told
	}
	word := old[from:to]
	var spans [][2]int
	tries := 0
	for at := 0; ; {
		i := strings.Index(s.text[at:], word)
		if i < 0 {
			break
		}
		i += at
		at = i + 1
		if tries++; tries > maxAnchors {
			return nil
		}
		end, ok := foldedAfter(s.text, i+len(word), old[to:])
		if !ok {
			continue
		}
		start, ok := foldedBefore(s.text, i, old[:from])
		if !ok || !wordBounded(s.text, start, end) {
			continue
		}
		if n := len(spans); n > 0 && start < spans[n-1][1] {
			continue
		}
		spans = append(spans, [2]int{start, end})
	}
	if len(spans) == 0 {
		return nil
	}
	edits := s.edits(spans, len(spans), old, new, Ambiguous)
	for i := range edits {
		edits[i].New = s.keepLines(spans[i], old, new)
	}
	return edits
}

// keepLines writes new for a place of as many lines as old, with the file's own text in the lines that old and new share.
func (s *search) keepLines(sp [2]int, old, new string) string {
	file, ends := splitEnds(s.text[sp[0]:sp[1]])
	was := strings.Split(old, "\n")
	lines := strings.Split(strings.ReplaceAll(new, "\r\n", "\n"), "\n")
	pairs := align(len(was), len(lines), func(i, j int) int {
		if was[i] == lines[j] {
			return alike
		}
		return unlike
	})
	usual := s.ends.near(s.text, sp[0], sp[1])
	var b strings.Builder
	for j, l := range lines {
		i := pairs[j]
		if i >= len(file) {
			i = -1
		}
		if i >= 0 {
			b.WriteString(file[i])
		} else {
			b.WriteString(straighten(l, old, s.text[sp[0]:sp[1]]))
		}
		switch {
		case j == len(lines)-1:
		case i >= 0 && ends[i] != "":
			b.WriteString(ends[i])
		default:
			b.WriteString(usual)
		}
	}
	return b.String()
}

// longestWord returns the bounds of the longest run of ASCII word characters.
func longestWord(s string) (from, to int) {
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] < 0x80 && isWord(rune(s[j])) {
			j++
		}
		if j-i > to-from {
			from, to = i, j
		}
		i = j + 1
	}
	return from, to
}

// foldedAfter matches want at text[at:] and returns where it ends.
func foldedAfter(text string, at int, want string) (end int, ok bool) {
	for want != "" {
		r, n := utf8.DecodeRuneInString(want)
		if strings.HasPrefix(text[at:], "\r\n") && r == '\n' {
			at += 2
			want = want[n:]
			continue
		}
		if at == len(text) {
			return 0, false
		}
		q, m := utf8.DecodeRuneInString(text[at:])
		if !alikeRunes(r, q) {
			return 0, false
		}
		at += m
		want = want[n:]
	}
	return at, true
}

// foldedBefore matches want backwards from text[:at] and returns where it starts.
func foldedBefore(text string, at int, want string) (start int, ok bool) {
	for want != "" {
		r, n := utf8.DecodeLastRuneInString(want)
		if at == 0 {
			return 0, false
		}
		q, m := utf8.DecodeLastRuneInString(text[:at])
		if !alikeRunes(r, q) {
			return 0, false
		}
		at -= m
		want = want[:len(want)-n]
		if r == '\n' && strings.HasSuffix(text[:at], "\r") {
			at--
		}
	}
	return at, true
}

// alikeRunes reports whether a model may write one for the other.
func alikeRunes(a, b rune) bool {
	if a == b {
		return a != utf8.RuneError
	}
	return plainRune(a) == plainRune(b)
}

func plainRune(r rune) rune {
	if p, ok := plain(r); ok && len(p) == 1 {
		r = rune(p[0])
	}
	if r == '\'' || r == '`' {
		return '"'
	}
	return r
}
