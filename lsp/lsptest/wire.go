package lsptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// message is any JSON-RPC message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *ResponseError  `json:"error,omitempty"`
}

// ResponseError is an error answer.
type ResponseError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *ResponseError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Kind returns data.kind, which redline's errors carry.
func (e *ResponseError) Kind() string {
	var d struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(e.Data, &d) // other shapes have no kind
	return d.Kind
}

// readFrame reads one body, strictly: anything but what LSP describes is an error.
func readFrame(br *bufio.Reader) ([]byte, error) {
	length := -1
	for i := 0; ; i++ {
		line, err := br.ReadString('\n')
		if err != nil {
			if err == io.EOF && (i > 0 || line != "") {
				return nil, fmt.Errorf("output ends within a header: %q", line)
			}
			return nil, err
		}
		field, ok := strings.CutSuffix(line, "\r\n")
		if !ok {
			return nil, fmt.Errorf("header line without CR LF: %q", line)
		}
		if field == "" {
			break
		}
		name, value, ok := strings.Cut(field, ": ")
		switch {
		case !ok:
			return nil, fmt.Errorf("not a header field: %q", line)
		case strings.EqualFold(name, "Content-Length"):
			if length, err = strconv.Atoi(value); err != nil || length < 0 {
				return nil, fmt.Errorf("bad Content-Length: %q", line)
			}
		case !strings.EqualFold(name, "Content-Type"):
			return nil, fmt.Errorf("unknown header field: %q", line)
		}
	}
	if length < 0 {
		return nil, fmt.Errorf("header without Content-Length")
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(br, body); err != nil {
		return nil, fmt.Errorf("output ends within a message: %w", err)
	}
	return body, nil
}

// sender queues messages without a bound and writes them on one goroutine, so
// that messages can be queued in order while the editor's state is locked.
type sender struct {
	mu     sync.Mutex
	queue  bytes.Buffer
	closed bool
	wake   chan struct{}
	done   chan struct{}
}

func startSender(w io.WriteCloser) *sender {
	s := &sender{wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run(w)
	return s
}

func (s *sender) run(w io.WriteCloser) {
	defer close(s.done)
	defer w.Close()
	for range s.wake {
		s.mu.Lock()
		batch := bytes.Clone(s.queue.Bytes())
		s.queue.Reset()
		closed := s.closed
		s.mu.Unlock()
		if _, err := w.Write(batch); err != nil || closed {
			return
		}
	}
}

func (s *sender) put(b []byte) {
	s.mu.Lock()
	s.queue.Write(b)
	s.mu.Unlock()
	s.signal()
}

// close ends the server's input after what is queued.
func (s *sender) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.signal()
}

func (s *sender) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func frame(body []byte) []byte {
	return append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...)
}

// mustJSON encodes what this package or a test made.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("lsptest: encode %T: %v", v, err))
	}
	return b
}
