package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"redline/agent"
	"redline/lsp/rpc"
	"redline/tools"
)

// eventLog keeps the events of a session for clients that resume it.
type eventLog struct {
	mu     sync.Mutex
	events []agent.Event
}

func (l *eventLog) add(ev agent.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, ev)
}

// after returns the events with a number above seq.
func (l *eventLog) after(seq int64) []agent.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq < 0 || seq >= int64(len(l.events)) {
		return nil
	}
	return l.events[seq:] // append-only: the part handed out never changes
}

// newSession starts a session in the workspace's folders.
func (s *Server) newSession(mode, modelName, reviewAt string, direct bool) (*session, error) {
	m := agent.ModeDefault
	if mode != "" {
		var err error
		if m, err = agent.ParseMode(mode); err != nil {
			return nil, rpc.BadParams("mode", "%v", err)
		}
	}
	if reviewAt != "" {
		if _, err := agent.ParseReviewAt(reviewAt); err != nil {
			return nil, rpc.BadParams("reviewAt", "%v", err)
		}
	}
	x := &session{direct: direct, home: s}
	opt, err := s.sessionOptions(x)
	if err != nil {
		return nil, err
	}
	opt.Mode = m
	if modelName != "" {
		opt.Model = strings.Clone(modelName)
	}
	if reviewAt != "" {
		opt.ReviewAt = agent.ReviewAt(strings.Clone(reviewAt))
	}
	x.Session = agent.NewSession(opt)
	s.add(x)
	return x, nil
}

// sessionOptions returns what x is made of, with the model and time of review of the
// settings.
func (s *Server) sessionOptions(x *session) (agent.Options, error) {
	set, err := s.loadSettings()
	if err != nil {
		return agent.Options{}, rpc.Failed("settings: %v", err)
	}
	s.runBackground(set)
	opt := agent.Options{
		Workspace: s.ws, Reviewer: s, Approver: s, Saver: s, News: s.news, Asker: s, Journal: s.opt.Journal, Blobs: s.opt.Blobs,
		Emit:  func(ev agent.Event) { s.emit(x, ev) },
		Model: set.Model, ReviewAt: agent.ReviewAt(set.ReviewAt),
	}
	if s.opt.Trust != nil {
		opt.Trust = &trustKeeper{s: s, used: set, emit: opt.Emit}
	}
	set.Configure(&opt)
	return opt, nil
}

// add makes a session known.
func (s *Server) add(x *session) {
	id := x.Info().ID
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[id] = x
	s.opt.Hub.add(id, x)
	s.order = append(s.order, id)
}

// emit hands an event of session x to the client. It is called in order.
func (s *Server) emit(x *session, ev agent.Event) {
	x.follow.Lock() // who follows sees every event once
	defer x.follow.Unlock()
	defer x.tellFollowers(ev)
	x.log.add(ev)
	if p, ok := ev.Body.(agent.ProposalUpdated); ok {
		s.remember(p.Proposal)
	}
	if x.direct || s.client.knowsUs {
		if err := s.conn.Notify(s.root, methodEvent, s.wireEvent(ev)); err != nil && !errors.Is(err, rpc.ErrClosed) {
			s.log.Warn("event not sent", zap.Error(err), zap.Int64("seq", ev.Seq))
		}
	}
	if !x.direct {
		s.plainEvent(x, ev)
	}
	if _, ok := ev.Body.(agent.ProposalUpdated); ok {
		s.hint()
	}
}

func (s *Server) sessionNew(_ context.Context, p *SessionNewParams) (SessionInfo, error) {
	for _, f := range p.Folders {
		path, ok := pathOf(string(f))
		if !ok {
			return SessionInfo{}, rpc.BadParams("folders", "%q is no file: URI", f)
		}
		if _, err := s.ws.Snapshot().Resolve(path); err != nil {
			return SessionInfo{}, rpc.BadParams("folders", "%q is not in a folder open in this editor", f)
		}
	}
	x, err := s.newSession(p.Mode, p.Model, p.ReviewAt, true)
	if err != nil {
		return SessionInfo{}, err
	}
	return wireInfo(x.Info()), nil
}

