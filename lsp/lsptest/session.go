package lsptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Pending is a request of the editor that may not be answered yet.
type Pending struct {
	e      *Editor
	method string
	id     json.RawMessage

	// guarded by the editor's mu
	answered bool
	result   json.RawMessage
	err      *ResponseError
}

// send queues a request.
func (e *Editor) send(method string, params any) *Pending {
	p := &Pending{e: e, method: method}
	e.lock(func() {
		e.nextID++
		// Both kinds of id are in use by real editors.
		p.id = json.RawMessage(strconv.Itoa(e.nextID))
		if e.nextID%5 == 0 {
			p.id = mustJSON("id-" + strconv.Itoa(e.nextID))
		}
		e.calls[string(p.id)] = p
		if method == "shutdown" {
			e.phase = phaseShutdown
		}
		if method == "agent/session/resume" {
			e.expectReplay(params)
		}
		e.put(&message{ID: p.id, Method: method, Params: paramsJSON(params)})
	})
	return p
}

// put queues a message; mu is held, so that the order is that of the state.
func (e *Editor) put(m *message) {
	if m.Method != "" {
		e.flushLate() // an editor that collects changes sends them before anything else
	}
	m.Version = "2.0"
	body := mustJSON(m)
	e.record("→", body)
	e.out.put(frame(body))
}

// putChange queues a didChange; mu is held.
func (e *Editor) putChange(d *document, m *message) {
	if e.p.TellsWhenShown && e.applying != nil && e.front != d.uri {
		d.held = append(d.held, m)
		return
	}
	if e.p.LateChanges && e.applying != nil {
		e.late = append(e.late, m)
		return
	}
	e.put(m)
}

// flushLate queues the changes that were held back; mu is held.
func (e *Editor) flushLate() {
	late := e.late
	e.late = nil
	for _, m := range late {
		e.put(m)
	}
}

func (e *Editor) record(arrow string, body []byte) {
	line := string(body[:min(len(body), 600)])
	e.log = append(e.log, arrow+" "+line)
}

func paramsJSON(params any) json.RawMessage {
	if params == nil {
		return nil
	}
	return mustJSON(params)
}

// Go sends a request and returns without waiting for its answer.
func (e *Editor) Go(method string, params any) *Pending { return e.send(method, params) }

// Wait waits for the answer and decodes it into result (a pointer, or nil). An
// error answer is returned as a [*ResponseError].
func (p *Pending) Wait(result any) error {
	p.e.t.Helper()
	p.e.wait("the answer to "+p.method, func() bool { return p.answered })
	if p.err != nil {
		return p.err
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(p.result, result); err != nil {
		return fmt.Errorf("decode the answer to %s: %w", p.method, err)
	}
	return nil
}

// WaitOrEnd is [Pending.Wait] for a server that may be killed meanwhile. It reports
// whether a result came.
func (p *Pending) WaitOrEnd(result any) bool {
	p.e.waitQuietly(func() bool { return p.answered })
	if !p.Answered() || p.err != nil {
		return false
	}
	return result == nil || json.Unmarshal(p.result, result) == nil
}

// Answered reports whether the answer is there.
func (p *Pending) Answered() bool {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	return p.answered
}

// Cancel sends $/cancelRequest for it.
func (p *Pending) Cancel() { p.e.Notify("$/cancelRequest", map[string]any{"id": p.id}) }

// Call sends a request and waits for its answer, see [Pending.Wait].
func (e *Editor) Call(method string, params, result any) error {
	e.t.Helper()
	return e.send(method, params).Wait(result)
}

// MustCall is [Editor.Call] for answers that must not be errors.
func (e *Editor) MustCall(method string, params, result any) {
	e.t.Helper()
	if err := e.Call(method, params, result); err != nil {
		e.fatal("%s: %v", method, err)
	}
}

// Notify sends a notification.
func (e *Editor) Notify(method string, params any) {
	e.lock(func() { e.put(&message{Method: method, Params: paramsJSON(params)}) })
}

// SendRaw writes bytes to the server as they are.
func (e *Editor) SendRaw(b []byte) {
	e.lock(func() {
		e.record("→ raw", b)
		e.out.put(b)
	})
}

// readAll reads what the server sends until its end.
func (e *Editor) readAll(r io.Reader) {
	defer close(e.read)
	br := bufio.NewReader(r)
	for {
		body, err := readFrame(br)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				e.violation("%v", err)
			}
			_, _ = io.Copy(io.Discard, br) // the server must not block on us
			return
		}
		e.receive(body)
	}
}

func (e *Editor) receive(body []byte) {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		e.violation("message is not JSON: %v: %.200s", err, body)
		return
	}
	if m.Version != "2.0" {
		e.violation(`message without "jsonrpc":"2.0": %.200s`, body)
	}
	hasID := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method != "" && hasID:
		e.lock(func() { e.record("←", body) })
		e.request(&m)
	case m.Method != "":
		e.lock(func() {
			e.record("←", body)
			e.notification(&m)
		})
	default:
		e.lock(func() {
			e.record("←", body)
			e.answer(&m, hasID)
		})
	}
}

// answer takes the server's answer to a request; mu is held.
func (e *Editor) answer(m *message, hasID bool) {
	if (m.Result == nil) == (m.Error == nil) {
		e.violation("an answer carries either result or error: id %s", m.ID)
	}
	if !hasID {
		if m.Error == nil {
			e.violation("a result without an id")
		}
		e.notes = append(e.notes, Notification{Method: "error", Params: mustJSON(m.Error)})
		return
	}
	p, ok := e.calls[string(m.ID)]
	if !ok {
		e.violation("answer to a request that is not open: id %s", m.ID)
		return
	}
	delete(e.calls, string(m.ID))
	p.answered, p.result, p.err = true, m.Result, m.Error
}

// request answers a request of the server. Requests that need nobody are answered
// in place, so that the order of edits and typing is that of the wire.
func (e *Editor) request(m *message) {
	e.checkRequest(m)
	ctx, cancel := e.derive()
	id := string(m.ID)
	e.lock(func() {
		if _, open := e.incoming[id]; open {
			e.violation("request id %s is in use", id)
		}
		e.incoming[id] = cancel
	})
	if e.p.Fault == Vanishes && m.Method == e.opt.VanishAt {
		e.Vanish()
	}
	h := e.handler(m.Method)
	serve := func() {
		result, err := h(ctx, m.Params)
		cancel()
		e.lock(func() {
			delete(e.incoming, id)
			if !errors.Is(err, ErrNoAnswer) && !e.vanished {
				delete(e.messages, id)
				e.put(answerOf(m.ID, result, err))
			}
			e.flushLate()
		})
	}
	if e.interactive(m.Method) {
		e.work.Add(1)
		go func() {
			defer e.work.Done()
			serve()
		}()
		return
	}
	serve()
}

// ErrNoAnswer is returned by a [Handler] that never answers.
var ErrNoAnswer = errors.New("no answer")

func answerOf(id json.RawMessage, result any, err error) *message {
	m := &message{ID: id}
	var re *ResponseError
	switch {
	case errors.As(err, &re):
		m.Error = re
	case err != nil:
		m.Error = &ResponseError{Code: -32603, Message: err.Error()}
	default:
		m.Result = mustJSON(result)
		if bytes.Equal(m.Result, nil) {
			m.Result = json.RawMessage("null")
		}
	}
	return m
}

// untilCancelled blocks until the server gives a request up, or the editor ends.
func untilCancelled(ctx context.Context) { <-ctx.Done() }
