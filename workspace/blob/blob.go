// Package blob keeps contents of files outside of the workspace, each once, under
// its hash and compressed: DIR/ab/cdef…, mode 0600. It holds what checkpoints refer
// to; nothing of it is in the user's git.
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
	now := time.Now()
	if os.Chtimes(path, now, now) == nil {
		return name, nil // there, and used again
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("keep a content: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return "", fmt.Errorf("keep a content: %w", err)
	}
	defer os.Remove(tmp.Name()) // fails once renamed, which is the point
	z, err := flate.NewWriter(tmp, flate.BestSpeed)
	if err == nil {
		_, err = z.Write(data)
		err = errors.Join(err, z.Close())
	}
	size, serr := tmp.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, serr, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
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
