package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"redline/lsp/rpc"
	"redline/workspace"
)

// proposalRevert takes back what stands of a proposal. What the user has changed
// since is left. It is an edit like any other: versioned, one undo step a file,
// settled by what the documents say afterwards.
func (s *Server) proposalRevert(ctx context.Context, p *ProposalRevertParams) (*Proposal, error) {
	rv, err := s.review(p.ProposalID)
	if err != nil {
		return nil, err
	}
	if err := s.owner(p.ProposalID).revert(ctx, rv, p.Targets); err != nil {
		return nil, err
	}
	s.syncSession(rv.session)
	return s.resolved(rv.current(), p.Brief), nil
}

// revert has targets of a proposal taken back by whoever owns it: its review as long
// as that goes on, else the caller.
func (s *Server) revert(ctx context.Context, rv *review, ts []Target) error {
	if len(ts) == 0 {
		ts = []Target{{All: true}}
	}
	open := false
	select {
	case <-rv.done:
	default:
		open = true
	}
	if open {
		a := ask{do: func(ctx context.Context, p *workspace.Proposal) error { return s.takeBack(ctx, p, ts) }}
		if err := rv.ask(ctx, a); !isStale(err) {
			return err
		} // else it has just been closed
	}
	rv.mu.Lock()
	if rv.busy {
		rv.mu.Unlock()
		return rpc.Failed("something of this proposal is being taken back already")
	}
	rv.busy = true
	p := rv.last.Clone()
	rv.mu.Unlock()
	defer func() {
		rv.mu.Lock()
		rv.busy = false
		rv.mu.Unlock()
	}()
	err := s.takeBack(ctx, p, ts)
	s.announce(p)
	return err
}

func isStale(err error) bool {
	var e *rpc.Error
	return asError(err, &e) && e.Code == rpc.CodeStale
}

// announce shows a changed proposal to the clients of its session.
func (s *Server) announce(p *workspace.Proposal) {
	s.remember(p)
	if x, err := s.session(p.SessionID); err == nil {
		x.Announce(p)
	}
}

// takeBack takes back what stands of the targets of p, which is the caller's.
func (s *Server) takeBack(ctx context.Context, p *workspace.Proposal, ts []Target) error {
	for _, t := range ts {
		known := t.All
		for _, f := range p.Files {
			known = known || f.ID == t.FileID || slices.ContainsFunc(f.Hunks, func(h *workspace.Hunk) bool { return h.ID == t.HunkID })
		}
		if !known {
			return rpc.BadParams("targets", "%v", errNoTarget)
		}
	}
	inv := p.Invert(func(f *workspace.FileChange, h *workspace.Hunk) bool {
		return slices.ContainsFunc(ts, func(t Target) bool { return t.All || t.FileID == f.ID || t.HunkID == h.ID })
	})
	if inv == nil {
		return rpc.Failed("nothing of it stands in the files any more")
	}
	s.rebase(inv.Proposal)
	var picked []pick
	for h := range inv.Hunks() {
		if h.State == workspace.Pending {
			picked = append(picked, pick{h, h.New})
		}
	}
	err := s.apply(ctx, inv.Proposal, picked)
	taken, left := inv.Record(p)
	if err != nil {
		return err
	}
	some := false
	for h := range inv.Hunks() {
		some = some || h.State == workspace.Accepted
	}
	if !some {
		for h := range inv.Hunks() {
			if h.State == workspace.Conflicted && h.Reason != "" {
				return rpc.Failed("nothing was taken back: %s", h.Reason)
			}
		}
	}
	if x, err := s.session(p.SessionID); err == nil {
		x.Note(revertNote(p, inv, taken, left))
	}
	return nil
}

// revertNote tells the model what the user took back.
func revertNote(p *workspace.Proposal, inv *workspace.Inverse, taken, left int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The user took back edits of yours (“%s”): %d hunks are out of the files again", p.Title, taken)
	if left > 0 {
		fmt.Fprintf(&b, ", %d were left at least in part, because the user had changed the lines since", left)
	}
	b.WriteString(".")
	for _, f := range inv.Files {
		for _, h := range f.Hunks {
			if h.State != workspace.Accepted {
				continue
			}
			switch {
			case h.Whole && f.Op == workspace.OpDelete:
				fmt.Fprintf(&b, "\n%s does not exist any more.", f.Path)
			case h.Whole && f.Op == workspace.OpCreate:
				fmt.Fprintf(&b, "\n%s exists again.", f.Path)
			case h.Whole:
				fmt.Fprintf(&b, "\n%s is called %s again.", f.Path, f.NewPath)
			default:
				fmt.Fprintf(&b, "\nIn %s stands again:\n%s", f.Path, excerpt(h.New))
			}
		}
	}
	return b.String()
}

// maxExcerpt is how many lines of a text the model is shown in a note.
const maxExcerpt = 20

// excerpt returns the first lines of t, marked.
func excerpt(t string) string {
	if t == "" {
		return "  (nothing)"
	}
	var out []string
	for line := range strings.Lines(t) {
		if len(out) == maxExcerpt {
			out = append(out, "  …")
			break
		}
		out = append(out, "  "+strings.TrimRight(line, "\r\n"))
	}
	return strings.Join(out, "\n")
}

// commandUndo takes back the newest proposal of which something stands, or the one
// that is named.
func (s *Server) commandUndo(_ context.Context, a commandArgs) (any, error) {
	s.mu.Lock()
	ids := slices.Clone(s.settled)
	s.mu.Unlock()
	if a.ProposalID != "" {
		ids = []string{a.ProposalID}
	}
	for _, id := range slices.Backward(ids) {
		rv, err := s.review(id)
		if err != nil {
			return nil, err
		}
		if !rv.current().Standing() && a.ProposalID == "" {
			continue
		}
		var ts []Target
		if a.Target != nil {
			ts = []Target{*a.Target}
		}
		// The editor may be waiting for this answer before it can apply an edit.
		s.background(func(ctx context.Context) {
			if err := s.revert(ctx, rv, ts); err != nil && ctx.Err() == nil {
				s.showMessage(ctx, protocol.MessageTypeWarning, fmt.Sprintf("Redline: %v", err))
			}
		})
		return map[string]string{"proposalId": id}, nil
	}
	return nil, rpc.Failed("there is nothing to take back")
}
