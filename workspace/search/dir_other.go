//go:build !linux || portable

package search

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// dir is a directory by its path. It needs no closing; the counting is for the systems where it does.
type dir struct{ path string }

var errNotDirectory = errors.New("not a directory")

// openDir names the directory called name in parent, or the one at abs when parent is nil. Only in the latter case is a
// symbolic link followed.
func openDir(parent *dir, abs, name string) (*dir, error) {
	d, stat := &dir{abs}, os.Stat
	if parent != nil {
		d, stat = &dir{filepath.Join(parent.path, name)}, os.Lstat
	}
	st, err := stat(d.path)
	if err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	if !st.IsDir() {
		return nil, errNotDirectory
	}
	return d, nil
}

func (d *dir) retain()  {}
func (d *dir) release() {}

// isRegular reports whether name is a regular file or a link to one.
func (d *dir) isRegular(name string) bool {
	st, err := os.Stat(filepath.Join(d.path, name))
	return err == nil && st.Mode().IsRegular()
}

func (d *dir) isLink(name string) bool {
	st, err := os.Lstat(filepath.Join(d.path, name))
	return err == nil && st.Mode()&fs.ModeSymlink != 0
}

// info gives the time of the last change and the size of a regular file or of a link to one.
func (d *dir) info(name string) (time.Time, int64, bool) {
	st, err := os.Stat(filepath.Join(d.path, name))
	if err != nil || !st.Mode().IsRegular() {
		return time.Time{}, 0, false
	}
	return st.ModTime(), st.Size(), true
}

// open opens a regular file for reading. With O_NONBLOCK not even a FIFO that took its place in the meantime blocks.
func (d *dir) open(name string, follow bool) (file, error) {
	path := filepath.Join(d.path, name)
	if !follow && d.isLink(name) {
		return file{}, fmt.Errorf("open %s: is a symbolic link", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return file{f}, err
}

// file is an open file.
type file struct{ *os.File }

// read fills as much of b as the file has and returns 0 at its end.
func (f file) read(b []byte) (int, error) {
	n, err := f.Read(b)
	if err == io.EOF {
		return 0, nil
	}
	return n, err
}

// regularSize gives the size of a regular file, and false for anything else.
func (f file) regularSize() (int64, bool) {
	st, err := f.Stat()
	if err != nil {
		return 0, false
	}
	return st.Size(), st.Mode().IsRegular()
}

func (f file) close() { f.Close() } // nothing was written, so there is nothing to learn from an error

// lister lists directories.
type lister struct {
	names []fs.DirEntry
}

func newLister() *lister { return &lister{} }

func (l *lister) name(i int) []byte { return []byte(l.names[i].Name()) }

func (l *lister) kind(_ *dir, i int) kind {
	switch t := l.names[i].Type(); {
	case t.IsRegular():
		return kindFile
	case t.IsDir():
		return kindDir
	case t&fs.ModeSymlink != 0:
		return kindLink
	}
	return kindOther
}

// list reads the entries of d, without `.` and `..`.
func (l *lister) list(d *dir) error {
	var err error
	if l.names, err = os.ReadDir(d.path); err != nil {
		return fmt.Errorf("list directory: %w", err)
	}
	return nil
}
