package main

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	"redline/agent/record"
	"redline/lsp/rpc"
	"redline/tools/secret"
)

// tracer writes one JSON line for each message of the protocol and for each request to
// the model and its response, without secrets.
type tracer struct {
	mu     sync.Mutex
	out    io.Writer
	redact *secret.Redactor
}

func newTracer(w io.Writer, redact *secret.Redactor) *tracer { return &tracer{out: w, redact: redact} }

type traceLine struct {
	Time      string          `json:"time"`
	Direction string          `json:"direction"` // received, sent; model for what goes on with the model
	Message   json.RawMessage `json:"message,omitempty"`
	Raw       string          `json:"raw,omitempty"` // of what is no JSON
}

func (t *tracer) tap(d rpc.Direction, body []byte) {
	body = redacted(body) // what signing in needs, which looks like nothing special
	line := traceLine{Direction: d.String()}
	if json.Valid(body) {
		line.Message = body
	} else {
		line.Raw = string(body)
	}
	t.write(line)
}

// exchange writes a request to the model or a response.
func (t *tracer) exchange(l record.Line) {
	raw, err := l.Encode()
	if err != nil {
		return // parts and texts can always be encoded
	}
	t.write(traceLine{Direction: "model", Message: raw})
}

func (t *tracer) write(line traceLine) {
	line.Time = time.Now().UTC().Format(time.RFC3339Nano)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(line) != nil {
		return // the message is checked by the caller
	}
	data := append(t.redact.JSON(bytes.TrimSpace(b.Bytes())), '\n')
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.out.Write(data) // a full disk must not end the session
}
