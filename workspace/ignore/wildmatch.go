package ignore

import "strings"

// outcome of matching one pattern suffix against one text suffix. The two ways of giving up keep the search from trying
// again what cannot succeed: nothing further to the right helps, or nothing before the next slash does.
type outcome uint8

const (
	matched outcome = iota
	mismatch
	hopeless       // the text is too short, or the pattern is malformed
	hopelessInPart // only an asterisk that crosses slashes may still succeed
)

// wildmatch reports whether the glob matches all of text, both taken as bytes. With pathname set, `*`, `?` and bracket
// expressions do not match a slash, while `**` does when slashes or the ends of the pattern surround it. fold makes ASCII
// letters match in either case.
func wildmatch(glob, text string, pathname, fold bool) bool {
	m := matcher{pathname: pathname, fold: fold, glob: glob}
	return m.match(0, text) == matched
}

type matcher struct {
	pathname, fold bool
	glob           string
}

// at gives the byte at i, and 0 past the end. Patterns hold no NUL, so that 0 stands for the end.
func (m *matcher) at(i int) byte {
	if i < len(m.glob) {
		return m.glob[i]
	}
	return 0
}

func (m *matcher) match(p int, text string) outcome {
	t := 0
	for ; p < len(m.glob); p, t = p+1, t+1 {
		c := m.glob[p]
		if t == len(text) && c != '*' {
			return hopeless
		}
		var b byte
		if t < len(text) {
			b = m.lower(text[t])
		}
		switch c {
		case '*':
			return m.star(p, text[t:])
		case '?':
			if m.pathname && b == '/' {
				return mismatch
			}
		case '[':
			end, in := m.bracket(p, b)
			if end < 0 {
				return hopeless
			}
			if !in || m.pathname && b == '/' {
				return mismatch
			}
			p = end
		case '\\':
			// The escaped byte is not folded, as in git.
			if p++; p == len(m.glob) || m.glob[p] != b {
				return mismatch
			}
		default:
			if m.lower(c) != b {
				return mismatch
			}
		}
	}
	if t < len(text) {
		return mismatch
	}
	return matched
}

// star matches from an asterisk at p on.
func (m *matcher) star(p int, text string) outcome {
	first := p
	for m.at(p) == '*' {
		p++
	}
	crosses := !m.pathname
	if m.pathname && p-first > 1 {
		next := m.at(p)
		opens := first == 0 || m.glob[first-1] == '/'
		closes := next == 0 || next == '/' || next == '\\' && m.at(p+1) == '/'
		if opens && closes {
			// `**/` may also stand for no directory at all. When that is hopeless, so it is further to the right.
			if next == '/' {
				if r := m.match(p+1, text); r == matched || r == hopeless {
					return r
				}
			}
			crosses = true
		}
	}
	if p == len(m.glob) {
		if !crosses && strings.IndexByte(text, '/') >= 0 {
			return hopelessInPart
		}
		return matched
	}
	if !crosses && m.glob[p] == '/' {
		slash := strings.IndexByte(text, '/')
		if slash < 0 {
			return hopeless
		}
		return m.match(p+1, text[slash+1:])
	}
	next := m.glob[p]
	plain := strings.IndexByte(`*?[\`, next) < 0
	next = m.lower(next)
	for t := 0; t < len(text); t++ {
		if plain && m.lower(text[t]) != next {
			if text[t] == '/' && !crosses {
				return hopelessInPart
			}
			continue
		}
		switch r := m.match(p, text[t:]); r {
		case matched, hopeless:
			return r
		case hopelessInPart:
			if !crosses {
				return r
			}
		}
		if text[t] == '/' && !crosses {
			return hopelessInPart
		}
	}
	return hopeless
}

// bracket matches b against the bracket expression that begins at p. It returns where the closing bracket is, or -1 when
// the expression is malformed, which makes the whole pattern match nothing.
func (m *matcher) bracket(p int, b byte) (end int, in bool) {
	p++
	negated := m.at(p) == '!' || m.at(p) == '^'
	if negated {
		p++
	}
	var prev byte // what a range may begin with; 0 after a range or a class
	// The first byte may be a closing bracket and stands for itself then.
	for start := p; p == start || m.at(p) != ']'; p++ {
		c := m.at(p)
		switch {
		case c == 0:
			return -1, false
		case c == '\\':
			p++
			if c = m.at(p); c == 0 {
				return -1, false
			}
			in = in || b == c
		case c == '-' && prev != 0 && m.at(p+1) != 0 && m.at(p+1) != ']':
			p++
			last := m.at(p)
			if last == '\\' {
				p++
				if last = m.at(p); last == 0 {
					return -1, false
				}
			}
			in = in || prev <= b && b <= last
			if m.fold && isLower(b) {
				upper := b - 'a' + 'A'
				in = in || prev <= upper && upper <= last
			}
			c = 0
		case c == '[' && m.at(p+1) == ':':
			closing := p + 2
			for m.at(closing) != ']' {
				if m.at(closing) == 0 {
					return -1, false
				}
				closing++
			}
			if closing-1 < p+2 || m.glob[closing-1] != ':' {
				in = in || b == '[' // not a class after all
				break
			}
			member, known := classOf(m.glob[p+2:closing-1], b, m.fold)
			if !known {
				return -1, false
			}
			in = in || member
			p, c = closing, 0
		default:
			in = in || b == c
		}
		prev = c
	}
	return p, in != negated
}

// classOf says whether b belongs to the POSIX class of that name in the C locale, as git sees it: only the four usual
// white-space bytes are space.
func classOf(name string, b byte, fold bool) (member, known bool) {
	digit := '0' <= b && b <= '9'
	alpha := isLower(b) || isUpper(b)
	space := b == ' ' || b == '\t' || b == '\n' || b == '\r'
	graph := b > ' ' && b < 0x7f
	switch name {
	case "alnum":
		return alpha || digit, true
	case "alpha":
		return alpha, true
	case "blank":
		return b == ' ' || b == '\t', true
	case "cntrl":
		return b < ' ' || b == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return isLower(b), true
	case "print":
		return graph || b == ' ', true
	case "punct":
		return graph && !alpha && !digit, true
	case "space":
		return space, true
	case "upper":
		return isUpper(b) || fold && isLower(b), true
	case "xdigit":
		return digit || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F', true
	}
	return false, false
}

func (m *matcher) lower(b byte) byte {
	if m.fold {
		return toLower(b)
	}
	return b
}

func isLower(b byte) bool { return 'a' <= b && b <= 'z' }
func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

func toLower(b byte) byte {
	if isUpper(b) {
		return b + 'a' - 'A'
	}
	return b
}
