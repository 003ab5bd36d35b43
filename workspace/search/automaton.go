package search

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// automaton is what all goroutines share of a compiled expression: its program and the classes of characters that it
// does not tell apart.
type automaton struct {
	prog     *syntax.Prog
	anchored bool // can match at the beginning of a line only
	words    bool // has word boundaries
	begins   bool // asks for the beginning of a line

	classes int       // without the one for the end of a line
	ascii   [128]byte // class of each ASCII character
	bounds  []rune    // beginnings of the ranges from 128 on, ascending
	class   []byte    // class of each range
	sample  []rune    // a member of each class
}

// maxClasses is what fits the class tables. An expression that tells more characters apart is not run as an automaton.
const maxClasses = 250

// newAutomaton finds the classes. It is nil if there are too many.
func newAutomaton(prog *syntax.Prog) *automaton {
	a := &automaton{prog: prog, anchored: prog.StartCond()&syntax.EmptyBeginText != 0}
	// A character begins a new range wherever the answer of some instruction may change.
	cuts := map[rune]bool{0: true, 128: true, '\r': true, '\r' + 1: true, '\n': true, '\n' + 1: true}
	cut := func(lo, hi rune) { cuts[lo], cuts[hi+1] = true, true }
	var tests []*syntax.Inst
	for i := range prog.Inst {
		in := &prog.Inst[i]
		switch in.Op {
		case syntax.InstRune1, syntax.InstRune:
			tests = append(tests, in)
			if len(in.Rune) == 1 {
				cut(in.Rune[0], in.Rune[0])
				if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
					for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0]; r = unicode.SimpleFold(r) {
						cut(r, r)
					}
				}
			}
			for j := 0; j+1 < len(in.Rune); j += 2 {
				cut(in.Rune[j], in.Rune[j+1])
			}
		case syntax.InstEmptyWidth:
			switch syntax.EmptyOp(in.Arg) {
			case syntax.EmptyWordBoundary, syntax.EmptyNoWordBoundary:
				a.words = true
			case syntax.EmptyBeginLine, syntax.EmptyBeginText:
				a.begins = true
			}
		}
	}
	if a.words {
		for _, r := range [][2]rune{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}} {
			cut(r[0], r[1])
		}
	}
	var sorted []rune
	for r := range cuts {
		if r <= unicode.MaxRune {
			sorted = append(sorted, r)
		}
	}
	slices.Sort(sorted)

	byAnswers := map[string]byte{}
	answers := make([]byte, 0, len(tests)+1)
	for i, r := range sorted {
		answers = answers[:0]
		for _, in := range tests {
			answers = append(answers, b2i(in.MatchRune(r)))
		}
		answers = append(answers, b2i(a.words && isWord(r))|b2i(r == '\n')<<1)
		class, known := byAnswers[string(answers)]
		if !known {
			if len(a.sample) == maxClasses {
				return nil
			}
			class = byte(len(a.sample))
			byAnswers[string(answers)] = class
			a.sample = append(a.sample, r)
		}
		end := rune(unicode.MaxRune)
		if i+1 < len(sorted) {
			end = sorted[i+1] - 1
		}
		for c := r; c <= end && c < 128; c++ {
			a.ascii[c] = class
		}
		if r >= 128 {
			a.bounds = append(a.bounds, r)
			a.class = append(a.class, class)
		}
	}
	a.classes = len(a.sample)
	return a
}

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func isWord(r rune) bool { return r < 128 && (isLetter(byte(r)) || '0' <= r && r <= '9' || r == '_') }

// classOf a character that is not ASCII.
func (a *automaton) classOf(r rune) int {
	if len(a.class) == 1 {
		return int(a.class[0])
	}
	i, found := slices.BinarySearch(a.bounds, r)
	if !found {
		i--
	}
	return int(a.class[i])
}

// What a state knows about the character before.
const (
	afterOther byte = iota
	afterWord
	afterBegin
)

// Transitions that lead to no state. A state is the offset of its row, which is positive.
const (
	unknown   int32 = 0
	accept    int32 = -1 // the line matches, whatever follows
	endOfLine int32 = -2 // a carriage return: ask what follows
)

// maxStates bounds the memory of one dfa; beyond it, it is emptied and built again.
const maxStates = 4000

