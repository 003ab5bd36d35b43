package geminitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// garbage is the event of the fault of that name.
const garbage = "{\"candidates\": [{\"content\": \x00\xff<<<"

// answer plays one step for one request.
type answer struct {
	server *Server
	step   Step
	req    *Request
	id     string
	w      http.ResponseWriter

	sent     bytes.Buffer // what Join and SplitAt hold back
	n, last  int          // events written, and how many there will be
	failed   bool         // a write failed
	complete bool         // all was written that the step has
}

// stream answers with server-sent events.
func (a *answer) stream(ctx context.Context) {
	a.wait(ctx, a.step.Gate, 0)
	if a.early(ctx) {
		return
	}
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.WriteHeader(http.StatusOK)
	if !a.step.Wire.Join {
		a.flush()
	}
	events, end := a.step.events(a.req, a.id)
	a.last = len(events)
	for _, more := range []bool{end != nil, a.step.Error != nil, a.step.Fault == Garbage} {
		if more {
			a.last++
		}
	}
	for i, e := range events {
		a.wait(ctx, e.gate, e.delayMS)
		// Before the client can answer with them.
		for _, c := range a.step.Chunks[i].calls() {
			a.server.issued.add(c)
		}
		a.event(e.data)
	}
	a.wait(ctx, a.step.EndGate, 0)
	if end != nil {
		a.event(end)
	}
	if a.step.Error != nil {
		a.event(a.step.Error.json())
	}
	if a.step.Fault == Garbage {
		a.event([]byte(garbage))
	}
	if a.step.Fault == "" && a.step.Wire.Done {
		a.line("data: [DONE]")
		a.line("")
	}
	a.push()
	a.fail(ctx)
}

// unary answers with one message; faults come in its middle.
func (a *answer) unary(ctx context.Context) {
	a.wait(ctx, a.step.Gate, 0)
	if a.early(ctx) {
		return
	}
	for _, c := range a.step.Chunks {
		a.wait(ctx, c.Gate, c.DelayMS)
		for _, call := range c.calls() {
			a.server.issued.add(call)
		}
	}
	a.wait(ctx, a.step.EndGate, 0)
	if a.step.Error != nil {
		a.complete = true
		a.step.Error.write(a.w)
		return
	}
	body := a.step.whole(a.req, a.id)
	a.w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	a.w.WriteHeader(http.StatusOK)
	switch a.step.Fault {
	case Garbage:
		body = json.RawMessage(garbage)
	case Cut, Reset, HangMidStream:
		body = body[:len(body)/2]
	}
	if _, err := a.w.Write(body); err != nil {
		a.failed = true
	}
	a.flush()
	a.fail(ctx)
}

// early plays what comes in place of headers and reports whether that was all.
func (a *answer) early(ctx context.Context) bool {
	switch {
	case a.step.Fault == HangBeforeHeaders:
		<-ctx.Done()
		panic(http.ErrAbortHandler)
	case a.step.Fault == Reset && len(a.step.Chunks) == 0:
		a.reset()
	case a.step.Error != nil && len(a.step.Chunks) == 0:
		a.step.Error.write(a.w)
	default:
		return false
	}
	a.complete = true
	return true
}

// fail plays the faults that end a body. The panic closes the connection with the
// body unfinished, which is the way net/http has for it.
func (a *answer) fail(ctx context.Context) {
	a.complete = !a.failed && a.step.Fault != HangMidStream
	switch a.step.Fault {
	case HangMidStream:
		<-ctx.Done()
		panic(http.ErrAbortHandler)
	case Cut:
		panic(http.ErrAbortHandler)
	case Reset:
		a.reset()
	}
}

// reset closes the connection so that the client gets a TCP reset.
func (a *answer) reset() {
	hijacker, ok := a.w.(http.Hijacker)
	if !ok {
		panic("geminitest: the connection is not HTTP/1.1")
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the connection is gone already
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // fails only on a closed connection
	}
	_ = conn.Close()
}

// wait waits for gate, then for ms milliseconds. When the client or the server goes
// meanwhile, it ends the answer like the fault Cut, by a panic.
func (a *answer) wait(ctx context.Context, gate string, ms int) {
	if gate != "" {
		a.push()
		select {
		case <-a.server.gate(gate):
		case <-ctx.Done():
			panic(http.ErrAbortHandler)
		}
	}
	if ms > 0 {
		a.push()
		timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// event writes an event as [Wire] says.
func (a *answer) event(data []byte) {
	wire := a.step.Wire
	if wire.Comments {
		a.line(": keep-alive")
		a.line("")
	}
	if wire.EventLine {
		a.line("event: message")
		a.line(fmt.Sprintf("id: %d", a.n))
		a.line("retry: 1000")
	}
	a.n++
	field := "data: "
	if wire.NoSpace {
		field = "data:"
	}
	lines := [][]byte{data}
	if wire.MultiLine {
		var b bytes.Buffer
		if json.Indent(&b, data, "", "  ") == nil { // what is no JSON stays in one line
			lines = bytes.Split(b.Bytes(), []byte("\n"))
		}
	}
	for _, l := range lines {
		a.line(field + string(l))
	}
	if !wire.OpenEnd || a.n < a.last {
		a.line("")
	}
	if !wire.Join {
		a.push()
	}
}

// line appends a line.
func (a *answer) line(s string) {
	a.sent.WriteString(s)
	switch {
	case a.step.Wire.CRLF:
		a.sent.WriteString("\r\n")
	case a.step.Wire.CR:
		a.sent.WriteString("\r")
	default:
		a.sent.WriteString("\n")
	}
}

// push writes what is held back.
func (a *answer) push() {
	for a.sent.Len() > 0 {
		n := a.sent.Len()
		if a.step.Wire.SplitAt > 0 {
			n = min(n, a.step.Wire.SplitAt)
		}
		if _, err := a.w.Write(a.sent.Next(n)); err != nil {
			a.sent.Reset() // the client is gone; the next wait notices
			a.failed = true
			return
		}
		a.flush()
	}
}

func (a *answer) flush() {
	// Fails only when the client is gone.
	_ = http.NewResponseController(a.w).Flush()
}
