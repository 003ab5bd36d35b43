package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"redline/workspace"
)

// review has what is staged in view decided, together with what earlier steps of
// the turn kept for it, and gives each editing call that has none its response: what
// really happened. Calls that were told before that their edit is staged are told by
// a note. It is the reviewer's turn as long as ctx lasts; see [Session.late] for what
// becomes of a layer afterwards.
func (s *Session) review(ctx context.Context, t *turn, view *workspace.View, calls []*call) {
	if told, _ := s.verdict(ctx, t, view, calls); told != "" {
		s.Note(told)
	}
}

// verdict is [Session.review]; it returns the words for the calls that have had a
// response, and whether everything is in the files as it was proposed.
func (s *Session) verdict(ctx context.Context, t *turn, view *workspace.View, calls []*call) (told string, clean bool) {
	layered := t.layer != nil
	var editing []*call
	if layered {
		editing, t.layer = t.layer.calls, nil
	}
	for _, c := range calls {
		if c.change != nil && !c.reviewed {
			editing = append(editing, c)
		}
	}
	for _, c := range editing {
		c.reviewed = true
	}
	if len(editing) == 0 {
		return "", true
	}
	p := s.propose(t, view)
	if p == nil {
		for _, c := range editing {
			s.settle(t, c, "Nothing to change: the edits of this step leave the file as it was.", nil)
		}
		return "", true
	}
	updated := func() { s.proposalUpdated(t.id, p) }
	auto := s.auto(editing)
	if layered || s.reviewsAtTurn() {
		return s.reviewLasting(ctx, t, p, editing, auto, updated)
	}
	err := s.opt.Reviewer.Review(ctx, p, auto, updated)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
		if s.kept != nil && !auto && p.Pending() && !errors.Is(err, errCancelled) {
			s.suspend(t, p, editing, updated)
			return "", false
		}
	}
	return s.conclude(t, p, editing, err, updated)
}

// propose makes a proposal of what is staged in view; nil when nothing would change.
func (s *Session) propose(t *turn, view *workspace.View) *workspace.Proposal {
	p := view.Propose()
	if p == nil {
		return nil
	}
	s.mu.Lock()
	s.props++
	p.ID, p.SessionID, p.TurnID = fmt.Sprintf("%s.p%d", s.id, s.props), s.id, t.id
	s.mu.Unlock()
	p.Title = proposalTitle(p, view)
	return p
}

// auto reports whether edits are applied without asking.
func (s *Session) auto(editing []*call) bool {
	mode, _ := s.settings()
	if slices.ContainsFunc(editing, func(c *call) bool { return c.guarded.ask != "" }) {
		return false
	}
	return mode == ModeYolo || mode == ModeAutoEdit && !slices.ContainsFunc(editing, func(c *call) bool { return c.change.Ask })
}

// conclude gives the calls their verdicts once the review of p is over.
func (s *Session) conclude(t *turn, p *workspace.Proposal, editing []*call, err error, updated func()) (told string, clean bool) {
	if p.State == workspace.Open || p.State == workspace.Applying {
		// Cut off before it was decided: what is undecided is rejected.
		reason := "the review was not finished"
		if err != nil {
			reason = err.Error()
		}
		for h := range p.Hunks() {
			if h.State == workspace.Pending {
				h.State, h.Reason = workspace.Rejected, reason
			}
		}
		p.State = workspace.Withdrawn
		p.Rev++
		updated()
	}
	var b strings.Builder
	clean = true
	for h := range p.Hunks() {
		clean = clean && h.State == workspace.Accepted
	}
	for _, c := range editing {
		out, landed, cerr := outcome(c, p)
		c.display = c.verdict(p)
		if !landed {
			c.status = CallRejected
			if errors.Is(err, errCancelled) {
				c.status = CallCancelled
			}
		}
		if c.answered {
			text := out
			if cerr != nil {
				text = cerr.Error()
			}
			fmt.Fprintf(&b, "\n\n%s (%s): %s", c.fc.Name, c.title, text)
		}
		s.settle(t, c, out, cerr)
	}
	for _, n := range p.Notes {
		s.Note(n)
	}
	if b.Len() == 0 {
		return "", clean
	}
	return "The edits you had staged were reviewed. What became of them:" + b.String(), clean
}

func proposalTitle(p *workspace.Proposal, view *workspace.View) string {
	if len(p.Files) == 1 {
		f := p.Files[0]
		switch f.Op {
		case workspace.OpCreate:
			return "Create " + view.Rel(f.Path)
		case workspace.OpDelete:
			return "Delete " + view.Rel(f.Path)
		case workspace.OpRename:
			return "Rename " + view.Rel(f.Path) + " to " + view.Rel(f.NewPath)
		}
		return "Edit " + view.Rel(f.Path)
	}
	return fmt.Sprintf("Change %d files", len(p.Files))
}

