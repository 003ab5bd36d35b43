package lsp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.lsp.dev/protocol"

	"redline/workspace"
)

// This file is about what a proposal does to files beside their text. An editor
// does it as a part of the edit. For one that cannot (eglot) the text of a renamed
// file goes to the new name, and the old file, or the one to be deleted, is removed by
// the server itself: only then, only after the user has said yes to exactly that, and
// never while the editor holds text of it that is not on disk.

// can reports whether the client does an operation itself.
func (s *Server) can(op workspace.Op) bool {
	switch op {
	case workspace.OpDelete:
		return s.client.remove
	case workspace.OpRename:
		return s.client.rename
	}
	return true
}

// onDisk reports whether something has that name.
func onDisk(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// missing reports whether the file of f, which is not open, is gone.
func missing(f *workspace.FileChange) bool {
	if f.Op == workspace.OpCreate {
		return false
	}
	if workspace.Untitled(f.At()) {
		return true
	}
	_, err := os.Lstat(f.At())
	return errors.Is(err, fs.ErrNotExist)
}

// conflictWithNewFiles marks the hunks that need a name which is taken by now.
func (s *Server) conflictWithNewFiles(p *workspace.Proposal) {
	snap := s.ws.Snapshot()
	for _, f := range p.Files {
		path, reason := f.Path, "a file with this name was created meanwhile"
		switch f.Op {
		case workspace.OpCreate:
			if _, open := snap.Document(path); open {
				continue
			}
		case workspace.OpRename:
			path, reason = f.NewPath, "a file with the new name was created meanwhile"
		default:
			continue
		}
		if f.Moved || !snap.Exists(path) {
			continue
		}
		if !onDisk(path) {
			reason = "a document with this name is open in the editor"
		}
		for _, h := range f.Hunks {
			if h.Whole && h.State == workspace.Pending {
				h.State, h.Closed, h.Reason = workspace.Conflicted, true, reason
			}
		}
	}
}

// opDone reports whether the operation of x is done, by what is on the disk; of a
// document that never was there, by whether it holds anything.
func (x *sent) opDone(snap *workspace.Snapshot) bool {
	if x.file.Op == workspace.OpDelete {
		if x.unsaved {
			d, open := snap.Document(x.file.Path)
			return !open || d.Text == ""
		}
		return !onDisk(x.file.Path)
	}
	return !onDisk(x.file.Path) && snap.Exists(x.file.NewPath)
}

// text returns the text of a file after an edit was sent. seen is false when it is
// not open and the disk is as before, so that nothing shows what the editor holds.
func (x *sent) text(snap *workspace.Snapshot) (after string, seen bool) {
	path := x.file.At()
	if x.op != nil && x.file.Op == workspace.OpRename && x.opDone(snap) {
		path = x.file.NewPath
	}
	if d, ok := snap.Document(path); ok {
		return d.Text, true
	}
	if f, err := snap.Read(path); err == nil {
		moved := path != x.file.At()
		return f.Text, moved || f.Text != x.before || (x.file.Op == workspace.OpCreate && x.before == x.expected)
	}
	return x.before, false
}

// arrived reports whether the text of a file that cannot be renamed is at its new name.
func (x *sent) arrived(snap *workspace.Snapshot) bool {
	f, err := snap.Read(x.file.NewPath)
	return err == nil && f.Text == x.expected
}

// The answers to the question whether the server may remove a file.
const (
	actionDelete = "Delete"
	actionKeep   = "Keep"
)

// operateOnFiles does what the client cannot do itself. It returns why something was
// left undone, in words for the model.
func (s *Server) operateOnFiles(ctx context.Context, files []*sent) (why string) {
	for _, x := range files {
		if x.op == nil || s.can(x.file.Op) || ctx.Err() != nil {
			continue
		}
		if err := s.removeFor(ctx, x); err != nil {
			why = err.Error()
		}
	}
	return why
}

// removeFor removes the file that x deletes or renames.
func (s *Server) removeFor(ctx context.Context, x *sent) error {
	snap := s.ws.Snapshot()
	path := x.file.Path
	verb := "delete " + snap.Rel(path)
	if x.file.Op == workspace.OpRename {
		verb += ", which is " + snap.Rel(x.file.NewPath) + " now"
		if !x.arrived(snap) {
			return fmt.Errorf("the editor cannot rename files, and the text did not arrive in %s", x.file.NewPath)
		}
	}
	if x.unsaved && x.file.Op == workspace.OpDelete {
		if x.opDone(snap) {
			return nil
		}
		return fmt.Errorf("%s was never saved; it is gone when the user closes its buffer", path)
	}
	if d, open := snap.Document(path); open && d.Text != x.before {
		return fmt.Errorf("%s was changed in the editor", path)
	}
	done, err := s.oneMessage(ctx)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, s.timing.Review)
	defer cancel()
	var item *protocol.MessageActionItem
	s.unanswered.wait(ctx)
	err = s.conn.Call(ctx, "window/showMessageRequest", &protocol.ShowMessageRequestParams{
		Type: protocol.MessageTypeWarning, Message: "Redline: " + verb + "? Your editor cannot do that for a language server, so Redline would do it itself.",
		Actions: []protocol.MessageActionItem{{Title: actionDelete}, {Title: actionKeep}},
	}, &item)
	switch {
	case err != nil:
		return fmt.Errorf("the editor can neither %s nor ask the user whether Redline may; ask the user to do it", verb)
	case item == nil || item.Title != actionDelete:
		if x.file.Op == workspace.OpRename {
			return fmt.Errorf("the user did not want to %s: both are there", verb)
		}
		return fmt.Errorf("the user did not want to %s", verb)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return nil
}
