package lsptest

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// document is an open buffer.
type document struct {
	uri, path string
	version   int
	text      string
	bom       bool
	dirty     bool
	undo      []string       // texts before each undo step
	history   map[int]string // text by version, to judge late edits
	held      []*message     // changes that the server is told of when the document is shown
}

const bom = "\uFEFF"

// URI returns the file URI of an absolute path, escaped as editors do.
func URI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// PathOf returns the path of a file URI, "" for another scheme.
func PathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return filepath.FromSlash(u.Path)
}

// Path returns the absolute form of a path relative to the root.
func (e *Editor) Path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(e.root, filepath.FromSlash(path))
}

// WriteFile writes a file to the disk behind the editor's back, making folders.
func (e *Editor) WriteFile(path, text string) {
	e.t.Helper()
	path = e.Path(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		e.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		e.t.Fatal(err)
	}
}

// Remove deletes a file from the disk behind the editor's back.
func (e *Editor) Remove(path string) {
	e.t.Helper()
	if err := os.Remove(e.Path(path)); err != nil {
		e.t.Fatal(err)
	}
}

// Disk returns what is on the disk, and whether the file exists.
func (e *Editor) Disk(path string) (text string, exists bool) {
	e.t.Helper()
	b, err := os.ReadFile(e.Path(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.t.Fatal(err)
	}
	return string(b), err == nil
}

// Open opens a file from the disk, an empty buffer when there is none.
func (e *Editor) Open(path string) {
	e.t.Helper()
	e.lock(func() {
		d, err := e.open(e.Path(path))
		if err != nil {
			e.t.Errorf("open: %v", err)
			return
		}
		e.toFront(d)
	})
}

// toFront is what an editor does when the user goes to a document; mu is held.
func (e *Editor) toFront(d *document) {
	e.front = d.uri
	held := d.held
	d.held = nil
	for _, m := range held {
		e.put(m)
	}
}

// open returns the document of a path, opening it first; mu is held.
func (e *Editor) open(path string) (*document, error) {
	uri := URI(path)
	if d := e.docs[uri]; d != nil {
		return d, nil
	}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, errors.New(path + " is not UTF-8, which is all this editor knows")
	}
	d := &document{uri: uri, path: path, version: e.p.FirstVersion, history: map[int]string{}}
	if err != nil && e.p.EmptyIsLine {
		b = []byte("\n")
	}
	d.text, d.bom = strings.CutPrefix(string(b), bom)
	if e.p.LineEnds == OneLineEnd {
		d.text = withEOL(d.text, eolOf(d.text))
	}
	e.show(d)
	return d, nil
}

// OpenText opens a buffer that has no file, under its URI (untitled:x).
func (e *Editor) OpenText(uri, text string) {
	e.lock(func() {
		e.show(&document{uri: uri, path: PathOf(uri), version: e.p.FirstVersion, text: text, dirty: true, history: map[int]string{}})
	})
}

// show makes a document open and tells the server; mu is held.
func (e *Editor) show(d *document) {
	e.docs[d.uri] = d
	d.history[d.version] = d.text
	if _, openClose, _, _ := e.server.sync(); openClose {
		e.put(&message{Method: "textDocument/didOpen", Params: mustJSON(map[string]any{
			"textDocument": map[string]any{"uri": d.uri, "languageId": languageID(d.path), "version": d.version, "text": d.text},
		})})
	}
}

func languageID(path string) string {
	switch ext := strings.TrimPrefix(filepath.Ext(path), "."); ext {
	case "":
		return "plaintext"
	case "md":
		return "markdown"
	case "py":
		return "python"
	case "ts":
		return "typescript"
	case "js":
		return "javascript"
	default:
		return ext
	}
}

// doc returns an open document by path or URI, and fails the test when there is
// none; mu is held.
func (e *Editor) doc(path string) *document {
	e.t.Helper()
	if d := e.docs[path]; d != nil {
		return d
	}
	if d := e.docs[URI(e.Path(path))]; d != nil {
		return d
	}
	e.t.Errorf("lsptest: %s is not open", path)
	return &document{uri: URI(e.Path(path)), path: e.Path(path), history: map[int]string{}}
}

// IsOpen reports whether a document is open.
func (e *Editor) IsOpen(path string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.docs[path] != nil || e.docs[URI(e.Path(path))] != nil
}

// Text returns the text of an open document, else what is on the disk.
func (e *Editor) Text(path string) string {
	e.t.Helper()
	e.mu.Lock()
	d := e.docs[path]
	if d == nil {
		d = e.docs[URI(e.Path(path))]
	}
	if d != nil {
		defer e.mu.Unlock()
		return d.text
	}
	e.mu.Unlock()
	text, _ := e.Disk(path)
	return text
}

// Version returns the version of an open document.
func (e *Editor) Version(path string) int {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.doc(path).version
}

// Dirty reports whether an open document has unsaved changes.
func (e *Editor) Dirty(path string) bool {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.doc(path).dirty
}

// Type inserts text at a position, one change and one undo step.
func (e *Editor) Type(path string, pos Position, text string) {
	e.t.Helper()
	e.Edit(path, TextEdit{Range: Range{pos, pos}, NewText: text})
}

// Insert inserts text at the byte offset that at finds in the document as it is at
// that very moment; for users who type while the server works.
func (e *Editor) Insert(path string, at func(text string) int, text string) {
	e.t.Helper()
	e.dialog.Lock()
	defer e.dialog.Unlock()
	e.lock(func() {
		d := e.doc(path)
		e.toFront(d)
		off := at(d.text)
		pos := position(d.text, off, e.Encoding)
		e.change(d, []splice{{off, off, TextEdit{Range: Range{pos, pos}, NewText: text}}}, true)
	})
}

