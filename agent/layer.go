package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"redline/agent/model"
	"redline/workspace"
)

// ReviewAt says when the edits of a turn are reviewed (WIRE.md §5).
type ReviewAt string

// The times of a review.
const (
	// AtStep reviews the edits of each step of the model before the next.
	AtStep ReviewAt = "step"
	// AtTurn stages edits in a layer that the tools read, and reviews all of them
	// together at the end of the turn, or before a command needs the disk.
	AtTurn ReviewAt = "turn"
)

// ParseReviewAt returns the time of review with the given name.
func ParseReviewAt(s string) (ReviewAt, error) {
	switch at := ReviewAt(s); at {
	case AtStep, AtTurn:
		return at, nil
	}
	return "", fmt.Errorf("unknown time of review %q; use step or turn", s)
}

// SetReviewAt changes when edits are reviewed. A running turn follows from its next
// step on; what it has staged is reviewed then.
func (s *Session) SetReviewAt(at ReviewAt) error {
	if _, err := ParseReviewAt(string(at)); err != nil {
		return err
	}
	s.mu.Lock()
	s.at = at
	s.mu.Unlock()
	s.kept.put(record{T: recSet, ReviewAt: at})
	s.kept.sync()
	return nil
}

// layer is what a turn has staged for the review at its end.
type layer struct {
	view  *workspace.View
	calls []*call // in the order they came; each has been told that it is staged
}

// reviewsAtTurn reports whether edits wait for the end of the turn. Where they are
// applied without asking they do not.
func (s *Session) reviewsAtTurn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at == AtTurn && s.mode != ModeAutoEdit && s.mode != ModeYolo
}

// viewOf returns what the tools of the next calls read: the layer of the turn, moved
// along with what the user typed since, or the workspace as it is.
func (s *Session) viewOf(t *turn) *workspace.View {
	v := s.newView()
	if t.layer == nil {
		return v
	}
	t.layer.view.Move(v.Snapshot)
	t.layer.view.Readable = v.Readable
	return t.layer.view
}

// keep leaves the edits of a step staged in the turn's layer and says so.
func (s *Session) keep(t *turn, view *workspace.View, calls []*call) {
	for _, c := range calls {
		if c.change == nil || c.reviewed || c.answered {
			continue
		}
		if t.layer == nil {
			t.layer = &layer{view: view}
		}
		t.layer.calls = append(t.layer.calls, c)
		s.answerStaged(t, c)
	}
	s.keepStaged(t)
}

// answerStaged gives a call the response that its edit waits for the review.
func (s *Session) answerStaged(t *turn, c *call) {
	c.answered = true
	c.output = fmt.Sprintf("Staged, not yet reviewed: %s. Your tools for reading and editing see the change; the file itself is as before, and commands do not see it. "+
		"The user reviews all edits of this turn at its end, or before a command runs, and you are told what became of them. Go on.", c.title)
	c.display = "staged; reviewed with the rest of the turn"
	s.update(t, c)
}

// settle shows the verdict on a call, and makes it the response if there is none yet.
func (s *Session) settle(t *turn, c *call, output string, err error) {
	if !c.answered {
		s.finish(t, c, output, err)
		return
	}
	response := c.output
	c.output = ""
	s.finish(t, c, output, err)
	c.output, c.err = response, nil // what is in the history already
}

// reviewLayer has what is left in the turn's layer reviewed at its end. It reports
// whether the turn goes on because the model should know the verdict now: when
// everything was taken it gets to know with the next prompt.
func (s *Session) reviewLayer(ctx context.Context, t *turn) (again bool) {
	if t.layer == nil {
		return false
	}
	told, clean := s.verdict(ctx, t, s.viewOf(t), nil)
	switch {
	case told == "":
	case clean || ctx.Err() != nil:
		s.Note(told)
	default:
		s.history.AddUser(model.Text(told))
		return true
	}
	return false
}

// lateReview is a review that may outlast its turn.
type lateReview struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the reviewer has returned
	gone   chan struct{} // closed when nothing of it runs any more
	err    error         // of the reviewer, once done

	// Guarded by Session.mu.
	finished bool // done is about to be closed
	left     bool // the turn does not wait for it
}

// errSessionEnd is the cause of a late review that ends with its session. What is
// open then stays open.
var errSessionEnd = errors.New("the session has ended")

// reviewLasting has p reviewed as long as ctx lasts. When the turn ends first,
// nothing is lost: the proposal stays open and the review goes on without it.
func (s *Session) reviewLasting(ctx context.Context, t *turn, p *workspace.Proposal, editing []*call, auto bool, updated func()) (told string, clean bool) {
	answer := func() {
		for _, c := range editing {
			if !c.answered {
				s.answerStaged(t, c)
			}
		}
	}
	r := s.late(ctx, t, p, editing, auto, false, updated)
	if r == nil {
		answer()
		return "", true
	}
	select {
	case <-r.done:
		return s.conclude(t, p, editing, r.err, updated)
	case <-ctx.Done():
	}
	s.mu.Lock()
	r.left = !r.finished
	s.mu.Unlock()
	if !r.left {
		<-r.done
		return s.conclude(t, p, editing, r.err, updated)
	}
	answer()
	return stillOpen(p), false
}

