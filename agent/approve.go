package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"redline/tools"
)

// An Approver asks the user whether something other than an edit may be done.
//
// Approve returns the option that was chosen. No answer in time, an error and an
// option that was not offered all mean no.
type Approver interface {
	Approve(ctx context.Context, a Approval) (Answer, error)
}

// A Saver saves documents that the user has changed in the editor. It returns the
// paths that are on disk now.
type Saver interface {
	CanSave() bool
	Save(ctx context.Context, paths []string) (saved []string)
}

// Approval is a question to the user.
type Approval struct {
	SessionID, TurnID, CallID string

	Subject Subject
	Title   string // what would be done, in one line
	Detail  string // Markdown
	Options []Option
	// Unasked says how the user can allow this without being asked, as an imperative;
	// empty when a mode is enough.
	Unasked string
}

// Subject is what an [Approval] is about.
type Subject struct {
	Type      string   // command, network, mcp, tool or path
	Tool      string   // the tool's name
	Command   string   // the whole line of a command
	Directory string   // where it would run, absolute
	Roots     []string // the commands in it
	Keys      []string // the hosts or tools of other subjects
	Unsaved   []string // absolute paths of files that are saved first
	Paths     []string // absolute paths of files or folders, of subject path
}

// OptionKind is how far an answer reaches.
type OptionKind string

// The kinds of options. There is always one that rejects.
const (
	OptionOnce    OptionKind = "once"
	OptionSession OptionKind = "session"
	OptionAlways  OptionKind = "always"
	OptionReject  OptionKind = "reject"
)

// Option is an answer the user may give.
type Option struct {
	ID, Label string
	Kind      OptionKind
}

// Answer is the user's word. The zero value rejects.
type Answer struct {
	OptionID string
	Feedback string // what the user tells the model beside it
	// Reason says why nobody was asked, for the model; empty when somebody was.
	Reason string
}

// ask puts an approval to the user and returns what kind of option was taken. When
// it is no, err tells the model.
func (s *Session) ask(ctx context.Context, t *turn, c *call, a Approval) (OptionKind, error) {
	if s.opt.Approver == nil {
		c.status = CallRejected
		return OptionReject, fmt.Errorf("%s needs the user's consent, and there is no way to ask for it here; go on without it", c.fc.Name)
	}
	c.status = CallConfirming
	s.update(t, c)
	a.SessionID, a.TurnID, a.CallID = s.id, t.id, c.id
	ans, err := s.opt.Approver.Approve(ctx, a)
	if ctx.Err() != nil {
		return OptionReject, context.Cause(ctx)
	}
	i := slices.IndexFunc(a.Options, func(o Option) bool { return o.ID == ans.OptionID })
	if err == nil && i >= 0 && a.Options[i].Kind != OptionReject {
		return a.Options[i].Kind, nil
	}
	c.status = CallRejected
	if ans.Reason != "" {
		return OptionReject, errors.New(ans.Reason)
	}
	msg := "The user did not allow this; it was not done. Do not try it again in another way; go on without it, or ask."
	if ans.Feedback != "" {
		msg += " The user says: " + ans.Feedback
	}
	return OptionReject, errors.New(msg)
}

// permit asks for what a call needs consent for, unless it was given before.
func (s *Session) permit(ctx context.Context, t *turn, c *call, p *tools.Permission) error {
	mode, _ := s.settings()
	if c.guarded.allowed {
		return nil
	}
	_, allowed := s.allowed()
	missing := slices.DeleteFunc(slices.Clone(p.Keys), func(k string) bool { return slices.Contains(allowed, ConsentKey(p.Subject, k)) })
	if mode == ModeYolo && c.guarded.ask == "" || (len(p.Keys) > 0 && len(missing) == 0) {
		return nil
	}
	if c.guarded.ask != "" {
		p.Detail = strings.TrimSpace(p.Detail + "\n\nAsked because " + c.guarded.ask + ".")
	}
	a := Approval{
		Subject: Subject{Type: p.Subject, Tool: c.fc.Name, Keys: p.Keys}, Title: c.title, Detail: p.Detail,
		Options: []Option{{"once", "Allow once", OptionOnce}},
	}
	a.Options = append(a.Options, s.lasting(missing)...)
	a.Options = append(a.Options, Option{"reject", "Reject", OptionReject})
	kind, err := s.ask(ctx, t, c, a)
	if err != nil {
		return err
	}
	for i, k := range missing {
		missing[i] = ConsentKey(p.Subject, k)
	}
	s.allow(t, kind, nil, missing)
	return nil
}
