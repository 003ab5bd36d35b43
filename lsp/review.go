package lsp

import (
	"context"
	"slices"
	"sync"

	"redline/lsp/rpc"
	"redline/workspace"
)

// review is a proposal and, while it is open, the way to its decider.
type review struct {
	session string
	asks    chan ask      // taken by the goroutine in Review
	done    chan struct{} // closed when Review has returned

	watch func(key string) // the review looks at this document too; its goroutine calls it

	mu   sync.Mutex
	last *workspace.Proposal // a copy of the newest state
	busy bool                // something is being taken back, after the review
}

// ask is a wish to decide hunks of an open proposal.
type ask struct {
	rev       int // the state it was made on; 0: whatever is there
	decisions []HunkDecision
	confirm   bool // instead of decisions: let the editor ask, with annotations
	keep      bool // of confirm: when nothing is taken, nothing is decided
	// do, if set, is done instead of all that.
	do    func(ctx context.Context, p *workspace.Proposal) error
	reply chan error // capacity 1
}

// staleData tells a client what the proposal is now.
type staleData struct {
	Kind     string    `json:"kind"`
	Rev      int       `json:"rev"`
	Proposal *Proposal `json:"proposal"`
}

// Review implements [agent.Reviewer]: it shows p to the user, takes decisions as
// they come, brings accepted hunks into the documents, and moves the others along
// with what the user types. p is this goroutine's until it returns.
func (s *Server) Review(ctx context.Context, p *workspace.Proposal, auto bool, updated func()) error {
	p.Auto = auto
	rv := &review{session: p.SessionID, asks: make(chan ask), done: make(chan struct{}), last: p.Clone()}
	defer func() {
		s.mu.Lock()
		s.settled = append(s.settled, p.ID)
		s.mu.Unlock()
		close(rv.done)
	}()

	// A change of a document while nobody looks is one token, however many came.
	dirty := make(chan struct{}, 1)
	var keys sync.Map // of the files; one that the user renames adds another
	for _, f := range p.Files {
		keys.Store(workspace.Key(f.Path), true)
	}
	rv.watch = func(key string) { keys.Store(key, true) }
	s.mu.Lock()
	s.proposals[p.ID] = rv
	s.mu.Unlock()
	stop := s.ws.Watch(func(old, new *workspace.Document) {
		d := new
		if d == nil {
			d = old
		}
		if _, mine := keys.Load(d.Key); mine {
			select {
			case dirty <- struct{}{}:
			default:
			}
		}
	})
	defer stop()

	s.rebase(p)
	found := problems{s: s}
	if auto {
		found.look(ctx)
		updated()
		if err := s.resolve(ctx, p, []HunkDecision{{Target: Target{All: true}, Decision: "accept"}}, updated); err != nil {
			return err
		}
		s.finish(p, updated)
		p.Note(found.news(ctx, p))
		return nil
	}
	updated()
	if !s.client.proposals {
		front, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		first := p.Clone()
		wg.Go(func() { s.reviewPlain(front, rv, first) })
		defer wg.Wait()
		defer cancel()
	}
	for undecided(p) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-dirty:
			if s.rebase(p) {
				p.Rev++
				updated()
			}
		case a := <-rv.asks:
			if a.applies() {
				found.look(ctx)
			}
			a.reply <- s.answer(ctx, p, a, updated)
		}
	}
	s.finish(p, updated)
	p.Note(found.news(ctx, p))
	return nil
}

// applies reports whether the ask may bring hunks into documents.
func (a *ask) applies() bool {
	return a.confirm || slices.ContainsFunc(a.decisions, func(d HunkDecision) bool { return d.Decision != "reject" })
}

// finish closes a proposal with nothing left to decide, once. What the user did to
// hunks that landed earlier is found out first.
func (s *Server) finish(p *workspace.Proposal, updated func()) {
	if p.State == workspace.Settled || p.State == workspace.Conflict {
		return
	}
	e := s.encoder()
	for _, f := range p.Files {
		now, version := e.live(f)
		if version == nil && missing(f) {
			f.Lose()
			continue
		}
		f.Verify(now)
	}
	p.Finish()
	p.Rev++
	updated()
}

// answer takes an ask if it was made on the current state.
func (s *Server) answer(ctx context.Context, p *workspace.Proposal, a ask, updated func()) error {
	if s.rebase(p) {
		p.Rev++
		updated()
	}
	if a.rev != 0 && a.rev != p.Rev {
		return &rpc.Error{
			Code:    rpc.CodeStale,
			Message: "the proposal has changed since; decide on its current state",
			Data:    staleData{rpc.KindStale, p.Rev, s.encoder().proposal(p)},
		}
	}
	if a.do != nil {
		err := a.do(ctx, p)
		updated()
		return err
	}
	resolve := func() error { return s.resolve(ctx, p, a.decisions, updated) }
	if a.confirm {
		resolve = func() error { return s.applyConfirmed(ctx, p, a.keep, updated) }
	}
	if err := resolve(); err != nil {
		return err
	}
	if !p.Pending() {
		closeConflicts(p)
		s.finish(p, updated)
	}
	return nil
}

