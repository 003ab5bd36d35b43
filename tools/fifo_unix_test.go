//go:build unix

package tools_test

import (
	"syscall"
	"testing"
)

func makeFIFO(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o600) }
