package lsp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"redline/agent"
	"redline/lsp/rpc"
	"redline/workspace"
)

// The methods about checkpoints.
const (
	methodCheckpointList    = "agent/checkpoint/list"
	methodCheckpointPreview = "agent/checkpoint/preview"
	methodCheckpointRestore = "agent/checkpoint/restore"
)

// Checkpoint is a state that one can go back to: before a turn, or before an earlier
// way back, which has no turn.
type Checkpoint struct {
	CheckpointID string    `json:"checkpointId"`
	SessionID    string    `json:"sessionId"`
	TurnID       string    `json:"turnId,omitempty"`
	Title        string    `json:"title"`
	CreatedAt    string    `json:"createdAt"` // RFC 3339
	Files        []uri.URI `json:"files"`     // that edits changed since
}

// CheckpointList is the answer to agent/checkpoint/list, oldest first.
type CheckpointList struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
}

// CheckpointParams names a checkpoint and what of it counts.
type CheckpointParams struct {
	CheckpointID string    `json:"checkpointId"`
	Scope        string    `json:"scope,omitempty"` // files (default), conversation or both
	URIs         []uri.URI `json:"uris,omitempty"`  // default: all files
}

// Validate reports what is missing.
func (p *CheckpointParams) Validate() error {
	switch agent.Scope(p.Scope) {
	case "", agent.ScopeFiles, agent.ScopeConversation, agent.ScopeBoth:
	default:
		return rpc.BadParams("scope", "is %q; use files, conversation or both", p.Scope)
	}
	return need("checkpointId", p.CheckpointID)
}

// CheckpointResult says what changes, or has changed, and what stays.
type CheckpointResult struct {
	Edit             *protocol.WorkspaceEdit `json:"edit"`
	Diff             string                  `json:"diff"`    // of a preview
	Skipped          []uri.URI               `json:"skipped"` // left as they are
	Reasons          map[uri.URI]string      `json:"reasons,omitempty"`
	Commands         []string                `json:"commands,omitempty"` // were run since; what they did stays
	UndoCheckpointID string                  `json:"undoCheckpointId,omitempty"`
}

func (e *encoder) checkpoint(sessionID string, c agent.Checkpoint) Checkpoint {
	out := Checkpoint{CheckpointID: c.ID, SessionID: sessionID, TurnID: c.TurnID, Title: c.Title, CreatedAt: c.Created.UTC().Format(time.RFC3339), Files: []uri.URI{}}
	for _, path := range c.Files {
		out.Files = append(out.Files, e.uriOf(path))
	}
	return out
}

func (s *Server) checkpointList(_ context.Context, p *SessionParams) (CheckpointList, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return CheckpointList{}, err
	}
	out := CheckpointList{Checkpoints: []Checkpoint{}}
	e := s.encoder()
	for _, c := range x.Checkpoints() {
		out.Checkpoints = append(out.Checkpoints, e.checkpoint(p.SessionID, c))
	}
	return out, nil
}

// checkpointSession returns the session that a checkpoint is of, and paths for uris.
func (s *Server) checkpointSession(p *CheckpointParams) (x *session, paths []string, err error) {
	for i, u := range p.URIs {
		path, ok := placeOf(string(u))
		if !ok {
			return nil, nil, rpc.BadParams("uris", "%q (number %d) is no file: URI", u, i+1)
		}
		paths = append(paths, path)
	}
	id, _, _ := strings.Cut(p.CheckpointID, ".k")
	x, err = s.session(id)
	if err != nil {
		return nil, nil, rpc.BadParams("checkpointId", "there is no checkpoint %q in a session that is open here", p.CheckpointID)
	}
	return x, paths, nil
}

func (s *Server) checkpointPreview(_ context.Context, p *CheckpointParams) (CheckpointResult, error) {
	x, paths, err := s.checkpointSession(p)
	if err != nil {
		return CheckpointResult{}, err
	}
	r, err := x.PreviewCheckpoint(p.CheckpointID, agent.Scope(p.Scope), paths)
	return s.rewound(r), checkpointError(err)
}

// checkpointRestore goes back. The files are changed by the editor, with versioned
// edits like those of any proposal.
func (s *Server) checkpointRestore(_ context.Context, p *CheckpointParams) (CheckpointResult, error) {
	x, paths, err := s.checkpointSession(p)
	if err != nil {
		return CheckpointResult{}, err
	}
	scope := agent.Scope(p.Scope)
	if scope == "" {
		scope = agent.ScopeFiles
	}
	// It goes on when the client gives up waiting: half a way back is none.
	r, err := x.RestoreCheckpoint(x.home.root, p.CheckpointID, scope, paths)
	return s.rewound(r), checkpointError(err)
}

func checkpointError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, agent.ErrNoCheckpoint):
		return rpc.BadParams("checkpointId", "%v", err)
	}
	return rpc.Failed("%v", err)
}

// rewound returns a way back in its wire form.
func (s *Server) rewound(r *agent.Rewind) CheckpointResult {
	out := CheckpointResult{Edit: &protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{}}, Skipped: []uri.URI{}}
	if r == nil {
		return out
	}
	e := s.encoder()
	if r.Proposal != nil {
		w := e.proposal(r.Proposal)
		out.Diff = w.Diff
		out.Edit = w.Edit
		if r.Undo != "" { // applied: nothing is pending
			edit := e.edit(r.Proposal, func(h *workspace.Hunk) bool { return h.State == workspace.Accepted || h.State == workspace.Amended })
			out.Edit = &edit
		}
	}
	for _, path := range slices.Sorted(maps.Keys(r.Skipped)) {
		u := e.uriOf(path)
		out.Skipped = append(out.Skipped, u)
		if out.Reasons == nil {
			out.Reasons = map[uri.URI]string{}
		}
		out.Reasons[u] = r.Skipped[path]
	}
	out.Commands, out.UndoCheckpointID = r.Commands, r.Undo
	return out
}
