package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"redline/workspace"
	"redline/workspace/text"
)

// Scope says what is taken back to a checkpoint.
type Scope string

// The scopes.
const (
	ScopeFiles        Scope = "files"
	ScopeConversation Scope = "conversation"
	ScopeBoth         Scope = "both"
)

// ErrNoCheckpoint says that there is no such checkpoint.
var ErrNoCheckpoint = errors.New("there is no such checkpoint")

// Rewind is a way back to a checkpoint, or what it would be.
type Rewind struct {
	// Proposal holds the edits; nil when no file changes.
	Proposal *workspace.Proposal
	// Skipped are files that stay as they are, with the reason of each.
	Skipped map[string]string
	// Commands were run since; what they did stays.
	Commands []string
	// Undo is the checkpoint that leads back from here; empty for a preview.
	Undo string

	raw map[string]change // files to be made of bytes, by path
}

// BytesRestorer is a [Reviewer] that can make a file of bytes, which no editor can.
type BytesRestorer interface {
	RestoreBytes(path string, data []byte, mode fs.FileMode) error
}

// node is a file on the way back.
type node struct {
	origin string // its path now; empty when it is not there
	path   string
	text   string
	there  bool
	binary bool
	raw    *change // made again of its bytes
}

// plan works out the way back over the changes, newest first.
type plan struct {
	s       *Session
	view    *workspace.View
	nodes   map[string]*node // by the path at this point of the way
	skipped map[string]string
}

func (p *plan) at(path string) *node {
	if n := p.nodes[path]; n != nil {
		return n
	}
	n := &node{path: path}
	p.nodes[path] = n
	if !p.view.Exists(path) {
		return n
	}
	n.origin, n.there = path, true
	f, err := p.view.Read(path)
	if err != nil {
		n.binary = true
		return n
	}
	n.text = f.Text
	return n
}

// skip leaves a file as it is.
func (p *plan) skip(n *node, why string) {
	for _, path := range []string{n.path, n.origin} {
		if path != "" {
			p.skipped[path] = why
		}
	}
}

const userChanged = "it was changed since, in the same lines"

// back takes one change back.
func (p *plan) back(c change) {
	path := c.Path
	if c.NewPath != "" {
		path = c.NewPath
	}
	n := p.at(path)
	if _, left := p.skipped[path]; left {
		p.skipped[c.Path] = p.skipped[path]
		return
	}
	if !c.Same && !p.content(n, c) {
		return
	}
	if c.NewPath == "" {
		return
	}
	if o := p.at(c.Path); o.there {
		p.skip(n, "its former name is taken")
		return
	}
	delete(p.nodes, path)
	p.nodes[c.Path] = n
	n.path = c.Path
}

// content takes the change of a content back; false when the file is left.
func (p *plan) content(n *node, c change) bool {
	if c.Lost {
		p.skip(n, "what it was before could not be kept")
		return false
	}
	before, berr := p.get(c.Before)
	after, aerr := p.get(c.After)
	if err := errors.Join(berr, aerr); err != nil {
		p.skip(n, err.Error())
		return false
	}
	switch {
	case c.After == "" && n.there: // it was deleted, and is there
		if n.text != before || c.Raw {
			p.skip(n, "there is a file again that was deleted")
			return false
		}
	case c.After == "": // it was deleted
		n.there, n.text = true, before
		if c.Raw {
			n.raw = &c
		}
	case !n.there && c.Before != "":
		p.skip(n, "it is not there any more")
		return false
	case !n.there: // it was created, and is gone already
	case n.binary:
		p.skip(n, "it is no text now")
		return false
	case c.Before == "": // it was created
		if n.text != after {
			p.skip(n, "it was created, and changed since")
			return false
		}
		n.there, n.text = false, ""
	default:
		merged, ok := workspace.Merge(after, n.text, before)
		if !ok {
			p.skip(n, userChanged)
			return false
		}
		n.text = merged
	}
	return true
}

func (p *plan) get(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	data, err := p.s.opt.Blobs.Get(name)
	return string(data), err
}

// rewind works out the way back to a checkpoint; paths limits it to files.
func (s *Session) rewind(id string, paths []string) (*Rewind, Checkpoint, error) {
	s.mu.Lock()
	i := slices.IndexFunc(s.checkpoints, func(c Checkpoint) bool { return c.ID == id })
	if i < 0 {
		s.mu.Unlock()
		return nil, Checkpoint{}, fmt.Errorf("%w: %q", ErrNoCheckpoint, id)
	}
	ck := s.checkpoints[i]
	changes := slices.Clone(s.changes[min(ck.at, len(s.changes)):])
	s.mu.Unlock()
	p := &plan{s: s, view: workspace.NewView(s.opt.Workspace.Snapshot()), nodes: map[string]*node{}, skipped: map[string]string{}}
	out := &Rewind{Skipped: p.skipped, raw: map[string]change{}}
	for _, c := range slices.Backward(changes) {
		switch {
		case c.Command != "":
			out.Commands = append(out.Commands, c.Command)
		case len(paths) == 0 || slices.Contains(paths, c.Path) || slices.Contains(paths, c.NewPath):
			p.back(c)
		}
	}
	slices.Reverse(out.Commands)
	for _, path := range sortedPaths(p.nodes) {
		n := p.nodes[path]
		if _, left := p.skipped[path]; left {
			continue
		}
		if err := p.stage(n, out); err != nil {
			p.skip(n, err.Error())
		}
	}
	out.Proposal = p.view.Propose()
	return out, ck, nil
}