// dfa is a deterministic automaton that is built as far as texts need it. One goroutine uses it.
type dfa struct {
	*automaton
	stride int     // row: 128 ASCII characters, then the classes, then the end of a line
	trans  []int32 // row 0 is not used
	states map[string]int32
	sets   [][]byte // by row: the key of the state

	begin  int32     // the state at the beginning of a line; or accept
	steady int32     // the state in which nothing has begun to match; 0 when there is none to rest in
	dead   int32     // the state from which the line cannot match
	rests  [256]byte // 1 for bytes that leave steady as it is

	visited []uint32 // generation in which an instruction was seen
	visit   uint32
	stack   []uint32
	set     []uint32
	next    []uint32
}

func newDFA(a *automaton) *dfa {
	d := &dfa{automaton: a, stride: 128 + a.classes + 1, visited: make([]uint32, len(a.prog.Inst))}
	d.clear()
	return d
}

func (d *dfa) clear() {
	d.trans = append(d.trans[:0], make([]int32, d.stride)...)
	d.states = map[string]int32{}
	d.sets = append(d.sets[:0], nil)
	d.begin, d.dead, d.steady = 0, 0, 0

	d.visit++
	d.next = d.next[:0]
	if d.add(uint32(d.prog.Start)) {
		d.begin = accept
		return
	}
	d.begin = d.state(d.next, afterBegin)
	if d.anchored {
		d.dead = d.state(nil, afterOther)
		return
	}
	// The state after an uninteresting character, and the characters that leave it as it is.
	d.steady = d.state(d.next, afterOther)
	for b := range 128 {
		if b == '\r' {
			continue
		}
		if b == '\n' {
			d.rests[b] = b2i(d.step(d.steady, d.classes) == d.steady)
			continue
		}
		d.rests[b] = b2i(d.step(d.steady, int(d.ascii[b])) == d.steady)
	}
	same := b2i(len(d.class) == 1 && d.step(d.steady, int(d.class[0])) == d.steady)
	for b := 128; b < 256; b++ {
		d.rests[b] = same
	}
}

// add puts the instructions reachable from pc without reading and without conditions into d.next. It reports whether the
// match is among them.
func (d *dfa) add(pc uint32) (matches bool) {
	d.stack = append(d.stack[:0], pc)
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.visited[pc] == d.visit {
			continue
		}
		d.visited[pc] = d.visit
		in := &d.prog.Inst[pc]
		switch in.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstFail:
		case syntax.InstAlt, syntax.InstAltMatch:
			d.stack = append(d.stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			d.stack = append(d.stack, in.Out)
		default:
			d.next = append(d.next, pc)
		}
	}
	return false
}

// state finds or makes the state of a set of instructions.
func (d *dfa) state(set []uint32, after byte) int32 {
	if !d.words && after == afterWord || !d.begins && after == afterBegin || len(set) == 0 {
		after = afterOther
	}
	slices.Sort(set)
	key := []byte{after}
	for _, pc := range set {
		key = binary.AppendUvarint(key, uint64(pc))
	}
	if s, ok := d.states[string(key)]; ok {
		return s
	}
	s := int32(len(d.trans))
	d.trans = append(d.trans, make([]int32, d.stride)...)
	d.trans[s+'\r'] = endOfLine
	d.states[string(key)] = s
	d.sets = append(d.sets, key)
	return s
}

// step computes the transition of a state on a class, d.classes being the end of the line, and remembers it.
func (d *dfa) step(s int32, class int) int32 {
	if t := d.trans[int(s)+128+class]; t != unknown {
		return t
	}
	key := d.sets[int(s)/d.stride]
	after := key[0]
	d.set = d.set[:0]
	for rest := key[1:]; len(rest) > 0; {
		pc, n := binary.Uvarint(rest)
		d.set = append(d.set, uint32(pc))
		rest = rest[n:]
	}
	t := d.compute(after, class)
	// compute may have emptied the tables; s is gone then, and the transition with it.
	if int(s)/d.stride < len(d.sets) && &d.sets[int(s)/d.stride][0] == &key[0] {
		d.trans[int(s)+128+class] = t
		if class == d.classes {
			d.trans[s+'\n'] = t
			return t
		}
		for b := range 128 {
			if int(d.ascii[b]) == class && b != '\n' && b != '\r' {
				d.trans[int(s)+b] = t
			}
		}
	}
	return t
}

