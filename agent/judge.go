package agent

import (
	"context"
	"errors"
	"time"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/agent/retry"
)

// How often in a row a step is repeated by itself.
const (
	maxMalformed = 2 // because the model wrote a function call that the API could not read
	maxEmpty     = 2 // because it answered nothing at all
	maxBreaks    = 3 // because the answer broke off on its way
)

// errEmpty is an answer with nothing in it.
var errEmpty = errors.New("the model answered nothing; try again, or rephrase the prompt")

// tries counts steps in a row that came to nothing.
type tries struct {
	malformed, empty, breaks int
	shortened                bool // the conversation was compressed because it was refused for its length
}

// judge decides what comes after a step: whether another one is tried at once, with
// what the model is told put into the history, or the turn ends with an error.
func (s *Session) judge(ctx context.Context, t *turn, finish genai.FinishReason, calls []model.FunctionCall, err error) (again bool, _ error) {
	var e *model.Error
	switch {
	case err != nil && ctx.Err() != nil: // calls that came are still to be answered
		return false, ctx.Err()
	case t.fellBack:
		t.fellBack = false
		if s.opt.Alone {
			return true, nil
		}
		return false, errFellBack
	case errors.Is(err, errLoop):
		var loop *loopError
		if errors.As(err, &loop) && !t.nudged {
			s.nudge(t, loop)
			return true, nil
		}
		s.emit(t.id, LoopDetected{string(loop.kind)})
		return false, err
	case errors.Is(err, errEmpty):
		if t.tries.empty++; t.tries.empty <= maxEmpty {
			return true, s.pause(ctx, t, t.tries.empty, errEmpty)
		}
		if t.worked { // it has nothing to add to what it did
			s.emit(t.id, Notice{"warning", "The model ended without a last word."})
			return false, nil
		}
		return false, err
	case tooLong(err) && !t.tries.shortened:
		t.tries.shortened = true
		if _, compressErr := s.compress(ctx, t, true); compressErr != nil {
			return false, errors.Join(err, compressErr)
		}
		return true, nil
	case errors.As(err, &e) && e.Temporary() && t.tries.breaks < maxBreaks:
		// The answer broke off after it began: what came is kept and shown, and the
		// model is asked to go on. Calls that came with it were not run. When nothing
		// else came, or only thoughts, the step is repeated as it was.
		if !t.began {
			return false, err // it was tried as often as it should be
		}
		t.tries.breaks++
		if err := s.pause(ctx, t, t.tries.breaks, e); err != nil {
			return false, err
		}
		if s.history.endsWithModel() {
			s.history.AddUser(model.Text("Your answer broke off on its way. Go on where it stopped, without repeating what you said."))
		}
		return true, nil
	case err != nil:
		return false, err
	case unreadCall(finish):
		if t.tries.malformed++; t.tries.malformed > maxMalformed {
			return false, errors.New("the model keeps writing function calls that cannot be read; try again or choose another model")
		}
		s.history.AddUser(model.Text("Your last function call could not be read. Write it again, as valid JSON."))
		return true, nil
	}
	t.tries = tries{}
	t.worked = t.worked || len(calls) > 0
	return false, nil
}

// unreadCall reports whether an answer ended because the service could not make a call of what the model wrote.
func unreadCall(finish genai.FinishReason) bool {
	return finish == genai.FinishReasonMalformedFunctionCall || finish == genai.FinishReasonUnexpectedToolCall
}

// pause waits before a step is tried again: as long as the service asks for, at first
// not at all, and then longer and longer. The wait is shown.
func (s *Session) pause(ctx context.Context, t *turn, n int, err error) error {
	var delay time.Duration
	var e *model.Error
	if errors.As(err, &e) {
		delay = e.RetryAfter
	}
	if delay == 0 && n > 1 {
		delay = s.opt.Retry.Initial
		if delay == 0 {
			delay = retry.DefaultInitial
		}
		delay *= time.Duration(n - 1)
	}
	s.emit(t.id, Retry{Attempt: n, Delay: delay, Reason: err.Error()})
	if delay == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
