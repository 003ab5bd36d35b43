package lsp

import (
	"fmt"
	"regexp"
	"strings"

	"go.lsp.dev/protocol"
)

// comment is one that begins with "redline:", in any common syntax. Lines are 0-based.
type comment struct {
	first, last int
	text        string
	lines       int // of the document
}

// commentStart finds the mark of a comment and the word after it; the mark may follow
// code.
var commentStart = regexp.MustCompile(`(?i)^(.*?)(//+!?|#+|--+|;+|%+|/\*+|<!--+|\(\*+|\{-+|"""|'''|"|'|\*|\.\.|(?i:rem))[ \t]*redline:[ \t]*(.*)$`)

// commentEnds close a comment on its line.
var commentEnds = []string{"*/", "-->", "*)", "-}", `"""`, "'''"}

// blockStarts are the marks whose comments go on until they are closed.
var blockStarts = map[string]string{"/*": "*/", "<!--": "-->", "(*": "*)", "{-": "-}", `"""`: `"""`, "'''": "'''"}

// maxComment is how many lines of a comment are read.
const maxComment = 40

// commentAt returns the comment that begins with "redline:" and holds the line.
func commentAt(t string, line int) (comment, bool) {
	if !strings.Contains(strings.ToLower(t), "redline:") {
		return comment{}, false
	}
	lines := strings.Split(strings.ReplaceAll(t, "\r\n", "\n"), "\n")
	for first := line; first >= 0 && first > line-maxComment; first-- {
		if first >= len(lines) {
			return comment{}, false
		}
		m := commentStart.FindStringSubmatch(lines[first])
		if m == nil {
			continue
		}
		c := comment{first: first, last: first, lines: len(lines)}
		c.read(lines, m[1], m[2], m[3])
		if c.last < line || strings.TrimSpace(c.text) == "" {
			return comment{}, false
		}
		return c, true
	}
	return comment{}, false
}

// read takes the comment's text and the lines it goes on in.
func (c *comment) read(lines []string, before, mark, rest string) {
	end := ""
	for start, close := range blockStarts {
		if strings.HasPrefix(mark, start) {
			end = close
		}
	}
	text, closed := trimEnd(rest, end)
	parts := []string{text}
	alone := strings.TrimSpace(before) == ""
	for !closed && c.last+1 < len(lines) && c.last-c.first < maxComment {
		next := strings.TrimSpace(lines[c.last+1])
		switch {
		case end != "":
			next, closed = trimEnd(next, end)
			next = strings.TrimLeft(next, "* \t")
		case alone && strings.HasPrefix(next, mark):
			next = strings.TrimSpace(strings.TrimPrefix(next, mark))
		default:
			closed = true
			continue
		}
		c.last++
		parts = append(parts, next)
	}
	c.text = strings.TrimSpace(strings.Join(parts, "\n"))
}

// trimEnd cuts off what closes a comment.
func trimEnd(s, end string) (text string, closed bool) {
	if end != "" {
		if i := strings.Index(s, end); i >= 0 {
			return strings.TrimSpace(s[:i]), true
		}
		return strings.TrimSpace(s), false
	}
	for _, e := range commentEnds {
		s = strings.TrimSuffix(strings.TrimSpace(s), e)
	}
	return strings.TrimSpace(s), false
}

// commentNote is how what the model is told of a comment's place begins.
const commentNote = "\n\n(This is a comment in the file, at line "

// prompt returns what the model is asked.
func (c comment) prompt() string {
	return fmt.Sprintf("%s"+commentNote+"%d. Do what it says where it stands, and remove the comment.)", c.text, c.first+1)
}

// surroundings is how many lines before and after a comment go with it.
const surroundings = 25

// around returns the lines the comment is about.
func (c comment) around() protocol.Range {
	from, to := max(0, c.first-surroundings), min(c.lines, c.last+1+surroundings)
	return protocol.Range{Start: protocol.Position{Line: uint32(from)}, End: protocol.Position{Line: uint32(to)}}
}
