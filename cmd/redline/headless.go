package main

import (
	"context"
	"fmt"
	"io/fs"

	"redline/agent"
	"redline/workspace"
)

// headless reviews without an editor: the mode decides, and accepted edits go to
// disk atomically.
type headless struct {
	mode string
	ws   *workspace.Workspace
	// decide asks a person; nil when there is none.
	decide func(ctx context.Context, p *workspace.Proposal) error
}

// RestoreBytes implements [agent.BytesRestorer].
func (r *headless) RestoreBytes(path string, data []byte, mode fs.FileMode) error {
	return workspace.WriteNew(path, data, mode)
}

// Review implements [agent.Reviewer].
func (r *headless) Review(ctx context.Context, p *workspace.Proposal, auto bool, updated func()) error {
	updated()
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case auto:
	case r.decide != nil:
		if err := r.decide(ctx, p); err != nil {
			return err
		}
	default:
		reason := fmt.Sprintf("this run has no user to ask, and its mode %q does not allow edits; tell the user to run with --mode autoEdit", r.mode)
		if r.mode == string(agent.ModeAutoEdit) || r.mode == string(agent.ModeYolo) {
			reason = "this change must be reviewed, as a rule asks for it or other programs may run what is in the file, and this run has no user to ask; tell the user to make it in an editor"
		}
		for h := range p.Hunks() {
			h.State, h.Reason = workspace.Rejected, reason
		}
	}
	if p.Pending() {
		p.State = workspace.Applying // what is about to change is kept for checkpoints
		p.Rev++
		updated()
	}
	for _, f := range p.Files {
		var accepted []*workspace.Hunk
		for _, h := range f.Hunks {
			if h.State == workspace.Pending {
				accepted = append(accepted, h)
			}
		}
		if len(accepted) == 0 {
			continue
		}
		if err := r.ws.Snapshot().Disk().Apply(f, accepted); err != nil {
			for _, h := range accepted {
				if h.State == workspace.Pending {
					h.State, h.Reason = workspace.Conflicted, err.Error()
				}
			}
		}
	}
	p.Finish()
	p.Rev++
	updated()
	return nil
}
