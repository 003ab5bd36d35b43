package lsptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tiny is a language server that does what the test tells it: it mirrors the
// documents, and sends requests and notifications on demand.
type tiny struct {
	out      io.Writer
	encoding string
	sync     any

	mu      sync.Mutex
	docs    map[string]string
	version map[string]int
	nextID  int
	open    map[string]chan message // requests of the server
	late    int
	ended   bool
	seen    []string // methods of the editor's notifications
}

func newTiny(encoding string) *tiny {
	return &tiny{
		encoding: encoding, docs: map[string]string{}, version: map[string]int{}, open: map[string]chan message{},
		sync: map[string]any{"openClose": true, "change": 2, "save": map[string]any{"includeText": false}},
	}
}

func (s *tiny) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s.out = out
	br := bufio.NewReader(in)
	var work sync.WaitGroup
	defer work.Wait()
	defer func() { // who waits for an answer gets none any more
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = true
		for id, c := range s.open {
			close(c)
			delete(s.open, id)
		}
	}()
	for {
		body, err := readFrame(br)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		switch {
		case m.Method == "exit":
			return nil
		case m.Method == "":
			s.mu.Lock()
			c := s.open[string(m.ID)]
			delete(s.open, string(m.ID))
			if c == nil {
				s.late++
			}
			s.seen = append(s.seen, "answer")
			s.mu.Unlock()
			if c != nil {
				c <- m
			}
		case m.ID != nil:
			work.Add(1)
			answer := func() {
				defer work.Done()
				result, err := s.call(m.Method, m.Params)
				s.write(answerOf(m.ID, result, err))
			}
			if strings.HasPrefix(m.Method, "do/") {
				go answer()
			} else {
				answer()
			}
		default:
			s.notified(m.Method, m.Params)
		}
	}
}

func (s *tiny) write(m *message) {
	m.Version = "2.0"
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(frame(mustJSON(m)))
}

func (s *tiny) notified(method string, params json.RawMessage) {
	var p struct {
		TextDocument struct {
			URI     string `json:"uri"`
			Version int    `json:"version"`
			Text    string `json:"text"`
		} `json:"textDocument"`
		ContentChanges []struct {
			Range *Range `json:"range"`
			Text  string `json:"text"`
		} `json:"contentChanges"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, strings.TrimPrefix(method, "textDocument/"))
	uri := p.TextDocument.URI
	switch method {
	case "textDocument/didOpen":
		s.docs[uri], s.version[uri] = p.TextDocument.Text, p.TextDocument.Version
	case "textDocument/didChange":
		if p.TextDocument.Version <= s.version[uri] {
			panic(fmt.Sprintf("version %d after %d", p.TextDocument.Version, s.version[uri]))
		}
		s.version[uri] = p.TextDocument.Version
		for _, c := range p.ContentChanges {
			if c.Range == nil {
				s.docs[uri] = c.Text
				continue
			}
			list, problems := splices(s.docs[uri], []TextEdit{{Range: *c.Range, NewText: c.Text}}, s.encoding)
			if problems != nil {
				panic(fmt.Sprint(problems))
			}
			s.docs[uri] = applySplices(s.docs[uri], list)
		}
	case "textDocument/didClose":
		delete(s.docs, uri)
	}
}

// outcome is what came of a request of the server.
type outcome struct {
	Result json.RawMessage `json:"result"`
	Code   int             `json:"code"`
	None   bool            `json:"none"` // no answer
}

func (s *tiny) call(method string, params json.RawMessage) (any, error) {
	switch method {
	case "initialize":
		return map[string]any{"capabilities": map[string]any{
			"positionEncoding": s.encoding, "textDocumentSync": s.sync,
			"workspace": map[string]any{"fileOperations": map[string]any{"didCreate": map[string]any{}}},
		}}, nil
	case "shutdown":
		return nil, nil
	case "get":
		s.mu.Lock()
		defer s.mu.Unlock()
		return map[string]any{"docs": s.docs, "late": s.late, "seen": s.seen}, nil
	case "do/request", "do/notify", "do/giveup":
		var p struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		if method == "do/notify" {
			s.write(&message{Method: p.Method, Params: p.Params})
			return nil, nil
		}
		s.mu.Lock()
		if s.ended {
			s.mu.Unlock()
			return outcome{None: true}, nil
		}
		s.nextID++
		id := json.RawMessage(fmt.Sprint(s.nextID))
		c := make(chan message, 1)
		s.open[string(id)] = c
		s.mu.Unlock()
		s.write(&message{ID: id, Method: p.Method, Params: p.Params})
		if method == "do/giveup" {
			s.mu.Lock()
			delete(s.open, string(id))
			s.mu.Unlock()
			s.write(&message{Method: "$/cancelRequest", Params: mustJSON(map[string]any{"id": id})})
			return outcome{None: true}, nil
		}
		m, ok := <-c
		switch {
		case !ok:
			return outcome{None: true}, nil
		case m.Error != nil:
			return outcome{Code: m.Error.Code}, nil
		}
		return outcome{Result: m.Result}, nil
	}
	return nil, &ResponseError{Code: -32601, Message: "no " + method}
}

// bench is an editor with a tiny server and the violations it found.
type bench struct {
	*Editor
	s *tiny

	mu         sync.Mutex
	violations []string
}

func start(t *testing.T, p Personality, opt Options) *bench {
	t.Helper()
	enc := UTF16
	if opt.Encodings != nil {
		enc = opt.Encodings[0]
	} else if len(p.Encodings) > 0 {
		enc = p.Encodings[0]
	}
	b := &bench{s: newTiny(enc)}
	opt.Personality = &p
	opt.Violation = func(v string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.violations = append(b.violations, v)
	}
	b.Editor = NewEditor(t, b.s.serve, opt)
	return b
}

func (b *bench) found() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := strings.Join(b.violations, "; ")
	b.violations = nil
	return out
}

// request lets the server send a request and returns what came of it.
func (b *bench) request(method string, params any) outcome {
	b.t.Helper()
	var o outcome
	b.MustCall("do/request", map[string]any{"method": method, "params": params}, &o)
	return o
}

// mirror is what the server knows of the editor.
func (b *bench) mirror() (m struct {
	Docs map[string]string
	Late int
	Seen []string
},
) {
	b.t.Helper()
	b.MustCall("get", nil, &m)
	return m
}

// inSync checks that the server has the text of every open document.
func (b *bench) inSync() {
	b.t.Helper()
	m := b.mirror()
	b.Editor.mu.Lock()
	defer b.Editor.mu.Unlock()
	for uri, d := range b.docs {
		if m.Docs[uri] != d.text {
			b.t.Errorf("%s: the server has %q, the editor %q", uri, m.Docs[uri], d.text)
		}
	}
	if len(m.Docs) != len(b.docs) {
		b.t.Errorf("the server has %d documents, the editor %d", len(m.Docs), len(b.docs))
	}
}
