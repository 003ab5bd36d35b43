package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"redline/agent"
	"redline/lsp/rpc"
	"redline/workspace"
)

var (
	_ agent.Reviewer = (*session)(nil)
	_ agent.Approver = (*session)(nil)
	_ agent.Asker    = (*session)(nil)
)

// The kinds of options.
const (
	allowOnce   = "allow_once"
	allowAlways = "allow_always"
	rejectOnce  = "reject_once"
)

// errNoAnswer says why nobody has chosen.
var errNoAnswer = errors.New("the user did not answer in time")

// ask puts a question to the user and returns the option that was chosen, empty when
// the client calls the question off. It has a deadline; when ctx ends the client is told
// to take the question back.
func (x *session) ask(ctx context.Context, c toolCall, options []permissionOption) (string, error) {
	if x.s.quirks.byKind { // the first of a kind is the one that reaches least
		options = slices.CompactFunc(slices.Clone(options), func(a, b permissionOption) bool { return a.Kind == b.Kind })
	}
	wait, cancel := context.WithTimeoutCause(ctx, x.s.timing.Review, errNoAnswer)
	defer cancel()
	var res permissionResult
	err := x.s.conn.Call(wait, methodPermission, permissionParams{x.id, c, options}, &res)
	if errors.Is(err, rpc.ErrClosed) {
		<-ctx.Done() // the session ends with the connection: that is no verdict
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		x.s.log.Warn(methodPermission, zap.Error(err))
		var peer *rpc.Error
		if errors.As(err, &peer) {
			return "", fmt.Errorf("the editor could not ask the user: %s", peer.Message)
		}
		if errors.Is(err, errNoAnswer) {
			return "", errNoAnswer
		}
		return "", fmt.Errorf("the editor could not ask the user: %w", err)
	case res.Outcome.Outcome == "cancelled":
		return "", nil
	case res.Outcome.Outcome != "selected" || !slices.ContainsFunc(options, func(o permissionOption) bool { return o.OptionID == res.Outcome.OptionID }):
		return "", fmt.Errorf("the editor answered with an option that was not offered (%q)", res.Outcome.OptionID)
	}
	return res.Outcome.OptionID, nil
}

// Approve implements [agent.Approver]. No answer is no.
func (x *session) Approve(ctx context.Context, a agent.Approval) (agent.Answer, error) {
	c := toolCall{ToolCallID: a.CallID, Title: a.Title, Kind: "other", Status: "pending"}
	if a.Detail != "" {
		c.Content = []toolContent{textItem(a.Detail)}
	}
	switch a.Subject.Type {
	case "command":
		c.Kind = "execute"
	case "network":
		c.Kind = "fetch"
	case "path":
		c.Kind = "read"
		if a.Subject.Command != "" {
			c.Kind = "execute"
		}
		for _, p := range a.Subject.Paths {
			c.Locations = append(c.Locations, toolLocation{Path: p})
		}
	}
	kinds := map[agent.OptionKind]string{agent.OptionOnce: allowOnce, agent.OptionSession: allowAlways, agent.OptionAlways: allowAlways}
	var options []permissionOption
	for _, o := range a.Options {
		kind := kinds[o.Kind]
		if kind == "" {
			kind = rejectOnce
		}
		options = append(options, permissionOption{o.ID, o.Label, kind})
	}
	chosen, err := x.ask(ctx, c, options)
	switch {
	case ctx.Err() != nil:
		return agent.Answer{}, ctx.Err()
	case err != nil:
		return agent.Answer{Reason: err.Error() + "; so this was not done. Go on without it, or ask"}, nil
	}
	return agent.Answer{OptionID: chosen}, nil
}

// Ask implements [agent.Asker]: with a form where the client has any. Else, and when that
// fails, it takes questions with given answers, the last of which is taken for the one that
// changes nothing.
func (x *session) Ask(ctx context.Context, sessionID, question string, answers []string) (string, bool) {
	if x.s.client.forms() {
		answer, ok, err := x.form(ctx, question, "Answer", answers)
		if err == nil || ctx.Err() != nil || errors.Is(err, errNoAnswer) {
			return answer, ok
		}
		x.s.log.Warn(methodElicit, zap.Error(err))
	}
	if len(answers) == 0 {
		return "", false
	}
	var options []permissionOption
	for i, a := range answers {
		kind := allowOnce
		if i > 0 && i == len(answers)-1 {
			kind = rejectOnce
		}
		options = append(options, permissionOption{a, a, kind})
	}
	chosen, err := x.ask(ctx, toolCall{ToolCallID: agent.NewID(sessionID + ".ask"), Title: question, Kind: "other", Status: "pending"}, options)
	return chosen, err == nil && chosen != ""
}

