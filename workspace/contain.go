package workspace

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Disk reads and changes files. Those of the workspace it reaches from their folder
// down, by [os.Root]: when a symbolic link on the way is swapped after the path was
// checked, the operation fails, and never leaves the folder. The zero value has no
// folders.
type Disk struct {
	folders []folder
}

// Disk returns what reads and changes the files of the snapshot's folders.
func (s *Snapshot) Disk() Disk { return Disk{s.folders} }

// place is a file by its path from an open folder. It must be closed.
type place struct {
	*os.Root
	rel string
}

// at opens the folder that holds the file at the absolute path. With follow the file
// is the one that a symbolic link at path leads to; else the link itself. A path in
// the workspace that leads out of it is a [*PathError]; one that is outside as it is
// spelled, such as the user's own GEMINI.md, is reached from the nearest folder above
// that is there.
func (d Disk) at(path string, follow bool) (*place, error) {
	path = filepath.Clean(path)
	real, err := Canonical(path)
	if !follow {
		real, err = Canonical(filepath.Dir(path))
		real = filepath.Join(real, filepath.Base(path))
	}
	if err != nil {
		return nil, err
	}
	top := ""
	for _, f := range d.folders {
		if within(f.real, real) {
			top = f.real
			break
		}
	}
	for _, f := range d.folders {
		if top == "" && (within(f.path, path) || within(f.real, path)) {
			return nil, &PathError{path, fmt.Sprintf("path %q leads out of the workspace", path)}
		}
	}
	if top == "" {
		for top = filepath.Dir(real); top != filepath.Dir(top); top = filepath.Dir(top) {
			if info, err := os.Stat(top); err == nil && info.IsDir() {
				break
			}
		}
	}
	rel, err := filepath.Rel(top, real)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	return &place{root, rel}, nil
}

// parents makes the folders above rel that are missing.
func (p *place) parents(rel string) error {
	dir := filepath.Dir(rel)
	if dir == "." {
		return nil
	}
	return p.MkdirAll(dir, 0o755)
}

// ReadBytes is [ReadBytes] for a file of the workspace, or one outside that is named
// as such.
func (d Disk) ReadBytes(path string) ([]byte, fs.FileInfo, error) {
	at, err := d.at(path, true)
	if err != nil {
		return nil, nil, err
	}
	defer at.Close()
	info, err := at.Stat(at.rel)
	if err != nil {
		return nil, nil, err
	}
	if err := readable(info); err != nil {
		return nil, info, err
	}
	f, err := at.OpenFile(at.rel, openFlags, 0)
	if err != nil {
		return nil, info, err
	}
	defer f.Close()
	data, err := readAll(f, path)
	return data, info, err
}

// readable reports whether a file may be read at all: see [ReadBytes].
func readable(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return ErrNotRegular
	case info.Size() > MaxFileSize:
		return ErrTooLarge
	}
	return nil
}

// readAll reads an open file to its end, or to the limit: its size may be a lie
// (procfs), or change meanwhile.
func readAll(f *os.File, path string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) > MaxFileSize {
		return nil, ErrTooLarge
	}
	return data, nil
}
