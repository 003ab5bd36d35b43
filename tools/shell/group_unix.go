//go:build unix && !linux

package shell

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// groupMembers lists the processes of a process group that run, in the order of their ids. Those that left it are not
// found here: another process's environment cannot be read.
func groupMembers(ctx context.Context, group int, _ string) []int {
	list, err := exec.CommandContext(ctx, "ps", "-A", "-o", "pid=,pgid=,stat=").Output()
	if err != nil {
		return nil
	}
	var out []int
	for sc := bufio.NewScanner(bytes.NewReader(list)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) < 3 || strings.HasPrefix(f[2], "Z") {
			continue
		}
		pid, err := strconv.Atoi(f[0])
		if g, err2 := strconv.Atoi(f[1]); err == nil && err2 == nil && g == group {
			out = append(out, pid)
		}
	}
	slices.Sort(out)
	return out
}

// startOf tells when a process was started, in a form to be compared only; empty when it is gone.
func startOf(pid int) string {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