// Edit changes a document as its user: one change and one undo step.
func (e *Editor) Edit(path string, edits ...TextEdit) {
	e.t.Helper()
	e.dialog.Lock()
	defer e.dialog.Unlock()
	e.lock(func() {
		d := e.doc(path)
		e.toFront(d)
		list, problems := splices(d.text, edits, e.Encoding)
		for _, p := range problems {
			e.t.Errorf("edit of %s: %s", path, p)
		}
		e.change(d, list, true)
	})
}

// Replace replaces the only occurrence of old in a document.
func (e *Editor) Replace(path, old, text string) {
	e.t.Helper()
	e.Edit(path, TextEdit{Range: e.Find(path, old), NewText: text})
}

// Find returns the range of the only occurrence of a text in a document.
func (e *Editor) Find(path, text string) (r Range) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.doc(path)
	if n := strings.Count(d.text, text); n != 1 {
		e.t.Errorf("lsptest: %q occurs %d times in %s", text, n, path)
		return Range{}
	}
	at := strings.Index(d.text, text)
	return Range{position(d.text, at, e.Encoding), position(d.text, at+len(text), e.Encoding)}
}

// SetText replaces the whole text, as a formatter or git does, in one change.
func (e *Editor) SetText(path, text string) {
	e.t.Helper()
	e.dialog.Lock()
	defer e.dialog.Unlock()
	e.lock(func() {
		d := e.doc(path)
		e.change(d, e.whole(d, text), true)
	})
}

func (e *Editor) whole(d *document, text string) []splice {
	all := Range{End: position(d.text, len(d.text), e.Encoding)}
	return []splice{{0, len(d.text), TextEdit{Range: all, NewText: text}}}
}

// change applies splices to a document, with one version and, if wanted, one undo
// step, and tells the server; mu is held.
func (e *Editor) change(d *document, list []splice, step bool) {
	if e.p.LineEnds != KeepsLineEnds {
		eol := eolOf(d.text)
		if e.p.LineEnds == FileFormat && strings.Count(d.text, "\n") != strings.Count(d.text, "\r\n") {
			eol = "\n"
		}
		for i := range list {
			list[i].edit.NewText = withEOL(list[i].edit.NewText, eol)
		}
	}
	list = disjoint(list)
	before := d.text
	if step {
		d.undo = append(d.undo, before)
	}
	d.text = applySplices(d.text, list)
	if d.version == e.p.FirstVersion && e.p.FirstStep > 0 {
		d.version += e.p.FirstStep - 1
	}
	d.version++
	d.history[d.version] = d.text
	d.dirty = true
	kind, _, _, _ := e.server.sync()
	var changes []any
	switch kind {
	case syncNone:
		return
	case syncFull:
		changes = []any{map[string]any{"text": d.text}}
	default:
		// From the end, so that each range is right in the text before it.
		for i := len(list) - 1; i >= 0; i-- {
			r := Range{position(before, list[i].start, e.Encoding), position(before, list[i].end, e.Encoding)}
			changes = append(changes, map[string]any{"range": r, "text": list[i].edit.NewText})
		}
	}
	e.putChange(d, &message{Method: "textDocument/didChange", Params: mustJSON(map[string]any{
		"textDocument":   map[string]any{"uri": d.uri, "version": d.version},
		"contentChanges": changes,
	})})
}

// Undo takes back the last step of a document: a change of the user's, or all
// that one workspace/applyEdit did to it. It reports whether there was one.
func (e *Editor) Undo(path string) (done bool) {
	e.t.Helper()
	e.dialog.Lock()
	defer e.dialog.Unlock()
	e.lock(func() {
		d := e.doc(path)
		if len(d.undo) == 0 {
			return
		}
		before := d.undo[len(d.undo)-1]
		d.undo = d.undo[:len(d.undo)-1]
		e.change(d, e.whole(d, before), false)
		done = true
	})
	return done
}

// Save writes a document to the disk.
func (e *Editor) Save(path string) {
	e.t.Helper()
	e.lock(func() {
		d := e.doc(path)
		e.toFront(d)
		if err := e.save(d); err != nil {
			e.t.Errorf("save: %v", err)
		}
	})
}

// save writes a document; mu is held.
func (e *Editor) save(d *document) error {
	text := d.text
	if d.bom {
		text = bom + text
	}
	if err := os.MkdirAll(filepath.Dir(d.path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(d.path, []byte(text), 0o644); err != nil {
		return err
	}
	d.dirty = false
	if _, _, save, withText := e.server.sync(); save {
		params := map[string]any{"textDocument": map[string]any{"uri": d.uri}}
		if withText {
			params["text"] = d.text
		}
		e.put(&message{Method: "textDocument/didSave", Params: mustJSON(params)})
	}
	return nil
}

// Close closes a document; unsaved changes are lost.
func (e *Editor) Close(path string) {
	e.t.Helper()
	e.lock(func() { e.close(e.doc(path)) })
}

// close closes a document; mu is held.
func (e *Editor) close(d *document) {
	delete(e.docs, d.uri)
	if _, openClose, _, _ := e.server.sync(); openClose {
		e.put(&message{Method: "textDocument/didClose", Params: mustJSON(map[string]any{
			"textDocument": map[string]any{"uri": d.uri},
		})})
	}
}
