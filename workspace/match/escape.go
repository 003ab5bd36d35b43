package match

import "strings"

// escapes is a set of escape sequences that may have been written once too often.
type escapes struct {
	of map[byte]byte // what the byte after the backslash stands for
	// inStrings keeps the sequences that a quote follows: those end a string literal of the program, as in "done\n".
	inStrings bool
}

var (
	quoteEscapes  = escapes{of: map[byte]byte{'"': '"', '\'': '\'', '`': '`'}}
	lineEscapes   = escapes{of: map[byte]byte{'n': '\n', 't': '\t', 'r': '\r'}}
	layoutEscapes = escapes{of: lineEscapes.of, inStrings: true}
	allEscapes    = escapes{of: map[byte]byte{'"': '"', '\'': '\'', '`': '`', 'n': '\n', 't': '\t', 'r': '\r', '\\': '\\'}}
)

// unescapings returns the sets of sequences that may have been escaped once too often in s, most likely first.
func unescapings(s string) []escapes {
	if strings.IndexByte(s, '\\') < 0 {
		return nil
	}
	if allEscapes.replace(s) == quoteEscapes.replace(s) {
		return []escapes{quoteEscapes}
	}
	return []escapes{allEscapes, lineEscapes, layoutEscapes, quoteEscapes}
}

// replace resolves the sequences of the set. A doubled backslash is always read as one unit.
func (e escapes) replace(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		c, ok := e.of[s[i]]
		if !ok || e.keeps(s, i) {
			b.WriteByte('\\')
			c = s[i]
		}
		b.WriteByte(c)
	}
	return b.String()
}

// keeps reports whether the sequence with the backslash before s[i] belongs to a string literal.
func (e escapes) keeps(s string, i int) bool {
	return e.inStrings && e.of[s[i]] != 0 && i+1 < len(s) && strings.IndexByte("\"'`\\", s[i+1]) >= 0
}

// kept counts the sequences that replace leaves because of keeps.
func (e escapes) kept(s string) int {
	n := 0
	for i := 1; i < len(s); i++ {
		if s[i-1] == '\\' {
			if e.keeps(s, i) {
				n++
			}
			i++
		}
	}
	return n
}

// unescapeNew resolves in new what was escaped in old. New text that has bare what old has escaped only was written as
// it is meant.
func (e escapes) unescapeNew(old, new string) string {
	for c, plain := range e.of {
		if c == '\\' || plain == '\t' || plain == '\r' {
			continue
		}
		if bare(new, plain) && !bare(old, plain) && strings.Contains(old, `\`+string(rune(c))) {
			return new
		}
	}
	if e.of['n'] == 0 && !strings.Contains(old, `\\`) && strings.Contains(new, `\\`) && lineEscapes.replace(new) == new {
		// Only quotes were there to be escaped in old, but new shows that backslashes were doubled too.
		return allEscapes.replace(new)
	}
	return e.replace(new)
}

// bare reports whether c stands in s without a backslash before it.
func bare(s string, c byte) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case c:
			return true
		}
	}
	return false
}
