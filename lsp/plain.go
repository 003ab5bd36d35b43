package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"redline/agent"
	"redline/lsp/rpc"
	"redline/workspace"
)

// This file serves clients without a plugin (WIRE.md §6): proposals are reviewed
// with what LSP itself has, and prompts come from commands.

// The ways to review without a plugin.
const (
	reviewAuto        = "auto"
	reviewAnnotations = "annotations"
	reviewMessage     = "message"
	reviewCodeAction  = "codeAction"
)

// reviewPlain asks the user about p and hands the answer to rv. It returns when it
// has, when nothing is left to decide, or with ctx.
func (s *Server) reviewPlain(ctx context.Context, rv *review, p *workspace.Proposal) {
	way := s.opt.Review
	if set, err := s.loadSettings(); way == "" && err == nil {
		way = set.Review
	}
	if way == "" || way == reviewAuto {
		way = reviewMessage
		if s.client.annotations {
			way = reviewAnnotations
		}
	}
	var err error
	switch way {
	case reviewAnnotations:
		err = rv.ask(ctx, ask{confirm: true})
	case reviewMessage:
		err = s.reviewByMessage(ctx, rv, p)
	case reviewCodeAction:
		s.showMessage(ctx, protocol.MessageTypeInfo, s.howToDecide(p))
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("review", zap.String("way", way), zap.Error(err))
	}
}

// applyConfirmed sends what is pending as one edit that the editor lets the user
// confirm. What is in the documents afterwards was accepted, the rest was not; with keep,
// it stays open when nothing was accepted.
func (s *Server) applyConfirmed(ctx context.Context, p *workspace.Proposal, keep bool, updated func()) error {
	p.State = workspace.Applying
	p.Rev++
	updated()
	defer func() {
		p.State = workspace.Open
		p.Rev++
		if keep && undecided(p) {
			updated()
		}
	}()
	some := false
	for range maxTries {
		s.rebase(p)
		s.conflictWithNewFiles(p)
		var picked []pick
		for h := range p.Hunks() {
			if h.State == workspace.Pending {
				picked = append(picked, pick{h, h.New})
			}
		}
		if len(picked) == 0 {
			return nil
		}
		got, err := s.applyParts(ctx, p, picked, applyOptions{
			label: "Redline: " + p.Title, wait: s.timing.Review, annotate: true, confirm: true,
		})
		if err != nil {
			return err
		}
		some = got.some
		if !got.moved || got.some || got.yes {
			break
		}
		// Refused because the user typed while looking: ask again on the new text.
	}
	if keep && !some {
		return nil
	}
	for h := range p.Hunks() {
		if h.State == workspace.Pending {
			h.State, h.Closed, h.Reason = workspace.Rejected, true, "not accepted in the editor's preview"
		}
	}
	return nil
}

// The answers to a message request. The harmless one is the first: some editors take
// the first one when the user, who was typing, happens to press Enter.
const (
	actionReview = "Review"
	actionApply  = "Apply all"
	actionReject = "Reject"
)

