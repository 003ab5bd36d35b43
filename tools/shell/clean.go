package shell

import (
	"strings"
	"unicode/utf8"
)

// cleaner takes what only a terminal understands out of a stream of output (ECMA-48): escape sequences, also those cut
// in two by a write, and control characters other than tab and newline. Returns become newlines, as a terminal shows
// each state of a progress bar in turn. Bytes that are no UTF-8 become U+FFFD.
type cleaner struct {
	state   cleanState
	long    int    // bytes of the sequence so far
	partial []byte // the start of a character
	cr      bool   // a return was seen last
}

// Clean takes out of text what only a terminal understands.
func Clean(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r == 0x7F }) < 0 {
		return text
	}
	var c cleaner
	return c.feed([]byte(text)) + c.flush()
}

type cleanState int

const (
	plainText cleanState = iota
	escape               // after ESC
	inter                // after ESC and an intermediate byte
	control              // in ESC [ … final byte
	str                  // in ESC ] … BEL or ESC \, and the like
	strEscape            // after ESC in such a string
)

// maxSequence ends a sequence that nobody closed, so that it cannot swallow the rest of the output.
const maxSequence = 4096

// feed returns the text in p that is complete.
func (c *cleaner) feed(p []byte) string {
	var b strings.Builder
	b.Grow(len(p))
	for _, ch := range p {
		c.byte(&b, ch)
	}
	return b.String()
}

// flush returns what feed held back.
func (c *cleaner) flush() string {
	var b strings.Builder
	c.endReturn(&b, 0)
	c.endPartial(&b)
	return b.String()
}

func (c *cleaner) byte(b *strings.Builder, ch byte) {
	if c.state != plainText {
		if c.long++; c.long > maxSequence {
			c.state = plainText
		}
	}
	switch c.state {
	case plainText:
		c.text(b, ch)
	case escape:
		switch {
		case ch == '[':
			c.state = control
		case ch == ']' || ch == 'P' || ch == 'X' || ch == '^' || ch == '_':
			c.state = str
		case ch >= 0x20 && ch <= 0x2F:
			c.state = inter
		case ch == 0x1B:
		default:
			c.state = plainText
			if ch < 0x20 || ch > 0x7E {
				c.text(b, ch) // not a sequence after all
			}
		}
	case inter:
		if ch < 0x20 || ch > 0x2F {
			c.state = plainText
		}
	case control:
		switch {
		case ch >= 0x40 && ch <= 0x7E:
			c.state = plainText
		case ch == 0x1B:
			c.state, c.long = escape, 0
		case ch == '\n' || ch >= 0x80:
			c.state = plainText
			c.text(b, ch)
		}
	case str:
		switch ch {
		case 0x07:
			c.state = plainText
		case 0x1B:
			c.state = strEscape
		}
	case strEscape:
		if ch == '\\' {
			c.state = plainText
			return
		}
		c.state, c.long = escape, 0 // another sequence begins instead
		c.byte(b, ch)
	}
}

func (c *cleaner) text(b *strings.Builder, ch byte) {
	if ch >= utf8.RuneSelf {
		c.endReturn(b, ch)
		if utf8.RuneStart(ch) {
			c.endPartial(b)
		}
		c.partial = append(c.partial, ch)
		if utf8.FullRune(c.partial) {
			c.endPartial(b)
		}
		return
	}
	c.endPartial(b)
	c.endReturn(b, ch)
	switch {
	case ch == 0x1B:
		c.state, c.long = escape, 0
	case ch == '\r':
		c.cr = true
	case ch == '\t' || ch == '\n' || ch >= 0x20 && ch != 0x7F:
		b.WriteByte(ch)
	}
}

// endReturn writes the newline for a return, unless a newline comes or it was at the end of nothing.
func (c *cleaner) endReturn(b *strings.Builder, next byte) {
	if !c.cr {
		return
	}
	c.cr = false
	if next != '\n' && next != '\r' && next != 0 {
		b.WriteByte('\n')
	}
}

// endPartial writes the character that was collected, or U+FFFD for bytes that are none.
func (c *cleaner) endPartial(b *strings.Builder) {
	if len(c.partial) == 0 {
		return
	}
	if utf8.Valid(c.partial) {
		b.Write(c.partial)
	} else {
		b.WriteRune(utf8.RuneError)
	}
	c.partial = c.partial[:0]
}
