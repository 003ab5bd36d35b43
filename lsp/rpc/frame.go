package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Framing says how messages are delimited on the stream.
type Framing int

const (
	// Headers is the LSP base protocol: a Content-Length header, a blank line, the body.
	Headers Framing = iota
	// Lines is one message a line, as ACP and MCP use on stdio.
	Lines
)

// frameError reports input that broke the framing and has been skipped or will
// be: it is answered with its code, and reading goes on.
type frameError struct {
	code int
	msg  string
}

func (e *frameError) Error() string { return e.msg }

// source yields message bodies. A *frameError is not the end; any other error is.
type source interface {
	next() ([]byte, error)
}

const (
	readBuffer = 32 << 10
	firstBody  = 64 << 10 // what a body gets before any byte of it has arrived
	carryLen   = 64       // longer than any Content-Length field
)

// headerSource reads frames with an LSP header. It survives headers that are
// broken: it searches for the next Content-Length field at the start of a line,
// or after a byte that cannot be part of a field name (such as the brace that
// ends a body whose declared length was wrong).
type headerSource struct {
	br        *bufio.Reader
	maxHeader int
	maxBody   int64

	skip  int64  // bytes of a refused body still to be discarded
	lost  bool   // out of step: already reported, no good header since
	carry []byte // end of the previous piece of a line longer than the buffer
	err   error  // sticky
}

func newHeaderSource(r io.Reader, maxHeader int, maxBody int64) *headerSource {
	return &headerSource{br: bufio.NewReaderSize(r, readBuffer), maxHeader: maxHeader, maxBody: maxBody}
}

// next returns the next body, which the caller owns. It returns io.EOF at the
// end between frames and io.ErrUnexpectedEOF inside one.
func (s *headerSource) next() ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	if err := s.discard(); err != nil {
		return nil, s.fail(err)
	}
	n, err := s.header()
	if err != nil {
		var fe *frameError
		if errors.As(err, &fe) {
			return nil, err
		}
		return nil, s.fail(err)
	}
	body, err := readBody(s.br, n)
	if err != nil {
		return nil, s.fail(err)
	}
	return body, nil
}

func (s *headerSource) fail(err error) error {
	s.err = err
	return err
}

func (s *headerSource) discard() error {
	for s.skip > 0 {
		n, err := s.br.Discard(int(min(s.skip, 1<<20)))
		s.skip -= int64(n)
		if err != nil {
			return unexpected(err)
		}
	}
	return nil
}

// header reads one header block and returns the length of the body after it.
func (s *headerSource) header() (int64, error) {
	var (
		length  int64  = -1
		size    int    // bytes of the block; counted anew from each Content-Length
		problem string // what is wrong with the block, should no length be found
	)
	for {
		line, whole, err := s.line()
		size += len(line)
		if err != nil {
			switch {
			case length >= 0:
				return 0, unexpected(err)
			case size > 0 && !s.lost && errors.Is(err, io.EOF):
				// Say what was wrong before the end is reported: this is what
				// somebody sees who pipes bare JSON into the server.
				s.lost, s.err = true, io.ErrUnexpectedEOF
				return 0, &frameError{CodeParse, "message without a Content-Length header"}
			case size > 0:
				return 0, unexpected(err)
			}
			return 0, err
		}
		if whole && isBlank(line) {
			switch {
			case length > s.maxBody:
				s.lost, s.skip = false, length
				return 0, &frameError{CodeInvalidRequest, fmt.Sprintf("message of %d bytes exceeds the limit of %d", length, s.maxBody)}
			case length >= 0 && size > s.maxHeader:
				s.lost, s.skip = false, length
				return 0, &frameError{CodeInvalidRequest, fmt.Sprintf("header exceeds the limit of %d bytes", s.maxHeader)}
			case length >= 0:
				s.lost = false
				return length, nil
			case size == len(line): // a stray blank line between frames
				size = 0
				continue
			}
			if problem == "" {
				problem = "header without Content-Length"
			}
			size = 0
			if !s.lost {
				s.lost = true
				return 0, &frameError{CodeParse, problem}
			}
			problem = ""
			continue
		}
		value, at, found := contentLength(line)
		if found && whole {
			n, err := strconv.ParseUint(string(value), 10, 63)
			if err != nil {
				length, problem = -1, fmt.Sprintf("invalid Content-Length %.40q", value)
				continue
			}
			length, size = int64(n), len(line)-at
		}
		if length < 0 && size > s.maxHeader && !s.lost {
			s.lost = true
			return 0, &frameError{CodeParse, fmt.Sprintf("no Content-Length within %d bytes of header", s.maxHeader)}
		}
	}
}

// line returns the next line with its newline, or, when the line is longer than
// the read buffer, the next piece of it (whole is false until its last piece).
// The bytes are valid until the next read.
func (s *headerSource) line() (line []byte, whole bool, err error) {
	line, err = s.br.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		s.carry = append(s.carry[:0], line[len(line)-carryLen:]...)
		return line, false, nil
	}
	if len(s.carry) > 0 {
		// A field may straddle two pieces; a blank remainder is no blank line.
		line = append(s.carry, line...)
		s.carry = s.carry[:0]
	}
	return line, err == nil, err
}

// contentLength finds a Content-Length field in a line and returns its value and
// where the field starts.
func contentLength(line []byte) (value []byte, at int, found bool) {
	const name = "content-length"
	line = bytes.TrimRight(line, "\r\n")
	colon := bytes.LastIndexByte(line, ':')
	if colon < 0 {
		return nil, 0, false
	}
	field := bytes.TrimRight(line[:colon], " \t")
	start := len(field) - len(name)
	if start < 0 || !bytes.EqualFold(field[start:], []byte(name)) {
		return nil, 0, false
	}
	if start > 0 && isToken(field[start-1]) {
		return nil, 0, false // another field, such as X-Content-Length
	}
	return bytes.Trim(line[colon+1:], " \t"), start, true
}

// isToken reports whether c can be part of a header field's name (RFC 9110 token).
func isToken(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0
}

func isBlank(line []byte) bool {
	return len(line) == 1 || len(line) == 2 && line[0] == '\r'
}

// readBody reads n bytes. The buffer grows with what has arrived, so a length
// that lies costs nothing.
func readBody(r io.Reader, n int64) ([]byte, error) {
	buf := make([]byte, 0, min(n, firstBody))
	for int64(len(buf)) < n {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(n, 2*int64(cap(buf))))
			copy(grown, buf)
			buf = grown
		}
		m, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+m]
		if err != nil {
			return nil, unexpected(err)
		}
	}
	return buf, nil
}

// unexpected turns the end of the input into its form for the middle of a frame.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// byteOrderMark begins what some tools write to a pipe; it is no JSON.
var byteOrderMark = []byte("\uFEFF")

// lineSource reads one message a line; blank lines and byte order marks are ignored.
type lineSource struct {
	br      *bufio.Reader
	maxBody int64
}

func (s *lineSource) next() ([]byte, error) {
	for {
		line, err := s.line()
		// A last line without a newline is a message too; the end comes next.
		line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), byteOrderMark))
		if len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// line returns the bytes up to the next newline, or up to the end with its error. What
// is longer than allowed is read to its end and not kept.
func (s *lineSource) line() (line []byte, err error) {
	tooLong := false
	for {
		piece, err := s.br.ReadSlice('\n')
		if int64(len(line)+len(piece)) > s.maxBody {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong:
			return nil, &frameError{CodeInvalidRequest, fmt.Sprintf("message exceeds the limit of %d bytes", s.maxBody)}
		}
		return line, err
	}
}
