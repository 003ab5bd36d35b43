//go:build unix

package workspace

import (
	"os"
	"syscall"
)

// openRegular opens a file that was a regular one a moment ago. O_NONBLOCK keeps
// the open from hanging should it have become a FIFO since.
func openRegular(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
