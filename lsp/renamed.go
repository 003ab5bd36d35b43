package lsp

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"

	"redline/workspace"
)

// didRenameFiles takes the open proposals along when the user gives files or folders
// other names.
func (s *Server) didRenameFiles(_ context.Context, p *protocol.RenameFilesParams) error {
	for _, f := range p.Files {
		from, ok1 := pathOf(string(f.OldURI))
		to, ok2 := pathOf(string(f.NewURI))
		if !ok1 || !ok2 {
			continue
		}
		from, to = strings.Clone(from), strings.Clone(to)
		for _, open := range s.openProposals() {
			rv, err := s.review(open.ID)
			if err != nil {
				continue
			}
			s.background(func(ctx context.Context) {
				// One that has just been closed needs it no more.
				_ = rv.ask(ctx, ask{do: func(_ context.Context, p *workspace.Proposal) error { return s.renamed(rv, p, from, to) }})
			})
		}
	}
	return nil
}

// renamed notes that the file or folder from of a proposal is called to now.
func (s *Server) renamed(rv *review, p *workspace.Proposal, from, to string) error {
	changed := false
	for _, f := range p.Files {
		rest, ok := strings.CutPrefix(f.Path, from)
		if !ok || (rest != "" && rest[0] != '/' && rest[0] != '\\') || f.Moved || f.Op == workspace.OpCreate || onDisk(f.Path) {
			continue // what the proposal itself renamed, or another file of that name
		}
		f.Path = to + rest
		rv.watch(workspace.Key(f.Path))
		changed = true
	}
	if changed {
		s.rebase(p)
		p.Rev++
	}
	return nil
}
