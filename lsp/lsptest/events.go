package lsptest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Event is one agent/event notification.
type Event struct {
	SessionID string          `json:"sessionId"`
	Seq       int             `json:"seq"`
	TurnID    string          `json:"turnId"`
	Type      string          `json:"-"`
	Raw       json.RawMessage `json:"event"` // the member "event"
}

// Decode decodes the member "event".
func (ev Event) Decode(v any) error { return json.Unmarshal(ev.Raw, v) }

// Notification is any notification of the server.
type Notification struct {
	Method string
	Params json.RawMessage
}

// OfType matches events of a type.
func OfType(typ string) func(Event) bool { return func(ev Event) bool { return ev.Type == typ } }

// InTurn matches events of a type in one turn.
func InTurn(turnID, typ string) func(Event) bool {
	return func(ev Event) bool { return ev.TurnID == turnID && ev.Type == typ }
}

// WaitEvent blocks until an event matches, and returns the first that does, of
// all that were received since the start.
func (e *Editor) WaitEvent(match func(Event) bool) (found Event) {
	e.t.Helper()
	return e.WaitEventAfter(0, match)
}

// WaitEventAfter is [Editor.WaitEvent] among the events from the n-th on, with n
// from [Editor.EventCount].
func (e *Editor) WaitEventAfter(n int, match func(Event) bool) (found Event) {
	e.t.Helper()
	e.wait("an event", func() bool {
		for ; n < len(e.events); n++ {
			if match(e.events[n]) {
				found = e.events[n]
				return true
			}
		}
		return false
	})
	return found
}

// EventCount is how many events were received so far.
func (e *Editor) EventCount() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.events)
}

// Events returns the events of a session so far, of all sessions for "".
func (e *Editor) Events(sessionID string) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []Event
	for _, ev := range e.events {
		if sessionID == "" || ev.SessionID == sessionID {
			out = append(out, ev)
		}
	}
	return out
}

// WaitNotification blocks until a notification with the method matches (nil for
// any) and returns the first that does since the start. Answers with a null id
// are kept under the method "error".
func (e *Editor) WaitNotification(method string, match func(params json.RawMessage) bool) (params json.RawMessage) {
	e.t.Helper()
	e.wait("notification "+method, func() bool {
		for _, n := range e.notes {
			if n.Method == method && (match == nil || match(n.Params)) {
				params = n.Params
				return true
			}
		}
		return false
	})
	return params
}

// Notifications returns the parameters of the notifications with a method so far.
func (e *Editor) Notifications(method string) []json.RawMessage {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []json.RawMessage
	for _, n := range e.notes {
		if n.Method == method {
			out = append(out, n.Params)
		}
	}
	return out
}

// Diagnostic is a published diagnostic.
type Diagnostic struct {
	Range    Range           `json:"range"`
	Severity int             `json:"severity"`
	Source   string          `json:"source"`
	Message  string          `json:"message"`
	Code     any             `json:"code"`
	Data     json.RawMessage `json:"data"`
}

// Diagnostics returns what the server last published for a file.
func (e *Editor) Diagnostics(path string) []Diagnostic {
	uri := URI(e.Path(path))
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range slices.Backward(e.notes) {
		if n.Method != "textDocument/publishDiagnostics" {
			continue
		}
		var p struct {
			URI         string       `json:"uri"`
			Diagnostics []Diagnostic `json:"diagnostics"`
		}
		if json.Unmarshal(n.Params, &p) == nil && p.URI == uri {
			return p.Diagnostics
		}
	}
	return nil
}

// notification takes a notification of the server; mu is held.
func (e *Editor) notification(m *message) {
	if e.phase == phaseStarted && !contains([]string{"window/logMessage", "window/showMessage", "telemetry/event", "$/progress", "$/logTrace"}, m.Method) {
		e.violation("notification %s before the answer to initialize", m.Method)
	}
	e.notes = append(e.notes, Notification{m.Method, m.Params})
	switch m.Method {
	case "$/cancelRequest":
		var p struct {
			ID json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal(m.Params, &p); err != nil || len(p.ID) == 0 {
			e.violation("$/cancelRequest with %s", m.Params)
			return
		}
		delete(e.messages, string(p.ID)) // given up: another may be shown
		if cancel := e.incoming[string(p.ID)]; cancel != nil {
			cancel()
		}
	case "agent/event":
		e.event(m.Params)
	case "$/progress":
		e.checkProgress(m.Params)
	case "textDocument/publishDiagnostics":
		e.checkDiagnostics(m.Params)
	}
}

// event takes agent/event; mu is held.
func (e *Editor) event(params json.RawMessage) {
	if e.redline() == nil {
		e.violation("agent/event to a client that did not declare redline's capabilities")
	}
	var ev Event
	if err := json.Unmarshal(params, &ev); err != nil || ev.SessionID == "" {
		e.violation("agent/event with %.200s", params)
		return
	}
	var typ struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(ev.Raw, &typ); err != nil || typ.Type == "" {
		e.violation("agent/event without a type: %.200s", params)
	}
	ev.Type = typ.Type
	if want := e.sessions[ev.SessionID] + 1; ev.Seq != want {
		e.violation("session %s: event %d (%s) where %d was due", ev.SessionID, ev.Seq, ev.Type, want)
	}
	e.sessions[ev.SessionID] = ev.Seq
	e.events = append(e.events, ev)
}

// expectReplay prepares for the events that agent/session/resume repeats; mu is held.
func (e *Editor) expectReplay(params any) {
	var p struct {
		SessionID string `json:"sessionId"`
		AfterSeq  *int   `json:"afterSeq"`
	}
	if err := json.Unmarshal(paramsJSON(params), &p); err != nil || p.SessionID == "" {
		return // a test of bad parameters
	}
	if p.AfterSeq != nil {
		e.sessions[p.SessionID] = *p.AfterSeq
	}
}

func (ev Event) String() string {
	return fmt.Sprintf("%s#%d %s %s", ev.SessionID, ev.Seq, ev.TurnID, ev.Raw)
}
