package agent

import (
	"errors"
	"fmt"

	"redline/agent/loop"
	"redline/agent/model"
)

// errLoop is what a [loopError] is.
var errLoop = errors.New("the model goes round in circles")

// loopError says what the model repeats.
type loopError struct{ kind loop.Kind }

func (e *loopError) Error() string        { return "stopped: " + e.kind.Reason() }
func (e *loopError) Is(target error) bool { return target == errLoop }

// watchCalls notes the calls of a step and returns a [loopError] when they go round in
// circles.
func (s *Session) watchCalls(t *turn, calls []model.FunctionCall) (found error) {
	if s.opt.AllowLoops {
		return nil
	}
	for _, c := range calls {
		if kind := t.loop.AddCall(c.Name, c.Args); kind != loop.None {
			found = &loopError{kind}
		}
	}
	return found
}

// watchText notes a part of the answer that streams in. When its text goes round in
// circles it returns a [loopError], and all but the first two rounds are taken out of
// the answer.
func (s *Session) watchText(t *turn, ans *answer, p model.Part) error {
	v := p.Value()
	if s.opt.AllowLoops || v.Thought || v.Text == "" {
		return nil
	}
	found, length, period := t.loop.AddText(v.Text)
	if !found {
		return nil
	}
	ans.cutTail(length - 2*period)
	return &loopError{loop.Text}
}

// nudge tells the model that it goes round in circles.
func (s *Session) nudge(t *turn, found error) {
	var l *loopError
	if !errors.As(found, &l) {
		return
	}
	t.nudged = true
	t.loop.Reset()
	s.history.AddUser(model.Text(l.kind.Nudge()))
	s.emit(t.id, Notice{"warning", "The model repeats itself; it was told so."})
}

// refuseCalls answers calls that are not run, because the model goes round in circles.
func (s *Session) refuseCalls(t *turn, fcs []model.FunctionCall, found error) []model.Part {
	var l *loopError
	if errors.As(found, &l) {
		s.emit(t.id, LoopDetected{string(l.kind)})
	}
	var parts []model.Part
	for _, c := range s.newCalls(t, fcs) {
		c.status = CallCancelled
		s.finish(t, c, "", fmt.Errorf("this was not run: %w", errLoop))
		parts = append(parts, response(c)...)
	}
	return parts
}
