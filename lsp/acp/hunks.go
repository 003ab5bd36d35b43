package acp

import (
	"context"
	"fmt"
	"strings"

	"redline/workspace"
)

// This file asks about the hunks of a proposal one by one. The protocol has no hunks, so
// each is a question of its own, with the diff of that hunk alone. Nothing of it is applied
// before the last answer: cancelling in the middle leaves the files as they are.

// The options of a question about a hunk, beside takeOnce and takeNone.
const (
	takeByHunk = "hunks"
	takeRest   = "acceptRest"
	takeNoRest = "rejectRest"
	takeNoWhy  = "rejectWhy"
)

// The values of the option of a session that asks so from the start.
const (
	byProposal = "proposal"
	byHunk     = "hunk"
)

// pendingHunk is a hunk that waits for a decision, and its file.
type pendingHunk struct {
	file *workspace.FileChange
	hunk *workspace.Hunk
}

func pendingHunks(p *workspace.Proposal) (out []pendingHunk) {
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			if h.State == workspace.Pending {
				out = append(out, pendingHunk{f, h})
			}
		}
	}
	return out
}

// decideHunks asks about each hunk of p that is pending.
func (x *session) decideHunks(ctx context.Context, p *workspace.Proposal) error {
	all := pendingHunks(p)
	for i, ph := range all {
		options := []permissionOption{{takeOnce, "Accept this hunk", allowOnce}}
		if i+1 < len(all) {
			options = append(options, permissionOption{takeRest, "Accept this one and the rest", allowOnce})
		}
		options = append(options, permissionOption{takeNone, "Reject this hunk", rejectOnce})
		if x.s.client.forms() {
			options = append(options, permissionOption{takeNoWhy, "Reject it, and say why", rejectOnce})
		}
		if i+1 < len(all) {
			options = append(options, permissionOption{takeNoRest, "Reject this one and the rest", rejectOnce})
		}
		c := x.show.hunkQuestion(p, ph, i+1, len(all))
		chosen, err := x.ask(ctx, c, options)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil:
			rejectHunks(all[i:], err.Error())
			return nil
		case chosen == "":
			rejectHunks(all[i:], "the user closed the question without an answer")
			return nil
		case chosen == takeRest:
			return nil
		case chosen == takeNone:
			rejectHunks(all[i:i+1], "")
		case chosen == takeNoWhy:
			why, err := x.reason(ctx, c)
			if err != nil {
				return err
			}
			rejectHunks(all[i:i+1], why)
		case chosen == takeNoRest:
			rejectHunks(all[i:], "")
			return nil
		}
	}
	return nil
}

func rejectHunks(list []pendingHunk, reason string) {
	for _, ph := range list {
		ph.hunk.State, ph.hunk.Reason, ph.hunk.Closed = workspace.Rejected, reason, true
	}
}

// reason asks why something is rejected; empty when the user does not say. The error is
// that of ctx.
func (x *session) reason(ctx context.Context, about toolCall) (string, error) {
	why, _, err := x.form(ctx, "Why do you reject “"+about.Title+"”? The model is told.", "Reason", nil)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", nil // it is rejected all the same
	}
	return why, nil
}

// hunkQuestion is the question about the nth of several hunks.
func (v *presenter) hunkQuestion(p *workspace.Proposal, ph pendingHunk, n, of int) toolCall {
	v.mu.Lock()
	defer v.mu.Unlock()
	file := *ph.file
	file.Hunks = []*workspace.Hunk{ph.hunk}
	one := *p
	one.ID = p.ID + "." + ph.hunk.ID
	one.Files = []*workspace.FileChange{&file}
	rel := v.x.ws.Snapshot().Rel(file.At())
	line := 0
	switch {
	case ph.hunk.Whole:
		one.Title = fmt.Sprintf("%d of %d: %s %s", n, of, file.Op, rel)
	default:
		now, _ := file.Current()
		line = strings.Count(now[:ph.hunk.Start], "\n") + 1
		one.Title = fmt.Sprintf("%d of %d: %s, line %d", n, of, rel, line)
	}
	c := (&shownProposal{Proposal: &one, diffs: v.diffs(&one)}).call()
	c.Status = "pending"
	c.Locations = []toolLocation{{Path: file.At(), Line: line}}
	return c
}

// setReviewBy has the user asked about edits in one of the two ways.
func (x *session) setReviewBy(value string) error {
	if value != byProposal && value != byHunk {
		return fmt.Errorf("is %q; use %s or %s", value, byProposal, byHunk)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byHunk = value == byHunk
	return nil
}

func (x *session) asksByHunk() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byHunk
}
