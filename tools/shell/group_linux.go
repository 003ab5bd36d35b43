package shell

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// groupMembers lists the processes of a process group that run, in the order of their ids, and with them those that left
// it (setsid) but have mark in the environment they were started with.
func groupMembers(_ context.Context, group int, mark string) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it ended meanwhile
		}
		// "pid (name) state parent group …", where the name may hold anything.
		f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(f) < 3 || f[0][0] == 'Z' || f[0][0] == 'X' {
			continue
		}
		if g, err := strconv.Atoi(string(f[2])); err == nil && (g == group || marked(pid, mark)) {
			out = append(out, pid)
		}
	}
	slices.Sort(out)
	return out
}

// marked reports whether a process was started with mark in its environment. That of other users cannot be read.
func marked(pid int, mark string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && mark != "" && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00"))
}

// startOf tells when a process was started, in a form to be compared only; empty when it is gone.
func startOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 20 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return ""
	}
	return string(f[19]) // field 22, starttime
}
