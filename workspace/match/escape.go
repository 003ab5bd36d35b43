package match

import "strings"

// escapes is a set of escape sequences, by the byte after the backslash, and what each stands for.
type escapes map[byte]byte

var (
	quoteEscapes = escapes{'"': '"', '\'': '\'', '`': '`'}
	lineEscapes  = escapes{'n': '\n', 't': '\t', 'r': '\r'}
	allEscapes   = escapes{'"': '"', '\'': '\'', '`': '`', 'n': '\n', 't': '\t', 'r': '\r', '\\': '\\'}
)

// unescapings returns the sets of sequences that may have been escaped once too often in s, most likely first.
func unescapings(s string) []escapes {
	if strings.IndexByte(s, '\\') < 0 {
		return nil
	}
	if allEscapes.replace(s) == quoteEscapes.replace(s) {
		return []escapes{quoteEscapes}
	}
	return []escapes{allEscapes, lineEscapes, quoteEscapes}
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
		if c, ok := e[s[i]]; ok {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('\\')
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescapeNew resolves in new what was escaped in old. New text that has bare what old has escaped only was written as
// it is meant.
func (e escapes) unescapeNew(old, new string) string {
	for c, plain := range e {
		if c == '\\' || plain == '\t' || plain == '\r' {
			continue
		}
		if bare(new, plain) && !bare(old, plain) && strings.Contains(old, `\`+string(rune(c))) {
			return new
		}
	}
	if len(e) == len(quoteEscapes) && allEscapes.replace(new) != lineEscapes.replace(quoteEscapes.replace(new)) && lineEscapes.replace(new) == new {
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