// compute works on d.set.
func (d *dfa) compute(after byte, class int) int32 {
	end := class == d.classes
	var r rune
	word := false
	if !end {
		r = d.sample[class]
		word = d.words && isWord(r)
	}
	if d.conditions(after, word, end) {
		return accept
	}
	if end {
		return d.begin
	}
	d.visit++
	d.next = d.next[:0]
	for _, pc := range d.set {
		in := &d.prog.Inst[pc]
		if in.Op == syntax.InstEmptyWidth || !consumes(in, r) {
			continue
		}
		if d.add(in.Out) {
			return accept
		}
	}
	if !d.anchored && d.add(uint32(d.prog.Start)) {
		return accept
	}
	now := afterOther
	if word {
		now = afterWord
	}
	if len(d.sets) > maxStates {
		next := slices.Clone(d.next)
		d.clear()
		return d.state(next, now)
	}
	return d.state(d.next, now)
}

func consumes(in *syntax.Inst, r rune) bool {
	switch in.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return in.MatchRune(r)
}

// conditions adds to d.set what the conditions that hold between two characters lead to. It reports whether that is the
// match.
func (d *dfa) conditions(after byte, word, end bool) (matches bool) {
	var holds syntax.EmptyOp
	if after == afterBegin {
		holds |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	}
	if end {
		holds |= syntax.EmptyEndText | syntax.EmptyEndLine
	}
	if (after == afterWord) != word {
		holds |= syntax.EmptyWordBoundary
	} else {
		holds |= syntax.EmptyNoWordBoundary
	}
	d.visit++
	d.next = d.next[:0]
	for i := 0; i < len(d.set); i++ {
		in := &d.prog.Inst[d.set[i]]
		if in.Op != syntax.InstEmptyWidth || syntax.EmptyOp(in.Arg)&^holds != 0 {
			continue
		}
		if d.add(in.Out) {
			return true
		}
		for _, pc := range d.next {
			if !slices.Contains(d.set, pc) {
				d.set = append(d.set, pc)
			}
		}
		d.next = d.next[:0]
	}
	return false
}

// scanCost estimates what scan takes in nanoseconds for each byte of text.
func (d *dfa) scanCost() float64 {
	const rest, step = 0.3, 1.4
	if d.steady == 0 {
		return step
	}
	busy := 0.0
	for b := range 256 {
		if d.rests[b] == 0 {
			busy += byteFrequency(byte(b))
		}
	}
	return min(step, rest+8*busy)
}

// scan runs over the lines of text from the one that begins at from, and returns an offset in the first that matches or
// at its end, or -1.
func (d *dfa) scan(text []byte, from int) int {
	if d.begin == accept {
		if from < len(text) {
			return from
		}
		return -1
	}
	s := d.begin
	i := from
	for i < len(text) {
		if s == d.steady {
			for i+4 <= len(text) {
				b := text[i : i+4 : i+4]
				if d.rests[b[0]]&d.rests[b[1]]&d.rests[b[2]]&d.rests[b[3]] == 0 {
					break
				}
				i += 4
			}
			for i < len(text) && d.rests[text[i]] != 0 {
				i++
			}
			if i == len(text) {
				break
			}
		} else if s == d.dead {
			i = indexFrom(text, '\n', i) + 1
			s = d.begin
			continue
		}
		b := text[i]
		if b < utf8.RuneSelf {
			t := d.trans[int(s)+int(b)]
			if t > 0 {
				s = t
				i++
				continue
			}
			if t == accept {
				return i
			}
			if t == endOfLine && i+1 < len(text) && text[i+1] != '\n' {
				t = d.step(s, int(d.ascii['\r']))
			} else if t == endOfLine || b == '\n' {
				t = d.step(s, d.classes)
				if b == '\r' {
					if t == accept {
						return i
					}
					i += 2
					s = t
					continue
				}
			} else {
				t = d.step(s, int(d.ascii[b]))
			}
			if t == accept {
				return i
			}
			s = t
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		t := d.step(s, d.classOf(r))
		if t == accept {
			return i
		}
		s = t
		i += n
	}
	if len(text) > from && text[len(text)-1] != '\n' && i <= len(text) && d.step(s, d.classes) == accept {
		return len(text)
	}
	return -1
}
