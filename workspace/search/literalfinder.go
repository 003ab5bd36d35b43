package search

import (
	"bytes"
	"slices"
)

// literalFinder finds the next occurrence of any of a set of literals. It is immutable.
type literalFinder struct {
	set  []string
	fold bool // ASCII letters in either case; set is in lower case then

	// By rare bytes: anchors lists bytes of which each occurrence of a literal contains one.
	anchors []anchor

	// By skipping (Wu and Manber): the two bytes at the end of a window of the shortest literal's length say how far the
	// window may be moved on.
	window int
	shift  []uint8
	bucket [][]int32 // of the hash whose shift is 0: the literals whose window ends so
}

// anchor is a byte to look for, and the places in literals where it stands.
type anchor struct {
	b  byte
	at []anchorPlace
}

type anchorPlace struct{ literal, offset int }

const (
	maxAnchors = 8
	hashSize   = 1 << 12
	maxSkip    = 16
)

// Measured costs in nanoseconds for each byte of text: a pass of bytes.IndexByte, a stop of such a pass, a step of the
// window, and what the automaton needs.
const (
	passCost      = 0.05
	stopCost      = 7
	stepCost      = 1.2
	automatonCost = 1.3
	lineCost      = 60 // of finding the ends of one line and running the automaton over it
)

// newLiteralFinder returns nil when searching for the literals first would not pay. sure says that no further check is
// needed where one is found.
func newLiteralFinder(set []string, fold, sure bool) *literalFinder {
	if len(set) == 0 || !sure && cost(set)/4*lineCost > automatonCost {
		return nil
	}
	f := &literalFinder{set: set, fold: fold, window: maxSkip}
	for _, s := range set {
		f.window = min(f.window, len(s))
	}
	anchors, byAnchor := f.chooseAnchors()
	bySkipping := stepCost / max(1, float64(f.window-1))
	if byAnchor <= bySkipping || f.window == 1 && byAnchor < automatonCost {
		f.anchors = anchors
		return f
	}
	if f.window == 1 {
		return nil
	}
	f.buildShifts()
	return f
}

// chooseAnchors picks a rare byte of each literal and estimates what searching for them costs.
func (f *literalFinder) chooseAnchors() ([]anchor, float64) {
	var anchors []anchor
	cost := 0.0
	add := func(b byte, p anchorPlace) {
		for i := range anchors {
			if anchors[i].b == b {
				anchors[i].at = append(anchors[i].at, p)
				return
			}
		}
		anchors = append(anchors, anchor{b, []anchorPlace{p}})
		cost += passCost + stopCost*byteFrequency(b)
	}
	for n, s := range f.set {
		best, rarest := 0, 2.0
		for i := range len(s) {
			share := byteFrequency(s[i])
			if upper, ok := f.upper(s[i]); ok {
				share += byteFrequency(upper)
			}
			// A byte that is looked for anyway costs nothing more.
			if slices.ContainsFunc(anchors, func(a anchor) bool { return a.b == s[i] }) {
				share = 0
			}
			if share < rarest {
				best, rarest = i, share
			}
		}
		add(s[best], anchorPlace{n, best})
		if upper, ok := f.upper(s[best]); ok {
			add(upper, anchorPlace{n, best})
		}
	}
	if len(anchors) > maxAnchors {
		cost = 1e9
	}
	return anchors, cost
}

func (f *literalFinder) upper(b byte) (byte, bool) {
	return b - ('a' - 'A'), f.fold && 'a' <= b && b <= 'z'
}

// hash of two adjacent bytes; the same for letters that differ in case only.
func hash(a, b byte) int { return int(a|0x20) ^ int(b|0x20)<<4 }

func (f *literalFinder) buildShifts() {
	f.shift = make([]uint8, hashSize)
	f.bucket = make([][]int32, hashSize)
	for i := range f.shift {
		f.shift[i] = uint8(f.window - 1)
	}
	for n, s := range f.set {
		for end := 1; end < f.window; end++ {
			h := hash(s[end-1], s[end])
			f.shift[h] = min(f.shift[h], uint8(f.window-1-end))
			if end == f.window-1 {
				f.bucket[h] = append(f.bucket[h], int32(n))
			}
		}
	}
}

// cursor remembers, for one text, where the anchors occur next.
type cursor struct {
	next [maxAnchors]int // -1: not looked for yet
}

func (c *cursor) reset() {
	for i := range c.next {
		c.next[i] = -1
	}
}

// find returns an offset inside of the first occurrence at or after from, or -1. It may be a later one of the same line.
// The cursor must have been reset for the text, and from must not decrease.
func (f *literalFinder) find(text []byte, from int, c *cursor) int {
	if f.anchors != nil {
		return f.findByAnchor(text, from, c)
	}
	return f.findBySkipping(text, from)
}

func (f *literalFinder) findByAnchor(text []byte, from int, c *cursor) int {
	for i := range f.anchors {
		if c.next[i] < from {
			c.next[i] = indexFrom(text, f.anchors[i].b, from)
		}
	}
	for {
		best := 0
		for i := 1; i < len(f.anchors); i++ {
			if c.next[i] < c.next[best] {
				best = i
			}
		}
		at := c.next[best]
		if at >= len(text) {
			return -1
		}
		for _, p := range f.anchors[best].at {
			if start := at - p.offset; start >= from && f.is(text, start, f.set[p.literal]) {
				return start
			}
		}
		c.next[best] = indexFrom(text, f.anchors[best].b, at+1)
	}
}

// indexFrom is bytes.IndexByte from an offset on, with len(text) for none.
func indexFrom(text []byte, b byte, from int) int {
	if i := bytes.IndexByte(text[from:], b); i >= 0 {
		return from + i
	}
	return len(text)
}

func (f *literalFinder) findBySkipping(text []byte, from int) int {
	shift := (*[hashSize]uint8)(f.shift)
	back := f.window - 1
	for i := from + back; i < len(text); {
		h := hash(text[i-1], text[i])
		if s := int(shift[h&(hashSize-1)]); s > 0 {
			i += s
			continue
		}
		for _, n := range f.bucket[h&(hashSize-1)] {
			if f.is(text, i-back, f.set[n]) {
				return i - back
			}
		}
		i++
	}
	return -1
}

// is reports whether the literal stands at start.
func (f *literalFinder) is(text []byte, start int, literal string) bool {
	if start+len(literal) > len(text) {
		return false
	}
	here := text[start : start+len(literal)]
	if !f.fold {
		return string(here) == literal
	}
	for i := range len(literal) {
		b := here[i]
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != literal[i] {
			return false
		}
	}
	return true
}
