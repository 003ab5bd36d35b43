package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"redline/workspace"
)

// OwnEdits are changes of one file that the user wants proposed: edits of File, in order
// and not overlapping, or, without a File, a new file at Path with the text Create.
type OwnEdits struct {
	File   *workspace.File
	Edits  []workspace.Edit
	Path   string
	Create string
}

// ErrNoChange says that what was to be proposed is there already.
var ErrNoChange = errors.New("nothing would change: the text is there already")

// ownCall stands for the user where a function call of the model would be named.
const ownCall = "user"

// ProposeOwn has changes reviewed that the user asked for without the model, such as a
// piece of an answer that is to go into a file. It returns the proposal's ID at once; the
// review goes on beside the turns, and the model is told of its outcome with its next
// message. Where the mode applies edits without asking, these are too.
func (s *Session) ProposeOwn(ctx context.Context, title string, files []OwnEdits) (string, error) {
	view := workspace.NewView(s.opt.Workspace.Snapshot())
	for _, f := range files {
		var err error
		if f.File == nil {
			err = view.Create(ownCall, f.Path, f.Create)
		} else {
			err = view.Stage(ownCall, f.File, f.Edits)
		}
		if err != nil {
			return "", err
		}
	}
	t := &turn{}
	p := s.propose(t, view)
	if p == nil {
		return "", ErrNoChange
	}
	if title != "" {
		p.Title = title
	}
	id := p.ID
	if s.late(ctx, t, p, nil, s.auto(nil), true, func() { s.proposalUpdated(t.id, p) }) == nil {
		return "", ErrClosed
	}
	return id, nil
}

// isOwn reports whether the user proposed p.
func isOwn(p *workspace.Proposal) bool { return slices.Equal(p.CallIDs, []string{ownCall}) }

// recountOwn words what became of a proposal of the user's own.
func recountOwn(p *workspace.Proposal, outcome string) string {
	return fmt.Sprintf("The user proposed a change without you (“%s”) and reviewed it. %s", p.Title, outcome)
}
