//go:build unix

package main

import "syscall"

// detached starts a process in a session of its own, so that it outlives the editor's.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
