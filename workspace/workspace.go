package workspace

import (
	"fmt"
	"maps"
	"path/filepath"
	"sync"

	"redline/workspace/text"
)

// A Document is one text open in the editor. It never changes; an edit makes a
// new one.
type Document struct {
	// Key is what identifies the document: the canonical path of a file, or the
	// URI of something that is no file.
	Key string
	// URI is the name the editor uses, which it must be told back.
	URI string
	// Path is the file's path as the editor spells it; empty when it is no file.
	Path     string
	Version  int32
	Language string
	Text     string
}

type folder struct {
	path string // as the client names it, clean
	real string // with symbolic links followed
}

// Workspace holds the folders and the documents open in the editor. It is safe
// for concurrent use; its methods never wait for I/O but for following links.
type Workspace struct {
	mu      sync.Mutex
	cur     *Snapshot
	watch   map[int]func(old, new *Document)
	watchID int
}

// New returns a workspace of the given absolute folders.
func New(folders ...string) (*Workspace, error) {
	w := &Workspace{cur: &Snapshot{}, watch: map[int]func(old, new *Document){}}
	return w, w.SetFolders(folders)
}

// SetFolders replaces the folders.
func (w *Workspace) SetFolders(paths []string) error {
	fs := make([]folder, 0, len(paths))
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return fmt.Errorf("folder %q is not an absolute path", p)
		}
		p = filepath.Clean(p)
		real, err := Canonical(p)
		if err != nil {
			return fmt.Errorf("folder %q: %w", p, err)
		}
		fs = append(fs, folder{p, real})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cur = &Snapshot{folders: fs, docs: w.cur.docs}
	return nil
}

// Snapshot returns the state of this moment.
func (w *Workspace) Snapshot() *Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cur
}

// Put opens d or replaces the document with its key. Watchers are called before
// Put returns, in the order of the calls to Put and Drop.
func (w *Workspace) Put(d *Document) {
	w.change(d.Key, d)
}

// Drop closes the document with the given key.
func (w *Workspace) Drop(key string) {
	w.change(key, nil)
}

func (w *Workspace) change(key string, d *Document) {
	w.mu.Lock()
	old := w.cur.docs[key]
	docs := maps.Clone(w.cur.docs)
	if docs == nil {
		docs = map[string]*Document{}
	}
	if d == nil {
		delete(docs, key)
	} else {
		docs[key] = d
	}
	w.cur = &Snapshot{folders: w.cur.folders, docs: docs}
	watchers := make([]func(old, new *Document), 0, len(w.watch))
	for _, f := range w.watch {
		watchers = append(watchers, f)
	}
	w.mu.Unlock()
	if old == nil && d == nil {
		return
	}
	for _, f := range watchers {
		f(old, d)
	}
}

// Watch calls f for each change of a document until the returned stop function
// is called; old or new is nil when the document was opened or closed. f must not
// block: it is called on the path of the user's typing.
func (w *Workspace) Watch(f func(old, new *Document)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watchID++
	id := w.watchID
	w.watch[id] = f
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watch, id)
	}
}

// Key returns the key of the file with the given clean absolute path, or of an
// [Untitled] document.
func Key(path string) string {
	if Untitled(path) {
		return path
	}
	k, err := Canonical(path)
	if err != nil {
		return path
	}
	return k
}

// A File is one text file as the user sees it.
type File struct {
	Path string
	Text string // UTF-8 without byte order mark, line ends as they are
	// Format is how the file is stored; for a document that is on no disk yet it
	// is [text.Plain].
	Format text.Format
	// Open says that Text is the editor's; Version is then the document's.
	Open    bool
	Version int32
	URI     string // the editor's name of an open document, else empty
}
