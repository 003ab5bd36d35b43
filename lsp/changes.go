package lsp

import (
	"encoding/json"
	"slices"
	"sync"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"redline/agent"
	"redline/workspace"
)

// This file tells clients that want it so only what has changed in a proposal: with a
// thousand hunks under review, a decision on one is a few hundred bytes and not two
// megabytes that the editor decodes and compares while the user waits.

// proposalsExt says how a client reviews; an empty object is enough.
type proposalsExt struct {
	// Changes says that the client takes proposal/changed instead of proposal/updated
	// where that says it all.
	Changes *json.RawMessage `json:"changes,omitempty"`
}

// UnmarshalJSON takes anything for the marker: what is in it is optional.
func (p *proposalsExt) UnmarshalJSON(data []byte) error {
	var in struct {
		Changes *json.RawMessage `json:"changes"`
	}
	if json.Unmarshal(data, &in) == nil {
		p.Changes = in.Changes
	}
	return nil
}

// evProposalChanged is sent to clients with the capability proposals.changes.
type evProposalChanged struct {
	Type   string         `json:"type"`
	Change ProposalChange `json:"change"`
}

// ProposalChange makes a proposal that the client has at revision Since the one at Rev.
// What is not mentioned is as it was; edit and diff are what they are in the answer to
// agent/proposal/get. A client that has another revision than Since asks for that, or, if
// its revision is Rev or higher, has nothing to do.
type ProposalChange struct {
	ProposalID string               `json:"proposalId"`
	Since      int                  `json:"since"`
	Rev        int                  `json:"rev"`
	State      string               `json:"state"`
	Files      []ProposalFileChange `json:"files"`
}

// ProposalFileChange is what changed in one file of a proposal.
type ProposalFileChange struct {
	FileID string       `json:"fileId"`
	URI    uri.URI      `json:"uri"`
	NewURI uri.URI      `json:"newUri,omitempty"`
	Base   ProposalBase `json:"base"`
	// Moved hunks are as they were but for their lines.
	Moved []HunksMoved `json:"moved,omitempty"`
	// Hunks are those that changed otherwise, each as it is now.
	Hunks []ProposalHunk `json:"hunks,omitempty"`
}

// HunksMoved is a run of hunks, in the order of the file's, that moved together.
type HunksMoved struct {
	From  string `json:"from"` // the hunkId of the first
	To    string `json:"to"`   // and of the last
	Lines int    `json:"lines"`
}

// told are the proposals as a client was told of them last, by ID. Only those under
// review are kept.
type told struct {
	mu   sync.Mutex
	last map[string]*Proposal
}

// wireEvent returns an event as this client is to be told of it. It is called in the
// order of a session's events.
func (s *Server) wireEvent(ev agent.Event) EventParams {
	b, ok := ev.Body.(agent.ProposalUpdated)
	if !ok || !s.client.changes {
		return s.encoder().event(ev)
	}
	e := s.encoder()
	out := EventParams{SessionID: ev.SessionID, Seq: ev.Seq, TurnID: ev.TurnID}
	now := e.files(b.Proposal)
	if change := s.told.swap(now); change != nil {
		out.Event = evProposalChanged{"proposal/changed", *change}
		return out
	}
	whole := *now
	e.preview(&whole, b.Proposal)
	out.Event = evProposal{"proposal/updated", &whole}
	return out
}

// swap puts now in the place of what the client was told before, and returns the
// difference; nil when it has to be told everything.
func (t *told) swap(now *Proposal) *ProposalChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.last[now.ProposalID]
	if now.State != string(workspace.Open) && now.State != string(workspace.Applying) {
		delete(t.last, now.ProposalID)
	} else {
		if t.last == nil {
			t.last = map[string]*Proposal{}
		}
		t.last[now.ProposalID] = now
	}
	if before == nil {
		return nil
	}
	return proposalChange(before, now)
}

// proposalChange returns what makes before now; nil when that is more than changed hunks.
func proposalChange(before, now *Proposal) *ProposalChange {
	if now.Rev <= before.Rev || now.Title != before.Title || now.Auto != before.Auto ||
		!slices.Equal(now.CallIDs, before.CallIDs) || len(now.Files) != len(before.Files) {
		return nil // of an earlier time, or another
	}
	out := &ProposalChange{ProposalID: now.ProposalID, Since: before.Rev, Rev: now.Rev, State: now.State, Files: []ProposalFileChange{}}
	for i := range now.Files {
		f, was := &now.Files[i], &before.Files[i]
		if f.FileID != was.FileID || f.Op != was.Op || len(f.Hunks) != len(was.Hunks) {
			return nil
		}
		c := ProposalFileChange{FileID: f.FileID, URI: f.URI, NewURI: f.NewURI, Base: f.Base}
		for j := range f.Hunks {
			h, old := &f.Hunks[j], &was.Hunks[j]
			if h.HunkID != old.HunkID {
				return nil
			}
			lines, only := movedLines(old, h)
			switch n := len(c.Moved); {
			case !only:
				c.Hunks = append(c.Hunks, *h)
			case lines == 0:
			case n > 0 && c.Moved[n-1].Lines == lines && c.Moved[n-1].To == f.Hunks[j-1].HunkID:
				c.Moved[n-1].To = h.HunkID
			default:
				c.Moved = append(c.Moved, HunksMoved{h.HunkID, h.HunkID, lines})
			}
		}
		if len(c.Moved) > 0 || len(c.Hunks) > 0 || f.URI != was.URI || f.NewURI != was.NewURI || !sameBase(f.Base, was.Base) {
			out.Files = append(out.Files, c)
		}
	}
	return out
}

// movedLines returns by how many lines a hunk has moved, and whether that is all that
// happened to it.
func movedLines(before, now *ProposalHunk) (lines int, only bool) {
	lines = int(now.Range.Start.Line) - int(before.Range.Start.Line)
	h := *before
	h.Range.Start.Line, h.Range.End.Line = now.Range.Start.Line, shifted(h.Range.End, lines)
	if (h.Final == nil) != (now.Final == nil) || h.Final != nil && *h.Final != *now.Final {
		return 0, false
	}
	h.Final = now.Final
	return lines, h == *now
}

func shifted(p protocol.Position, lines int) uint32 { return uint32(int(p.Line) + lines) }

func sameBase(a, b ProposalBase) bool {
	if (a.Version == nil) != (b.Version == nil) || a.Version != nil && *a.Version != *b.Version {
		return false
	}
	a.Version, b.Version = nil, nil
	return a == b
}