// undecided reports whether a hunk waits for a word of the user. A conflict that
// came from typing does: it heals when the typing is undone.
func undecided(p *workspace.Proposal) bool {
	for h := range p.Hunks() {
		if h.State == workspace.Pending || (h.State == workspace.Conflicted && !h.Closed) {
			return true
		}
	}
	return false
}

func closeConflicts(p *workspace.Proposal) {
	for h := range p.Hunks() {
		if h.State == workspace.Conflicted {
			h.Closed = true
		}
	}
}

// rebase moves the undecided hunks of p to their places in the documents as they
// are now, and reports whether anything changed.
func (s *Server) rebase(p *workspace.Proposal) (changed bool) {
	e := s.encoder()
	for _, f := range p.Files {
		now, version := e.live(f)
		if f.Op == workspace.OpCreate && version == nil {
			continue
		}
		if version == nil && missing(f) {
			changed = f.Vanish() || changed
			continue
		}
		if f.Rebase(now, version) {
			changed = true
		}
	}
	return changed
}

// resolve carries out decisions on p: rejected hunks are marked, accepted and
// amended ones are applied and settled.
func (s *Server) resolve(ctx context.Context, p *workspace.Proposal, ds []HunkDecision, updated func()) error {
	var picked []pick
	for i, d := range ds {
		hs, err := targets(p, d.Target)
		if err != nil {
			return rpc.BadParams(fieldOf(i, "target"), "%v", err)
		}
		switch d.Decision {
		case "accept", "reject":
		case "amend":
			if d.NewText == nil {
				return rpc.BadParams(fieldOf(i, "newText"), "is missing; amend needs the text to put there")
			}
			if len(hs) != 1 {
				return rpc.BadParams(fieldOf(i, "target"), "amend takes one hunk")
			}
		default:
			return rpc.BadParams(fieldOf(i, "decision"), "is %q; use accept, reject or amend", d.Decision)
		}
	}
	for _, d := range ds {
		hs, _ := targets(p, d.Target)
		for _, h := range hs {
			switch {
			case d.Decision == "reject":
				h.State, h.Reason, h.Closed = workspace.Rejected, d.Reason, true
			case h.State == workspace.Conflicted:
				h.Closed = true
			case d.Decision == "amend":
				picked = append(picked, pick{h, *d.NewText})
			default:
				picked = append(picked, pick{h, h.New})
			}
		}
	}
	if len(picked) == 0 {
		p.Rev++
		if undecided(p) {
			updated()
		}
		return nil
	}
	p.State = workspace.Applying
	p.Rev++
	updated()
	err := s.apply(ctx, p, picked)
	p.State = workspace.Open
	p.Rev++
	if undecided(p) {
		updated()
	}
	return err
}

// pick is a hunk to be applied, with the text that goes there.
type pick struct {
	hunk *workspace.Hunk
	text string
}

// targets returns the undecided hunks that t names.
func targets(p *workspace.Proposal, t Target) ([]*workspace.Hunk, error) {
	var out []*workspace.Hunk
	found := t.All
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			if t.All || f.ID == t.FileID || h.ID == t.HunkID {
				found = true
				if h.State == workspace.Pending || (h.State == workspace.Conflicted && !h.Closed) {
					out = append(out, h)
				}
			}
		}
	}
	if !found {
		return nil, errNoTarget
	}
	return out, nil
}

// remember keeps a copy of a proposal's newest state for list and get.
func (s *Server) remember(p *workspace.Proposal) {
	s.mu.Lock()
	rv := s.proposals[p.ID]
	s.mu.Unlock()
	if rv == nil {
		return
	}
	rv.mu.Lock()
	rv.last = p
	rv.mu.Unlock()
}

func (rv *review) current() *workspace.Proposal {
	rv.mu.Lock()
	defer rv.mu.Unlock()
	return rv.last
}

// decide hands decisions to the goroutine that owns the proposal and waits until
// they are carried out.
func (rv *review) decide(ctx context.Context, rev int, ds []HunkDecision) error {
	return rv.ask(ctx, ask{rev: rev, decisions: ds})
}

func (rv *review) ask(ctx context.Context, a ask) error {
	a.reply = make(chan error, 1)
	select {
	case rv.asks <- a:
	case <-rv.done:
		return rpc.Stale("the proposal is %s; nothing of it can be decided any more", rv.current().State)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-a.reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
