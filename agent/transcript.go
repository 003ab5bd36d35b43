package agent

import "strings"

// Transcript puts the streamed messages of a turn together, with a blank line between
// one message and the next.
type Transcript struct {
	text strings.Builder
	last string // id of the message that is growing
	tail string // the last two bytes of text at most
}

// Add takes the next piece and returns what it appends to the text.
func (a *Transcript) Add(d MessageDelta) string {
	piece := d.Text
	if a.last != "" && a.last != d.MessageID {
		gap := "\n\n"
		for strings.HasSuffix(a.tail, "\n") && gap != "" {
			a.tail, gap = a.tail[:len(a.tail)-1], gap[1:]
		}
		piece = gap + piece
	}
	a.last = d.MessageID
	a.text.WriteString(piece)
	a.tail += piece
	a.tail = a.tail[max(0, len(a.tail)-2):]
	return piece
}

// String returns the text so far.
func (a *Transcript) String() string { return a.text.String() }
