//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
	"time"
)

const drain = 200 * time.Millisecond

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill ends the group: it is called before the process is waited for, so the
// number cannot be another's.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
