//go:build !unix

package mcp

import (
	"os/exec"
	"time"
)

const drain = 200 * time.Millisecond

func ownGroup(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
