package shell

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// output is the writer a command writes to: it cleans the text, hands it on and keeps the head and the tail.
type output struct {
	clean cleaner
	on    func(string)
	heard chan struct{} // holds an element when something was written since the last look

	head    []byte
	tail    []byte // the latest bytes; may grow to twice tailMax before the older half is dropped
	headMax int
	tailMax int
	omitted int
}

func newOutput(limit int, on func(string)) *output {
	return &output{on: on, heard: make(chan struct{}, 1), headMax: limit - limit/2, tailMax: limit / 2}
}

// Write never fails: a command must not notice that its output is cut.
func (o *output) Write(p []byte) (int, error) {
	select {
	case o.heard <- struct{}{}:
	default:
	}
	o.take(o.clean.feed(p))
	return len(p), nil
}

func (o *output) take(text string) {
	if text == "" {
		return
	}
	if o.on != nil {
		o.on(text)
	}
	if n := o.headMax - len(o.head); n > 0 {
		n = min(n, len(text))
		o.head = append(o.head, text[:n]...)
		text = text[n:]
	}
	o.tail = append(o.tail, text...)
	if len(o.tail) > 2*o.tailMax {
		drop := len(o.tail) - o.tailMax
		o.omitted += drop
		o.tail = append(o.tail[:0], o.tail[drop:]...)
	}
}

// finish returns what was kept and how many bytes were left out. It must not be called while Write may be.
func (o *output) finish() (text string, omitted int) {
	o.take(o.clean.flush())
	if drop := len(o.tail) - o.tailMax; drop > 0 {
		o.omitted += drop
		o.tail = o.tail[drop:]
	}
	if o.omitted == 0 {
		return string(o.head) + string(o.tail), 0
	}
	// Characters that the cuts went through go as well.
	head, tail := o.head, o.tail
	for i := 1; i < utf8.UTFMax && i <= len(head); i++ {
		if utf8.RuneStart(head[len(head)-i]) {
			if !utf8.FullRune(head[len(head)-i:]) {
				head = head[:len(head)-i]
			}
			break
		}
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	o.omitted += len(o.head) - len(head) + len(o.tail) - len(tail)
	var b strings.Builder
	b.Write(head)
	if len(head) > 0 && head[len(head)-1] != '\n' {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "[... %d bytes of output left out ...]\n", o.omitted)
	b.Write(tail)
	return b.String(), o.omitted
}
