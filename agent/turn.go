package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/agent/retry"
)

// maxMalformed is how often in a row a step is repeated because the model wrote a
// function call that the API itself could not read.
const maxMalformed = 2

// maxBreaks is how often in a row the model is asked to go on with an answer that
// broke off.
const maxBreaks = 3

// runTurn is one turn, from the prompt to the event that ends it.
func (s *Session) runTurn(ctx context.Context, t *turn, msg Message) TurnEnded {
	s.emit(t.id, TurnStarted{})
	s.emit(t.id, UserMessage{MessageID: t.id + ".u", Text: msg.Text})

	before := s.usage
	s.beginTrust(ctx, t)
	s.awaitTools(ctx)
	end := func(status Status, err error) TurnEnded {
		s.leaveOpen(ctx, t)
		return TurnEnded{Status: status, Err: err, Usage: s.usage.minus(before)}
	}
	text, media, err := s.expand(ctx, t, msg.Text)
	if err != nil {
		return end(failure(ctx, err))
	}
	said := msg.Text
	msg.Text = text
	snapshot := s.opt.Workspace.Snapshot()
	if len(s.history.Contents()) == 0 {
		s.history.AddUser(model.Text(environment(ctx, snapshot, s.opt.Now())))
	}
	t.instructions = s.loadInstructions(t, snapshot)
	s.tellNotes(ctx)
	s.history.AddUser(slices.Concat(msg.parts(snapshot), media, s.attach(ctx, t, said))...)
	s.history.AddUser(s.instructionsFor(t, msg.places(s.newView()))...)

	generator, err := s.opt.Generator(ctx)
	if err != nil {
		return end(failure(ctx, err))
	}
	again := s.opt.Retry
	again.OnWait = func(attempt int, delay time.Duration, err error) {
		s.emit(t.id, Retry{Attempt: attempt, Delay: delay, Reason: err.Error()})
	}
	generator = retry.Wrap(generator, again)
	t.generator = generator
	malformed, breaks := 0, 0
	for step := 1; ; step++ {
		if step > s.opt.MaxSteps {
			return end(Limit, fmt.Errorf("stopped after %d steps; say “continue” to let it go on", s.opt.MaxSteps))
		}
		s.tellNotes(ctx)
		for _, text := range s.takeSteer(t) {
			s.history.AddUser(model.Text(text))
			s.emit(t.id, UserMessage{MessageID: fmt.Sprintf("%s.u%d", t.id, step), Text: text})
		}
		calls, finish, err := s.runStep(ctx, t, generator, fmt.Sprintf("%s.m%d", t.id, step))
		var broken *model.Error
		if errors.As(err, &broken) && broken.Temporary() && ctx.Err() == nil && breaks < maxBreaks && s.history.endsWithModel() {
			// The answer broke off after it began: what came is kept and shown, and the
			// model is asked to go on. Calls that came with it were not run.
			breaks++
			s.emit(t.id, Retry{Attempt: breaks, Reason: broken.Error()})
			s.history.AddUser(model.Text("Your answer broke off on its way. Go on where it stopped, without repeating what you said."))
			continue
		}
		if err != nil {
			return end(failure(ctx, err))
		}
		breaks = 0
		if finish == genai.FinishReasonMalformedFunctionCall {
			if malformed++; malformed > maxMalformed {
				return end(Failed, errors.New("the model keeps writing function calls that cannot be read; try again or choose another model"))
			}
			s.history.AddUser(model.Text("Your last function call could not be read. Write it again, as valid JSON."))
			continue
		}
		malformed = 0
		if len(calls) == 0 {
			if again := s.reviewLayer(ctx, t); ctx.Err() != nil {
				return end(failure(ctx, ctx.Err()))
			} else if again {
				continue
			}
			// From here on a message can no longer join the turn.
			s.mu.Lock()
			more := len(t.steer) > 0
			t.closing = !more
			s.mu.Unlock()
			if more {
				continue
			}
			return end(Completed, nil)
		}
		// The responses go into the history even when the turn ends here: every
		// call has exactly one.
		s.history.AddUser(s.runCalls(ctx, t, calls)...)
		if ctx.Err() != nil {
			return end(failure(ctx, ctx.Err()))
		}
	}
}

