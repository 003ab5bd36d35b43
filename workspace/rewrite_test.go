package workspace

import (
	"strings"
	"testing"

	"redline/workspace/text"
)

func TestRewriteKeepsLineEnds(t *testing.T) {
	for _, tt := range []struct{ name, base, content, want string }{
		{"lf", "a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n"},
		{"crlf", "a\r\nb\r\nc\r\n", "a\nB\nc\n", "a\r\nB\r\nc\r\n"},
		{"crlf, content too", "a\r\nb\r\n", "a\r\nB\r\n", "a\r\nB\r\n"},
		{"mixed", "a\r\nb\nc\r\nd\n", "a\nb\nC\nd\n", "a\r\nb\nC\nd\n"},
		{"mixed, untouched lines stay", "a\r\nb\nc\r\nd\ne\n", "a\nb\nc\nd\nE\n", "a\r\nb\nc\r\nd\nE\n"},
		{"cr only", "a\rb\rc\r", "a\nB\nc\n", "a\rB\rc\r"},
		{"final newline added", "a\r\nb", "a\nb\n", "a\r\nb\r\n"},
		{"final newline removed", "a\nb\n", "a\nb", "a\nb"},
		{"stray cr in a line", "a\rx\nb\nc\n", "a\rx\nB\nc\n", "a\rx\nB\nc\n"},
		{"empty to text", "", "a\nb\n", "a\nb\n"},
		{"text to empty", "a\n", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Apply(tt.base, Rewrite(tt.base, tt.content))
			if err != nil || got != tt.want {
				t.Errorf("got %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add("a\r\nb\n", "a\nc")
	f.Add("a\rb\rc\n", "\r\n\r")
	f.Fuzz(func(t *testing.T, base, content string) {
		if strings.Contains(content, "\r\r\n") {
			t.Skip("a carriage return before a line end is another line end once written")
		}
		got, err := Apply(base, Rewrite(base, content))
		if err != nil {
			t.Fatal(err)
		}
		flat := func(s string) string { return strings.ReplaceAll(text.WithEOL(s, "\n"), "\r", "\n") }
		if flat(got) != flat(content) {
			t.Fatalf("base %q content %q: got %q", base, content, got)
		}
	})
}
