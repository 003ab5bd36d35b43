package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"redline/workspace/text"
)

// stagedFile is a file with edits that nobody has decided yet.
type stagedFile struct {
	op      Op
	path    string
	newPath string // of OpRename
	base    *File  // nil for a file to be created, and for one that is no text
	edits   []Edit // of base, what all calls together do
	made    sync.Mutex
	text    string // base with the edits in it, unless stale
	stale   bool   // text has to be made: not once for each edit, but when it is read
	touched []touch
	calls   []string // that want the operation on the file itself
	settled []*Hunk  // what was lost to the user's typing, or typed by the user as well
}

// current returns the text with the edits in it. Tools that run side by side call it.
func (st *stagedFile) current() string {
	st.made.Lock()
	defer st.made.Unlock()
	if st.stale {
		if t, err := Apply(st.base.Text, st.edits); err == nil { // they were checked
			st.text = t
		}
		st.stale = false
	}
	return st.text
}

// size returns the length of the text with the edits in it.
func (st *stagedFile) size() int {
	if st.stale {
		return len(st.base.Text) + growth(st.edits)
	}
	return len(st.text)
}

// at returns the name the file has once the operation is done.
func (st *stagedFile) at() string {
	if st.op == OpRename {
		return st.newPath
	}
	return st.path
}

// touch is a range of the staged text that a call wrote.
type touch struct {
	callID     string
	start, end int
}

// ErrExists says that a file to be created is already there.
var ErrExists = errors.New("file already exists")

// Stage adds edits of f, which must be what Read returned for its path, for the
// function call callID.
func (v *View) Stage(callID string, f *File, edits []Edit) error {
	key := Key(f.Path)
	st := v.staged[key]
	if st == nil {
		st = &stagedFile{op: OpEdit, path: f.Path, base: f, text: f.Text}
	}
	if err := inOrder(edits, st.size()); err != nil {
		return fmt.Errorf("stage an edit of %s: %w", f.Path, err)
	}
	if st.base != nil {
		for _, e := range edits {
			if err := text.Fits(e.New, st.base.Format); err != nil {
				return err
			}
		}
	}
	if st.base == nil {
		after, err := Apply(st.text, edits)
		if err != nil {
			return fmt.Errorf("stage an edit of %s: %w", f.Path, err)
		}
		st.text = after
	}
	for i := range st.touched {
		st.touched[i].start = shift(edits, st.touched[i].start, false)
		st.touched[i].end = shift(edits, st.touched[i].end, true)
	}
	delta := 0
	for _, e := range edits {
		st.touched = append(st.touched, touch{callID, e.Start + delta, e.Start + delta + len(e.New)})
		delta += len(e.New) - (e.End - e.Start)
	}
	if st.base != nil {
		st.edits = compose(st.edits, edits)
		st.stale = true
	}
	v.put(key, st)
	return nil
}

// Create stages a new file at path.
func (v *View) Create(callID, path, content string) error {
	if v.Exists(path) {
		return fmt.Errorf("create %s: %w", path, ErrExists)
	}
	key := Key(path)
	if i := slices.IndexFunc(v.order, func(st *stagedFile) bool { return st.op == OpDelete && Key(st.path) == key }); i >= 0 {
		// A file deleted before gets a new content: an edit of all of it.
		st := v.order[i]
		if st.base == nil {
			return fmt.Errorf("create %s: a deletion of this file, which is no text, waits for its review; try again afterwards", path)
		}
		st.op, st.calls = OpEdit, nil
		delete(v.gone, key)
		v.staged[key] = st
		return v.Stage(callID, &File{Path: path, Text: st.current(), Format: st.base.Format}, []Edit{{0, st.size(), content}})
	}
	st := &stagedFile{op: OpCreate, path: path, text: content, touched: []touch{{callID, 0, len(content)}}, calls: []string{callID}}
	v.put(key, st)
	return nil
}