// runStep is one request: it streams the answer to the user and into the history
// and returns the functions to call. What arrived before an error is kept.
func (s *Session) runStep(ctx context.Context, t *turn, g model.ContentGenerator, messageID string) ([]model.FunctionCall, genai.FinishReason, error) {
	mode, modelName := s.settings()
	req := &model.Request{
		Model:    modelName,
		Contents: s.history.Contents(),
		Config:   s.config(t, mode, modelName),
		PromptID: t.id,
	}
	var (
		ans    answer
		calls  []model.FunctionCall
		finish genai.FinishReason
		detail string
		block  string
		usage  *genai.GenerateContentResponseUsageMetadata
		failed error
	)
	for chunk, err := range g.Stream(ctx, req) {
		if err != nil {
			failed = err
			break
		}
		for _, p := range chunk.Parts {
			s.show(t, messageID, p)
			ans.add(p)
			if c, ok := p.FunctionCall(); ok {
				calls = append(calls, c)
			}
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		if chunk.FinishReason != "" {
			finish, detail = chunk.FinishReason, chunk.FinishMessage
		}
		if chunk.BlockReason != "" {
			block = chunk.BlockReason
		}
		if ctx.Err() != nil {
			failed = ctx.Err()
			break
		}
	}
	total := s.usage
	total.add(usage)
	s.emit(t.id, UsageUpdated{total})

	ok := failed == nil && block == "" && finish != genai.FinishReasonMalformedFunctionCall
	s.history.AddModel(ans.done(ok))
	switch {
	case failed != nil:
		return nil, "", failed
	case block != "":
		return nil, "", fmt.Errorf("the prompt was refused by the model's service (%s); rephrase it", block)
	}
	switch finish {
	case genai.FinishReasonStop, genai.FinishReasonUnspecified, "", genai.FinishReasonMalformedFunctionCall:
	case genai.FinishReasonMaxTokens:
		if len(calls) == 0 {
			s.emit(t.id, Notice{"warning", "The answer was cut: the model's limit of output tokens is reached. Say “continue” to get the rest."})
		}
	default:
		text := fmt.Sprintf("the model stopped early (%s)", finish)
		if detail != "" {
			text += ": " + detail
		}
		if len(calls) == 0 {
			return nil, "", errors.New(text + "; rephrase the prompt or try again")
		}
		s.emit(t.id, Notice{"warning", text})
	}
	return calls, finish, nil
}

// show hands a streamed part to the user.
func (s *Session) show(t *turn, messageID string, p model.Part) {
	v := p.Value()
	switch {
	case v.Text == "":
	case v.Thought:
		subject, text := splitThought(v.Text)
		s.emit(t.id, ThoughtDelta{MessageID: messageID, Subject: subject, Text: text})
	default:
		s.emit(t.id, MessageDelta{MessageID: messageID, Text: v.Text})
	}
}

// splitThought takes the "**subject**" out of a thought.
func splitThought(text string) (subject, rest string) {
	before, after, ok := strings.Cut(text, "**")
	if !ok {
		return "", text
	}
	subject, after, ok = strings.Cut(after, "**")
	if !ok {
		return "", text
	}
	return strings.TrimSpace(subject), strings.TrimSpace(before + after)
}

// failure tells a cancelled turn from a failed one.
func failure(ctx context.Context, err error) (Status, error) {
	if ctx.Err() != nil {
		return Cancelled, context.Cause(ctx)
	}
	return Failed, err
}

func (u Usage) minus(o Usage) Usage {
	return Usage{
		u.Input - o.Input, u.Cached - o.Cached, u.Output - o.Output,
		u.Thoughts - o.Thoughts, u.Total - o.Total, u.Requests - o.Requests,
	}
}