// verdict says for the user, in a few words, what became of the hunks of c.
func (c *call) verdict(p *workspace.Proposal) string {
	count := map[workspace.HunkState]int{}
	for _, h := range c.hunks(p) {
		count[h.State]++
	}
	if len(count) == 0 {
		return "replaced by a later edit"
	}
	return counts(count)
}

// hunks returns the hunks of p that are the work of c.
func (c *call) hunks(p *workspace.Proposal) []placed {
	var out []placed
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			if slices.Contains(h.CallIDs, c.id) {
				out = append(out, placed{f, h})
			}
		}
	}
	return out
}

// placed is a hunk with its file.
type placed struct {
	file *workspace.FileChange
	*workspace.Hunk
}

// outcome words for the model what became of the hunks of one call. landed is
// false when nothing of it is in the document, and err is then its response.
func outcome(c *call, p *workspace.Proposal) (output string, landed bool, err error) {
	mine := c.hunks(p)
	if len(mine) == 0 {
		return fmt.Sprintf("A later edit of the same step replaced this one in %s.", c.change.Path()), true, nil
	}
	return account(mine, c.change.Done)
}

// account words for the model what became of hunks; done is what it is told when all
// of them are in place.
func account(mine []placed, done string) (output string, landed bool, err error) {
	var files []string
	count := map[workspace.HunkState]int{}
	for _, h := range mine {
		count[h.State]++
		if !slices.Contains(files, h.file.Path) {
			files = append(files, h.file.Path)
		}
	}
	where := strings.Join(files, ", ")
	if count[workspace.Accepted] == len(mine) {
		return done, true, nil
	}
	if count[workspace.Rejected] == len(mine) && sameReason(mine) {
		msg := fmt.Sprintf("The change to %s was rejected; nothing of it is in the file.", where)
		if r := mine[0].Reason; r != "" {
			msg += " Reason: " + r
		}
		return "", false, errors.New(msg)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The change to %s was not taken as proposed. Of %d hunks: %s.", where, len(mine), counts(count))
	for i, h := range mine {
		fmt.Fprintf(&b, "\n\nHunk %d of %d, %s", i+1, len(mine), h.State)
		if len(files) > 1 {
			fmt.Fprintf(&b, ", in %s", h.file.Path)
		}
		if h.Reason != "" {
			fmt.Fprintf(&b, " (%s)", h.Reason)
		}
		b.WriteString(":\n" + hunkText(h))
	}
	if count[workspace.Accepted]+count[workspace.Amended] == 0 {
		return "", false, errors.New(b.String())
	}
	return b.String(), true, nil
}

// hunkText shows what stands for a decided hunk now.
func hunkText(h placed) string {
	if h.Whole && h.file.Op != workspace.OpCreate {
		what := "The file is deleted.\n"
		if h.file.Op == workspace.OpRename {
			what = fmt.Sprintf("The file is now %s.\n", h.file.NewPath)
		}
		if h.State != workspace.Accepted {
			what = "The file is still there, under its old name.\n"
		}
		return what
	}
	switch h.State {
	case workspace.Accepted:
		text := quote("+", h.New)
		if h.New == "" {
			text += quote("-", h.Old)
		}
		return text
	case workspace.Amended:
		return "The user changed it. In the file now stands:\n" + quote("+", h.Final)
	case workspace.Conflicted:
		return "The user edited these lines meanwhile; their text stands. Read the file before you try again. Not applied:\n" + quote("+", h.New)
	}
	if h.Changed {
		return "The user has changed these lines since. Read the file before you try again. Not applied:\n" + quote("+", h.New)
	}
	return "The file still has:\n" + quote(" ", h.Old) + "Not applied:\n" + quote("+", h.New)
}

func sameReason(hs []placed) bool {
	for _, h := range hs {
		if h.Reason != hs[0].Reason {
			return false
		}
	}
	return true
}

func counts(count map[workspace.HunkState]int) string {
	var out []string
	for _, st := range []workspace.HunkState{workspace.Accepted, workspace.Rejected, workspace.Amended, workspace.Conflicted} {
		if n := count[st]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, st))
		}
	}
	return strings.Join(out, ", ")
}

// maxQuoted is how many lines of a hunk are repeated to the model.
const maxQuoted = 40

// quote returns the lines of s, each behind mark.
func quote(mark, s string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(s) {
		if n++; n > maxQuoted {
			b.WriteString(mark + " …\n")
			break
		}
		b.WriteString(mark + strings.TrimRight(line, "\r\n") + "\n")
	}
	return b.String()
}
