package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"syscall"

	"redline/workspace/text"
)

// Snapshot is an immutable state of the open documents; files that are not open
// are read from the disk when asked for.
type Snapshot struct {
	folders []folder
	docs    map[string]*Document
}

// MaxFileSize is the largest file that is read, in bytes.
const MaxFileSize = 20 << 20

// Errors of [Snapshot.ReadBytes] and [Snapshot.Read] beside those of the disk.
var (
	ErrTooLarge   = errors.New("file is larger than 20 MB")
	ErrNotRegular = errors.New("not a regular file")
)

// Folders returns the absolute paths of the folders, as the client names them.
func (s *Snapshot) Folders() []string {
	out := make([]string, len(s.folders))
	for i, f := range s.folders {
		out[i] = f.path
	}
	return out
}

// Document returns the open document of the file with the given absolute path.
func (s *Snapshot) Document(path string) (*Document, bool) {
	if d, ok := s.docs[path]; ok { // spelled canonically, the common case
		return d, true
	}
	d, ok := s.docs[Key(path)]
	return d, ok
}

// DocumentByKey returns the open document with the given key.
func (s *Snapshot) DocumentByKey(key string) (*Document, bool) {
	d, ok := s.docs[key]
	return d, ok
}

// Documents returns the open documents, sorted by key.
func (s *Snapshot) Documents() []*Document {
	out := make([]*Document, 0, len(s.docs))
	for _, d := range s.docs {
		out = append(out, d)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

// ReadBytes returns the bytes of the file on disk. It never waits on a FIFO or
// device: anything but a regular file is [ErrNotRegular].
func ReadBytes(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if err := readable(info); err != nil {
		return nil, info, err
	}
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return nil, info, err
	}
	defer f.Close()
	data, err := readAll(f, path)
	return data, info, err
}

// Read returns the text file at path: what the editor shows when it is open
// there, else what is on disk. A file that is no text is [text.ErrBinary].
func (s *Snapshot) Read(path string) (*File, error) {
	doc, open := s.Document(path)
	if open {
		f := &File{
			Path: path, Text: doc.Text, Format: text.Plain,
			Open: true, Version: doc.Version, URI: doc.URI,
		}
		if Untitled(path) {
			return f, nil // it is nowhere on the disk
		}
		// The editor shows neither encoding nor BOM; they are the disk's.
		if data, _, err := ReadBytes(path); err == nil {
			if _, format, err := text.Decode(data); err == nil {
				f.Format = format
			}
		}
		return f, nil
	}
	if Untitled(path) {
		return nil, fmt.Errorf("read %s: %w", path, fs.ErrNotExist)
	}
	data, _, err := s.Disk().ReadBytes(path)
	if err != nil {
		return nil, err
	}
	t, format, err := text.Decode(data)
	if err != nil {
		return nil, err
	}
	return &File{Path: path, Text: t, Format: format}, nil
}

// Exists reports whether a file is at path, on disk or only in the editor.
func (s *Snapshot) Exists(path string) bool {
	if _, ok := s.Document(path); ok {
		return true
	}
	if Untitled(path) {
		return false
	}
	_, err := os.Lstat(path)
	// What cannot be looked at, because of permissions for one, may well be there.
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// Hash names a text: two texts with the same hash are the same.
func Hash(t string) string {
	sum := sha256.Sum256([]byte(t))
	return "sha256:" + hex.EncodeToString(sum[:16])
}
