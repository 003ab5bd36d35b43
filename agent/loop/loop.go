// Package loop notices when a model goes round in circles: when it calls the same
// functions with the same arguments over and over, or writes the same text.
//
// It is careful rather than quick. Text is only held for a loop when its end is an
// exact repetition, many times over; lines that repeat by their nature (lists,
// tables, code) must repeat for much longer than prose.
package loop

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
)

// Kind is what repeats.
type Kind string

// The kinds of loops.
const (
	None  Kind = ""
	Call  Kind = "call"  // the same call
	Cycle Kind = "cycle" // a few calls in turn
	Text  Kind = "text"  // the same text
)

const (
	// maxRepeats is how often a call, or a cycle of calls, may come in a row before it
	// is a loop.
	maxRepeats = 5
	// maxCycle is the longest cycle of calls that is looked for.
	maxCycle = 5
)

// Detector watches one turn. The zero Detector is ready. It is not safe for
// concurrent use.
type Detector struct {
	calls []key
	text  text
}

// key names a call: two calls with the same key ask for the same.
type key [sha256.Size]byte

// Reset forgets everything: what comes next is seen as new.
func (d *Detector) Reset() { *d = Detector{} }

// AddCall notes a call and reports what it repeats. Arguments are compared as JSON,
// whatever the order of their members and the white space.
func (d *Detector) AddCall(name string, args json.RawMessage) Kind {
	d.text = text{} // text repeats within one stretch of it
	d.calls = append(d.calls, keyOf(name, args))
	for n := 1; n <= maxCycle; n++ {
		if !d.repeats(n) {
			continue
		}
		if n == 1 {
			return Call
		}
		return Cycle
	}
	return None
}

// repeats reports whether the last n calls were made maxRepeats times in a row.
func (d *Detector) repeats(n int) bool {
	last := len(d.calls) - 1
	if last+1 < n*maxRepeats {
		return false
	}
	for i := range n * (maxRepeats - 1) {
		if d.calls[last-i] != d.calls[last-i-n] {
			return false
		}
	}
	return true
}

func keyOf(name string, args json.RawMessage) key {
	// Decoding and encoding sorts the members; numbers keep their digits.
	var v any
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	if dec.Decode(&v) == nil {
		if sorted, err := json.Marshal(v); err == nil {
			args = sorted
		}
	}
	return sha256.Sum256(append([]byte(name+"\x00"), args...))
}

// AddText notes a piece of text that follows on the one before, and reports whether
// its end repeats itself. Then length is how many bytes of the end are the
// repetition, and period how many of them repeat.
func (d *Detector) AddText(piece string) (loop bool, length, period int) {
	return d.text.add(piece)
}

// EndText ends a stretch of text: what comes next does not follow on it.
func (d *Detector) EndText() { d.text = text{} }

// Nudge words for the model what it does.
func (k Kind) Nudge() string {
	switch k {
	case Call:
		return "You have made the same call with the same arguments five times in a row. Making it again will bring nothing new. Use what you have, try something else, or tell the user what holds you up."
	case Cycle:
		return "You are going round in circles: the same few calls with the same arguments, five times over. Stop and think about what they told you. Try something else, or tell the user what holds you up."
	}
	return "You were repeating the same text over and over, so your answer was cut. Do not write it again; go on with something new, or end here."
}

// Reason words for the user what was repeated.
func (k Kind) Reason() string {
	return "the model went on repeating " + map[Kind]string{Call: "the same call", Cycle: "the same few calls", Text: "the same text"}[k] +
		" after it was told so; say “continue” to let it go on, or tell it what to do instead"
}

// structural reports whether a line is one of those that repeat by their nature: of a
// list, a table, a heading, a quotation, a divider, or indented.
func structural(line string) bool {
	t := strings.TrimLeft(line, " ")
	if t == "" {
		return false
	}
	if len(line)-len(t) >= 4 || line[0] == '\t' {
		return true
	}
	switch t[0] {
	case '|', '#', '>', '=', '_':
		return true
	case '-', '*', '+':
		return len(t) == 1 || t[1] == ' ' || t[1] == '\t' || t[1] == t[0]
	}
	digits := len(t) - len(strings.TrimLeft(t, "0123456789"))
	return digits > 0 && digits < len(t) && (t[digits] == '.' || t[digits] == ')')
}
