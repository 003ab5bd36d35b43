package vault

import (
	"context"
	"fmt"
	"os"
	"time"
)

// How long to wait between two tries for the lock of another process.
const (
	lockFirst = time.Millisecond
	lockMost  = 100 * time.Millisecond
)

// lock takes the lock that the file at path stands for, and returns what gives it
// back. The system gives it back too when the process ends. Several holders in one
// process exclude each other as well.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the saved sign-in: %w", err)
	}
	for wait := lockFirst; ; wait = min(2*wait, lockMost) {
		free, err := tryLock(f)
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock the saved sign-in: %w", err)
		}
		if free {
			return func() { _ = f.Close() }, nil // which gives the lock back
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			_ = f.Close()
			return nil, fmt.Errorf("wait for another redline to finish with the saved sign-in: %w", ctx.Err())
		}
	}
}
