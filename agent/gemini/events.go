package gemini

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds one event, in bytes; images come back as base64.
const maxEvent = 200 << 20

// errStream ends a stream whose own error the exchange keeps. It has no detail,
// because the SDK writes it to the standard log.
var errStream = errors.New("the stream reported an error")

// eventReader reads server-sent events as the HTML standard has them (comments,
// other fields, any line ends, several data lines) and gives them to the SDK in the
// only form it reads: "data: JSON\n\n".
type eventReader struct {
	body io.ReadCloser
	in   *bufio.Reader
	x    *exchange
	out  []byte // of the current event, not read yet
	buf  []byte // reused for out
	data []byte // data lines of the event that is growing
	bad  []byte // lines that are no field: perhaps an error as bare JSON
	err  error

	skipLF bool // the last line ended in "\r": a "\n" now belongs to it
}

func newEventReader(body io.ReadCloser, x *exchange) *eventReader {
	return &eventReader{body: body, in: bufio.NewReaderSize(body, 64<<10), x: x}
}

// Close closes the answer.
func (r *eventReader) Close() error { return r.body.Close() }

// Read implements [io.Reader].
func (r *eventReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.next()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// next reads lines until there is an event or the end.
func (r *eventReader) next() {
	for {
		line, err := r.line()
		if len(line) > 0 {
			r.take(line)
		}
		if err != nil {
			// An event that the end cuts off may still be whole.
			r.err = err
			if dispatchErr := r.dispatch(); dispatchErr != nil {
				r.err = dispatchErr
			} else if errors.Is(err, io.EOF) && len(bytes.TrimSpace(r.bad)) > 0 {
				r.err = r.bare()
			}
			return
		}
		if len(line) == 0 {
			if err := r.dispatch(); err != nil {
				r.err = err
				return
			}
			if len(r.out) > 0 {
				return
			}
		}
	}
}

// line returns the next line without its end, which is "\n", "\r\n" or "\r". It
// never waits for what comes after a "\r".
func (r *eventReader) line() ([]byte, error) {
	var line []byte
	for {
		if _, err := r.in.Peek(1); err != nil {
			return line, err
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
			if len(line) > maxEvent {
				return nil, errors.New("an event of the answer is larger than 200 MB")
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
func (r *eventReader) take(line []byte) {
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

// dispatch makes the event that has grown the next to be read.
func (r *eventReader) dispatch() error {
	data := bytes.TrimSpace(r.data)
	r.data = r.data[:0]
	if len(data) == 0 || string(data) == "[DONE]" {
		return nil
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

// bare judges lines that were no events: some errors come as plain JSON.
func (r *eventReader) bare() error {
	if err := r.x.event(bytes.TrimSpace(r.bad)); err != nil {
		return errStream
	}
	return io.EOF
}
