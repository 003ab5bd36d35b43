package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"redline/workspace"
)

// review has what is staged in view decided and gives each editing call of the
// step its response: what really happened.
func (s *Session) review(ctx context.Context, t *turn, view *workspace.View, calls []*call) {
	var editing []*call
	for _, c := range calls {
		if c.change != nil && !c.reviewed {
			c.reviewed = true
			editing = append(editing, c)
		}
	}
	if len(editing) == 0 {
		return
	}
	p := view.Propose()
	if p == nil {
		for _, c := range editing {
			s.finish(t, c, "Nothing to change: the edits of this step leave the file as it was.", nil)
		}
		return
	}
	s.props++
	p.ID, p.SessionID, p.TurnID = fmt.Sprintf("%s.p%d", s.id, s.props), s.id, t.id
	p.Title = proposalTitle(p, view)
	updated := func() { s.emit(t.id, ProposalUpdated{p.Clone()}) }

	mode, _ := s.settings()
	auto := mode == ModeYolo || mode == ModeAutoEdit && !slices.ContainsFunc(editing, func(c *call) bool { return c.change.Ask })
	err := s.opt.Reviewer.Review(ctx, p, auto, updated)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if p.Pending() {
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
	for _, c := range editing {
		out, landed, cerr := outcome(c, p)
		c.display = c.verdict(p)
		if !landed {
			c.status = CallRejected
			if errors.Is(err, errCancelled) {
				c.status = CallCancelled
			}
		}
		s.finish(t, c, out, cerr)
	}
}

func proposalTitle(p *workspace.Proposal, view *workspace.View) string {
	if len(p.Files) == 1 {
		f := p.Files[0]
		verb := "Edit "
		if f.Op == workspace.OpCreate {
			verb = "Create "
		}
		return verb + view.Rel(f.Path)
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
func (c *call) hunks(p *workspace.Proposal) []*workspace.Hunk {
	var out []*workspace.Hunk
	for _, f := range p.Files {
		if workspace.Key(f.Path) != workspace.Key(c.change.Path()) {
			continue
		}
		for _, h := range f.Hunks {
			if slices.Contains(h.CallIDs, c.id) {
				out = append(out, h)
			}
		}
	}
	return out
}

// outcome words for the model what became of the hunks of one call. landed is
// false when nothing of it is in the document, and err is then its response.
func outcome(c *call, p *workspace.Proposal) (output string, landed bool, err error) {
	path := c.change.Path()
	mine := c.hunks(p)
	if len(mine) == 0 {
		return fmt.Sprintf("A later edit of the same step replaced this one in %s.", path), true, nil
	}
	count := map[workspace.HunkState]int{}
	for _, h := range mine {
		count[h.State]++
	}
	if count[workspace.Accepted] == len(mine) {
		return c.change.Done, true, nil
	}
	if count[workspace.Rejected] == len(mine) && sameReason(mine) {
		msg := fmt.Sprintf("The change to %s was rejected; nothing of it is in the file.", path)
		if r := mine[0].Reason; r != "" {
			msg += " Reason: " + r
		}
		return "", false, errors.New(msg)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The change to %s was not taken as proposed. Of %d hunks: %s.", path, len(mine), counts(count))
	for i, h := range mine {
		fmt.Fprintf(&b, "\n\nHunk %d of %d, %s", i+1, len(mine), h.State)
		if h.Reason != "" {
			fmt.Fprintf(&b, " (%s)", h.Reason)
		}
		b.WriteString(":\n")
		switch h.State {
		case workspace.Accepted:
			b.WriteString(quote("+", h.New))
			if h.New == "" {
				b.WriteString(quote("-", h.Old))
			}
		case workspace.Amended:
			b.WriteString("The user changed it. In the file now stands:\n" + quote("+", h.Final))
		case workspace.Conflicted:
			b.WriteString("The user edited these lines meanwhile; their text stands. Read the file before you try again. Not applied:\n" + quote("+", h.New))
		default:
			b.WriteString("The file still has:\n" + quote(" ", h.Old) + "Not applied:\n" + quote("+", h.New))
		}
	}
	if count[workspace.Accepted]+count[workspace.Amended] == 0 {
		return "", false, errors.New(b.String())
	}
	return b.String(), true, nil
}

func sameReason(hs []*workspace.Hunk) bool {
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
