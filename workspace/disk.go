package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"redline/workspace/text"
)

// ErrChanged says that a file is no longer what a change was made against.
var ErrChanged = errors.New("the file was changed meanwhile")

// WriteFile replaces the file at path by t in the given format, atomically: a
// reader, or a crash, sees the old bytes or the new ones. The mode and a symbolic
// link at path are kept; missing parent folders are made.
func (d Disk) WriteFile(path, t string, format text.Format) error {
	data, err := text.Encode(t, format)
	if err != nil {
		return err
	}
	at, err := d.at(path, true)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer at.Close()
	if err := at.write(data); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func (p *place) write(data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := p.Lstat(p.rel); err == nil {
		if !info.Mode().IsRegular() {
			return ErrNotRegular
		}
		mode = info.Mode().Perm()
		if mode&0o200 == 0 {
			return fs.ErrPermission
		}
	}
	dir := filepath.Dir(p.rel)
	if err := p.parents(p.rel); err != nil {
		return err
	}
	name := filepath.Join(dir, ".redline-"+rand.Text())
	tmp, err := p.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = p.Remove(name) }() // fails once renamed, which is the point
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err == nil {
		err = p.Rename(name, p.rel)
	}
	return err
}

// Apply writes the given hunks of f to its file, which must not be open in an
// editor, and records what landed. The file is read again first; hunks move along
// with what changed since, and those that no longer fit become Conflicted.
func (d Disk) Apply(f *FileChange, hunks []*Hunk) error {
	if f.Op == OpCreate {
		h := f.Hunks[0]
		if _, err := os.Lstat(f.Path); err == nil {
			h.State, h.Reason = Conflicted, "a file with this name was created meanwhile"
			return nil
		}
		if err := d.WriteFile(f.Path, h.New, text.Plain); err != nil {
			return err
		}
		f.Land(h, h.New)
		return nil
	}
	whole, hunks := split(f, hunks)
	if f.Base == nil { // no text
		return d.operate(f, whole)
	}
	data, _, err := d.ReadBytes(f.At())
	if errors.Is(err, fs.ErrNotExist) {
		f.Vanish()
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s again: %w", f.Path, err)
	}
	now, format, err := text.Decode(data)
	if err != nil {
		return fmt.Errorf("read %s again: %w", f.Path, err)
	}
	f.Rebase(now, nil)
	var fit []*Hunk
	for _, h := range hunks {
		if h.State == Pending {
			fit = append(fit, h)
		}
	}
	if len(fit) == 0 {
		return d.operate(f, whole)
	}
	after, _, err := Splice(now, fit)
	if err != nil {
		return fmt.Errorf("change %s: %w", f.Path, err)
	}
	if err := d.WriteFile(f.At(), after, format); err != nil {
		return err
	}
	for _, h := range fit {
		f.Land(h, h.New)
	}
	f.Rebase(after, nil)
	return d.operate(f, whole)
}

// split takes the operation on the file itself out of its hunks.
func split(f *FileChange, hunks []*Hunk) (whole *Hunk, rest []*Hunk) {
	for _, h := range hunks {
		if h.Whole && f.Op != OpCreate {
			whole = h
		} else {
			rest = append(rest, h)
		}
	}
	return whole, rest
}

// operate deletes or renames the file of f on disk, if whole is to be done.
func (d Disk) operate(f *FileChange, whole *Hunk) error {
	if whole == nil || whole.State != Pending {
		return nil
	}
	from, err := d.at(f.Path, false)
	if err != nil {
		return fmt.Errorf("%s %s: %w", f.Op, f.Path, err)
	}
	defer from.Close()
	if f.Op == OpDelete {
		if err := from.Remove(from.rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %s: %w", f.Path, err)
		}
		f.Land(whole, "")
		return nil
	}
	if _, err := os.Lstat(f.NewPath); err == nil {
		whole.State, whole.Reason = Conflicted, "a file with the new name was created meanwhile"
		return nil
	}
	to, err := d.at(f.NewPath, false)
	if err != nil {
		return fmt.Errorf("rename %s: %w", f.Path, err)
	}
	defer to.Close()
	if err := to.parents(to.rel); err != nil {
		return fmt.Errorf("rename %s: %w", f.Path, err)
	}
	if from.Name() == to.Name() {
		err = from.Rename(from.rel, to.rel)
	} else {
		err = os.Rename(f.Path, f.NewPath) // from one folder of the workspace to another
	}
	if err != nil {
		return fmt.Errorf("rename %s: %w", f.Path, err)
	}
	f.Land(whole, "")
	return nil
}
