// Package diff finds the lines in which two texts differ.
//
// A line ends after "\n", after "\r" that no "\n" follows, or at the end of the
// text; its terminator belongs to it, so texts that differ only in line ends
// differ in every line. Results are exact: applying the changes to a gives b.
package diff

import "strings"

// Change says that the bytes [AStart, AEnd) of a became [BStart, BEnd) of b.
// Both ranges begin and end at line boundaries; ALine and BLine are the 0-based
// numbers of the lines at AStart and BStart.
type Change struct {
	AStart, AEnd int
	BStart, BEnd int
	ALine, BLine int
}

// Lines returns the changes that turn a into b, in order, not touching each
// other. For up to a few hundred scattered edits the result is minimal; for a
// rewrite the search is bounded and lines that are unique in both texts serve as
// anchors, so the time stays near linear.
func Lines(a, b string) []Change { return compare(a, b, true) }

// LinesLF is [Lines] for texts in which only "\n" ends a line; a "\r" is a
// character like any other.
func LinesLF(a, b string) []Change { return compare(a, b, false) }

func compare(a, b string, cr bool) []Change {
	if a == b {
		return nil
	}
	pre, preLines := commonPrefix(a, b, cr)
	suf := commonSuffix(a[pre:], b[pre:], cr)
	am, bm := a[pre:len(a)-suf], b[pre:len(b)-suf]

	in := interner{cr: cr}
	as, bs := in.split(am), in.split(bm)
	d := differ{a: as.ids, b: bs.ids}
	d.run(0, len(as.ids), 0, len(bs.ids))

	changes := make([]Change, len(d.out))
	for i, r := range d.out {
		changes[i] = Change{
			AStart: pre + as.offset(r.a0), AEnd: pre + as.offset(r.a1),
			BStart: pre + bs.offset(r.b0), BEnd: pre + bs.offset(r.b1),
			ALine: preLines + r.a0, BLine: preLines + r.b0,
		}
	}
	return changes
}

// commonPrefix returns the length in bytes and in lines of the whole lines at
// which a and b both begin.
func commonPrefix(a, b string, cr bool) (size, lines int) {
	i := Prefix(a, b)
	// Step back to a boundary that is one in both texts. "\r" at the very end of
	// the common part is a boundary only when no "\n" follows in either.
	for i > 0 && (!boundary(a, i, cr) || !boundary(b, i, cr)) {
		i--
	}
	lines = strings.Count(a[:i], "\n")
	if cr && strings.IndexByte(a[:i], '\r') >= 0 {
		lines += strings.Count(a[:i], "\r") - strings.Count(a[:i], "\r\n")
	}
	return i, lines
}

// commonSuffix returns the length in bytes of the whole lines with which a and b
// both end. Both texts begin at a line start.
func commonSuffix(a, b string, cr bool) int {
	i := Suffix(a, b)
	for i > 0 && (!boundary(a, len(a)-i, cr) || !boundary(b, len(b)-i, cr)) {
		i--
	}
	return i
}

// blocks are the sizes in which texts are compared: the runtime compares a block far
// faster than a loop does its bytes.
var blocks = [...]int{64 << 10, 4 << 10, 256, 16}

// Prefix returns how many bytes a and b have in common at their beginning.
func Prefix(a, b string) (n int) {
	m := min(len(a), len(b))
	for _, size := range blocks {
		for n+size <= m && a[n:n+size] == b[n:n+size] {
			n += size
		}
	}
	for n < m && a[n] == b[n] {
		n++
	}
	return n
}

// Suffix returns how many bytes a and b have in common at their end.
func Suffix(a, b string) (n int) {
	m := min(len(a), len(b))
	for _, size := range blocks {
		for n+size <= m && a[len(a)-n-size:len(a)-n] == b[len(b)-n-size:len(b)-n] {
			n += size
		}
	}
	for n < m && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// boundary reports whether a line begins at byte i of s.
func boundary(s string, i int, cr bool) bool {
	if i == 0 {
		return true
	}
	switch s[i-1] {
	case '\n':
		return true
	case '\r':
		return i == len(s) || (cr && s[i] != '\n')
	}
	return i == len(s)
}

// interner gives equal lines equal numbers.
type interner struct {
	cr  bool // "\r" ends a line
	ids map[string]int32
}

type lines struct {
	ids    []int32
	starts []int // byte offset of each line
	end    int
}

func (l lines) offset(i int) int {
	if i < len(l.starts) {
		return l.starts[i]
	}
	return l.end
}

func (in *interner) split(s string) lines {
	if in.ids == nil {
		in.ids = make(map[string]int32)
	}
	l := lines{end: len(s)}
	for start := 0; start < len(s); {
		end := start + in.next(s[start:])
		line := s[start:end]
		id, ok := in.ids[line]
		if !ok {
			id = int32(len(in.ids))
			in.ids[line] = id
		}
		l.ids = append(l.ids, id)
		l.starts = append(l.starts, start)
		start = end
	}
	return l
}

func (in *interner) next(s string) int {
	if in.cr {
		return NextLine(s)
	}
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i + 1
	}
	return len(s)
}

// NextLine returns the length in bytes of the first line of s, its terminator
// included.
func NextLine(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n':
			return i + 1
		case '\r':
			if i+1 < len(s) && s[i+1] == '\n' {
				return i + 2
			}
			return i + 1
		}
	}
	return len(s)
}
