package main

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"redline/lsp/rpc"
)

// tracer writes one JSON line for each message of the protocol.
type tracer struct {
	mu  sync.Mutex
	out io.Writer
}

func newTracer(w io.Writer) *tracer { return &tracer{out: w} }

func (t *tracer) tap(d rpc.Direction, body []byte) {
	body = redacted(body)
	line := struct {
		Time      string          `json:"time"`
		Direction string          `json:"direction"`
		Message   json.RawMessage `json:"message,omitempty"`
		Raw       string          `json:"raw,omitempty"` // of what is no JSON
	}{Time: time.Now().UTC().Format(time.RFC3339Nano), Direction: d.String()}
	if json.Valid(body) {
		line.Message = body
	} else {
		line.Raw = string(body)
	}
	data, err := json.Marshal(line)
	if err != nil {
		return // the body is checked above
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.out.Write(append(data, '\n')) // a full disk must not end the session
}
