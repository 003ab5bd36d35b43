package match

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind says why Find refused.
type Kind int

// The reasons.
const (
	// NotFound: no place, however layout is forgiven. Excerpts holds the nearest real text, if any.
	NotFound Kind = iota + 1
	// Count: a number of places other than the expected one. Excerpts shows some of them.
	Count
	// Ambiguous: alike places of which no one can be told to be meant, or that overlap. Excerpts shows some of them.
	Ambiguous
	// NoChange: the replacement leaves the text as it is.
	NoChange
	// Placeholder: the new text leaves code out ("rest of code unchanged"). Line holds the offending line.
	Placeholder
	// EmptyOld: there is nothing to look for.
	EmptyOld
	// BadCount: fewer than one replacement was asked for.
	BadCount
)

// Error tells why nothing is to be replaced, with what the next try needs.
type Error struct {
	Kind     Kind
	Expected int    // the number of places asked for
	Found    int    // the number of places found; a lower bound when Many is set
	Many     bool   // there are more than Found
	Line     string // the placeholder line of kind Placeholder
	Excerpts []Excerpt
}

// Error describes the refusal in one line, without the excerpts.
func (e *Error) Error() string {
	more := ""
	if e.Many {
		more = "more than "
	}
	switch e.Kind {
	case NotFound:
		return "0 occurrences found"
	case Count:
		return fmt.Sprintf("expected %d occurrences but found %s%d", e.Expected, more, e.Found)
	case Ambiguous:
		return fmt.Sprintf("expected %d occurrences but %s%d places match when layout is ignored, and none matches exactly", e.Expected, more, e.Found)
	case NoChange:
		return "the new text leaves the file as it is"
	case Placeholder:
		return fmt.Sprintf("the new text leaves code out: %q", e.Line)
	case EmptyOld:
		return "the old text is empty"
	case BadCount:
		return fmt.Sprintf("the expected number of occurrences must be at least 1, not %d", e.Expected)
	}
	return "no match"
}

// Excerpt is some real text of the file.
type Excerpt struct {
	Line int    // the number of its first line, from 1
	Text string // whole lines joined by \n, shortened to some 2 KB
	More bool   // lines or parts of lines were left out
}

// Limits on what an error carries, so that a refusal never floods the model's context.
const (
	maxExcerpts     = 5
	maxExcerptLines = 40
	maxExcerptBytes = 2000
)

// lastLine is the number of the last line of the excerpt, from 1.
func (x Excerpt) lastLine() int { return x.Line + strings.Count(x.Text, "\n") }

// Title names the lines, as in "line 12" or "lines 12-15".
func (x Excerpt) Title() string {
	if last := x.lastLine(); last != x.Line {
		return fmt.Sprintf("lines %d-%d", x.Line, last)
	}
	return fmt.Sprintf("line %d", x.Line)
}

// excerpt cuts the whole lines around text[start:end]; line is the number of the line that start is on, from 1.
func excerpt(text string, start, end, line, maxLines, maxBytes int) Excerpt {
	start = strings.LastIndexByte(text[:start], '\n') + 1
	if end < start {
		end = start
	}
	if end > start && text[end-1] == '\n' {
		end--
	}
	if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
		end += i
	} else {
		end = len(text)
	}
	x := Excerpt{Line: line}
	part := text[start:end]
	if len(part) > maxBytes {
		part, x.More = part[:maxBytes], true
		for len(part) > 0 && !utf8.RuneStart(text[start+len(part)]) {
			part = part[:len(part)-1]
		}
		if i := strings.LastIndexByte(part, '\n'); i > 0 {
			part = part[:i]
		}
	}
	for at, n := 0, 0; ; n++ {
		i := strings.IndexByte(part[at:], '\n')
		if i < 0 {
			break
		}
		if n+1 == maxLines {
			part, x.More = part[:at+i], true
			break
		}
		at += i + 1
	}
	x.Text = strings.ReplaceAll(strings.TrimSuffix(part, "\r"), "\r\n", "\n")
	return x
}

// places turns spans of the text, in order, into excerpts for an error.
func places(text string, spans [][2]int) []Excerpt {
	var out []Excerpt
	line, at := 1, 0
	for _, sp := range spans {
		if len(out) == maxExcerpts {
			break
		}
		line += strings.Count(text[at:sp[0]], "\n")
		at = sp[0]
		out = append(out, excerpt(text, sp[0], sp[1], line, 4, maxExcerptBytes/maxExcerpts))
	}
	return out
}
