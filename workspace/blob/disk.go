package blob

import (
	"compress/flate"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a content on its way to the disk.
type File interface {
	io.Writer
	Sync() error
	Close() error
	Name() string
}

// Disk is how contents get to the disk.
type Disk interface {
	// MkdirAll makes a folder of mode 0700 and those above it that are missing.
	MkdirAll(dir string) error
	// Create makes a new file of mode 0600 in dir, with a name that is no content's.
	Create(dir string) (File, error)
	// Rename puts a file in the place of another, at once.
	Rename(from, to string) error
	// SyncDir returns when the names in dir are on the disk.
	SyncDir(dir string) error
}

type osDisk struct{}

func (osDisk) MkdirAll(dir string) error       { return os.MkdirAll(dir, 0o700) }
func (osDisk) Create(dir string) (File, error) { return os.CreateTemp(dir, ".new-*") }
func (osDisk) Rename(from, to string) error    { return os.Rename(from, to) }

// SyncDir does nothing where the system cannot sync a folder, as Windows cannot and
// some file systems of a network cannot.
func (osDisk) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

// write makes the file at path, a folder below root, of data. Its bytes are on the disk
// before its name is, and both are when it returns size, in bytes on disk.
func write(disk Disk, root, path string, data []byte) (size int64, err error) {
	dir := filepath.Dir(path)
	if err := disk.MkdirAll(dir); err != nil {
		return 0, err
	}
	f, err := disk.Create(dir)
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) // fails once renamed, which is the point
	n := counter{w: f}
	z, err := flate.NewWriter(&n, flate.BestSpeed)
	if err == nil {
		_, err = z.Write(data)
		err = errors.Join(err, z.Close())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = disk.Rename(f.Name(), path)
	}
	if err == nil {
		err = errors.Join(disk.SyncDir(root), disk.SyncDir(dir))
	}
	return n.size, err
}

// counter counts the bytes written to w.
type counter struct {
	w    io.Writer
	size int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.size += int64(n)
	return n, err
}