func (s *Server) sessionConfigure(_ context.Context, p *SessionConfigureParams) (SessionInfo, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return SessionInfo{}, err
	}
	if p.ReviewAt != "" {
		if err := x.SetReviewAt(agent.ReviewAt(strings.Clone(p.ReviewAt))); err != nil {
			return SessionInfo{}, rpc.BadParams("reviewAt", "%v", err)
		}
	}
	if err := x.Configure(agent.Mode(p.Mode), strings.Clone(p.Model)); err != nil {
		return SessionInfo{}, rpc.BadParams("mode", "%v", err)
	}
	return wireInfo(x.Info()), nil
}

func (s *Server) prompt(_ context.Context, p *PromptParams) (TurnResult, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return TurnResult{}, err
	}
	msg, err := s.said(p.Text, p.Context)
	if err != nil {
		return TurnResult{}, err
	}
	id, err := x.Prompt(x.home.root, msg)
	return TurnResult{id}, sessionError(err)
}

// said returns what the user says, with what goes along.
func (s *Server) said(text string, context []ContextItem) (agent.Message, error) {
	msg := agent.Message{Text: strings.Clone(text)}
	for i, c := range context {
		if !slices.Contains(agent.ContextKinds, c.Kind) {
			return msg, rpc.BadParams(fmt.Sprintf("context[%d].kind", i), "is %q; use one of %s", c.Kind, strings.Join(agent.ContextKinds, ", "))
		}
		msg.Context = append(msg.Context, s.contextItem(c))
	}
	return msg, nil
}

func (s *Server) contextItem(c ContextItem) agent.ContextItem {
	out := agent.ContextItem{
		Kind: strings.Clone(c.Kind), URI: strings.Clone(c.URI), Text: strings.Clone(c.Text),
		MIMEType: strings.Clone(c.MIMEType), Data: c.Data,
	}
	if path, ok := pathOf(c.URI); ok {
		out.Path = path
	}
	if c.Range != nil {
		out.FromLine, out.ToLine = int(c.Range.Start.Line)+1, int(c.Range.End.Line)+1
		if c.Range.End.Character == 0 && out.ToLine > out.FromLine {
			out.ToLine-- // a selection of whole lines ends at the start of the next
		}
	}
	return out
}

func (s *Server) steer(_ context.Context, p *SteerParams) (TurnResult, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return TurnResult{}, err
	}
	msg, err := s.said(p.Text, p.Context)
	if err != nil {
		return TurnResult{}, err
	}
	id, err := x.Steer(msg)
	return TurnResult{id}, sessionError(err)
}

func (s *Server) cancel(_ context.Context, p *CancelParams) (Empty, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return Empty{}, err
	}
	x.Cancel(p.TurnID)
	return Empty{}, nil
}

func sessionError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, agent.ErrEmpty), asUnknownCommand(err):
		return rpc.BadParams("text", "%v", err)
	}
	return rpc.Failed("%v", err)
}

func (s *Server) toolList(_ context.Context, p *CommandListParams) (ToolList, error) {
	if p.SessionID != "" {
		if _, err := s.session(p.SessionID); err != nil {
			return ToolList{}, err
		}
	}
	set, err := s.loadSettings()
	if err != nil {
		return ToolList{}, rpc.Failed("settings: %v", err)
	}
	return ToolList{ToolInfos(set.Tools)}, nil
}

// ToolInfos describes the tools of a registry.
func ToolInfos(r *tools.Registry) []ToolInfo {
	out := []ToolInfo{}
	for _, t := range r.All() {
		spec := t.Spec()
		out = append(out, ToolInfo{spec.Name, spec.DisplayName, string(spec.Kind), spec.Description, spec.Schema})
	}
	return out
}
