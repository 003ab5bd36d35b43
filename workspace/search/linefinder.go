package search

import "bytes"

// lineFinder finds matching lines for one goroutine.
type lineFinder struct {
	*matcher
	dfa       *dfa
	cursor    cursor
	literally bool
}

func newLineFinder(m *matcher) *lineFinder {
	f := &lineFinder{matcher: m}
	if m.prog != nil {
		f.dfa = newDFA(m.prog)
	}
	return f
}

// The two letters outside of ASCII that equal an ASCII letter, k and s, when case does not count.
var kelvinSign, longS = []byte("\u212a"), []byte("\u017f")

// reset prepares for a new text. next must be called with no other.
func (f *lineFinder) reset(text []byte) {
	f.cursor.reset()
	f.literally = f.literals != nil && !(f.kelvin && (bytes.Contains(text, longS) || bytes.Contains(text, kelvinSign)))
}

// next finds the first matching line among those of text from the one that begins at from, which must not decrease from
// call to call. end is where its line end (\n or \r\n) begins; near is an offset in the line close to where it matches.
func (f *lineFinder) next(text []byte, from int) (start, end, near int, ok bool) {
	for from < len(text) {
		if !f.literally {
			near = f.scan(text, from)
		} else {
			near = f.literals.find(text, from, &f.cursor)
		}
		if near < 0 {
			return 0, 0, 0, false
		}
		start = from + bytes.LastIndexByte(text[from:near], '\n') + 1
		lineEnd := indexFrom(text, '\n', near)
		if !f.literally || f.sure || f.scan(text[:lineEnd], start) >= 0 {
			end = lineEnd
			if end > start && text[end-1] == '\r' {
				end--
			}
			return start, end, min(near, end), true
		}
		from = lineEnd + 1
	}
	return 0, 0, 0, false
}

// scan finds the first line from the one at from that matches, without the help of literals, and returns an offset in it,
// or -1.
func (f *lineFinder) scan(text []byte, from int) int {
	if f.dfa != nil {
		return f.dfa.scan(text, from)
	}
	for from < len(text) {
		end := indexFrom(text, '\n', from)
		if loc := f.slow.FindIndex(bytes.TrimSuffix(text[from:end], []byte{'\r'})); loc != nil {
			return from + loc[0]
		}
		from = end + 1
	}
	return -1
}