// The options of the question about a proposal.
const (
	takeOnce   = "accept"
	takeAlways = "acceptAlways"
	takeNone   = "reject"
)

// Review implements [agent.Reviewer]: one question for the proposal, and when it is
// allowed, its files one after the other. What is in them afterwards decides.
func (x *session) Review(ctx context.Context, p *workspace.Proposal, auto bool, updated func()) error {
	x.rebase(ctx, p)
	updated()
	if err := ctx.Err(); err != nil {
		return err
	}
	if !auto && p.Pending() {
		if err := x.decide(ctx, p); err != nil {
			return err
		}
	}
	if p.Pending() {
		p.State = workspace.Applying
		p.Rev++
		updated()
	}
	for _, f := range p.Files {
		var accepted []*workspace.Hunk
		for _, h := range f.Hunks {
			if h.State == workspace.Pending {
				accepted = append(accepted, h)
			}
		}
		if len(accepted) == 0 {
			continue
		}
		err := x.write(ctx, f, accepted)
		for _, h := range accepted {
			if err != nil && h.State == workspace.Pending {
				h.State, h.Reason = workspace.Conflicted, err.Error()
			}
			if h.State == workspace.Conflicted {
				h.Closed = true
			}
		}
	}
	if err := ctx.Err(); err != nil && p.Pending() {
		return err
	}
	p.Finish()
	p.Rev++
	updated()
	return nil
}

// decide asks the user about p and marks what is not to be applied: one question, or, to
// a client that shows one diff only, one for each file; and one for each hunk, if the user
// wants that.
func (x *session) decide(ctx context.Context, p *workspace.Proposal) error {
	if x.asksByHunk() && len(pendingHunks(p)) > 1 {
		return x.decideHunks(ctx, p)
	}
	parts := []*workspace.Proposal{p}
	if x.s.quirks.oneDiff {
		parts = nil
		for _, f := range p.Files {
			one := *p
			one.ID, one.Files = p.ID+"."+f.ID, []*workspace.FileChange{f}
			one.Title = string(f.Op) + " " + x.ws.Snapshot().Rel(f.Path)
			if one.Pending() {
				parts = append(parts, &one)
			}
		}
	}
	for _, part := range parts {
		all, err := x.decidePart(ctx, part, x.show.question(part, len(parts) > 1))
		if err != nil {
			return err
		}
		if all { // what comes is taken too
			break
		}
	}
	return nil
}

// decidePart asks about a proposal, or a part of one. all says that nothing is to be
// asked any more.
func (x *session) decidePart(ctx context.Context, p *workspace.Proposal, c toolCall) (all bool, err error) {
	options := []permissionOption{{takeOnce, "Accept", allowOnce}}
	if n := len(pendingHunks(p)); n > 1 {
		options = append(options, permissionOption{takeByHunk, fmt.Sprintf("Decide hunk by hunk (%d)", n), allowOnce})
	}
	options = append(options, permissionOption{takeAlways, "Accept, and edits of this session from now on", allowAlways}, permissionOption{takeNone, "Reject", rejectOnce})
	if x.s.client.forms() {
		options = append(options, permissionOption{takeNoWhy, "Reject, and say why", rejectOnce})
	}
	chosen, err := x.ask(ctx, c, options)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	reason := ""
	switch {
	case err != nil:
		reason = err.Error()
	case chosen == takeOnce:
		return false, nil
	case chosen == takeByHunk:
		return false, x.decideHunks(ctx, p)
	case chosen == takeNoWhy:
		if reason, err = x.reason(ctx, c); err != nil {
			return false, err
		}
	case chosen == takeAlways:
		x.changeMode(agent.ModeAutoEdit)
		return true, nil
	case chosen == "":
		reason = "the user closed the question without an answer"
	}
	for h := range p.Hunks() {
		if h.State == workspace.Pending {
			h.State, h.Reason, h.Closed = workspace.Rejected, reason, true
		}
	}
	return false, nil
}

// question is a proposal as the user is asked about it; or a part of one, which the
// client knows nothing of otherwise.
func (v *presenter) question(p *workspace.Proposal, part bool) toolCall {
	v.mu.Lock()
	defer v.mu.Unlock()
	if part {
		c := (&shownProposal{Proposal: p, diffs: v.diffs(p)}).call()
		c.Status = "pending"
		return c
	}
	sp := v.note(p.Clone())
	c := sp.call()
	c.ToolCallID, c.Status = sp.toolCallID(), "pending"
	return c
}
