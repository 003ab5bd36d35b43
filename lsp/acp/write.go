package acp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.uber.org/zap"

	"redline/workspace"
	"redline/workspace/text"
)

// maxTries is how often an edit is made again because the user typed in between.
const maxTries = 4

// errUnsaved is why a file is left that only the client could change without losing what
// the user has typed.
var errUnsaved = errors.New("the file has changes in the editor that are not saved, and the editor does not let them be merged; ask the user to save it, then try again")

// rebase moves the undecided hunks of p to their places in the files as they are now.
func (x *session) rebase(ctx context.Context, p *workspace.Proposal) {
	var paths []string
	for _, f := range p.Files {
		if f.Op != workspace.OpCreate { // what is not there is looked for when it is made
			paths = append(paths, f.At())
		}
	}
	x.files.look(ctx, paths)
	snap := x.ws.Snapshot()
	changed := false
	for _, f := range p.Files {
		if f.Op == workspace.OpCreate || f.Base == nil {
			continue
		}
		changed = rebaseOn(snap, f) || changed
	}
	if changed {
		p.Rev++
	}
}

// rebaseOn moves the hunks of f to their places in the file as snap has it.
func rebaseOn(snap *workspace.Snapshot, f *workspace.FileChange) (changed bool) {
	now, err := snap.Read(f.At())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.Vanish()
	case err != nil:
		return false // said when it is written
	}
	var version *int32
	if now.Open {
		version = &now.Version
	}
	return f.Rebase(now.Text, version)
}

// write brings hunks of f into its file and records what landed: by the client where it
// can, else on the disk, atomically. Text that came in between is never overwritten. An
// error says why hunks that are still pending did not land.
func (x *session) write(ctx context.Context, f *workspace.FileChange, hunks []*workspace.Hunk) error {
	if f.Op == workspace.OpCreate {
		return x.create(ctx, f, hunks[0])
	}
	for range maxTries {
		x.files.look(ctx, []string{f.At()})
		if err := ctx.Err(); err != nil {
			return err
		}
		snap := x.ws.Snapshot()
		if f.Op != workspace.OpEdit || f.Base == nil {
			if _, unsaved := snap.Document(f.At()); unsaved {
				return errUnsaved
			}
			return snap.Disk().Apply(f, hunks)
		}
		now, err := snap.Read(f.At())
		if errors.Is(err, fs.ErrNotExist) {
			f.Vanish()
			return nil
		}
		if err != nil {
			return err
		}
		rebaseOn(snap, f)
		var fit []*workspace.Hunk
		for _, h := range hunks {
			if h.State == workspace.Pending {
				fit = append(fit, h)
			}
		}
		if len(fit) == 0 {
			return nil
		}
		byClient := x.files.writesToo() && x.inFolders(f.At()) && (now.Open || now.Format == text.Plain)
		switch {
		case !byClient && now.Open:
			return errUnsaved
		case !byClient:
			return snap.Disk().Apply(f, hunks)
		}
		done, err := x.writeByClient(ctx, f, now, fit)
		if done {
			return err
		}
		if err == nil {
			continue // the user typed in between
		}
		x.s.log.Info("the client did not write the file", zap.String("path", f.At()), zap.Error(err))
		if now.Open {
			return fmt.Errorf("%w (%w)", errUnsaved, err)
		}
		return x.ws.Snapshot().Disk().Apply(f, hunks)
	}
	return errors.New("the file is being changed all the time; try again later")
}

// inFolders reports whether the file at path is in the session's folders, links
// followed: only there the client writes.
func (x *session) inFolders(path string) bool {
	_, err := x.ws.Snapshot().Resolve(path)
	return err == nil
}

