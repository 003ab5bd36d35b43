package loop

import (
	"bytes"
	"strings"
)

// What is a repetition, in bytes of the end of a text.
const (
	proseRepeats = 10  // of the period
	proseLength  = 300 // at least
	tinyPeriod   = 4   // below this, as in "xxxx":
	tinyLength   = 4 << 10
	anyRepeats   = 8
	anyLength    = 64 << 10

	proseWindow = 24 << 10 // how much of the end is looked at
	anyWindow   = 128 << 10

	probe = 24 // bytes that must have come before for the end to be a repetition

	proseStep = 512 // how much is added between two looks
	anyStep   = 16 << 10
)

// text watches a stream of text in two ways: its prose, where a short repetition is a
// loop, and all of it, where only a very long one is.
type text struct {
	line   []byte // the line that is growing
	fence  string // that is open
	prose  tail
	all    tail
	failed []int // reused
}

// tail is the end of a text.
type tail struct {
	buf     []byte
	pending int // bytes added since the last look
}

func (t *tail) add(s string, window int) {
	t.buf = append(t.buf, s...)
	t.pending += len(s)
	if len(t.buf) > 2*window {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-window:]...)
	}
}

func (t *text) add(piece string) (loop bool, length, period int) {
	t.all.add(piece, anyWindow)
	if t.all.pending >= anyStep {
		t.all.pending = 0
		if length, period := t.repetition(t.all.buf, anyWindow); length >= anyLength && length >= anyRepeats*period {
			return true, length, period
		}
	}
	for piece != "" {
		i := strings.IndexByte(piece, '\n') + 1
		if i == 0 {
			t.line = append(t.line, piece...)
			t.prose.add(piece, proseWindow)
			break
		}
		t.line = append(t.line, piece[:i]...)
		t.prose.add(piece[:i], proseWindow)
		t.endLine()
		piece = piece[i:]
	}
	if t.prose.pending < proseStep {
		return false, 0, 0
	}
	t.prose.pending = 0
	if t.fence != "" || structural(string(t.line[:min(len(t.line), 80)])) {
		return false, 0, 0
	}
	length, period = t.repetition(t.prose.buf, proseWindow)
	if period < tinyPeriod && length < tinyLength {
		return false, 0, 0
	}
	if length >= proseLength && length >= proseRepeats*period && hasLetter(t.prose.buf[len(t.prose.buf)-period:]) {
		return true, length, period
	}
	return false, 0, 0
}

// endLine judges the line that has just ended; prose begins anew after one that is
// none.
func (t *text) endLine() {
	line := strings.TrimRight(string(t.line), "\r\n")
	t.line = t.line[:0]
	trimmed := strings.TrimLeft(line, " ")
	if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
		mark := trimmed[:3]
		switch {
		case t.fence == "":
			t.fence = mark
		case t.fence == mark && strings.Trim(trimmed, mark[:1]+" ") == "":
			t.fence = ""
		}
		t.prose = tail{buf: t.prose.buf[:0]}
		return
	}
	if t.fence != "" || structural(line) {
		t.prose = tail{buf: t.prose.buf[:0]}
	}
}

// repetition returns how long the end of b is periodic and with which period, the
// period being the one that makes it longest. It looks at window bytes at most.
//
// The end of b with period p is what the longest suffix looks like that is p bytes on
// the same text; reversed, that is what the failure function of Knuth, Morris and
// Pratt gives: of a prefix of length n it is n minus its longest border.
func (t *text) repetition(b []byte, window int) (length, period int) {
	if len(b) > window {
		b = b[len(b)-window:]
	}
	n := len(b)
	longest := window / anyRepeats // period
	if n < probe || !bytes.Contains(b[max(0, n-longest-probe):n-1], b[n-probe:]) {
		return 0, 0 // the usual case, and quickly seen: the last few bytes are new
	}
	if cap(t.failed) < n {
		t.failed = make([]int, n, 2*n)
	}
	f := t.failed[:n]
	at := func(i int) byte { return b[n-1-i] } // reversed
	k := 0
	for i := range n {
		if i == 0 {
			f[0] = 0
			continue
		}
		for k > 0 && at(i) != at(k) {
			k = f[k-1]
		}
		if at(i) == at(k) {
			k++
		}
		f[i] = k
		if i+1 >= 2*longest && k < (i+1)/2 {
			break // no period that counts would leave so short a border
		}
		// The last i+1 bytes of b have the period i+1-k.
		if p := i + 1 - k; i+1 >= proseRepeats*p || i+1 >= anyRepeats*p && i+1 >= anyLength {
			length, period = i+1, p
		}
	}
	return length, period
}

func hasLetter(b []byte) bool {
	for _, c := range b {
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 {
			return true
		}
	}
	return false
}
