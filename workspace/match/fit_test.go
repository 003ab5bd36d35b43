package match_test

import (
	"strings"
	"testing"

	"redline/workspace/match"
)

func TestFit(t *testing.T) {
	const file = "package main\n\nfunc a() {\n\tone()\n}\n\ntype T struct{}\n\nfunc (t T) b() {\n\tif t.x {\n\t\ttwo()\n\t}\n}\n\nfunc c() {\n\tone()\n}\n"
	for name, c := range map[string]struct{ text, block, want string }{
		"a function":               {file, "func a() {\n\tthree()\n}\n", strings.Replace(file, "\tone()\n}\n\ntype", "\tthree()\n}\n\ntype", 1)},
		"inner braces":             {file, "func (t T) b() {\n\tif t.y {\n\t\ttwo()\n\t}\n\tmore()\n}", strings.Replace(file, "if t.x {\n\t\ttwo()\n\t}\n", "if t.y {\n\t\ttwo()\n\t}\n\tmore()\n", 1)},
		"a new comment before":     {file, "// c is new.\nfunc c() {\n\tone()\n}", strings.Replace(file, "func c()", "// c is new.\nfunc c()", 1)},
		"a second function is new": {file, "func a() {\n\tone()\n\td()\n}\n\nfunc d() {\n}", strings.Replace(file, "\tone()\n}\n\ntype", "\tone()\n\td()\n}\n\nfunc d() {\n}\n\ntype", 1)},
		"the whole file":           {file, strings.ReplaceAll(file, "one()", "1()"), strings.ReplaceAll(file, "one()", "1()")},
		"indentation":              {"class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n", "def f(self):\n    x = 3\n    return 1\n", "class A:\n    def f(self):\n        x = 3\n        return 1\n\n    def g(self):\n        return 2\n"},
		"line ends":                {"a {\r\n\tx\r\n}\r\nb\r\n", "a {\n\ty\n}", "a {\n\ty\n}\nb\r\n"},
		"no final line end":        {"f() {\n  x\n}", "f() {\n  y\n}\n", "f() {\n  y\n}"},
		"nowhere":                  {file, "func z() {\n}\n", ""},
		"no last line":             {file, "func a() {\n\tone()\n\tandMore()", ""},
		"two places":               {"f() {\n  x\n}\nf() {\n  x\n}\n", "f() {\n  y\n}\n", ""},
		"something is left out":    {file, "func a() {\n\t// ... existing code ...\n}\n", ""},
		"one line":                 {file, "func a() {", ""},
		"no words":                 {file, "{\n}", ""},
		"nothing":                  {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, ok := match.Fit(c.text, c.block)
			got := ""
			if ok {
				got = match.Apply(c.text, []match.Edit{e})
			}
			if got != c.want {
				t.Errorf("got %v\n%s\nwant\n%s", ok, got, c.want)
			}
		})
	}
}

func FuzzFit(f *testing.F) {
	f.Add("a {\n x\n}\n", "a {\n y\n}")
	f.Add("a\r\nb\r\n", "\n\na\nb\n\n")
	f.Fuzz(func(t *testing.T, text, block string) {
		e, ok := match.Fit(text, block)
		if ok && (e.Start < 0 || e.End > len(text) || e.Start >= e.End || (e.Start > 0 && text[e.Start-1] != '\n')) {
			t.Errorf("%+v in %q", e, text)
		}
	})
}

// A long block in a long file stays within what a click may take.
func BenchmarkFit(b *testing.B) {
	var text strings.Builder
	for range 2000 {
		text.WriteString("func f() {\n\tx := call(1)\n\treturn x\n}\n\n")
	}
	block := "func unique() {\n" + strings.Repeat("\tstep()\n", 1000) + "}\n"
	long := text.String() + block
	for b.Loop() {
		match.Fit(long, strings.Replace(block, "step()", "other()", 5))
	}
}
