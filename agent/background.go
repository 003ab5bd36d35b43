package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"redline/tools/shell"
)

// Process is a command of a session that was left running.
type Process struct {
	PID     int // of its first process
	Group   int // its process group
	Command string
	Dir     string // absolute
	LogFile string // where its output goes, absolute; empty when that is lost
	Started time.Time
	Running bool // false: it has ended since
}

// background is a [Process] with what is needed to end it.
type background struct {
	Process
	left shell.Leftover
	log  *shell.Log // nil when its output is lost
	told bool       // the model knows that it has ended
}

// maxBackgroundLog is how much is kept of what a background process prints, in bytes.
const maxBackgroundLog = 8 << 20

// end notes that the process has ended; its output is in the file then.
func (b *background) end() {
	b.Running = false
	if b.log != nil {
		b.log.Close()
	}
}

// maxEnded is how many processes that have ended are remembered.
const maxEnded = 50

// leaveRunning remembers what a command left running.
func (s *Session) leaveRunning(line, dir, logFile string, log *shell.Log, r shell.Result) {
	left := r.Leftover()
	s.bgMu.Lock()
	defer s.bgMu.Unlock()
	s.background = append(s.background, &background{left: left, log: log, Process: Process{
		PID: r.Background[0], Group: left.Group(), Command: line, Dir: dir, LogFile: logFile, Started: s.opt.Now(), Running: true,
	}})
}

// Processes returns what the session's commands left running, those that have ended
// since included, in the order they were started.
func (s *Session) Processes(ctx context.Context) []Process {
	s.bgMu.Lock()
	defer s.bgMu.Unlock()
	s.look(ctx)
	out := make([]Process, len(s.background))
	for i, b := range s.background {
		out[i] = b.Process
	}
	return out
}

// look finds out what still runs. The lock is held.
func (s *Session) look(ctx context.Context) {
	ended := 0
	for _, b := range s.background {
		if was := b.Running; was && len(b.left.Running(ctx)) == 0 {
			b.end()
		}
		if !b.Running {
			ended++
		}
	}
	s.background = slices.DeleteFunc(s.background, func(b *background) bool {
		if b.Running || !b.told || ended <= maxEnded {
			return false
		}
		ended--
		return true
	})
}

// ErrNoProcess is the error of [Session.StopProcess] for what does not run.
var ErrNoProcess = errors.New("no background process of this session has that id and runs")

// StopProcess ends a background process and all of its group.
func (s *Session) StopProcess(ctx context.Context, pid int) error {
	s.bgMu.Lock()
	defer s.bgMu.Unlock()
	s.look(ctx)
	for _, b := range s.background {
		if b.Running && (b.PID == pid || slices.Contains(b.left.Running(ctx), pid)) {
			b.left.End()
			b.end()
			return nil
		}
	}
	return fmt.Errorf("stop process %d: %w", pid, ErrNoProcess)
}

// stopAll ends everything that was left running.
func (s *Session) stopAll() {
	s.bgMu.Lock()
	defer s.bgMu.Unlock()
	for _, b := range s.background {
		b.left.End()
		b.end()
	}
	s.background = nil
}

// endedProcesses tells the model what has ended since it was told last.
func (s *Session) endedProcesses(ctx context.Context) []string {
	s.bgMu.Lock()
	defer s.bgMu.Unlock()
	if len(s.background) == 0 {
		return nil
	}
	s.look(ctx)
	var out []string
	for _, b := range s.background {
		if b.Running || b.told {
			continue
		}
		b.told = true
		out = append(out, "A background process has ended: "+b.describe())
	}
	return out
}

// describe names a process for the model.
func (p Process) describe() string {
	const limit = 200
	line := strings.Join(strings.Fields(p.Command), " ")
	if len(line) > limit {
		line = strings.ToValidUTF8(line[:limit], "") + "…"
	}
	text := fmt.Sprintf("%d (%s)", p.PID, line)
	if p.LogFile != "" {
		text += ", output in " + p.LogFile
	}
	return text
}

// backgroundText tells the model beside a command's result what else runs; pid is
// the process that the command itself left, 0 for none.
func backgroundText(all []Process, pid int) string {
	var b strings.Builder
	for _, p := range all {
		if p.PID == pid && p.Running {
			fmt.Fprintf(&b, "To stop it: kill -- -%d\n", p.Group)
		}
	}
	first := true
	for _, p := range all {
		if p.PID == pid || !p.Running {
			continue
		}
		if first {
			b.WriteString("Also running in the background:\n")
			first = false
		}
		fmt.Fprintf(&b, "- %s; to stop it: kill -- -%d\n", p.describe(), p.Group)
	}
	return b.String()
}
