package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"redline/agent/model"
	"redline/workspace"
)

// bodies are the kinds of events there are, by the names they are saved under.
var bodies = func() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, b := range []Body{
		TurnStarted{}, TurnEnded{}, UserMessage{}, MessageDelta{}, ThoughtDelta{}, ToolUpdated{}, ToolOutput{},
		ProposalUpdated{}, UsageUpdated{}, Retry{}, ModelChanged{}, LoopDetected{}, Compressed{}, CheckpointCreated{}, PlanUpdated{}, Notice{},
	} {
		out[kindOf(b)] = reflect.TypeOf(b)
	}
	return out
}()

func kindOf(b Body) string { return strings.TrimPrefix(fmt.Sprintf("%T", b), "agent.") }

// savedEnd is a [TurnEnded] on disk.
type savedEnd struct {
	Status Status
	Err    string `json:",omitempty"`
	Kind   string `json:",omitempty"`
	HTTP   int    `json:",omitempty"`
	Usage  Usage
	Finish string `json:",omitempty"`
}

// saveBody returns an event for the disk.
func saveBody(b Body, texts workspace.SavedTexts) (json.RawMessage, error) {
	switch b := b.(type) {
	case TurnEnded:
		s := savedEnd{Status: b.Status, Usage: b.Usage, Finish: b.Finish}
		if b.Err != nil {
			s.Err, s.Kind, s.HTTP = b.Err.Error(), b.Kind(), b.HTTPStatus()
		}
		return json.Marshal(s)
	case ProposalUpdated:
		return workspace.SaveProposal(b.Proposal, texts)
	}
	return json.Marshal(b)
}

// loadBody is the inverse of saveBody.
func loadBody(kind string, raw json.RawMessage, texts workspace.SavedTexts) (Body, error) {
	switch kind {
	case kindOf(TurnEnded{}):
		var s savedEnd
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		b := TurnEnded{Status: s.Status, Usage: s.Usage, Finish: s.Finish}
		if s.Err != "" {
			b.Err = savedError{s.Err, s.Kind, s.HTTP}
		}
		return b, nil
	case kindOf(ProposalUpdated{}):
		p, err := workspace.RestoreProposal(raw, texts)
		return ProposalUpdated{p}, err
	}
	t, ok := bodies[kind]
	if !ok {
		return nil, fmt.Errorf("an event of the unknown kind %q", kind)
	}
	v := reflect.New(t)
	if err := json.Unmarshal(raw, v.Interface()); err != nil {
		return nil, err
	}
	return v.Elem().Interface().(Body), nil
}

// savedError is an error of an earlier process: its text, and what kind it was.
type savedError struct {
	text, kind string
	status     int
}

func (e savedError) Error() string { return e.text }

// Kind sorts the end of a turn for clients that react to it: "cancelled", "limit",
// the kind of a [model.Error], or "failed".
func (b TurnEnded) Kind() string {
	var m *model.Error
	var saved savedError
	switch {
	case errors.As(b.Err, &saved) && saved.kind != "":
		return saved.kind
	case errors.Is(b.Err, ErrInterrupted):
		return "interrupted"
	case b.Status == Cancelled:
		return "cancelled"
	case b.Status == Limit:
		return "limit"
	case errors.Is(b.Err, ErrCredentials):
		return string(model.KindAuth)
	case errors.As(b.Err, &m):
		return string(m.Kind)
	}
	return "failed"
}

// HTTPStatus returns the status that the model's service answered with; 0 when the
// turn did not end because of that.
func (b TurnEnded) HTTPStatus() int {
	var m *model.Error
	var saved savedError
	switch {
	case errors.As(b.Err, &saved):
		return saved.status
	case errors.As(b.Err, &m):
		return m.Status
	}
	return 0
}
