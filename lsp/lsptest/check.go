package lsptest

import (
	"context"
	"encoding/json"
)

// checkRequest holds a request of the server to the protocol and to what the
// client declared.
func (e *Editor) checkRequest(m *message) {
	e.lock(func() {
		if e.phase == phaseStarted && m.Method != "window/showMessageRequest" {
			e.violation("request %s before the answer to initialize", m.Method)
		}
		if e.custom(m.Method) && !e.declared(m.Method) {
			e.violation("request %s, which the client did not declare", m.Method)
		}
		switch m.Method {
		case "window/showMessageRequest":
			if len(e.messages) > 0 {
				e.violation("window/showMessageRequest while another is open")
			}
			e.messages[string(m.ID)] = true
		case "window/workDoneProgress/create":
			if !e.offers("window", "workDoneProgress") {
				e.violation("%s, which the client did not declare", m.Method)
			}
		case "window/showDocument":
			if !e.offers("window", "showDocument") {
				e.violation("%s, which the client did not declare", m.Method)
			}
		case "workspace/configuration":
			if !e.offers("workspace", "configuration") {
				e.violation("%s, which the client did not declare", m.Method)
			}
		}
	})
}

// Work done progress goes through these states.
const (
	progressCreated = "created"
	progressBegun   = "begun"
	progressEnded   = "ended"
)

func (e *Editor) createProgress(_ context.Context, raw json.RawMessage) (any, error) {
	var p struct {
		Token json.RawMessage `json:"token"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	e.lock(func() {
		if e.progress[string(p.Token)] != "" {
			e.violation("progress token %s was used before", p.Token)
		}
		e.progress[string(p.Token)] = progressCreated
	})
	return nil, nil
}

// checkProgress follows begin, report…, end of the tokens the server created; mu
// is held.
func (e *Editor) checkProgress(raw json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"token"`
		Value struct {
			Kind  string `json:"kind"`
			Title string `json:"title"`
		} `json:"value"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		e.violation("$/progress: %v", err)
		return
	}
	token := string(p.Token)
	state, created := e.progress[token]
	if !created {
		return // a token of the client's own request
	}
	switch {
	case p.Value.Kind == "begin" && state == progressCreated && p.Value.Title != "":
		e.progress[token] = progressBegun
	case p.Value.Kind == "report" && state == progressBegun:
	case p.Value.Kind == "end" && state == progressBegun:
		e.progress[token] = progressEnded
	default:
		e.violation("$/progress %q for token %s, which is %s", p.Value.Kind, token, state)
	}
}

// checkDiagnostics checks that published ranges lie in the text of the version
// they name; mu is held.
func (e *Editor) checkDiagnostics(raw json.RawMessage) {
	var p struct {
		URI         string       `json:"uri"`
		Version     *int         `json:"version"`
		Diagnostics []Diagnostic `json:"diagnostics"`
	}
	if err := json.Unmarshal(raw, &p); err != nil || p.URI == "" || p.Diagnostics == nil {
		e.violation("publishDiagnostics with %.200s (%v)", raw, err)
		return
	}
	d := e.docs[p.URI]
	if d == nil || p.Version == nil {
		return
	}
	text, known := d.history[*p.Version]
	if !known {
		e.violation("diagnostics of %s for version %d, which never was", p.URI, *p.Version)
		return
	}
	for _, diag := range p.Diagnostics {
		if _, problems := splices(text, []TextEdit{{Range: diag.Range}}, e.Encoding); len(problems) > 0 {
			e.violation("diagnostic %q of %s: %s", diag.Message, p.URI, problems)
		}
	}
}
