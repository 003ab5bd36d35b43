package match_test

import (
	"testing"

	"redline/workspace/match"
)

// TestNasty has edits that go wrong in other programs; "!" is a refusal.
func TestNasty(t *testing.T) {
	for _, c := range []struct {
		name, before, old, new string
		expected               int
		want                   string
	}{
		{"dollar", "a = b;\n", "a = b;", "$1 $& $$ $` $' ${x} \\1 \\0 %s", 1, "$1 $& $$ $` $' ${x} \\1 \\0 %s\n"},
		{"nfd needle", "x = \"caf\u00e9\"\ny\n", "x = \"cafe\u0301\"", "x = 1", 1, "x = 1\ny\n"},
		{"tabs vs spaces", "func a() {\n\tif x {\n\t\treturn 1\n\t}\n}\n", "    if x {\n        return 1\n    }", "    if x {\n        return 2\n    }\n    y()", 1, "func a() {\n\tif x {\n\t\treturn 2\n\t}\n\ty()\n}\n"},
		{"spaces file tabs needle", "def a():\n    if x:\n        return 1\n", "\tif x:\n\t\treturn 1\n", "\tif x:\n\t\treturn 2\n\telse:\n\t\treturn 3\n", 1, "def a():\n    if x:\n        return 2\n    else:\n        return 3\n"},
		{"indent shift less", "class A:\n        def f(self):\n            pass\n", "def f(self):\n    pass", "def f(self):\n    return 1\n\ndef g(self):\n    pass", 1, "class A:\n        def f(self):\n            return 1\n\n        def g(self):\n            pass\n"},
		{"mixed indent file", "a:\n\t  x\n\t  y\n", "x\ny", "x\nz\ny", 1, "a:\n\t  x\n\t  z\n\t  y\n"},
		{"escaped nl", "a := 1\nb := 2\n", "a := 1\\nb := 2", "a := 1\\nb := 3", 1, "a := 1\nb := 3\n"},
		{"escaped quotes", "s = \"x\"\n", "s = \\\"x\\\"", "s = \\\"y\\\"", 1, "s = \"y\"\n"},
		{"escaped tab in str stays", "fmt.Print(\"a\\tb\\n\")\nfoo()\n", "fmt.Print(\"a\\tb\\n\")", "fmt.Print(\"c\\td\\n\")", 1, "fmt.Print(\"c\\td\\n\")\nfoo()\n"},
		{"double escaped with inner", "fmt.Print(\"a\\n\")\nfoo()\n", "fmt.Print(\\\"a\\\\n\\\")\\nfoo()", "fmt.Print(\\\"b\\\\n\\\")\\nbar()", 1, "fmt.Print(\"b\\n\")\nbar()\n"},
		{"crlf", "a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", 1, "a\r\nx\r\nb\r\nc\r\n"},
		{"crlf needle lf file", "a\nb\nc\n", "a\r\nb", "a\r\nx\r\nb", 1, "a\nx\nb\nc\n"},
		{"mixed", "a\r\nb\nc\r\nd\n", "b\nc\nd", "b\nX\nd", 1, "a\r\nb\nX\r\nd\n"},
		{"cr only", "a\rb\rc", "a\nb", "a\nz", 1, "a\rz\rc"},
		{"repeat2", "x\ny\nx\ny\n", "x\ny", "z", 1, "!"},
		{"repeat ok", "x\ny\nx\ny\n", "x\ny", "z", 2, "z\nz\n"},
		{"overlap", "aaaa\n", "aa", "b", 1, "!"},
		{"overlap2", "aaaa\n", "aa", "b", 2, "bb\n"},
		{"overlap3", "aaa\n", "aa", "b", 1, "!"},
		{"too many", "x\n", "x", "y", 2, "!"},
		{"same", "x\n", "x", "x", 1, "!"},
		{"delete all", "only\n", "only\n", "", 1, ""},
		{"delete all nonl", "only", "only", "", 1, ""},
		{"delete line", "a\nb\nc\n", "b\n", "", 1, "a\nc\n"},
		{"ws only needle", "a\n\n\nb\n", "\n\n\n", "\n", 1, "a\nb\n"},
		{"space needle", "a b\n", " ", "_", 1, "a_b\n"},
		{"tab needle many", "\ta\n\tb\n", "\t", "  ", 2, "  a\n  b\n"},
		{"elision new", "func a() {\n\tx()\n\ty()\n}\n", "func a() {\n\tx()\n", "func a() {\n\t// ... existing code ...\n", 1, "!"},
		{"elision old", "func a() {\n\tx()\n\ty()\n\tz()\n}\n", "func a() {\n\t...\n}", "func b() {\n\t...\n}", 1, "!"},
		{"line numbers", "a\nb\nc\n", "1: a\n2: b", "1: a\n2: B", 1, "a\nB\nc\n"},
		{"line numbers L", "a()\nb()\nc()\n", "L1: a()\nL2: b()", "a()\nB()", 1, "a()\nB()\nc()\n"},
		{"fence", "a()\nb()\n", "```go\na()\n```", "```go\nc()\n```", 1, "c()\nb()\n"},
		{"diff marks", "a()\nb()\nc()\n", " a()\n-b()\n c()", " a()\n+B()\n c()", 1, "!"},
		{"ident similar", "getUserName()\n", "getUsername()", "x()", 1, "!"},
		{"number diff", "timeout = 100\n", "timeout = 1000", "timeout = 5", 1, "!"},
		{"smart quotes", "say(\"hi\")\n", "say(\u201chi\u201d)", "say(\u201cyo\u201d)", 1, "say(\"yo\")\n"},
		{"bom", "\ufeffa\nb\n", "a\nb", "a\nc", 1, "\ufeffa\nc\n"},
		{"trailing ws file", "a  \nb\t\nc\n", "a\nb\nc", "a\nB\nc", 1, "a  \nB\nc\n"},
		{"add final nl", "a\nb", "b", "b\n", 1, "a\nb\n"},
		{"remove final nl", "a\nb\n", "b\n", "b", 1, "a\nb"},
		{"blank line missing", "a\n\nb\nc\n", "a\nb", "a\nX", 1, "a\n\nX\nc\n"},
		{"py dedent ambiguity", "if a:\n    x()\nif b:\n    x()\n", "    x()", "    y()", 1, "!"},
		{"ambig by indent exact", "if a:\n    x()\n        x()\n", "\n    x()\n", "\n    y()\n", 1, "if a:\n    y()\n        x()\n"},
		{"partial word", "foobar\n", "foo", "baz", 1, "bazbar\n"},
		{"case", "Hello\n", "hello", "x", 1, "!"},
		{"makefile tab", "all:\n\tgcc x\n", "all:\n    gcc x", "all:\n    gcc y", 1, "all:\n\tgcc y\n"},
		{"yaml shift", "a:\n  b:\n    c: 1\n    d: 2\n", "b:\n  c: 1\n  d: 2", "b:\n  c: 1\n  d: 3\n  e:\n    f: 4", 1, "a:\n  b:\n    c: 1\n    d: 3\n    e:\n      f: 4\n"},
		{"markdown hard break", "line one  \nline two\n", "line one\nline two", "line one\nline 2", 1, "line one  \nline 2\n"},
		{"two cand ws only differ", "  foo(1)\n    foo(1)\n", "foo(1)", "bar", 1, "!"},
		{"new reindent partial", "\tfor {\n\t\ta()\n\t}\n", "for {\n  a()\n}", "for {\n  if ok {\n    a()\n  }\n}", 1, "\tfor {\n\t\tif ok {\n\t\t\ta()\n\t\t}\n\t}\n"},
		{"js backslash regex", "re = /\\d+\\/x/;\n", "re = /\\d+\\/x/;", "re = /\\w+\\/x/;", 1, "re = /\\w+\\/x/;\n"},
		{"js template", "`a${b}`\nz\n", "`a${b}`", "`$${b}`", 1, "`$${b}`\nz\n"},
		{"nul-ish", "a\x01b\n", "a\x01b", "c", 1, "c\n"},
		{"null string lit", "x = \"\\n\"\n", "x = \"\\n\"", "x = \"\\\\n\"", 1, "x = \"\\\\n\"\n"},
		{"placeholder legit kept", "// ... existing code ...\na\n", "// ... existing code ...\na", "// ... existing code ...\nb", 1, "// ... existing code ...\nb\n"},
		{"placeholder del", "// ... rest of code\na\n", "// ... rest of code\n", "", 1, "a\n"},
		{"spread", "f(...args)\n", "f(...args)", "g(...args)", 1, "g(...args)\n"},
		{"ellipsis py", "def f(): ...\n", "def f(): ...", "def g(): ...", 1, "def g(): ...\n"},
		{"u2028", "a\u2028b\nc\n", "a\u2028b", "x", 1, "x\nc\n"},
		{"vtab", "a\vb\nc\n", "a\vb", "x", 1, "x\nc\n"},
		{"nfc-nfd", "x = \"cafe\u0301\"\ny\n", "x = \"caf\u00e9\"", "x = \"th\u00e9\"", 1, "x = \"th\u00e9\"\ny\n"},
		{"overlapping lines", "}\n}\n}\n", "}\n}\n", "}\nx\n", 1, "!"},
		{"overlapping, the same text", "}\n}\n}\n", "}\n}\n", "}\n", 1, "}\n}\n"},
		{"overlapping, all of them", "aaaa\n", "aa", "b", 2, "bb\n"},
		{"cr only, one line", "a\rb\rc", "b", "x\ny", 1, "a\rx\ry\rc"},
		{"cr as text", "a\rb\nc\n", "a\nb", "x", 1, "!"},
		{"mixed, two lines for two", "a\r\nb\nc\r\nd\n", "b\nc\nd", "B\nC\nd", 1, "a\r\nB\nC\r\nd\n"},
		{"mixed, one line more", "a\r\nb\nc\r\nd\r\n", "b\nc\nd", "b\nX\nY\nd", 1, "a\r\nb\nX\r\nY\r\nd\r\n"},
	} {
		got := "!"
		r, err := match.Find(c.before, c.old, c.new, c.expected)
		if err == nil {
			got = match.Apply(c.before, r.Edits)
		}
		if got != c.want {
			t.Errorf("%s: got %q (%s, %v), want %q", c.name, got, r.Stage, err, c.want)
		}
	}
}
