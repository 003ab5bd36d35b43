package match

import (
	"slices"
	"strings"
	"testing"
)

// FuzzIndex checks the index against the plain way to make it: each line squashed and hashed by itself.
func FuzzIndex(f *testing.F) {
	for _, s := range []string{
		"", "\n", "a", "a\n\nb\n", "same\nsame\nsame", "same\nsame\nsamer\n", "x = x + 1\nx = x + 1\n", "exactly8\nseven77\nsixteen_bytes_16\nseventeen_bytes17\n",
		"it's\n`it`s\n\"it\"s\n", "\uFEFFa\na\n", "é\ne\u0301\n", "tab\there\r\ntab\there\r\n", "\x01\x7f\n\x01\x7f\n", "long line with \x00 in it\n", "“x”\n\"x\"\n", "  \n\t\n x\n x\n\n x\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ix := newIndex(text)
		var starts, solid []int32
		var hashes []uint64
		at := 0
		if strings.HasPrefix(text, "\uFEFF") {
			at = len("\uFEFF")
		}
		for line := range strings.Lines(text[at:]) {
			if q := squash(nil, line); len(q) > 0 {
				solid = append(solid, int32(len(starts)))
				hashes = append(hashes, hashLine(q))
			}
			starts = append(starts, int32(at))
			at += len(line)
		}
		starts = append(starts, int32(len(text)))
		if !slices.Equal(ix.start, starts) || !slices.Equal(ix.solid, solid) || !slices.Equal(ix.hash, hashes) {
			t.Errorf("%q: starts %v, solid %v; want %v, %v; hashes alike: %v", text, ix.start, ix.solid, starts, solid, slices.Equal(ix.hash, hashes))
		}
	})
}

// Lines of all short lengths that differ in one byte have different hashes, as bytes and as text.
func TestHashLine(t *testing.T) {
	seen := map[uint64]string{}
	for n := range 40 {
		base := strings.Repeat("x", n)
		for i := range n + 1 {
			s := base
			if i < n {
				s = base[:i] + "y" + base[i+1:]
			}
			h := hashLine(s)
			if h != hashLine([]byte(s)) {
				t.Errorf("%q hashes differently as bytes", s)
			}
			if other, dup := seen[h]; dup && other != s {
				t.Errorf("%q and %q collide", s, other)
			}
			seen[h] = s
		}
	}
}
