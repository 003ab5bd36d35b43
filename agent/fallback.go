package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redline/agent/model"
	"redline/agent/retry"
)

// An Asker puts a question with a few answers to the user.
//
// Ask returns the answer, or ok false when there is nobody to ask or no answer came.
type Asker interface {
	Ask(ctx context.Context, sessionID, question string, options []string) (answer string, ok bool)
}

// errFellBack ends a turn whose model was changed: it is the user who goes on with
// the other one.
var errFellBack = errors.New("Please submit a new query to continue with the Flash model.") // in Gemini CLI's words

// retrying returns g with what the session does about failures: retries, each of which
// is shown, a limit on silence, and the fallback to another model.
func (s *Session) retrying(t *turn, g model.ContentGenerator) model.ContentGenerator {
	again := s.opt.Retry
	again.OnWait = func(attempt int, delay time.Duration, err error) {
		s.emit(t.id, Retry{Attempt: attempt, Delay: delay, Reason: err.Error()})
	}
	again.Fallback = func(ctx context.Context, name string, err *model.Error) retry.Verdict {
		return s.fallBack(ctx, t, name, err)
	}
	limit := s.opt.Stall
	if limit == 0 {
		limit = DefaultStall
	}
	return retry.Wrap(withLimit(g, limit), again)
}

// fallBack is asked when a model answers twice in a row that it is too busy, or that a
// quota is used up. It changes the session's model if there is another to go to and
// the user, where they can be asked, wants it.
func (s *Session) fallBack(ctx context.Context, t *turn, name string, err *model.Error) retry.Verdict {
	if s.opt.Fallback == nil || t.stay[name] {
		return retry.Verdict{}
	}
	other := s.opt.Fallback(name)
	if other == "" || other == name {
		return retry.Verdict{}
	}
	if _, current := s.settings(); !s.standsFor(current, name) {
		return retry.Verdict{} // a request beside the conversation, with a model of its own
	}
	reason := fmt.Sprintf("%s is too busy", name)
	if err.Kind == model.KindQuota {
		reason = fmt.Sprintf("The quota for %s is used up", name)
	}
	if s.opt.Asker != nil {
		const stay = "Stay"
		change := "Change to " + other
		answer, ok := s.opt.Asker.Ask(ctx, s.id, fmt.Sprintf("%s (%s). Change to %s for the rest of this session?", reason, err.Message, other), []string{change, stay})
		if ok && answer != change {
			if t.stay == nil {
				t.stay = map[string]bool{}
			}
			t.stay[name] = true
			return retry.Verdict{}
		}
	}
	if ctx.Err() != nil {
		return retry.Verdict{}
	}
	s.mu.Lock()
	s.model = other
	s.mu.Unlock()
	s.emit(t.id, ModelChanged{Model: other, Reason: reason})
	s.emit(t.id, Notice{"warning", fmt.Sprintf("%s: from now on this session uses %s. You can choose another model at any time.", reason, other)})
	t.fellBack = true
	return retry.Verdict{Stop: true}
}

// standsFor reports whether the name that was chosen for the session stands for a
// model.
func (s *Session) standsFor(chosen, name string) bool {
	resolved, _ := s.resolve(chosen, "")
	return resolved == name
}
