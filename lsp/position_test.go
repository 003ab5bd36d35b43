package lsp

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"go.lsp.dev/protocol"
)

var encodings = []protocol.PositionEncodingKind{
	protocol.PositionEncodingKindUTF8, protocol.PositionEncodingKindUTF16, protocol.PositionEncodingKindUTF32,
}

// naivePosition counts lines and units the slow way, straight from the specification.
func naivePosition(t string, off int, enc protocol.PositionEncodingKind) protocol.Position {
	line, start := 0, 0
	for i := 0; i < off; i++ {
		if t[i] == '\n' || (t[i] == '\r' && (i+1 == len(t) || t[i+1] != '\n')) {
			line, start = line+1, i+1
		}
	}
	before := t[start:off]
	n := len(before)
	switch enc {
	case protocol.PositionEncodingKindUTF16:
		n = len(utf16.Encode([]rune(before)))
	case protocol.PositionEncodingKindUTF32:
		n = utf8.RuneCountInString(before)
	}
	return protocol.Position{Line: uint32(line), Character: uint32(n)}
}

// FuzzPosition holds the mapping of offsets to positions and back against the slow way,
// in all three encodings; and an edited mapper against one made anew.
func FuzzPosition(f *testing.F) {
	for _, s := range []string{
		"", "a", "\n", "\r\n", "\r", "a\r\nb\rc\n\nd", "é😀\u0301\nx", "\ufefftab\t\n😀😀", strings.Repeat("long ", 1000), "bad \xff\xfe bytes\n", "a\r", "\r\r\n\n\r",
	} {
		f.Add(s, 0, 0, "x\r\n")
		f.Add(s, 1, 3, "\n")
		f.Add(s, 2, 2, "😀\r")
	}
	f.Fuzz(func(t *testing.T, text string, start, end int, with string) {
		if !utf8.ValidString(text) || !utf8.ValidString(with) || len(text) > 1<<12 || len(with) > 1<<10 {
			t.Skip() // documents are UTF-8: JSON carries nothing else
		}
		start, end = clamp(start, len(text)), clamp(end, len(text))
		if start > end {
			start, end = end, start
		}
		for _, enc := range encodings {
			m := newMapper(text, enc)
			for off := range len(text) + 1 {
				if off < len(text) && !utf8.RuneStart(text[off]) {
					continue
				}
				p := m.position(off)
				if want := naivePosition(text, off, enc); p != want {
					t.Fatalf("%s: offset %d of %q is %v, want %v", enc, off, text, p, want)
				}
				if off > 0 && off < len(text) && text[off-1] == '\r' && text[off] == '\n' {
					continue // between the two of one line end there is no position
				}
				if back := m.offset(p); back != off {
					t.Fatalf("%s: %v of %q is offset %d, want %d", enc, p, text, back, off)
				}
			}
			edited, anew := m.splice(start, end, with), newMapper(text[:start]+with+text[end:], enc)
			if edited.text != anew.text || !slices.Equal(edited.starts, anew.starts) {
				t.Fatalf("%q with [%d, %d) = %q has lines at %v, want %v", text, start, end, with, edited.starts, anew.starts)
			}
		}
	})
}

func clamp(i, n int) int {
	if n == 0 || i < 0 {
		return 0
	}
	return i % (n + 1)
}

// Positions past a line's end are its end, past the text's end the text's.
func TestOffsetOutside(t *testing.T) {
	const text = "ab\r\ncd"
	for _, enc := range encodings {
		m := newMapper(text, enc)
		for _, tt := range []struct{ line, char, want uint32 }{{0, 9, 2}, {1, 9, 6}, {2, 0, 6}, {99, 99, 6}} {
			if got := m.offset(protocol.Position{Line: tt.line, Character: tt.char}); got != int(tt.want) {
				t.Errorf("%s: %d:%d is %d, want %d", enc, tt.line, tt.char, got, tt.want)
			}
		}
	}
}

// A random run of edits, each on the mapper of the one before.
func TestSpliceRun(t *testing.T) {
	pieces := []string{"", "a", "\n", "\r", "\r\n", "é", "😀", "line\n", "x\r\ny\n"}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		m := newMapper("start\r\nhere\n", protocol.PositionEncodingKindUTF16)
		for range 60 {
			from := r.IntN(len(m.text) + 1)
			to := min(len(m.text), from+r.IntN(6))
			for from > 0 && from < len(m.text) && !utf8.RuneStart(m.text[from]) {
				from--
			}
			for to < len(m.text) && !utf8.RuneStart(m.text[to]) {
				to++
			}
			m = m.splice(from, to, pieces[r.IntN(len(pieces))]+pieces[r.IntN(len(pieces))])
			if want := newMapper(m.text, m.encoding); !slices.Equal(m.starts, want.starts) {
				t.Fatalf("seed %d: %q has lines at %v, want %v", seed, m.text, m.starts, want.starts)
			}
		}
	}
}
