package match_test

import (
	"errors"
	"strings"
	"testing"

	"redline/workspace/match"
)

func TestFindCorrected(t *testing.T) {
	const text = "func a() {\n\tsum := add(1, 2)\n\treturn sum\n}\n\nfunc b() {\n\tsum := add(3, 4)\n\treturn sum\n}\n"
	for _, c := range []struct {
		name string
		text string
		c    match.Correction
		n    int
		want string     // the text afterwards
		kind match.Kind // or why not
	}{
		{
			name: "a word was wrong", c: match.Correction{Old: "total := add(1, 2)", New: "total := add(1, 20)", FixedOld: "sum := add(1, 2)", FixedNew: "sum := add(1, 20)"},
			want: strings.Replace(text, "add(1, 2)", "add(1, 20)", 1),
		},
		{
			name: "line ends are the file's", text: strings.ReplaceAll(text, "\n", "\r\n"),
			c:    match.Correction{Old: "total := add(1, 2)\n\treturn total", New: "return add(1, 2)", FixedOld: "\tsum := add(1, 2)\n\treturn sum", FixedNew: "\treturn add(1, 2)"},
			want: strings.ReplaceAll(strings.Replace(text, "\tsum := add(1, 2)\n\treturn sum", "\treturn add(1, 2)", 1), "\n", "\r\n"),
		},
		{
			name: "still not in the file", c: match.Correction{Old: "total := add(1, 2)", New: "total := add(1, 20)", FixedOld: "sum  := add(1, 2)", FixedNew: "sum := add(1, 20)"},
			kind: match.NotFound,
		},
		{
			name: "in the file twice", c: match.Correction{Old: "return sum()", New: "return sum + 1", FixedOld: "return sum", FixedNew: "return sum + 1"},
			kind: match.Count,
		},
		{
			name: "twice, as wanted", n: 2, c: match.Correction{Old: "return sum()", New: "return sum + 1", FixedOld: "return sum", FixedNew: "return sum + 1"},
			want: strings.ReplaceAll(text, "return sum", "return sum + 1"),
		},
		{
			name: "surroundings single out the place", c: match.Correction{Old: "\treturn sum\n", New: "\treturn -sum\n", FixedOld: "add(3, 4)\n\treturn sum\n}", FixedNew: "whatever"},
			want: text[:len(text)-len("\treturn sum\n}\n")] + "\treturn -sum\n}\n",
		},
		{
			name: "surroundings that hold it twice", c: match.Correction{Old: "sum", New: "x", FixedOld: "sum := add(3, 4)\n\treturn sum", FixedNew: "x"},
			kind: match.NotFound,
		},
		{
			name: "surroundings without it", c: match.Correction{Old: "return sum", New: "return 0", FixedOld: "func b() {", FixedNew: "func c() {"},
			kind: match.NotFound,
		},
		{
			name: "another place", c: match.Correction{Old: "delete(everything)", New: "keep(everything)", FixedOld: "sum := add(1, 2)", FixedNew: "keep(everything)"},
			kind: match.NotFound,
		},
		{
			name: "another change", c: match.Correction{Old: "total := add(1, 2)", New: "total := add(1, 20)", FixedOld: "sum := add(1, 2)", FixedNew: "sum := subtract(1, 20)"},
			kind: match.NotFound,
		},
		{
			name: "the change was dropped", c: match.Correction{Old: "total := add(1, 2)", New: "total := subtract(1, 2)", FixedOld: "sum := add(1, 2)", FixedNew: "sum := add(2, 1)"},
			kind: match.NotFound,
		},
		{
			name: "nothing changes", c: match.Correction{Old: "total := add(1, 2)", New: "total := add(2, 1)", FixedOld: "sum := add(1, 2)", FixedNew: "sum := add(1, 2)"},
			kind: match.NoChange,
		},
		{
			name: "a placeholder", c: match.Correction{Old: "total := add(1, 2)", New: "total := add(1, 20)", FixedOld: "sum := add(1, 2)", FixedNew: "sum := add(1, 20)\n// ... rest of code unchanged"},
			kind: match.Placeholder,
		},
		{name: "empty", c: match.Correction{Old: "x", New: "y", FixedOld: " \n", FixedNew: "y"}, kind: match.EmptyOld},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.text == "" {
				c.text = text
			}
			r, err := match.FindCorrected(c.text, c.c, max(c.n, 1))
			var e *match.Error
			switch {
			case c.kind != 0:
				if !errors.As(err, &e) || e.Kind != c.kind {
					t.Errorf("got %+v, %v, want kind %d", r, err, c.kind)
				}
			case err != nil:
				t.Error(err)
			default:
				if got := match.Apply(c.text, r.Edits); got != c.want {
					t.Errorf("got\n%q, want\n%q", got, c.want)
				}
			}
		})
	}
}
