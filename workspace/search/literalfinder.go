package search

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// literalFinder finds the next occurrence of any of a set of literals. It is immutable.
type literalFinder struct {
	set  []string
	fold bool // ASCII letters in either case; set is in lower case then

	// By rare bytes: anchors lists bytes of which each occurrence of a literal contains one.
	anchors []anchor

	// By grams, in one pass for all literals: some bytes in a row. When every stride-th place of the text is looked at,
	// each occurrence of a literal shows one of its first stride grams. starts leads from the hash of a gram to the places
	// where literals have it.
	gram, stride int
	starts       *[1 << hashBits]uint16 // index into places; 0 for none
	places       [][]place
}

// anchor is a byte to look for, and the places in literals where it stands.
type anchor struct {
	b  byte
	at []place
}

// place is an offset in a literal, which is given by its index.
type place struct{ literal, offset int }

const (
	maxAnchors = 8
	hashBits   = 12
	maxGram    = 4
	maxStride  = 8
)

// Measured costs in nanoseconds: of a pass of bytes.IndexByte for each byte of text, of a stop of such a pass, of looking
// at a gram, of a gram that proves to be no literal, and of finding the ends of one line and running the automaton over it.
const (
	passCost      = 0.05
	stopCost      = 18
	gramCost      = 0.9
	falseGramCost = 10
	lineCost      = 60
)

// newLiteralFinder returns nil when searching for the literals first would not pay, the automaton taking scanCost
// nanoseconds for each byte. sure says that no further check is needed where a literal is found.
func newLiteralFinder(set []string, fold, sure bool, scanCost float64) *literalFinder {
	if len(set) == 0 {
		return nil
	}
	f := &literalFinder{set: set, fold: fold}
	anchors, byAnchors := f.chooseAnchors()
	gram, stride, byGrams := f.chooseGram()
	checks := 0.0
	if !sure {
		checks = cost(set) / 4 * lineCost
	}
	if min(byAnchors, byGrams)+checks > scanCost {
		return nil
	}
	if byAnchors <= byGrams {
		f.anchors = anchors
	} else {
		f.buildGrams(gram, stride)
	}
	return f
}

// chooseAnchors picks a rare byte of each literal and estimates what searching for them costs.
func (f *literalFinder) chooseAnchors() ([]anchor, float64) {
	var anchors []anchor
	cost := 0.0
	add := func(b byte, p place) {
		for i := range anchors {
			if anchors[i].b == b {
				anchors[i].at = append(anchors[i].at, p)
				return
			}
		}
		anchors = append(anchors, anchor{b, []place{p}})
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
		add(s[best], place{n, best})
		if upper, ok := f.upper(s[best]); ok {
			add(upper, place{n, best})
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

// chooseGram weighs long grams, which are rarer, against long strides. Together they are as long as the shortest literal.
func (f *literalFinder) chooseGram() (gram, stride int, best float64) {
	shortest := len(f.set[0])
	for _, s := range f.set {
		shortest = min(shortest, len(s))
	}
	best = 1e9
	for g := 1; g <= min(maxGram, shortest); g++ {
		n := min(shortest-g+1, maxStride)
		chance := float64(len(f.set)*n) / (1 << hashBits)
		for _, s := range f.set {
			for at := range n {
				p := 1.0
				for i := at; i < at+g; i++ {
					p *= min(1, 3*byteFrequency(s[i]))
				}
				chance += p / 3
			}
		}
		if c := (gramCost + falseGramCost*min(1, chance)) / float64(n); c < best {
			gram, stride, best = g, n, c
		}
	}
	return gram, stride, best
}

// hashGram hashes the first bytes of four. Letters that differ in case only are not told apart, and neither are some
// other characters.
func hashGram(bytes, mask uint32) uint32 {
	return (bytes | 0x20202020) & mask * 0x9e3779b1 >> (32 - hashBits)
}

func gramMask(gram int) uint32 { return ^uint32(0) >> (32 - 8*gram) }

func (f *literalFinder) buildGrams(gram, stride int) {
	f.gram, f.stride = gram, stride
	f.starts = new([1 << hashBits]uint16)
	f.places = make([][]place, 1)
	for n, s := range f.set {
		for at := range stride {
			var four [4]byte
			copy(four[:], s[at:at+gram])
			h := hashGram(binary.LittleEndian.Uint32(four[:]), gramMask(gram))
			if f.starts[h] == 0 {
				f.starts[h] = uint16(len(f.places))
				f.places = append(f.places, nil)
			}
			f.places[f.starts[h]] = append(f.places[f.starts[h]], place{n, at})
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
	return f.findByGram(text, from)
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

func (f *literalFinder) findByGram(text []byte, from int) int {
	mask, stride, starts := gramMask(f.gram), f.stride, f.starts
	i := from
	for ; i <= len(text)-4; i += stride {
		h := hashGram(binary.LittleEndian.Uint32(text[i:]), mask)
		if starts[h] == 0 {
			continue
		}
		if start := f.confirm(text, from, i, starts[h]); start >= 0 {
			return start
		}
	}
	for ; i <= len(text)-f.gram; i += stride {
		var four [4]byte
		copy(four[:], text[i:])
		if n := starts[hashGram(binary.LittleEndian.Uint32(four[:]), mask)]; n != 0 {
			if start := f.confirm(text, from, i, n); start >= 0 {
				return start
			}
		}
	}
	return -1
}

// confirm looks which literal that has the gram seen at the given offset really stands there.
func (f *literalFinder) confirm(text []byte, from, at int, places uint16) int {
	for _, p := range f.places[places] {
		if start := at - p.offset; start >= from && f.is(text, start, f.set[p.literal]) {
			return start
		}
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
