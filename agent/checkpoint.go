package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"redline/agent/model"
	"redline/workspace"
	"redline/workspace/text"
)

// maxCheckpoints is how many checkpoints of a session are listed; older ones are
// forgotten.
const maxCheckpoints = 200

// Checkpoint is a state of the files and the conversation that one can go back to:
// before a turn, or before an earlier way back. Only edits are taken back; what
// commands did is named, and left.
type Checkpoint struct {
	ID      string
	TurnID  string // that it is before; empty for one before a way back
	Title   string
	Created time.Time
	Files   []string // that edits changed since, absolute

	history []model.Content
	at      int // changes before it
}

// CheckpointCreated says that there is a new checkpoint.
type CheckpointCreated struct{ Checkpoint Checkpoint }

func (CheckpointCreated) body() {}

// change is what an edit made of one file, or a command that was run. Contents are
// named as the session's blobs name them; an empty name says that there was no file.
type change struct {
	Path    string      `json:"path,omitempty"`
	NewPath string      `json:"newPath,omitempty"` // when it was renamed
	Before  string      `json:"before,omitempty"`
	After   string      `json:"after,omitempty"`
	Same    bool        `json:"same,omitempty"` // renamed as it is; the contents are not named
	Mode    fs.FileMode `json:"mode,omitempty"`
	Raw     bool        `json:"raw,omitempty"`  // the contents are bytes, not UTF-8 text without its mark
	Lost    bool        `json:"lost,omitempty"` // a content could not be kept: the file is left when one goes back
	Command string      `json:"command,omitempty"`
}

// landed is how much of a proposal's file is recorded in the changes.
type landed struct {
	text  string
	there bool
	moved bool
}

// landedOf returns what is in the files of f.
func landedOf(f *workspace.FileChange) landed {
	l := landed{text: f.Text(), there: f.Op != workspace.OpCreate, moved: f.Moved}
	for _, h := range f.Hunks {
		if h.Whole && f.Op != workspace.OpRename {
			in := h.State == workspace.Accepted || h.State == workspace.Amended
			l.there = in == (f.Op == workspace.OpCreate)
		}
	}
	if !l.there {
		l.text = ""
	}
	return l
}

// checkpointing reports whether changes are recorded.
func (s *Session) checkpointing() bool { return s.kept != nil && s.opt.Blobs != nil }

// addCheckpoint makes a checkpoint of now; the running turn calls it.
func (s *Session) addCheckpoint(turnID, title string) Checkpoint {
	s.mu.Lock()
	s.ckpts++
	c := Checkpoint{
		ID: fmt.Sprintf("%s.k%d", s.id, s.ckpts), TurnID: turnID, Title: title, Created: s.opt.Now(),
		history: slices.Clone(s.history.Contents()), at: len(s.changes),
	}
	s.checkpoints = append(s.checkpoints, c)
	if n := len(s.checkpoints) - maxCheckpoints; n > 0 {
		s.checkpoints = slices.Clone(s.checkpoints[n:])
	}
	s.mu.Unlock()
	s.keepHistory() // what it goes back to is what the file says here
	s.kept.put(record{T: recCheckpoint, At: c.Created, Turn: turnID, Text: c.ID, Title: title})
	s.emit(turnID, CheckpointCreated{c})
	return c
}

// Checkpoints returns the states one can go back to, oldest first.
func (s *Session) Checkpoints() []Checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.checkpoints)
	for i := range out {
		out[i].Files = nil
		for _, c := range s.changes[min(out[i].at, len(s.changes)):] {
			for _, p := range []string{c.Path, c.NewPath} {
				if p != "" && !slices.Contains(out[i].Files, p) {
					out[i].Files = append(out[i].Files, p)
				}
			}
		}
	}
	return out
}