// stage makes an edit of a file's way back.
func (p *plan) stage(n *node, out *Rewind) error {
	const call = "rewind"
	switch {
	case n.origin == "" && !n.there:
		return nil
	case n.origin == "" && n.raw != nil:
		if _, ok := p.s.opt.Reviewer.(BytesRestorer); !ok {
			return errors.New("it is no plain text, which an editor cannot make again; close the editor and use redline checkpoints restore")
		}
		out.raw[n.path] = *n.raw
		return nil
	case n.origin == "":
		return p.view.Create(call, n.path, n.text)
	case !n.there:
		return p.view.Delete(call, n.origin)
	}
	if n.path != n.origin {
		if err := p.view.Rename(call, n.origin, n.path); err != nil {
			return err
		}
	}
	if n.binary {
		return nil
	}
	f, err := p.view.Read(n.path)
	if err != nil || f.Text == n.text {
		return err
	}
	if err := text.Fits(n.text, f.Format); err != nil {
		return err
	}
	return p.view.Stage(call, f, []workspace.Edit{{Start: 0, End: len(f.Text), New: n.text}})
}

func sortedPaths(m map[string]*node) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// PreviewCheckpoint returns what going back to a checkpoint would change.
func (s *Session) PreviewCheckpoint(id string, scope Scope, paths []string) (*Rewind, error) {
	r, _, err := s.rewind(id, paths)
	if err != nil {
		return nil, err
	}
	if scope == ScopeConversation {
		r.Proposal, r.Skipped, r.raw = nil, map[string]string{}, nil
	}
	if r.Proposal != nil {
		r.Proposal.SessionID, r.Proposal.Title = s.id, "Back to a checkpoint"
	}
	return r, nil
}

// RestoreCheckpoint goes back to a checkpoint. Files are brought back by the reviewer,
// as edits that are applied without asking; what the user changed since stays, or the
// file is skipped. No turn may be running. The model is told.
func (s *Session) RestoreCheckpoint(ctx context.Context, id string, scope Scope, paths []string) (*Rewind, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	if s.closed || s.running != nil {
		err := ErrBusy
		if s.closed {
			err = ErrClosed
		}
		s.mu.Unlock()
		return nil, err
	}
	t := &turn{id: fmt.Sprintf("%s.r%d", s.id, s.ckpts+1), cancel: cancel, done: make(chan struct{}), closing: true}
	s.running = t
	s.mu.Unlock()
	defer close(t.done)
	defer func() {
		s.keepHistory()
		s.mu.Lock()
		s.running = nil
		s.mu.Unlock()
		s.kept.sync()
	}()
	r, ck, err := s.rewind(id, paths)
	if err != nil {
		return nil, err
	}
	r.Undo = s.addCheckpoint("", "before going back to: "+ck.Title).ID
	if scope != ScopeConversation {
		err = s.bringBack(ctx, t, r)
	} else {
		r.Proposal, r.Skipped = nil, map[string]string{}
	}
	if scope != ScopeFiles && err == nil {
		s.history = History{}
		for _, c := range ck.history {
			s.history.add(c)
		}
		said := "The conversation is back to before: " + ck.Title
		if ck.TurnID == "" { // one that undoes a way back
			said = "The conversation is as it was " + ck.Title
		}
		s.emit(t.id, Notice{"info", said})
	}
	if scope != ScopeConversation {
		s.Note(rewindNote(ck, r, err))
	}
	return r, err
}

// bringBack applies the edits of a way back.
func (s *Session) bringBack(ctx context.Context, t *turn, r *Rewind) error {
	for path, c := range r.raw {
		data, err := s.opt.Blobs.Get(c.Before)
		if err == nil {
			err = s.opt.Reviewer.(BytesRestorer).RestoreBytes(path, data, c.Mode)
		}
		if err != nil {
			r.Skipped[path] = err.Error()
			continue
		}
		undo := change{Path: path, After: c.Before, Raw: true, Mode: c.Mode}
		s.mu.Lock()
		s.changes = append(s.changes, undo)
		s.mu.Unlock()
		s.kept.put(record{T: recChange, Change: &undo})
	}
	p := r.Proposal
	if p == nil {
		return nil
	}
	s.mu.Lock()
	s.props++
	n := s.props
	s.mu.Unlock()
	p.ID, p.SessionID, p.TurnID, p.Title = fmt.Sprintf("%s.p%d", s.id, n), s.id, t.id, "Back to a checkpoint"
	err := s.opt.Reviewer.Review(ctx, p, true, func() { s.proposalUpdated(t.id, p) })
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			if h.State != workspace.Accepted && h.State != workspace.Amended {
				r.Skipped[f.Path] = h.Reason
			}
		}
	}
	if err != nil {
		return fmt.Errorf("go back to the checkpoint: %w", err)
	}
	return nil
}

// rewindNote tells the model what happened to its edits.
func rewindNote(ck Checkpoint, r *Rewind, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The user took files back to how they were before: %s.", ck.Title)
	if r.Proposal != nil {
		for _, f := range r.Proposal.Files {
			if _, left := r.Skipped[f.Path]; !left {
				fmt.Fprintf(&b, "\nChanged back: %s", f.At())
			}
		}
	}
	for path, why := range r.Skipped {
		fmt.Fprintf(&b, "\nLeft as it was: %s (%s)", path, why)
	}
	if err != nil {
		fmt.Fprintf(&b, "\nIt was not finished: %v", err)
	}
	b.WriteString("\nRead the files before you edit them again.")
	return b.String()
}
