package lsptest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Position is a place in a document: 0-based line, and character in units of the
// negotiated encoding, as LSP counts them.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is a half-open range of positions.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// TextEdit replaces a range.
type TextEdit struct {
	Range        Range  `json:"range"`
	NewText      string `json:"newText"`
	AnnotationID string `json:"annotationId,omitempty"`
}

// Position encodings of LSP.
const (
	UTF8  = "utf-8"
	UTF16 = "utf-16"
	UTF32 = "utf-32"
)

// units is how many units of the encoding a rune takes.
func units(r rune, size int, encoding string) int {
	switch encoding {
	case UTF8:
		return size
	case UTF32:
		return 1
	}
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// lineEnd returns the length of the line end at text[i:], 0 for none.
func lineEnd(text string, i int) int {
	switch {
	case strings.HasPrefix(text[i:], "\r\n"):
		return 2
	case i < len(text) && (text[i] == '\n' || text[i] == '\r'):
		return 1
	}
	return 0
}

// offset finds the byte offset of a position. A position outside of the text or
// inside a character is moved to the nearest before it, and reported.
func offset(text string, p Position, encoding string) (int, error) {
	i, line := 0, 0
	for line < p.Line {
		switch n := 0; {
		case i >= len(text):
			return len(text), fmt.Errorf("line %d does not exist, the last is %d", p.Line, line)
		default:
			if n = lineEnd(text, i); n > 0 {
				i, line = i+n, line+1
			} else {
				i++
			}
		}
	}
	if p.Line < 0 || p.Character < 0 {
		return i, fmt.Errorf("negative position %d:%d", p.Line, p.Character)
	}
	for char := 0; char < p.Character; {
		if i >= len(text) || lineEnd(text, i) > 0 {
			return i, fmt.Errorf("character %d is beyond the end of line %d (%d)", p.Character, p.Line, char)
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		n := units(r, size, encoding)
		if char+n > p.Character {
			return i, fmt.Errorf("position %d:%d is inside the character %q", p.Line, p.Character, r)
		}
		char, i = char+n, i+size
	}
	return i, nil
}

// position is the inverse of offset.
func position(text string, off int, encoding string) Position {
	var p Position
	for i := 0; i < off; {
		if n := lineEnd(text, i); n > 0 {
			if i+n > off {
				return p
			}
			p, i = Position{Line: p.Line + 1}, i+n
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		p.Character += units(r, size, encoding)
		i += size
	}
	return p
}

// splice is an edit in byte offsets.
type splice struct {
	start, end int
	edit       TextEdit
}

// splices orders edits by place and reports what LSP does not allow: ranges out
// of the text, reversed or overlapping ones.
func splices(text string, edits []TextEdit, encoding string) (out []splice, problems []string) {
	for _, e := range edits {
		start, err := offset(text, e.Range.Start, encoding)
		if err != nil {
			problems = append(problems, "start of edit: "+err.Error())
		}
		end, err := offset(text, e.Range.End, encoding)
		if err != nil {
			problems = append(problems, "end of edit: "+err.Error())
		}
		if end < start {
			problems = append(problems, fmt.Sprintf("edit with its end %v before its start %v", e.Range.End, e.Range.Start))
			start, end = end, start
		}
		out = append(out, splice{start, end, e})
	}
	slices.SortStableFunc(out, func(a, b splice) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(out); i++ {
		if out[i].start < out[i-1].end {
			problems = append(problems, fmt.Sprintf("edits overlap at %v", out[i].edit.Range.Start))
		}
	}
	return out, problems
}

// disjoint leaves out what overlaps an earlier splice; it was reported before.
func disjoint(list []splice) (out []splice) {
	at := 0
	for _, s := range list {
		if s.start >= at {
			out = append(out, s)
			at = s.end
		}
	}
	return out
}

// applySplices applies ordered splices, but for overlapping ones.
func applySplices(text string, list []splice) string {
	var b strings.Builder
	at := 0
	for _, s := range disjoint(list) {
		b.WriteString(text[at:s.start])
		b.WriteString(s.edit.NewText)
		at = s.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// eolOf returns the line end most used in text, "\n" when there is none.
func eolOf(text string) string {
	crlf := strings.Count(text, "\r\n")
	if lf := strings.Count(text, "\n") - crlf; crlf > lf {
		return "\r\n"
	}
	return "\n"
}

// withEOL gives text one kind of line end.
func withEOL(text, eol string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.ReplaceAll(text, "\n", eol)
}

// Apply returns text with edits applied as an editor applies them, positions
// counted in the given encoding.
func Apply(text string, edits []TextEdit, encoding string) string {
	list, _ := splices(text, edits, encoding)
	return applySplices(text, list)
}
