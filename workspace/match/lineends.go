package match

import "strings"

// lineEnds is what a text says about its line ends.
type lineEnds struct {
	lf, crlf int
	// cr is set only when carriage returns are the only line ends there are; elsewhere they are text.
	cr int
}

func lineEndsOf(text string) lineEnds {
	if strings.IndexByte(text, '\r') < 0 {
		// Whether there is one at all is enough for a file without carriage returns.
		if strings.IndexByte(text, '\n') < 0 {
			return lineEnds{}
		}
		return lineEnds{lf: 1}
	}
	crlf := strings.Count(text, "\r\n")
	ends := lineEnds{lf: strings.Count(text, "\n") - crlf, crlf: crlf}
	if ends.lf+ends.crlf == 0 {
		ends.cr = strings.Count(text, "\r")
	}
	return ends
}

// usual returns the line end most lines have.
func (e lineEnds) usual() string {
	if e.crlf > e.lf {
		return "\r\n"
	}
	return "\n"
}

// mixed reports whether the text has both.
func (e lineEnds) mixed() bool { return e.lf > 0 && e.crlf > 0 }

// adopt gives new the line ends of the place text[start:end] it is going to, so that a file never gets a line end it
// does not have there. Lines that stand in the place already keep their own.
func (e lineEnds) adopt(text string, start, end int, new string) string {
	if e.cr > 0 {
		return withReturnsOnly(new)
	}
	if e.lf+e.crlf == 0 {
		return new // a file of one line says nothing
	}
	if e.crlf == 0 {
		return strings.ReplaceAll(new, "\r\n", "\n")
	}
	new = strings.ReplaceAll(new, "\r\n", "\n")
	if strings.IndexByte(new, '\n') < 0 {
		return new
	}
	if !e.mixed() {
		return strings.ReplaceAll(new, "\n", "\r\n")
	}
	was, ends := splitEnds(text[start:end])
	lines := strings.Split(new, "\n")
	pairs := align(len(was), len(lines), func(i, j int) int {
		if was[i] == lines[j] {
			return alike
		}
		return unlike
	})
	pairBetween(pairs, len(was))
	usual := e.near(text, start, end)
	var b strings.Builder
	for j, l := range lines {
		b.WriteString(l)
		if j == len(lines)-1 {
			break
		}
		if k := pairs[j]; k >= 0 && ends[k] != "" {
			b.WriteString(ends[k])
		} else {
			b.WriteString(usual)
		}
	}
	return b.String()
}

// pairBetween pairs lines that were changed: where as many stand between two paired ones before and after, one by one.
// pairs has for each new line the old one, or -1; old is the number of old lines.
func pairBetween(pairs []int, old int) {
	last, lastOld := -1, -1
	for j := 0; j <= len(pairs); j++ {
		next := old
		if j < len(pairs) {
			next = pairs[j]
		}
		if next < 0 {
			continue
		}
		if j-last == next-lastOld {
			for k := last + 1; k < j; k++ {
				pairs[k] = lastOld + k - last
			}
		}
		last, lastOld = j, next
	}
}

// withReturnsOnly spells the line ends of s as lone carriage returns.
func withReturnsOnly(s string) string {
	return strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(s)
}

// near returns the line end of the place text[start:end]: that of most lines in it, else of the line it is in.
func (e lineEnds) near(text string, start, end int) string {
	in := lineEndsOf(text[start:end])
	if in.lf+in.crlf == 0 {
		if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
			return endAt(text, end+i)
		}
		if i := strings.LastIndexByte(text[:start], '\n'); i >= 0 {
			return endAt(text, i)
		}
		return e.usual()
	}
	if in.crlf == in.lf {
		return e.usual()
	}
	return in.usual()
}

// endAt returns the line end whose newline is at offset i.
func endAt(text string, i int) string {
	if i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// splitEnds splits s into lines and their ends; the last line may have none.
func splitEnds(s string) (lines, ends []string) {
	for {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			return append(lines, s), append(ends, "")
		}
		end := endAt(s, i)
		lines = append(lines, s[:i+1-len(end)])
		ends = append(ends, end)
		s = s[i+1:]
	}
}
