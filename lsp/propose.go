package lsp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"redline/agent"
	"redline/lsp/rpc"
	"redline/workspace"
	"redline/workspace/match"
	"redline/workspace/text"
)

// methodProposalNew has changes of the user's own reviewed like the model's.
const methodProposalNew = "agent/proposal/new"

// ProposalNewParams are changes that the client wants proposed, such as a piece of an
// answer that the user wants in a file.
type ProposalNewParams struct {
	SessionID string        `json:"sessionId"`
	Title     string        `json:"title,omitempty"`
	Files     []ProposedNew `json:"files"`
}

// ProposedNew is what one file is to become: edits of its text, or all of its text, with
// which a file that is not there is created.
type ProposedNew struct {
	URI     uri.URI             `json:"uri"`
	Version *int32              `json:"version,omitempty"` // that the edits were made for
	Edits   []protocol.TextEdit `json:"edits,omitempty"`
	NewText *string             `json:"newText,omitempty"`
	// Fit says that newText is a new version of a part of the file: its first and its last
	// line, but for new lines before, are in the file, as those of a function that is
	// shown with a change. When they do not tell for sure which lines are meant, the request fails (-32803, kind
	// "noFit").
	Fit bool `json:"fit,omitempty"`
}

// kindNoFit is the kind of the error that a text belongs nowhere for sure.
const kindNoFit = "noFit"

// ProposalNewResult names the proposal; what becomes of it comes as events.
type ProposalNewResult struct {
	ProposalID string `json:"proposalId"`
}

// Validate reports what is missing.
func (p *ProposalNewParams) Validate() error {
	if err := need("sessionId", p.SessionID); err != nil {
		return err
	}
	if len(p.Files) == 0 {
		return rpc.BadParams("files", "is empty; give at least one")
	}
	for i, f := range p.Files {
		if (f.NewText == nil) == (len(f.Edits) == 0) {
			return rpc.BadParams(fmt.Sprintf("files[%d]", i), "needs edits or newText, one of them")
		}
		if f.Fit && f.NewText == nil {
			return rpc.BadParams(fmt.Sprintf("files[%d].fit", i), "needs newText")
		}
	}
	return nil
}

func (s *Server) proposalNew(_ context.Context, p *ProposalNewParams) (ProposalNewResult, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return ProposalNewResult{}, err
	}
	var files []agent.OwnEdits
	for i, f := range p.Files {
		field := fmt.Sprintf("files[%d]", i)
		own, err := s.ownEdits(field, f)
		if err != nil {
			return ProposalNewResult{}, err
		}
		if slices.ContainsFunc(files, func(o agent.OwnEdits) bool { return o.Path == own.Path }) {
			return ProposalNewResult{}, rpc.BadParams(field+".uri", "is there twice; put the edits of a file together")
		}
		files = append(files, own)
	}
	id, err := x.ProposeOwn(x.home.root, strings.Clone(p.Title), files)
	if errors.Is(err, agent.ErrNoChange) {
		return ProposalNewResult{}, rpc.BadParams("files", "%v", err)
	}
	return ProposalNewResult{id}, sessionError(err)
}

// ownEdits finds the file and turns positions into byte offsets of its text.
func (s *Server) ownEdits(field string, f ProposedNew) (agent.OwnEdits, error) {
	path, ok := placeOf(string(f.URI))
	if !ok {
		return agent.OwnEdits{}, rpc.BadParams(field+".uri", "%q is no file", f.URI)
	}
	snap := s.ws.Snapshot()
	path, err := snap.Resolve(path)
	if err != nil {
		return agent.OwnEdits{}, rpc.BadParams(field+".uri", "%v", err)
	}
	file, err := snap.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.NewText != nil && !f.Fit:
		return agent.OwnEdits{Path: path, Create: strings.Clone(*f.NewText)}, nil
	case err != nil:
		return agent.OwnEdits{}, rpc.BadParams(field+".uri", "%v", err)
	case f.Version != nil && (!file.Open || file.Version != *f.Version):
		return agent.OwnEdits{}, rpc.Stale("%s has changed since; try again", snap.Rel(path))
	}
	own := agent.OwnEdits{Path: path, File: file}
	if f.NewText != nil {
		now := strings.Clone(*f.NewText)
		if f.Fit {
			e, ok := match.Fit(file.Text, now)
			if !ok {
				return agent.OwnEdits{}, rpc.Errorf(rpc.CodeRequestFailed, kindNoFit, "the text does not say for sure which lines of %s it replaces; name the lines", snap.Rel(path))
			}
			now = file.Text[:e.Start] + e.New + file.Text[e.End:]
		}
		own.Edits = workspace.Rewrite(file.Text, now)
		return own, nil
	}
	m := s.lines.mapper(file.Text, s.client.encoding)
	eol := "\n"
	if m.facts().eol == text.CRLF {
		eol = "\r\n"
	}
	for _, e := range f.Edits {
		own.Edits = append(own.Edits, workspace.Edit{Start: m.offset(e.Range.Start), End: m.offset(e.Range.End), New: text.WithEOL(strings.Clone(e.NewText), eol)})
	}
	slices.SortStableFunc(own.Edits, func(a, b workspace.Edit) int { return a.Start - b.Start })
	for i, e := range own.Edits {
		if e.End < e.Start || i > 0 && e.Start < own.Edits[i-1].End {
			return agent.OwnEdits{}, rpc.BadParams(field+".edits", "overlap")
		}
	}
	return own, nil
}
