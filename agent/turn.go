package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"redline/agent/model"
)

// runTurn is one turn, from the prompt to the event that ends it.
func (s *Session) runTurn(ctx context.Context, t *turn, msg Message) TurnEnded {
	s.emit(t.id, TurnStarted{})
	if s.checkpointing() {
		s.addCheckpoint(t.id, titleOf(msg.Text))
	}
	s.emit(t.id, UserMessage{MessageID: t.id + ".u", Text: msg.Text})

	before := s.usage
	s.beginTrust(ctx, t)
	s.awaitTools(ctx)
	end := func(status Status, err error) TurnEnded {
		s.leaveOpen(ctx, t)
		return TurnEnded{Status: status, Err: err, Usage: s.usage.minus(before), Finish: string(t.finish)}
	}
	if msg.isCompress() {
		if err := s.compressTurn(ctx, t); err != nil {
			return end(failure(ctx, err))
		}
		return end(Completed, nil)
	}
	text, media, err := s.expand(ctx, t, msg.Text)
	if err != nil {
		return end(failure(ctx, err))
	}
	said := msg.Text
	s.lookAtPrompt(ctx, Message{Text: said + " " + text, Context: msg.Context})
	msg.Text = text
	snapshot := s.opt.Workspace.Snapshot()
	if len(s.history.Contents()) == 0 {
		s.history.AddUser(model.Text(environment(ctx, snapshot, s.opt.Now())))
	}
	t.instructions = s.loadInstructions(t, snapshot)
	s.tellNotes(ctx)
	t.said = s.history.mark()
	s.history.AddUser(slices.Concat(msg.parts(snapshot), media, s.attach(ctx, t, said))...)
	s.history.AddUser(s.instructionsFor(t, msg.places(s.newView()))...)

	generator, err := s.opt.Generator(ctx)
	if err != nil {
		return end(failure(ctx, err))
	}
	t.generator = s.retrying(t, generator)
	messageID := ""
	for step := 1; ; step++ {
		if step > s.opt.MaxSteps {
			return end(Limit, fmt.Errorf("stopped after %d steps; say “continue” to let it go on", s.opt.MaxSteps))
		}
		s.tellNotes(ctx)
		for _, msg := range s.takeSteer(t) {
			s.emit(t.id, UserMessage{MessageID: fmt.Sprintf("%s.u%d", t.id, step), Text: msg.Text})
			s.history.AddUser(slices.Concat(msg.parts(s.opt.Workspace.Snapshot()), s.attach(ctx, t, msg.Text))...)
			t.loop.Reset()
		}
		s.fitWindow(ctx, t)
		if t.tries.breaks == 0 { // else it is the rest of the same message
			messageID = fmt.Sprintf("%s.m%d", t.id, step)
		}
		calls, finish, err := s.runStep(ctx, t, t.generator, messageID)
		again, err := s.judge(ctx, t, finish, calls, err)
		switch {
		case err != nil && errors.Is(err, errLoop):
			return end(Limit, err)
		case err != nil:
			return end(failure(ctx, err))
		case again:
			continue
		}
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
		loop := s.watchCalls(t, calls)
		if loop != nil && t.nudged {
			s.history.AddUser(s.refuseCalls(t, calls, loop)...)
			return end(Limit, loop)
		}
		s.history.AddUser(s.runCalls(ctx, t, calls)...)
		if ctx.Err() != nil {
			return end(failure(ctx, ctx.Err()))
		}
		if loop != nil {
			s.nudge(t, loop)
		}
	}
}

// runStep is one request: it streams the answer to the user and into the history
// and returns the functions to call. What arrived before an error is kept.
func (s *Session) runStep(ctx context.Context, t *turn, g model.ContentGenerator, messageID string) ([]model.FunctionCall, genai.FinishReason, error) {
	s.keepHistory()
	mode, modelName := s.settings()
	p := s.prepared(t, mode, modelName)
	req := &model.Request{Model: p.model, Contents: s.history.Contents(), Config: p.config, PromptID: t.id, SessionID: s.id}
	var (
		ans    answer
		calls  []model.FunctionCall
		finish genai.FinishReason
		detail string
		block  string
		usage  *genai.GenerateContentResponseUsageMetadata
		failed error
	)
	t.began = false
stream:
	for chunk, err := range g.Stream(ctx, req) {
		if err != nil {
			failed = err
			break
		}
		for _, p := range chunk.Parts {
			p = p.Named()
			t.began = true
			s.show(t, messageID, p)
			ans.add(p)
			if c, ok := p.FunctionCall(); ok {
				calls = append(calls, c)
			}
			if err := s.watchText(t, &ans, p); err != nil {
				failed = err
				break stream
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
	t.loop.EndText()
	t.finish = finish
	s.spent(t, req.Model, usage)

	ok := failed == nil && block == "" && !unreadCall(finish)
	kept := ans.done(ok)
	s.history.AddModel(kept)
	s.keepHistory() // before anything it calls is run
	switch {
	case failed != nil:
		return nil, "", failed
	case block != "":
		s.history.dropSince(t.said)
		return nil, "", fmt.Errorf("%w (%s); it is taken out of the conversation, so rephrase it", ErrRefused, block)
	}
	if usage != nil {
		s.counted(usage.PromptTokenCount, usage.CandidatesTokenCount)
	}
	switch finish {
	case genai.FinishReasonStop, genai.FinishReasonUnspecified, "":
		if len(kept) == 0 {
			return nil, finish, errEmpty
		}
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall:
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
			if len(kept) == 0 {
				s.history.dropSince(t.said)
			}
			return nil, finish, errors.New(text + "; rephrase the prompt or try again")
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
