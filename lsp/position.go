package lsp

import (
	"sort"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"redline/workspace/diff"
)

// mapper converts between byte offsets of a text and LSP positions in the
// negotiated encoding. Lines end after "\n", "\r\n" or "\r", as LSP has it.
type mapper struct {
	text     string
	starts   []int // byte offset of each line; the last is the line after a final line end, if any
	encoding protocol.PositionEncodingKind
	known    facts
}

func newMapper(text string, encoding protocol.PositionEncodingKind) *mapper {
	m := &mapper{text: text, encoding: encoding}
	if strings.IndexByte(text, '\r') < 0 {
		m.starts = make([]int, 1, strings.Count(text, "\n")+1)
		for at := 0; ; {
			i := strings.IndexByte(text[at:], '\n')
			if i < 0 {
				return m
			}
			at += i + 1
			m.starts = append(m.starts, at)
		}
	}
	m.starts = append(m.starts, 0)
	for at := 0; at < len(text); {
		at += diff.NextLine(text[at:])
		if c := text[at-1]; c == '\n' || c == '\r' {
			m.starts = append(m.starts, at)
		}
	}
	return m
}

// line returns the number of the line that the byte offset off is in.
func (m *mapper) line(off int) int { return sort.SearchInts(m.starts, off+1) - 1 }

// position returns the position of the byte offset off, which is brought into the
// text and to the start of the character it stands in.
func (m *mapper) position(off int) protocol.Position {
	off = max(0, min(off, len(m.text)))
	for off > 0 && off < len(m.text) && !utf8.RuneStart(m.text[off]) {
		off--
	}
	line := m.line(off)
	return protocol.Position{Line: uint32(line), Character: uint32(units(m.text[m.starts[line]:off], m.encoding))}
}

// offset returns the byte offset of p. As LSP has it, a character past the end of
// the line is the line's end; a line past the end of the text is the text's end.
func (m *mapper) offset(p protocol.Position) int {
	if int(p.Line) >= len(m.starts) {
		return len(m.text)
	}
	start := m.starts[p.Line]
	line := m.text[start:]
	if int(p.Line)+1 < len(m.starts) {
		line = m.text[start:m.starts[p.Line+1]]
	}
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return start + byteOf(line, int(p.Character), m.encoding)
}

func (m *mapper) rng(start, end int) protocol.Range {
	return protocol.Range{Start: m.position(start), End: m.position(end)}
}

// units returns the length of s in the units of the encoding.
func units(s string, enc protocol.PositionEncodingKind) int {
	switch enc {
	case protocol.PositionEncodingKindUTF8:
		return len(s)
	case protocol.PositionEncodingKindUTF32:
		return utf8.RuneCountInString(s)
	}
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// byteOf returns the byte offset in line of the given number of units; a position
// inside a character is its start.
func byteOf(line string, want int, enc protocol.PositionEncodingKind) int {
	if enc == protocol.PositionEncodingKindUTF8 {
		off := min(want, len(line))
		for off > 0 && off < len(line) && !utf8.RuneStart(line[off]) {
			off--
		}
		return off
	}
	n := 0
	for i, r := range line {
		w := 1
		if r > 0xFFFF && enc != protocol.PositionEncodingKindUTF32 {
			w = 2
		}
		if n+w > want {
			return i
		}
		n += w
	}
	return len(line)
}
