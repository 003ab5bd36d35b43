package match_test

import (
	"errors"
	"strings"
	"testing"

	"redline/workspace/match"
)

// FuzzFind checks what must hold for any input: no panic, edits in range, in order and apart, as many as asked for, an
// exact match wherever there is one and only that, and no edit of the text around the places.
func FuzzFind(f *testing.F) {
	f.Add("a\tb\r\nc\n", "a b\nc", "x\ny", 1)
	f.Add("\uFEFFif x {\n\ty()\n}\n", "if x {\n    y()\n}", "if x {\n    z()\n}", 1)
	f.Add("“a” – b\nc\n", "\"a\" - b", "d", 1)
	f.Add("a\n\n\nb\na\nb\n", "\na\n\nb\n\n", "", 2)
	f.Add("x = \"a\\n\"\ny\n", "x = \\\"a\\\\n\\\"\\ny", "z\\n", 1)
	f.Add("// one two three\ncode(1)\ncode(2)\n", "// one to three\ncode(1)\ncode(2)", "code(3)\r\n", 1)
	f.Add("a b\n", "12: a  b", "12: c", 1)
	f.Add("a\u0301 b c", "\u00e1  b c", "...", 1)
	f.Fuzz(func(t *testing.T, text, old, new string, expected int) {
		r, err := match.Find(text, old, new, expected)
		if err != nil {
			var e *match.Error
			if !errors.As(err, &e) || e.Error() == "" || len(r.Edits) > 0 {
				t.Fatalf("refused with %v and %d edits", err, len(r.Edits))
			}
			for _, x := range e.Excerpts {
				lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
				first, _, _ := strings.Cut(x.Text, "\n")
				if x.Line < 1 || x.Line > len(lines) || !strings.HasPrefix(lines[x.Line-1], first) {
					t.Fatalf("line %d is not %q", x.Line, first)
				}
				if len(x.Text) > 2000 {
					t.Fatalf("excerpt of %d bytes", len(x.Text))
				}
			}
			return
		}
		if len(r.Edits) != expected || r.Stage == "" {
			t.Fatalf("%d edits by stage %q, want %d", len(r.Edits), r.Stage, expected)
		}
		at := 0
		for _, e := range r.Edits {
			if e.Start < at || e.End < e.Start || e.End > len(text) {
				t.Fatalf("edits %v out of order or range (%d bytes)", r.Edits, len(text))
			}
			at = e.End
		}
		if n := strings.Count(text, old); n > 0 && (r.Stage != match.StageExact || n != expected) {
			t.Fatalf("%d exact places, but stage %q with %d edits", n, r.Stage, len(r.Edits))
		}
		if r.Stage == match.StageExact && !strings.Contains(text, "\r\n") && !strings.Contains(new, "\r\n") {
			if got, want := match.Apply(text, r.Edits), strings.ReplaceAll(text, old, new); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
		if match.Apply(text, r.Edits) == text {
			t.Fatal("success, but nothing changed")
		}
	})
}
