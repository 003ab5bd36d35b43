//go:build !portable

package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// dir is an open directory, closed when the last that needs it releases it. Entries are opened relative to it: that is
// faster than from the root, and no component can be swapped for a symbolic link in between.
type dir struct {
	fd   int
	refs atomic.Int32
}

var errNotDirectory = errors.New("not a directory")

// openDir opens the directory called name in parent, or the one at abs when parent is nil. Only in the latter case is a
// symbolic link followed.
func openDir(parent *dir, abs, name string) (*dir, error) {
	at, path, flags := unix.AT_FDCWD, abs, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC
	if parent != nil {
		at, path = parent.fd, name
		flags |= unix.O_NOFOLLOW
	}
	fd, err := openat(at, path, flags)
	if err == unix.ENOTDIR || err == unix.ELOOP {
		return nil, errNotDirectory
	}
	if err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	d := &dir{fd: fd}
	d.refs.Store(1)
	return d, nil
}

func openat(at int, path string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(at, path, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func (d *dir) retain() { d.refs.Add(1) }

func (d *dir) release() {
	if d.refs.Add(-1) == 0 {
		unix.Close(d.fd) // nothing was written, so there is nothing to learn from an error
	}
}

// isRegular reports whether name is a regular file or a link to one.
func (d *dir) isRegular(name string) bool {
	var st unix.Stat_t
	return fstatat(d.fd, name, &st, 0) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
}

func (d *dir) isLink(name string) bool {
	var st unix.Stat_t
	return fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// info gives the time of the last change and the size of a regular file or of a link to one.
func (d *dir) info(name string) (time.Time, int64, bool) {
	var st unix.Stat_t
	if fstatat(d.fd, name, &st, 0) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return time.Time{}, 0, false
	}
	return time.Unix(st.Mtim.Unix()), st.Size, true
}

func fstatat(fd int, name string, st *unix.Stat_t, flags int) error {
	for {
		if err := unix.Fstatat(fd, name, st, flags); err != unix.EINTR {
			return err
		}
	}
}

// open opens a regular file for reading. With O_NONBLOCK not even a FIFO that took its place in the meantime blocks.
func (d *dir) open(name string, follow bool) (file, error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := openat(d.fd, name, flags)
	if err != nil {
		return -1, fmt.Errorf("open: %w", err)
	}
	return file(fd), nil
}

// file is an open file. The os package would register it with the poller, which costs more than reading a small file.
type file int

// read fills as much of b as the file has and returns 0 at its end.
func (f file) read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(f), b)
		switch err {
		case nil:
			return n, nil
		case unix.EINTR:
		default:
			return 0, fmt.Errorf("read: %w", err)
		}
	}
}

// regularSize gives the size of a regular file, and false for anything else.
func (f file) regularSize() (int64, bool) {
	var st unix.Stat_t
	for {
		switch unix.Fstat(int(f), &st) {
		case nil:
			return st.Size, st.Mode&unix.S_IFMT == unix.S_IFREG
		case unix.EINTR:
		default:
			return 0, false
		}
	}
}

func (f file) close() { unix.Close(int(f)) }

// lister lists one directory after the other into the same memory.
type lister struct {
	buf   []byte // what the kernel filled in
	text  []byte // the names, one after the other
	names []listed
}

type listed struct {
	start, end int // in text
	dtype      byte
}

func newLister() *lister { return &lister{buf: make([]byte, 32<<10)} }

func (l *lister) name(i int) []byte { return l.text[l.names[i].start:l.names[i].end] }

// kind of entry i of d. Some file systems do not say, then the entry is asked.
func (l *lister) kind(d *dir, i int) kind {
	switch l.names[i].dtype {
	case unix.DT_REG:
		return kindFile
	case unix.DT_DIR:
		return kindDir
	case unix.DT_LNK:
		return kindLink
	case unix.DT_UNKNOWN:
		var st unix.Stat_t
		if fstatat(d.fd, string(l.name(i)), &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return kindOther
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			return kindFile
		case unix.S_IFDIR:
			return kindDir
		case unix.S_IFLNK:
			return kindLink
		}
	}
	return kindOther
}

// The layout of struct linux_dirent64.
const (
	direntLen  = 16
	direntType = 18
	direntName = 19
)

// list reads the entries of d, without `.` and `..`.
func (l *lister) list(d *dir) error {
	l.text, l.names = l.text[:0], l.names[:0]
	for {
		n, err := unix.Getdents(d.fd, l.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("list directory: %w", err)
		}
		if n <= 0 {
			return nil
		}
		for b := l.buf[:n]; len(b) > direntName; {
			size := int(binary.NativeEndian.Uint16(b[direntLen:]))
			if size < direntName || size > len(b) {
				return fmt.Errorf("list directory: %w", fs.ErrInvalid)
			}
			name := b[direntName:size]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			if string(name) != "." && string(name) != ".." {
				start := len(l.text)
				l.text = append(l.text, name...)
				l.names = append(l.names, listed{start, len(l.text), b[direntType]})
			}
			b = b[size:]
		}
	}
}
