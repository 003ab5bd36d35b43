package workspace

import (
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
func WriteFile(path, t string, format text.Format) error {
	data, err := text.Encode(t, format)
	if err != nil {
		return err
	}
	real, err := Canonical(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(real); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("write %s: %w", path, ErrNotRegular)
		}
		mode = info.Mode().Perm()
		if mode&0o200 == 0 {
			return fmt.Errorf("write %s: %w", path, fs.ErrPermission)
		}
	}
	dir := filepath.Dir(real)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	tmp, err := os.CreateTemp(dir, ".redline-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name()) // fails once renamed, which is the point
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), real)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// ApplyToDisk writes the given hunks of f to its file, which must not be open in
// an editor, and records what landed. The file is read again first; hunks move
// along with what changed since, and those that no longer fit become Conflicted.
func (f *FileChange) ApplyToDisk(hunks []*Hunk) error {
	if f.Op == OpCreate {
		h := f.Hunks[0]
		if _, err := os.Lstat(f.Path); err == nil {
			h.State, h.Reason = Conflicted, "a file with this name was created meanwhile"
			return nil
		}
		if err := WriteFile(f.Path, h.New, text.Plain); err != nil {
			return err
		}
		f.Land(h, h.New)
		return nil
	}
	whole, hunks := split(f, hunks)
	if f.Base == nil { // no text
		return f.operate(whole)
	}
	data, _, err := ReadBytes(f.At())
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
		return f.operate(whole)
	}
	after, _, err := Splice(now, fit)
	if err != nil {
		return fmt.Errorf("change %s: %w", f.Path, err)
	}
	if err := WriteFile(f.At(), after, format); err != nil {
		return err
	}
	for _, h := range fit {
		f.Land(h, h.New)
	}
	f.Rebase(after, nil)
	return f.operate(whole)
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
func (f *FileChange) operate(whole *Hunk) error {
	if whole == nil || whole.State != Pending {
		return nil
	}
	if f.Op == OpDelete {
		if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %s: %w", f.Path, err)
		}
		f.Land(whole, "")
		return nil
	}
	if _, err := os.Lstat(f.NewPath); err == nil {
		whole.State, whole.Reason = Conflicted, "a file with the new name was created meanwhile"
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.NewPath), 0o755); err != nil {
		return fmt.Errorf("rename %s: %w", f.Path, err)
	}
	if err := os.Rename(f.Path, f.NewPath); err != nil {
		return fmt.Errorf("rename %s: %w", f.Path, err)
	}
	f.Land(whole, "")
	return nil
}
