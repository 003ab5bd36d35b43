package shell

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleaner(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain\ttext\n", "plain\ttext\n"},
		{"\x1b[1;31mred\x1b[0m", "red"},
		{"\x1b[38:2::1:2:3mx\x1b[?25l", "x"},
		{"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"},
		{"\x1b]0;“title”\x07a", "a"},
		{"\x1bPq#0\x1b\\a\x1b_x\x1b\\b", "ab"},
		{"\x1b(Ba\x1b7b\x1b=c\x1b#8d", "abcd"},
		{"a\x08\x00\x7fb\x07", "ab"},
		{"one\r\ntwo\r\n", "one\ntwo\n"},
		{"10%\r20%\r\n", "10%\n20%\n"},
		{"10%\r\r\n", "10%\n"},
		{"end\r", "end"},
		{"日本\x1b[0m語", "日本語"},
		{"a\xffb\xe6\x97", "a\uFFFDb\uFFFD"},
		{"\x1b[31\nx", "\nx"},
		{"\x1b[31\x1b[32mx", "x"},
		{"\x1b]0;never closed\x1b[0mx", "x"},
		{"a\x1b", "a"},
		{"\x1b]" + strings.Repeat("a", 2*maxSequence) + "\nend", strings.Repeat("a", maxSequence) + "\nend"},
	} {
		var whole cleaner
		got := whole.feed([]byte(c.in)) + whole.flush()
		if strings.HasPrefix(c.in, "\x1b]aaa") {
			if !strings.HasSuffix(got, "a\nend") || len(got) > maxSequence+10 {
				t.Errorf("an open sequence ended with %q (%d bytes)", got[max(0, len(got)-10):], len(got))
			}
			continue
		}
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
		var bytewise cleaner
		var b strings.Builder
		for i := range len(c.in) {
			b.WriteString(bytewise.feed([]byte{c.in[i]}))
		}
		b.WriteString(bytewise.flush())
		if b.String() != c.want {
			t.Errorf("%q byte by byte: got %q, want %q", c.in, b.String(), c.want)
		}
	}
}

// FuzzCleaner checks that the result is clean text, however the input is cut.
func FuzzCleaner(f *testing.F) {
	f.Add([]byte("a\x1b[1mb\x1b]0;x\x07\r\n\xe6\x97\xa5"), 3)
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		var one, two cleaner
		whole := one.feed(in) + one.flush()
		at = max(0, min(at, len(in)))
		if got := two.feed(in[:at]) + two.feed(in[at:]) + two.flush(); got != whole {
			t.Errorf("cut at %d: %q, whole: %q", at, got, whole)
		}
		if !utf8.ValidString(whole) || strings.ContainsFunc(whole, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' }) {
			t.Errorf("not clean: %q", whole)
		}
	})
}

func TestOutputKeepsHeadAndTail(t *testing.T) {
	for _, c := range []struct {
		limit   int
		in      string
		want    string
		omitted int
	}{
		{10, "short", "short", 0},
		{10, "0123456789", "0123456789", 0},
		{10, "0123456789x", "01234\n[... 1 bytes of output left out ...]\n6789x", 1},
		{4, "a\n" + strings.Repeat("b", 100) + "cd", "a\n[... 100 bytes of output left out ...]\ncd", 100},
		{8, "ab€€€€yz", "ab\n[... 12 bytes of output left out ...]\nyz", 12},
	} {
		for _, step := range []int{1, 3, 1000} {
			var live strings.Builder
			o := newOutput(c.limit, func(s string) { live.WriteString(s) })
			for i := 0; i < len(c.in); i += step {
				o.Write([]byte(c.in[i:min(len(c.in), i+step)]))
			}
			got, omitted := o.finish()
			if got != c.want || omitted != c.omitted {
				t.Errorf("limit %d, step %d, %q: got %q (%d), want %q (%d)", c.limit, step, c.in, got, omitted, c.want, c.omitted)
			}
			if live.String() != c.in {
				t.Errorf("live output %q, want %q", live.String(), c.in)
			}
		}
	}
}
