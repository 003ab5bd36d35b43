package workspace

import (
	"errors"
	"fmt"
	"io/fs"

	"redline/workspace/text"
)

// Op is what a [FileChange] does to its file.
type Op string

// The operations a proposal can hold.
const (
	OpEdit   Op = "edit"
	OpCreate Op = "create"
	OpDelete Op = "delete"
	OpRename Op = "rename" // and edits, perhaps
)

// A View is a snapshot with edits staged on top: what the tools read, so that a
// later call sees what an earlier one proposed. It is owned by one goroutine at a
// time; reading it side by side is safe.
type View struct {
	*Snapshot
	// Readable are further folders, outside of the workspace, whose files may be
	// read; see [View.ResolveRead].
	Readable []string
	// Withheld says of which files the content is not to be given out; nil: of none.
	// It is called side by side. Names are no secret.
	Withheld func(path string) bool

	staged map[string]*stagedFile // by the key of the name the tools know it by
	order  []*stagedFile
	gone   map[string]bool // keys of names that a staged deletion or renaming freed
}

// NewView returns a view of s with nothing staged.
func NewView(s *Snapshot) *View {
	return &View{Snapshot: s, staged: map[string]*stagedFile{}, gone: map[string]bool{}}
}

// Empty reports whether nothing is staged.
func (v *View) Empty() bool { return len(v.order) == 0 }

// ErrWithheld says that the user has not allowed a file's content to be read.
var ErrWithheld = errors.New("the user has not allowed this file to be read")

// Withholds reports whether the content of the file at path is withheld, by this name
// or by the one that its symbolic links lead to.
func (v *View) Withholds(path string) bool {
	if v.Withheld == nil {
		return false
	}
	return v.Withheld(path) || v.Withheld(Key(path))
}

// Read returns the text file at path with the staged edits in it, or [ErrWithheld].
func (v *View) Read(path string) (*File, error) {
	if v.Withholds(path) {
		return nil, fmt.Errorf("open %s: %w", path, ErrWithheld)
	}
	key := Key(path)
	st := v.staged[key]
	switch {
	case st == nil && v.gone[key]:
		return nil, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
	case st == nil:
		return v.Snapshot.Read(path)
	case st.base == nil && st.op == OpRename:
		f, err := v.Snapshot.Read(st.path) // binary, or too large
		if err != nil {
			return nil, err
		}
		f.Path = path
		return f, nil
	}
	f := File{Path: path, Format: text.Plain}
	if st.base != nil {
		f = *st.base
		f.Path = path
	}
	f.Text = st.current()
	return &f, nil
}

// Exists reports whether a file is at path, what is staged included.
func (v *View) Exists(path string) bool {
	key := Key(path)
	if v.staged[key] != nil {
		return true
	}
	return !v.gone[key] && v.Snapshot.Exists(path)
}

// Overlay returns the texts that stand for files on disk, by absolute path: the
// open documents that are files, and the staged edits over them. The text is nil
// for a file that is to be taken for deleted.
func (v *View) Overlay() map[string][]byte {
	out := make(map[string][]byte, len(v.docs)+len(v.staged))
	for _, d := range v.docs {
		if d.Path != "" {
			out[d.Path] = []byte(d.Text)
		}
	}
	spelled := func(path string) string { // as the editor spells it
		if d, ok := v.Document(path); ok && d.Path != "" {
			return d.Path
		}
		return path
	}
	for _, st := range v.order {
		if st.op == OpDelete || st.op == OpRename {
			out[spelled(st.path)] = nil
		}
	}
	for _, st := range v.order {
		if st.op == OpDelete || (st.op == OpRename && st.base == nil) || Untitled(st.path) {
			continue
		}
		out[spelled(st.at())] = append([]byte{}, st.current()...)
	}
	return out
}
