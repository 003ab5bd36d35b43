package lsp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.uber.org/zap"

	"redline/agent"
	"redline/agent/journal"
	"redline/lsp/rpc"
	"redline/workspace"
)

// This file is about sessions beyond the process: they are listed, resumed, forked
// and deleted by what package agent keeps on disk.

// sessionList answers with the sessions of this process, and then with the saved ones
// of the folders that are open here, newest first.
func (s *Server) sessionList(context.Context, *Empty) (SessionList, error) {
	out := SessionList{Sessions: []SessionInfo{}}
	live := map[string]bool{}
	for _, x := range s.allSessions() {
		info := x.Info()
		live[info.ID] = true
		out.Sessions = append(out.Sessions, wireInfo(info))
	}
	for _, x := range s.opt.Hub.others(s) {
		if info := x.Info(); !live[info.ID] && sharesFolder(info.Folders, s.ws.Snapshot().Folders()) {
			live[info.ID] = true
			out.Sessions = append(out.Sessions, wireInfo(info))
		}
	}
	saved, err := s.savedHere()
	if err != nil {
		return out, rpc.Failed("%v", err)
	}
	for _, info := range saved {
		if !live[info.ID] {
			out.Sessions = append(out.Sessions, wireInfo(info))
		}
	}
	return out, nil
}

func sharesFolder(a, b []string) bool {
	return slices.ContainsFunc(a, func(f string) bool { return slices.Contains(b, f) })
}

// savedHere returns the saved sessions of the open folders.
func (s *Server) savedHere() ([]agent.Info, error) {
	folders := s.ws.Snapshot().Folders()
	if s.opt.Journal == nil || len(folders) == 0 {
		return nil, nil
	}
	return agent.Saved(s.opt.Journal, folders...)
}

// allSessions returns the sessions of this connection in the order they were made.
func (s *Server) allSessions() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*session, 0, len(s.order))
	for _, id := range s.order {
		out = append(out, s.sessions[id])
	}
	return out
}

// sessionResume sends the events after a number again, before it answers. A session
// of an earlier process is read from the disk first, and what was open in it is
// opened for review again.
func (s *Server) sessionResume(ctx context.Context, p *SessionResumeParams) (SessionInfo, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		if x, err = s.load(ctx, strings.Clone(p.SessionID), true); err != nil {
			return SessionInfo{}, err
		}
	}
	if x.home != s {
		if err := s.followSession(ctx, x, p.AfterSeq); err != nil {
			return SessionInfo{}, err
		}
		return wireInfo(x.Info()), nil
	}
	if err := s.replay(ctx, x, p.AfterSeq); err != nil {
		return SessionInfo{}, err
	}
	x.ReopenSaved(s.root)
	return wireInfo(x.Info()), nil
}

// replay sends the events of a session of this window after a number; what happens
// meanwhile comes after them.
func (s *Server) replay(ctx context.Context, x *session, after int64) error {
	x.follow.Lock()
	defer x.follow.Unlock()
	for _, ev := range x.log.after(after) {
		if err := s.conn.Notify(ctx, methodEvent, s.wireEvent(ev)); err != nil {
			return err
		}
	}
	return nil
}

