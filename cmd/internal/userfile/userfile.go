// Package userfile changes files of the user's that several processes share.
package userfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// How long a lock is waited for, and when one counts as left behind.
const (
	lockWait  = 3 * time.Second
	lockStale = 10 * time.Second
)

// Lock takes the lock of a file, a directory beside it, and makes the folder for
// both. It is for a moment only: one that is held longer than 10 s is taken away.
func Lock(file string) (unlock func(), err error) {
	dir := file + ".lock"
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockWait); ; {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			return func() { _ = os.Remove(dir) }, nil // one that stays is stale soon
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("lock %s: %w", file, err)
		}
		if info, serr := os.Stat(dir); serr == nil && time.Since(info.ModTime()) > lockStale {
			_ = os.Remove(dir) // the next Mkdir tells
			continue
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("%s is locked by another program; remove %s if there is none", file, dir)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Replace writes a file atomically, for its owner only.
func Replace(file string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails once renamed, which is the point
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