// oneMessage waits until no other message request is shown. Call done when this one
// is answered or given up.
func (s *Server) oneMessage(ctx context.Context) (done func(), err error) {
	select {
	case s.message <- struct{}{}:
		return func() { <-s.message }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// reviewByMessage asks with window/showMessageRequest. No answer in time is a
// rejection. A user who wants to look first, or sends the message away, and a client that
// cannot show one, are left with the code actions and commands.
func (s *Server) reviewByMessage(ctx context.Context, rv *review, p *workspace.Proposal) error {
	done, err := s.oneMessage(ctx)
	if err != nil {
		return err
	}
	defer done()
	review := ctx
	ctx, cancel := context.WithTimeout(ctx, s.timing.Review)
	defer cancel()
	var item *protocol.MessageActionItem
	s.unanswered.wait(ctx)
	err = s.conn.Call(ctx, "window/showMessageRequest", &protocol.ShowMessageRequestParams{
		Type: protocol.MessageTypeInfo, Message: s.summary(p),
		Actions: []protocol.MessageActionItem{{Title: actionReview}, {Title: actionApply}, {Title: actionReject}},
	}, &item)
	var peer *rpc.Error
	switch {
	case asError(err, &peer), err == nil && item == nil:
		s.showMessage(ctx, protocol.MessageTypeInfo, s.howToDecide(p))
		return nil
	case err != nil:
		return rv.decide(review, 0, rejectAll("nobody answered"))
	}
	switch item.Title {
	case actionApply:
		return rv.decide(ctx, 0, []HunkDecision{{Target: Target{All: true}, Decision: "accept"}})
	case actionReview:
		if err := s.showDiff(ctx, p); err != nil {
			s.showMessage(ctx, protocol.MessageTypeWarning, "Redline cannot show the difference: "+err.Error())
		}
		s.showMessage(ctx, protocol.MessageTypeInfo, s.howToDecide(p))
		return nil
	default:
		return rv.decide(ctx, 0, rejectAll(""))
	}
}

func rejectAll(reason string) []HunkDecision {
	return []HunkDecision{{Target: Target{All: true}, Decision: "reject", Reason: reason}}
}

func (s *Server) showMessage(ctx context.Context, t protocol.MessageType, text string) {
	if err := s.conn.Notify(ctx, "window/showMessage", &protocol.ShowMessageParams{Type: t, Message: text}); err != nil {
		s.log.Debug("window/showMessage", zap.Error(err))
	}
}

// plainTurn is what a plain client sees of a running turn: a progress, and the
// answer when it is done.
type plainTurn struct {
	progress *progress // nil when the client shows none
	answer   agent.Transcript
}

// plainEvent shows an event to a client that does not know the event stream.
func (s *Server) plainEvent(x *session, ev agent.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	piece := x.talk.said(s, ev.Body)
	switch b := ev.Body.(type) {
	case agent.TurnStarted:
		x.plain = &plainTurn{}
		if s.client.progress {
			x.plain.progress = s.startProgress(s.progressToken(ev.TurnID), "Redline", true)
		}
	case agent.MessageDelta:
		if x.plain != nil {
			piece = x.talk.add(x.plain.answer.Add(b))
		}
	case agent.ToolUpdated:
		if x.plain != nil && x.plain.progress != nil && b.Status == agent.CallRunning {
			x.plain.progress.report(cmp.Or(b.Title, b.Name))
		}
	case agent.ProposalUpdated:
		if x.plain != nil && x.plain.progress != nil && b.Proposal.State == workspace.Open && b.Proposal.Pending() {
			x.plain.progress.report("waits for your decision on " + s.changes(b.Proposal))
		}
	}
	if x.chat != nil && piece != "" {
		x.chat.add(piece)
	}
	if end, ok := ev.Body.(agent.TurnEnded); ok && x.plain != nil {
		s.plainEnd(x, end)
	}
}

// progressToken returns the token of a turn's progress. Helix 25.01 shows it to the user,
// and none can cancel by it.
func (s *Server) progressToken(turnID string) json.RawMessage {
	if s.client.name != editorHelix {
		return quoted(turnID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns++
	return quoted(fmt.Sprintf("redline %d", s.turns))
}

// plainEnd shows how the turn of x ended. The caller holds x.mu.
func (s *Server) plainEnd(x *session, end agent.TurnEnded) {
	p, level, text := x.plain.progress, protocol.MessageTypeInfo, ""
	switch {
	case end.Status == agent.Failed || end.Status == agent.Limit:
		level, text = protocol.MessageTypeError, "Redline: "+end.Err.Error()
	case end.Status == agent.Completed && x.chat == nil:
		if answer := strings.TrimSpace(x.plain.answer.String()); answer != "" {
			text = s.answerText(answer)
		}
	}
	if x.chat != nil {
		x.chat.end()
	}
	x.plain, x.chat = nil, nil
	if p != nil {
		p.end()
	}
	switch {
	case text == "":
	case p == nil:
		s.showMessage(s.root, level, text)
	default:
		// The end of a progress clears the line of messages in Helix.
		s.background(func(ctx context.Context) {
			timer := time.NewTimer(time.Second) // a client that takes no progress sees it too
			defer timer.Stop()
			select {
			case <-p.done:
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			s.showMessage(ctx, level, text)
		})
	}
}

// progressCancel stops the turn whose progress the user cancelled.
func (s *Server) progressCancel(_ context.Context, p *struct {
	Token json.RawMessage `json:"token"`
},
) error {
	s.cancelLogin(string(p.Token))
	var token string
	_ = json.Unmarshal(p.Token, &token) // a number is none of a turn
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		if id := x.Info().ID; strings.HasPrefix(token, id+".") {
			x.Cancel(token)
		}
	}
	return nil
}
