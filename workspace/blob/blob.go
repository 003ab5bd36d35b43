// Package blob keeps contents of files outside of the workspace, each once, under
// its hash and compressed: DIR/ab/cdef…, mode 0600. It holds what checkpoints refer
// to; nothing of it is in the user's git.
//
// When [Store.Put] has returned, the content is on the disk with its name: it outlasts
// the death of the process and, where the system can sync folders, a loss of power.
// [Store.Get] checks what it reads against its name, so that a torn or damaged file is
// never taken for a content; putting the content once more mends it.
package blob

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultMax is how large a store may grow, in bytes on disk, unless SetMax says so.
const DefaultMax = 512 << 20

// ErrGone says that a content is not kept any more, or was never.
var ErrGone = errors.New("the content is not kept any more")

// Store keeps contents in a folder. It is safe for concurrent use, also by several
// processes. The zero values of its settings are useful.
type Store struct {
	Dir string
	// Disk replaces how contents are written, for tests that let it fail.
	Disk Disk

	max   atomic.Int64
	mu    sync.Mutex
	added int64 // since the last pruning, which the first Put does
	began bool
}

// SetMax sets how many bytes on disk are kept; the oldest go first.
func (s *Store) SetMax(n int64) { s.max.Store(n) }

func (s *Store) path(name string) (string, error) {
	if raw, err := hex.DecodeString(name); err != nil || len(raw) != sha256.Size {
		return "", fmt.Errorf("%q is no name of a content", name)
	}
	return filepath.Join(s.Dir, name[:2], name[2:]), nil
}

// Put keeps data and returns its name. A crash leaves all of it or nothing.
func (s *Store) Put(data []byte) (name string, err error) {
	sum := sha256.Sum256(data)
	name = hex.EncodeToString(sum[:])
	path, err := s.path(name)
	if err != nil {
		return "", err
	}
	disk := s.Disk
	if disk == nil {
		disk = osDisk{}
	}
	dir := filepath.Dir(path)
	if _, err := s.Get(name); err == nil { // there and whole, and used again
		now := time.Now()
		_ = os.Chtimes(path, now, now)
		// Whoever wrote it may have died before the folder was synced.
		if err := errors.Join(disk.SyncDir(s.Dir), disk.SyncDir(dir)); err != nil {
			return "", fmt.Errorf("keep a content: %w", err)
		}
		return name, nil
	}
	size, err := write(disk, s.Dir, path, data)
	if err != nil {
		return "", fmt.Errorf("keep a content: %w", err)
	}
	s.grown(size)
	return name, nil
}

// Get returns the content with the given name, checked against it.
func (s *Store) Get(name string) ([]byte, error) {
	path, err := s.path(name)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("read a kept content: %w", err)
	}
	data, err := io.ReadAll(flate.NewReader(bytes.NewReader(raw)))
	if sum := sha256.Sum256(data); err != nil || hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("%w: it is damaged", ErrGone)
	}
	return data, nil
}

// grown prunes the store when it may have outgrown its bound.
func (s *Store) grown(size int64) {
	limit := s.max.Load()
	if limit <= 0 {
		limit = DefaultMax
	}
	s.mu.Lock()
	s.added += size
	due := !s.began || s.added > limit/16
	if due {
		s.began, s.added = true, 0
	}
	s.mu.Unlock()
	if due {
		s.prune(limit)
	}
}

// prune removes the oldest contents beyond limit.
func (s *Store) prune(limit int64) {
	type file struct {
		path string
		size int64
		at   time.Time
	}
	var all []file
	total := int64(0)
	_ = filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // what cannot be read is left
		}
		if info, err := d.Info(); err == nil {
			all = append(all, file{path, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return nil
	})
	slices.SortFunc(all, func(a, b file) int { return a.at.Compare(b.at) })
	for _, f := range all {
		if total <= limit {
			return
		}
		if os.Remove(f.path) == nil {
			total -= f.size
		}
	}
}
