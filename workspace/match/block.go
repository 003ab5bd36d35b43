package match

import (
	"strings"
	"unicode/utf8"
)

// block is the model's text as lines. Blank lines are not lines of their own here but the gap before a solid one.
type block struct {
	lines  []blockLine
	tail   int  // blank lines after the last solid line
	ended  bool // the text ends with a line end
	hashes []uint64
}

type blockLine struct {
	gap    int    // blank lines before
	indent string // leading whitespace
	text   string // trimmed on both sides
	trail  string // trailing whitespace
}

func newBlock(s string) block {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "\uFEFF"), "\r\n", "\n")
	var b block
	if s == "" {
		return b
	}
	parts := strings.Split(s, "\n")
	if last := parts[len(parts)-1]; len(parts) > 1 && strings.TrimFunc(last, isGap) == "" {
		b.ended = true
		parts = parts[:len(parts)-1]
	}
	var buf []byte
	for _, p := range parts {
		indent, text := splitIndent(p)
		if text == "" {
			b.tail++
			continue
		}
		trail := p[len(indent)+len(text):]
		b.lines = append(b.lines, blockLine{gap: b.tail, indent: plainBlanks(indent), text: text, trail: trail})
		b.tail = 0
		buf = squash(buf[:0], text)
		b.hashes = append(b.hashes, hashLine(buf))
	}
	return b
}

// splitIndent divides a line into its leading whitespace and the rest without trailing whitespace.
func splitIndent(line string) (indent, text string) {
	text = strings.TrimLeftFunc(line, isGap)
	return line[:len(line)-len(text)], strings.TrimRightFunc(text, isGap)
}

// plainBlanks spells whitespace with spaces and tabs only.
func plainBlanks(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if p, ok := plain(r); ok {
			b.WriteString(p)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// wordBounded reports whether text[start:end] neither starts nor ends inside a word.
func wordBounded(text string, start, end int) bool {
	if start >= end {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	first, _ := utf8.DecodeRuneInString(text[start:end])
	last, _ := utf8.DecodeLastRuneInString(text[start:end])
	after, _ := utf8.DecodeRuneInString(text[end:])
	if start > 0 && isWord(before) && isWord(first) {
		return false
	}
	return end == len(text) || !isWord(last) || !isWord(after)
}