// Delete stages the deletion of the file at path.
func (v *View) Delete(callID, path string) error {
	st, err := v.whole(path)
	if err != nil {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	key := Key(path)
	delete(v.staged, key)
	if st.op == OpCreate {
		v.order = slices.DeleteFunc(v.order, func(o *stagedFile) bool { return o == st })
		return nil
	}
	st.op, st.newPath = OpDelete, ""
	st.calls = append(st.calls, callID)
	st.edits, st.touched = nil, nil
	if st.base != nil {
		st.text, st.stale = st.base.Text, false
	}
	v.gone[key], v.gone[Key(st.path)] = true, true
	v.enlist(st)
	return nil
}

// Rename stages that the file at path gets another name, which must be free.
func (v *View) Rename(callID, path, newPath string) error {
	if v.Exists(newPath) {
		return fmt.Errorf("rename %s to %s: %w", path, newPath, ErrExists)
	}
	if v.gone[Key(newPath)] && !v.isOrigin(path, newPath) {
		return fmt.Errorf("rename %s to %s: the name is free only once the edits before are reviewed; try again afterwards", path, newPath)
	}
	st, err := v.whole(path)
	if err != nil {
		return fmt.Errorf("rename %s: %w", path, err)
	}
	key, newKey := Key(path), Key(newPath)
	delete(v.staged, key)
	switch {
	case st.op == OpCreate:
		st.path = newPath
	case Key(st.path) == newKey: // back to where it was
		st.op, st.newPath, st.calls = OpEdit, "", nil
		delete(v.gone, newKey)
	default:
		st.op, st.newPath = OpRename, newPath
		st.calls = append(st.calls, callID)
		v.gone[Key(st.path)] = true
	}
	v.staged[newKey] = st
	v.enlist(st)
	return nil
}

// isOrigin reports whether newPath is the name on disk of the file staged as path.
func (v *View) isOrigin(path, newPath string) bool {
	st := v.staged[Key(path)]
	return st != nil && Key(st.path) == Key(newPath)
}

// whole returns the file at path, staged or not, for an operation on it as a whole.
func (v *View) whole(path string) (*stagedFile, error) {
	key := Key(path)
	if st := v.staged[key]; st != nil {
		return st, nil
	}
	if v.gone[key] || !v.Snapshot.Exists(path) {
		return nil, fs.ErrNotExist
	}
	st := &stagedFile{op: OpEdit, path: path}
	switch f, err := v.Snapshot.Read(path); {
	case err == nil:
		st.base, st.text = f, f.Text
	case errors.Is(err, text.ErrBinary) || errors.Is(err, ErrTooLarge):
	default:
		return nil, err
	}
	return st, nil
}

func (v *View) put(key string, st *stagedFile) {
	v.staged[key] = st
	v.enlist(st)
}

func (v *View) enlist(st *stagedFile) {
	if !slices.Contains(v.order, st) {
		v.order = append(v.order, st)
	}
}

// callsIn returns the calls that wrote into or deleted at the range of the staged
// text, in the order they came.
func (st *stagedFile) callsIn(start, end int) []string {
	var out []string
	for _, t := range st.touched {
		if t.start <= end && start <= t.end && !slices.Contains(out, t.callID) {
			out = append(out, t.callID)
		}
	}
	return out
}

// Unstaged returns where the byte at offset of what [View.Read] returns for path
// stands in the text without what is staged; false when it is part of that.
func (v *View) Unstaged(path string, offset int) (int, bool) {
	st := v.staged[Key(path)]
	if st == nil {
		return offset, true
	}
	if st.op != OpEdit {
		return 0, false // the editor knows no file of that name
	}
	delta := 0
	for _, e := range st.edits {
		start := e.Start + delta
		if offset < start {
			break
		}
		if offset < start+len(e.New) {
			return 0, false
		}
		delta += len(e.New) - (e.End - e.Start)
	}
	return offset - delta, true
}
