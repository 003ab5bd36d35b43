//go:build unix

package workspace

import (
	"os"
	"syscall"
)

// openFlags open a file that was a regular one a moment ago. O_NONBLOCK keeps the
// open from hanging should it have become a FIFO since.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK
