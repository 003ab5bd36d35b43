// Package sse reads server-sent events as models' services and the proxies before
// them really send them: comments, fields of no interest, any line ends, several data
// lines in an event, a last event without its empty line.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxEvent bounds one event, in bytes; images come back as base64.
const MaxEvent = 200 << 20

// bom is what may stand before the first event.
const bom = "\uFEFF"

// ErrTooLarge ends a stream with an event above [MaxEvent].
var ErrTooLarge = errors.New("an event of the answer is larger than 200 MB")

// Reader reads events. It never waits for more than it needs: an event is handed on
// as soon as the line that ends it is there.
type Reader struct {
	in   *bufio.Reader
	data []byte // data lines of the event that is growing
	bad  []byte // lines that are no field: perhaps an error as bare JSON
	err  error  // what comes after the last event

	begun  bool // a byte order mark was looked for
	skipLF bool // the last line ended in "\r": a "\n" now belongs to it
}

// NewReader returns a reader of the events in r.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(r, 64<<10)} }

// Next returns the data of the next event, its data lines joined with "\n"; events
// without data are left out. The bytes are valid until Next is called again. After
// the last event it returns the error that reading ended with: [io.EOF] at a proper
// end. An event that the end cuts off counts, as it may still be whole.
func (r *Reader) Next() ([]byte, error) {
	r.data = r.data[:0]
	for r.err == nil {
		line, err := r.line()
		if len(line) > 0 {
			r.take(line)
		}
		if len(r.data)+len(r.bad) > MaxEvent {
			err = ErrTooLarge
		}
		r.err = err
		if err == nil && len(line) > 0 {
			continue
		}
		if data := bytes.TrimSpace(r.data); len(data) > 0 && !errors.Is(err, ErrTooLarge) {
			return data, nil
		}
		r.data = r.data[:0]
	}
	return nil, r.err
}

// Bare returns the lines so far that belong to no event, joined with "\n": some
// services break a stream off with an error as plain JSON.
func (r *Reader) Bare() []byte { return bytes.TrimSpace(r.bad) }

// line returns the next line without its end, which is "\n", "\r\n" or "\r". It
// never waits for what comes after a "\r".
func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		if _, err := r.in.Peek(1); err != nil {
			return line, err
		}
		if !r.begun {
			r.begun = true
			if first, _ := r.in.Peek(1); first[0] == bom[0] {
				if mark, _ := r.in.Peek(len(bom)); string(mark) == bom { // nothing else begins with that byte
					_, _ = r.in.Discard(len(bom))
					continue
				}
			}
		}
		chunk, _ := r.in.Peek(r.in.Buffered())
		if r.skipLF {
			r.skipLF = false
			if chunk[0] == '\n' {
				_, _ = r.in.Discard(1) // it is buffered
				continue
			}
		}
		i := bytes.IndexAny(chunk, "\r\n")
		if i < 0 {
			line = append(line, chunk...)
			_, _ = r.in.Discard(len(chunk))
			if len(line) > MaxEvent {
				return nil, ErrTooLarge
			}
			continue
		}
		line = append(line, chunk[:i]...)
		r.skipLF = chunk[i] == '\r'
		_, _ = r.in.Discard(i + 1)
		return line, nil
	}
}

// take adds a line to the event.
func (r *Reader) take(line []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		if len(r.data) > 0 {
			r.data = append(r.data, '\n')
		}
		r.data = append(r.data, value...)
	case "", "event", "id", "retry": // a comment, or of no meaning here
	default:
		r.bad = append(append(r.bad, line...), '\n')
	}
}
