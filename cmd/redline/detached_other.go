//go:build !unix

package main

import "syscall"

// detached starts a process as it is: it ends by itself when it is idle.
func detached() *syscall.SysProcAttr { return nil }
