package lsp

import (
	"context"
	"errors"
	"fmt"

	"redline/lsp/rpc"
	"redline/workspace"
)

var errNoTarget = errors.New("there is no such file or hunk in the proposal")

func fieldOf(i int, name string) string { return fmt.Sprintf("decisions[%d].%s", i, name) }

func (s *Server) review(id string) (*review, error) {
	if o := s.owner(id); o != s {
		return o.review(id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if rv, ok := s.proposals[id]; ok {
		return rv, nil
	}
	return nil, rpc.BadParams("proposalId", "there is no proposal %q", id)
}

func (s *Server) proposalList(_ context.Context, p *SessionParams) (ProposalList, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return ProposalList{}, err
	}
	e := s.encoder()
	s = x.home
	s.mu.Lock()
	all := make([]*review, 0, len(s.proposals))
	for _, id := range sortedKeys(s.proposals) {
		all = append(all, s.proposals[id])
	}
	s.mu.Unlock()
	out := ProposalList{Proposals: []*Proposal{}}
	for _, rv := range all {
		if last := rv.current(); last.SessionID == p.SessionID {
			out.Proposals = append(out.Proposals, e.proposal(last))
		}
	}
	return out, nil
}

func (s *Server) proposalGet(_ context.Context, p *ProposalParams) (*Proposal, error) {
	rv, err := s.review(p.ProposalID)
	if err != nil {
		return nil, err
	}
	return s.encoder().proposal(rv.current()), nil
}

func (s *Server) proposalResolve(ctx context.Context, p *ProposalResolveParams) (*Proposal, error) {
	rv, err := s.review(p.ProposalID)
	if err != nil {
		return nil, err
	}
	rev := p.Rev
	if rev == 0 {
		return nil, rpc.BadParams("rev", "is missing; name the state of the proposal that was decided on")
	}
	if err := rv.decide(ctx, rev, p.Decisions); err != nil {
		return nil, err
	}
	s.syncSession(rv.session)
	return s.resolved(rv.current(), p.Brief), nil
}

// resolved returns p for the answer to a request that changed it.
func (s *Server) resolved(p *workspace.Proposal, brief bool) *Proposal {
	if !brief {
		return s.encoder().proposal(p)
	}
	short := *p
	short.Files = nil
	return s.encoder().files(&short)
}

// openProposals returns the newest states of the proposals with undecided hunks.
func (s *Server) openProposals() []*workspace.Proposal {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*workspace.Proposal
	for _, id := range sortedKeys(s.proposals) {
		rv := s.proposals[id]
		select {
		case <-rv.done:
		default:
			out = append(out, rv.current())
		}
	}
	return out
}

// syncSession brings a session to the disk: an acknowledged decision outlives the
// process.
func (s *Server) syncSession(id string) {
	if x, err := s.session(id); err == nil {
		x.Sync()
	}
}