// load reads a session from the disk. Of several that want the same at the same time
// one does it. direct says that its events go to the client.
func (s *Server) load(ctx context.Context, id string, direct bool) (*session, error) {
	for {
		s.mu.Lock()
		x, busy := s.sessions[id], s.loading[id]
		if x == nil && busy == nil {
			busy = make(chan struct{})
			s.loading[id] = busy
			s.mu.Unlock()
			x, err := s.loadOnce(id, direct)
			s.mu.Lock()
			delete(s.loading, id)
			s.mu.Unlock()
			close(busy)
			return x, err
		}
		s.mu.Unlock()
		if x != nil {
			return x, nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *Server) loadOnce(id string, direct bool) (*session, error) {
	x := &session{direct: direct, home: s}
	opt, err := s.sessionOptions(x)
	if err != nil {
		return nil, err
	}
	opt.Model, opt.ReviewAt = "", "" // as they were saved
	var events []agent.Event
	x.Session, events, err = agent.Resume(opt, id)
	if err != nil {
		return nil, savedError(err)
	}
	x.log.events = events
	newest := map[string]*workspace.Proposal{}
	var order []string
	for _, ev := range events {
		if b, ok := ev.Body.(agent.ProposalUpdated); ok {
			if newest[b.Proposal.ID] == nil {
				order = append(order, b.Proposal.ID)
			}
			newest[b.Proposal.ID] = b.Proposal
		}
	}
	for _, id := range order {
		s.rememberClosed(newest[id])
	}
	if !direct {
		x.retell(s, events)
		s.adoptChats(x)
	}
	s.add(x)
	return x, nil
}

// rememberClosed makes a proposal of an earlier process known, as one that nobody can
// decide on. Review takes its place when it is opened again.
func (s *Server) rememberClosed(p *workspace.Proposal) {
	rv := &review{session: p.SessionID, asks: make(chan ask), done: make(chan struct{}), last: p}
	close(rv.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proposals[p.ID] = rv
	if p.State != workspace.Open && p.State != workspace.Applying {
		s.settled = append(s.settled, p.ID)
	}
}

// savedError words an error of a saved session for the client.
func savedError(err error) error {
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return rpc.BadParams("sessionId", "%v; make one with %s", err, methodSessionNew)
	case errors.Is(err, context.Canceled):
		return err
	}
	return rpc.Failed("%v", err)
}

// sessionFork copies a session into a new one, which is open from then on.
func (s *Server) sessionFork(ctx context.Context, p *SessionForkParams) (SessionInfo, error) {
	if s.opt.Journal == nil {
		return SessionInfo{}, rpc.Failed("sessions are not kept here, so there is nothing to fork")
	}
	id, err := agent.Fork(s.opt.Journal, p.SessionID, p.BeforeTurnID)
	if err != nil {
		if _, live := s.session(p.SessionID); live == nil && errors.Is(err, journal.ErrNotFound) {
			return SessionInfo{}, rpc.Failed("nothing was said in this session yet; make a new one with %s", methodSessionNew)
		}
		if errors.Is(err, agent.ErrNoTurn) {
			return SessionInfo{}, rpc.BadParams("beforeTurnId", "%v", err)
		}
		return SessionInfo{}, savedError(err)
	}
	x, err := s.load(ctx, id, true)
	if err != nil {
		return SessionInfo{}, err
	}
	return wireInfo(x.Info()), nil
}

// sessionClose ends a session. It is kept, and can be resumed.
func (s *Server) sessionClose(_ context.Context, p *SessionParams) (Empty, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return Empty{}, err
	}
	if x.home != s {
		s.unfollow(x) // the other window goes on with it
		return Empty{}, nil
	}
	s.close(x)
	return Empty{}, nil
}

// close ends a session and forgets it.
func (s *Server) close(x *session) {
	id := x.Info().ID
	x.Close()
	s.opt.Hub.remove(id, x)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
	s.order = slices.DeleteFunc(s.order, func(o string) bool { return o == id })
	for pid, rv := range s.proposals {
		if rv.session == id {
			delete(s.proposals, pid)
			s.settled = slices.DeleteFunc(s.settled, func(o string) bool { return o == pid })
		}
	}
}

// sessionDelete ends a session, if it is open here, and removes what is kept of it.
func (s *Server) sessionDelete(_ context.Context, p *SessionParams) (Empty, error) {
	x, err := s.session(p.SessionID)
	if err == nil && x.home != s {
		return Empty{}, rpc.Failed("the session is open in another window; close it there first")
	}
	if err == nil {
		s.close(x)
	}
	if s.opt.Journal == nil {
		return Empty{}, err
	}
	derr := s.opt.Journal.Delete(p.SessionID)
	if derr != nil && (err != nil || !errors.Is(derr, journal.ErrNotFound)) {
		return Empty{}, savedError(derr)
	}
	s.log.Debug("session deleted", zap.String("id", p.SessionID))
	return Empty{}, nil
}
