package gemini

import (
	"errors"
	"io"

	"redline/agent/sse"
)

// errStream ends a stream whose own error the exchange keeps. It has no detail,
// because the SDK writes it to the standard log.
var errStream = errors.New("the stream reported an error")

// eventReader gives the events of an answer to the SDK in the only form it reads:
// "data: JSON\n\n".
type eventReader struct {
	body io.ReadCloser
	in   *sse.Reader
	x    *exchange
	out  []byte // of the current event, not read yet
	buf  []byte // reused for out
	err  error

	wrapped bool // the events are Code Assist's, the answers inside them
}

func newEventReader(body io.ReadCloser, x *exchange) *eventReader {
	return &eventReader{body: body, in: sse.NewReader(body), x: x}
}

// Close closes the answer.
func (r *eventReader) Close() error { return r.body.Close() }

// Read implements [io.Reader].
func (r *eventReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.err = r.next()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// next makes the next event the one to be read.
func (r *eventReader) next() error {
	data, err := r.in.Next()
	if err != nil {
		// Lines that were no events: some errors come as plain JSON.
		if bare := r.in.Bare(); errors.Is(err, io.EOF) && len(bare) > 0 && r.x.event(bare) != nil {
			return errStream
		}
		return err
	}
	if string(data) == "[DONE]" {
		return nil
	}
	if r.wrapped {
		data = unwrap(data)
	}
	if err := r.x.event(data); err != nil {
		return errStream
	}
	// Line ends inside the JSON could look like the end of the event to the SDK;
	// in JSON they only stand between tokens.
	r.buf = append(r.buf[:0], "data: "...)
	start := len(r.buf)
	r.buf = append(r.buf, data...)
	for i, c := range r.buf[start:] {
		if c == '\n' || c == '\r' {
			r.buf[start+i] = ' '
		}
	}
	r.buf = append(r.buf, "\n\n"...)
	r.out = r.buf
	return nil
}
