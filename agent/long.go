package agent

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// maxResult is how much of one result the model is told at once, in bytes.
const maxResult = 128 << 10

// maxLine is the longest line that is kept in one piece in a file, in bytes: what
// read_file shows whole.
const maxLine = 2000

// shorten returns text as it is when it has at most limit bytes. Else it keeps the
// whole in the session's folder, where read_file can page through it, and returns
// the whole lines that fit of the beginning and, if tail is set, mostly of the end.
func (s *Session) shorten(text string, limit int, tail bool) string {
	if len(text) <= limit {
		return text
	}
	text = breakLines(strings.ToValidUTF8(text, "\ufffd"))
	lines := strings.Count(text, "\n")
	if !strings.HasSuffix(text, "\n") {
		lines++
	}
	headRoom, tailRoom := limit, 0
	if tail {
		headRoom, tailRoom = limit/4, limit-limit/4
	}
	head := text[:strings.LastIndexByte(text[:headRoom], '\n')+1]
	end := ""
	if tailRoom > 0 {
		end = text[len(text)-tailRoom:]
		end = end[strings.IndexByte(end, '\n')+1:]
	}
	first := strings.Count(head, "\n")
	last := lines - strings.Count(end, "\n")
	if end != "" && !strings.HasSuffix(end, "\n") {
		last--
	}
	where := "could not be kept"
	file, err := s.tempFile("result-*.txt")
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err == nil {
		where = fmt.Sprintf("is in %s; read on with read_file, offset %d and limit %d", file, first, min(last-first, 500))
	}
	return fmt.Sprintf("%s[Lines %d to %d of %d (%d bytes in all) are left out here. The whole %s.]\n%s", head, first+1, last, lines, len(text), where, end)
}

// breakLines breaks lines that are longer than maxLine.
func breakLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for len(line) > maxLine+1 {
			n := maxLine
			for !utf8.RuneStart(line[n]) {
				n--
			}
			b.WriteString(line[:n] + "\n")
			line = line[n:]
		}
		b.WriteString(line)
	}
	return b.String()
}
