package workspace

import (
	"strings"

	"redline/workspace/diff"
	"redline/workspace/text"
)

// Rewrite returns the edits that turn base into content, where content's line ends
// say nothing: lines that stay keep theirs, also where they are mixed, and new
// lines get those of the line before, or what most lines of base have. Whether the
// text ends with a line end is content's to say.
func Rewrite(base, content string) []Edit {
	eol := text.Dominant(base)
	content = text.WithEOL(content, "\n")
	plain := text.WithEOL(base, "\n")
	crIsLine := eol == "\r"
	if crIsLine {
		content, plain = strings.ReplaceAll(content, "\r", "\n"), strings.ReplaceAll(plain, "\r", "\n")
	}

	// Byte offsets of the lines of base; plain has the same lines.
	starts := []int{0}
	for i := 0; i < len(base); {
		n := nextLine(base[i:], crIsLine)
		i += n
		starts = append(starts, i)
	}
	var edits []Edit
	for _, c := range diff.LinesLF(plain, content) {
		from, to := c.ALine, c.ALine+strings.Count(plain[c.AStart:c.AEnd], "\n")
		if c.AEnd == len(plain) {
			to = len(starts) - 1
		}
		start, end := starts[from], starts[to]
		use := eol
		if from > 0 {
			prev := base[starts[from-1]:start]
			if e := prev[len(strings.TrimRight(prev, "\r\n")):]; e != "" {
				use = lastEOL(e, crIsLine)
			}
		}
		t := strings.ReplaceAll(content[c.BStart:c.BEnd], "\n", use)
		if strings.HasSuffix(t, "\r") && strings.HasPrefix(base[end:], "\n") {
			t = t[:len(t)-1] + "\n" // else it would become one with the empty line that follows
		}
		edits = append(edits, Edit{start, end, t})
	}
	return edits
}

// lastEOL returns the terminator at the end of e, a run of "\r" and "\n".
func lastEOL(e string, crIsLine bool) string {
	switch {
	case strings.HasSuffix(e, "\r\n"):
		return "\r\n"
	case strings.HasSuffix(e, "\n"):
		return "\n"
	case crIsLine:
		return "\r"
	}
	return "\n"
}

func nextLine(s string, crIsLine bool) int {
	if crIsLine {
		return diff.NextLine(s)
	}
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i + 1
	}
	return len(s)
}
