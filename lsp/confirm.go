package lsp

import (
	"context"

	"redline/lsp/rpc"
)

// methodProposalConfirm has the editor's own preview of a workspace edit decide.
const methodProposalConfirm = "agent/proposal/confirm"

// ProposalConfirmParams names a proposal as it was at Rev.
type ProposalConfirmParams struct {
	ProposalID string `json:"proposalId"`
	Rev        int    `json:"rev"`
}

// Validate reports what is missing.
func (p *ProposalConfirmParams) Validate() error {
	if p.Rev == 0 {
		return rpc.BadParams("rev", "is missing; name the state of the proposal that is to be shown")
	}
	return need("proposalId", p.ProposalID)
}

// proposalConfirm sends what is pending as one workspace/applyEdit whose annotations
// need confirmation, for a client that knows us and whose user prefers the editor's
// own preview. What is in the documents afterwards was accepted; when that is anything,
// the rest is rejected, and when it is nothing, all stays open. It answers when the
// user has.
func (s *Server) proposalConfirm(ctx context.Context, p *ProposalConfirmParams) (*Proposal, error) {
	if !s.client.annotations {
		return nil, rpc.Failed("this editor has no preview of edits: it does not declare changeAnnotationSupport")
	}
	rv, err := s.review(p.ProposalID)
	if err != nil {
		return nil, err
	}
	if err := rv.ask(ctx, ask{rev: p.Rev, confirm: true, keep: true}); err != nil {
		return nil, err
	}
	s.syncSession(rv.session)
	return s.encoder().proposal(rv.current()), nil
}