// proposalUpdated shows a proposal that has changed. What is about to change is kept
// before, and what has changed is recorded.
func (s *Session) proposalUpdated(turnID string, p *workspace.Proposal) {
	if s.checkpointing() {
		s.track(p)
	}
	s.emit(turnID, ProposalUpdated{p.Clone()})
}

// track records what of p is in the files and was not before.
func (s *Session) track(p *workspace.Proposal) {
	for _, f := range p.Files {
		key := p.ID + "/" + f.ID
		s.mu.Lock()
		was, known := s.landed[key]
		s.mu.Unlock()
		if !known {
			was = landed{there: f.Op != workspace.OpCreate}
			if f.Base != nil {
				was.text = f.Base.Text
			}
			if f.Base == nil && f.Op == workspace.OpDelete && p.State == workspace.Applying {
				s.saveBytes(key, f.Path)
			}
		}
		now := landedOf(f)
		if now == was {
			continue
		}
		c, err := s.changeOf(f, key, was, now)
		if err != nil {
			c.Lost = true // or the missing name would say that there was no file
			s.emit(p.TurnID, Notice{"warning", fmt.Sprintf("A change of %s cannot be taken back by a checkpoint: %v", f.Path, err)})
		}
		s.mu.Lock()
		s.landed[key] = now
		s.changes = append(s.changes, c)
		s.mu.Unlock()
		s.kept.put(record{T: recChange, Change: &c, Text: key})
	}
}

// saveBytes keeps a file that is no text, before it is deleted.
func (s *Session) saveBytes(key, path string) {
	data, info, err := workspace.ReadBytes(path)
	if err != nil {
		return // what is not there cannot be deleted either
	}
	name, err := s.opt.Blobs.Put(data)
	if err != nil {
		return // changeOf says that it is missing
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes[key] = change{Before: name, Mode: info.Mode().Perm()}
}

// changeOf returns the change from one state of a file to another.
func (s *Session) changeOf(f *workspace.FileChange, key string, was, now landed) (change, error) {
	c := change{Path: f.Path}
	if was.moved {
		c.Path = f.NewPath
	}
	switch {
	case now.moved && !was.moved:
		c.NewPath = f.NewPath
	case was.moved && !now.moved:
		c.NewPath = f.Path
	}
	if f.Base == nil && f.Op != workspace.OpCreate {
		if f.Op == workspace.OpRename {
			c.Same = true
			return c, nil
		}
		s.mu.Lock()
		raw := s.bytes[key]
		s.mu.Unlock()
		c.Raw, c.Before, c.Mode = true, raw.Before, raw.Mode
		if now.there {
			c.Before, c.After = "", raw.Before
		}
		if raw.Before == "" {
			return c, errors.New("its content could not be kept")
		}
		return c, nil
	}
	if was.text == now.text && was.there && now.there {
		c.Same = true
		return c, nil
	}
	format := text.Plain
	if f.Base != nil {
		format = f.Base.Format
	}
	var err error
	put := func(l landed) string {
		if !l.there {
			return ""
		}
		data := []byte(l.text)
		if c.Raw {
			var eerr error
			if data, eerr = text.Encode(l.text, format); eerr != nil {
				err = errors.Join(err, eerr)
			}
		}
		name, perr := s.opt.Blobs.Put(data)
		err = errors.Join(err, perr)
		return name
	}
	// A file that is gone is made again by its bytes, when it was no plain text.
	c.Raw = format != text.Plain && !now.there
	if info, serr := os.Stat(c.Path); serr == nil {
		c.Mode = info.Mode().Perm()
	}
	c.Before, c.After = put(was), put(now)
	return c, err
}

// ranCommand notes that a command was run: its effects stay when one goes back.
func (s *Session) ranCommand(title string) {
	if !s.checkpointing() {
		return
	}
	c := change{Command: title}
	s.mu.Lock()
	s.changes = append(s.changes, c)
	s.mu.Unlock()
	s.kept.put(record{T: recChange, Change: &c})
}