// leaveOpen opens what a turn that was cut off has staged for review: it is not lost.
func (s *Session) leaveOpen(ctx context.Context, t *turn) {
	if t.layer == nil {
		return
	}
	l := t.layer
	view := s.viewOf(t)
	t.layer = nil
	p := s.propose(t, view)
	if p == nil {
		return
	}
	updated := func() { s.proposalUpdated(t.id, p) }
	s.Note(stillOpen(p))
	s.late(ctx, t, p, l.calls, false, true, updated)
}

func stillOpen(p *workspace.Proposal) string {
	var files []string
	for _, f := range p.Files {
		files = append(files, f.Path)
	}
	return "The turn ended before the edits staged in it were reviewed. They are not in the files; the user can still decide on them, and you are told when that happened. They concern " + strings.Join(files, ", ") + "."
}

// Reopen has a proposal of an earlier turn reviewed beside the turns, as one that is
// still open after its session was resumed. The model is told the outcome. It returns
// at once.
func (s *Session) Reopen(ctx context.Context, p *workspace.Proposal) {
	t := &turn{id: p.TurnID}
	s.late(ctx, t, p, nil, false, true, func() { s.proposalUpdated(t.id, p) })
}

// late starts a review that does not end with ctx. With left set nobody waits for it.
// It returns nil when the session is closed.
func (s *Session) late(ctx context.Context, t *turn, p *workspace.Proposal, editing []*call, auto, left bool, updated func()) *lateReview {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &lateReview{cancel: cancel, done: make(chan struct{}), gone: make(chan struct{}), left: left}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		cancel(nil)
		return nil
	}
	s.reviews[r] = true
	s.mu.Unlock()
	go func() {
		defer func() {
			cancel(nil)
			s.mu.Lock()
			delete(s.reviews, r)
			s.mu.Unlock()
			close(r.gone)
		}()
		r.err = s.opt.Reviewer.Review(ctx, p, auto, updated)
		s.mu.Lock()
		r.finished = true
		left := r.left
		s.mu.Unlock()
		close(r.done)
		if !left || context.Cause(ctx) == errSessionEnd {
			return
		}
		told, _ := s.conclude(t, p, editing, r.err, updated)
		if told == "" { // of a turn that nobody remembers
			told = s.recount(p)
		}
		s.Note(told)
	}()
	return r
}

// recount words what became of a proposal whose calls are not known any more.
func (s *Session) recount(p *workspace.Proposal) string {
	var all []placed
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			all = append(all, placed{f, h})
		}
	}
	out, _, err := account(all, "All of it is in the files now.")
	if err != nil {
		out = err.Error()
	}
	if isOwn(p) {
		return recountOwn(p, out)
	}
	return fmt.Sprintf("The proposal “%s” of an earlier turn was reviewed. %s", p.Title, out)
}

// endReviews ends the late reviews and waits for them. What they were about stays
// open, for a session that is resumed.
func (s *Session) endReviews() {
	s.mu.Lock()
	var all []*lateReview
	for r := range s.reviews {
		all = append(all, r)
	}
	s.mu.Unlock()
	for _, r := range all {
		r.cancel(errSessionEnd)
	}
	for _, r := range all {
		<-r.gone
	}
}

// Note adds something that happened outside of the conversation; the model gets it
// with its next message.
func (s *Session) Note(text string) {
	s.mu.Lock()
	s.notes = append(s.notes, text)
	s.mu.Unlock()
	s.kept.put(record{T: recNote, Text: text})
}

// Announce shows the state of a proposal that changed after its review, such as one
// that was taken back.
func (s *Session) Announce(p *workspace.Proposal) {
	s.proposalUpdated(p.TurnID, p)
}

// tellNotes puts what happened since into the history, before the next message.
func (s *Session) tellNotes(ctx context.Context) {
	s.mu.Lock()
	notes := s.notes
	s.notes = nil
	s.mu.Unlock()
	kept := len(notes)
	notes = append(notes, s.endedProcesses(ctx)...)
	if s.opt.News != nil {
		notes = append(notes, s.opt.News(ctx, s.id)...)
	}
	if len(notes) > 0 {
		s.history.AddUser(model.Text("[Since your last message]\n" + strings.Join(notes, "\n\n")))
	}
	if kept > 0 {
		s.keepHistory() // first: what is told twice does less harm than what is not
		s.kept.put(record{T: recTold, Told: kept})
	}
}
