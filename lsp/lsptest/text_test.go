package lsptest

import (
	"strings"
	"testing"
)

func TestPositions(t *testing.T) {
	const text = "aé😀b\r\nx\n\ry" // lines: "aé😀b", "x", "", "y"
	for _, tt := range []struct {
		enc        string
		line, char int
		off        int
		bad        string
	}{
		{UTF8, 0, 0, 0, ""},
		{UTF8, 0, 3, 3, ""},
		{UTF8, 0, 7, 7, ""},
		{UTF8, 0, 2, 1, "inside"},
		{UTF16, 0, 2, 3, ""},
		{UTF16, 0, 4, 7, ""},
		{UTF16, 0, 3, 3, "inside"},
		{UTF16, 0, 5, 8, ""},
		{UTF16, 0, 6, 8, "beyond"},
		{UTF32, 0, 3, 7, ""},
		{UTF32, 0, 4, 8, ""},
		{UTF32, 0, 5, 8, "beyond"},
		{UTF16, 1, 0, 10, ""},
		{UTF16, 1, 1, 11, ""},
		{UTF16, 2, 0, 12, ""},
		{UTF16, 3, 1, 14, ""},
		{UTF16, 4, 0, 14, "does not exist"},
		{UTF16, -1, 0, 0, "negative"},
	} {
		off, err := offset(text, Position{tt.line, tt.char}, tt.enc)
		if off != tt.off || (err == nil) != (tt.bad == "") || err != nil && !strings.Contains(err.Error(), tt.bad) {
			t.Errorf("%s %d:%d: offset %d, %v; want %d, %q", tt.enc, tt.line, tt.char, off, err, tt.off, tt.bad)
		}
		if tt.bad == "" {
			if p := position(text, off, tt.enc); p != (Position{tt.line, tt.char}) {
				t.Errorf("%s offset %d: position %v, want %d:%d", tt.enc, off, p, tt.line, tt.char)
			}
		}
	}
}

func TestSplices(t *testing.T) {
	at := func(a, b int, s string) TextEdit {
		return TextEdit{Range: Range{Position{0, a}, Position{0, b}}, NewText: s}
	}
	for _, tt := range []struct {
		edits []TextEdit
		want  string
		bad   string
	}{
		{[]TextEdit{at(0, 1, "A"), at(5, 6, "F")}, "AbcdeF", ""},
		{[]TextEdit{at(5, 6, "F"), at(0, 1, "A")}, "AbcdeF", ""},
		{[]TextEdit{at(3, 3, "1"), at(3, 3, "2")}, "abc12def", ""},
		{[]TextEdit{at(3, 3, "1"), at(3, 4, "D")}, "abc1Def", ""},
		{[]TextEdit{at(0, 3, "x"), at(3, 6, "y")}, "xy", ""},
		{[]TextEdit{at(0, 3, "x"), at(2, 6, "y")}, "xdef", "overlap"},
		{[]TextEdit{at(4, 2, "x")}, "abxef", "before its start"},
		{[]TextEdit{at(0, 99, "x")}, "x", "beyond"},
	} {
		list, problems := splices("abcdef", tt.edits, UTF16)
		if got := applySplices("abcdef", list); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.edits, got, tt.want)
		}
		if got := strings.Join(problems, " "); (got == "") != (tt.bad == "") || !strings.Contains(got, tt.bad) {
			t.Errorf("%v: problems %q, want %q", tt.edits, got, tt.bad)
		}
	}
}

// FuzzPositions checks that position and offset are inverse at each character.
func FuzzPositions(f *testing.F) {
	f.Add("a\r\n\rb\n😀é")
	f.Fuzz(func(t *testing.T, text string) {
		for _, enc := range []string{UTF8, UTF16, UTF32} {
			for i := range text {
				if lineEnd(text, max(0, i-1)) == 2 {
					continue // between CR and LF there is no position
				}
				p := position(text, i, enc)
				if off, err := offset(text, p, enc); err != nil || off != i {
					t.Fatalf("%q %s: offset %d is %v, which is offset %d (%v)", text, enc, i, p, off, err)
				}
			}
		}
	})
}