// writeByClient has the client write hunks that fit now. Whatever it answers, the file
// is read again and decides. done says that nothing is left to try; else an error is
// why nothing of it landed, and without one the file has changed meanwhile.
func (x *session) writeByClient(ctx context.Context, f *workspace.FileChange, now *workspace.File, fit []*workspace.Hunk) (done bool, err error) {
	after, _, err := workspace.Splice(now.Text, fit)
	if err != nil {
		return true, fmt.Errorf("change %s: %w", f.Path, err)
	}
	if err := text.Fits(after, now.Format); err != nil {
		return true, err
	}
	disk, format, _, _ := x.files.onDisk(f.At())
	want := likeOnDisk(disk, after)
	answer := x.files.call(ctx, methodWriteFile, writeFileParams{x.id, f.At(), want}, nil)

	// What was sent may land even when the turn was cancelled meanwhile.
	ctx = context.WithoutCancel(ctx)
	x.files.lookAt(ctx, f.At())
	snap := x.ws.Snapshot()
	got, err := snap.Read(f.At())
	if err != nil {
		return true, fmt.Errorf("read %s again: %w", f.Path, err)
	}
	if workspace.SameText(got.Text, after) {
		for _, h := range fit {
			f.Land(h, h.New)
		}
		if !got.Open {
			x.files.mend(f.At(), want, format)
		}
		rebaseOn(x.ws.Snapshot(), f)
		return true, nil
	}
	if written, _, _, _ := x.files.onDisk(f.At()); got.Open && written == want && written != disk {
		// It was written past a buffer that is not saved, whose text is in it too.
		for _, h := range fit {
			f.Land(h, h.New)
			h.Reason = "it is on disk, together with what is unsaved in the editor, which still shows the text without it"
		}
		rebaseOn(snap, f)
		x.show.notify("warning", fmt.Sprintf("%s holds the change and your unsaved text, but the editor still shows it without the change: reload it.", snap.Rel(f.Path)))
		return true, nil
	}
	missed := false
	plain := workspace.Settle([]string{now.Text, got.Text}, fit)
	formatted := workspace.Settle([]string{now.Text, after, got.Text}, fit)
	for i, l := range plain {
		if f := formatted[i]; answer == nil && !l.Landed && f.Landed && !workspace.SameText(f.Final, l.Hunk.Old) {
			l = f // it was written, and changed at once, as by a formatter
		}
		if l.Landed {
			f.LandAs(l.Hunk, l.Hunk.New, l.Final)
		} else {
			missed = true
		}
	}
	rebaseOn(snap, f)
	switch {
	case !missed:
		return true, nil
	case !workspace.SameText(got.Text, now.Text):
		return false, nil
	case answer == nil:
		return false, errors.New("the editor reports the file as written, but it is as before")
	}
	return false, answer
}

// create makes the file of f, which must not be there.
func (x *session) create(ctx context.Context, f *workspace.FileChange, h *workspace.Hunk) error {
	x.files.look(ctx, []string{f.Path})
	if err := ctx.Err(); err != nil {
		return err
	}
	snap := x.ws.Snapshot()
	if snap.Exists(f.Path) {
		h.State, h.Reason = workspace.Conflicted, "a file with this name was created meanwhile"
		return nil
	}
	if x.files.writesToo() && x.inFolders(f.Path) {
		err := x.files.call(ctx, methodWriteFile, writeFileParams{x.id, f.Path, h.New}, nil)
		x.files.lookAt(context.WithoutCancel(ctx), f.Path)
		if got, rerr := x.ws.Snapshot().Read(f.Path); rerr == nil && workspace.SameText(got.Text, h.New) {
			if !got.Open {
				x.files.mend(f.Path, h.New, text.Plain)
			}
			f.Land(h, h.New)
			return nil
		} else if rerr == nil {
			h.State, h.Reason = workspace.Conflicted, "a file with this name was created meanwhile, with another text"
			return nil
		}
		x.s.log.Info("the client did not create the file", zap.String("path", f.Path), zap.Error(err))
	}
	if _, err := os.Lstat(f.Path); err == nil {
		h.State, h.Reason = workspace.Conflicted, "a file with this name was created meanwhile"
		return nil
	}
	return x.ws.Snapshot().Disk().Apply(f, []*workspace.Hunk{h})
}
