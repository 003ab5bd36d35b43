package shell

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"
)

// Command is a command line to run.
type Command struct {
	Line string   // given to bash -c
	Dir  string   // the working folder; the program's own if empty
	Env  []string // "NAME=value"; the program's own if nil

	// Prefix is put before "bash -c LINE": the program and arguments of a sandbox.
	Prefix []string

	// Input is what the command reads; it reads nothing when it is empty.
	Input []byte
	// Apart keeps standard error out of Result.Output; it is in Result.Errors then.
	Apart bool

	// Timeout stops the command when it has been silent that long; 0 for never.
	Timeout time.Duration
	// MaxOutput is how many bytes of output to keep, half of them from the start and half from the end; 0 for 256 KB.
	MaxOutput int
	// OnOutput, if set, is given the output as it comes: whole characters, no terminal escape codes. Calls do not
	// overlap, and there is none after Run has returned. The command waits while it runs.
	OnOutput func(text string)

	// KillDelay is how long the command has to end by itself once it was told to; 0 for 2 seconds.
	KillDelay time.Duration
	// CancelDelay is the same when the context is done, as then somebody waits; 0 for KillDelay.
	CancelDelay time.Duration
	// DrainDelay is how long to read on from background processes that keep the output open after the command has
	// ended; 0 for 300 milliseconds. Their output is lost then: it should go to a file.
	DrainDelay time.Duration

	behind []string // Prefix of what is put in the background
	log    *Log     // that takes its output
}

// Background makes the command line run on by itself: Run returns at once, and the output goes to a log.
func (c *Command) Background(log *Log) {
	// Handed over in the environment, so that nothing in the line can end the wrapping early.
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	c.Env = append(slices.Clone(env), "REDLINE_LINE="+c.Line)
	c.Line = `line=$REDLINE_LINE; unset REDLINE_LINE; "$@" bash -c "$line" >&3 2>&1 </dev/null 3>&- &`
	c.behind, c.Prefix, c.log = c.Prefix, nil, log
}

// Result is how a command ended.
type Result struct {
	Output   string // standard output and error as they came, without terminal escape codes
	Omitted  int    // bytes left out of the middle of Output; a line there says so
	Errors   string // standard error, if it was to be kept apart
	ExitCode int    // -1 when a signal ended the command
	Signal   string // the signal that ended it, such as "killed"; "" for none
	// Background lists the processes of the command that still run, those that left its group too. It is empty after a
	// timeout or cancel: those end all of them.
	Background []int
	group      int
	mark       string // in the environment of all its processes
	TimedOut   bool   // ended for being silent for Timeout
	Canceled   bool   // ended because the context was done
}

// Leftover is what a command left running.
type Leftover struct {
	group   int
	mark    string
	members []process
}

// process is a process that cannot be mistaken for a later one with the same id.
type process struct {
	pid   int
	start string
}

// Leftover returns what the command left running, so that it can be ended later.
func (r Result) Leftover() Leftover {
	l := Leftover{group: r.group, mark: r.mark}
	for _, pid := range r.Background {
		if start := startOf(pid); start != "" {
			l.members = append(l.members, process{pid, start})
		}
	}
	return l
}

// Group is the id of the process group.
func (l *Leftover) Group() int { return l.group }

// Running lists the processes of the group that still run, those that came later included. Once all that are known have
// ended it lists none: the number of the group may then be another's.
func (l *Leftover) Running(ctx context.Context) []int {
	if !slices.ContainsFunc(l.members, process.runs) {
		return nil
	}
	pids := groupMembers(ctx, l.group, l.mark)
	l.members = l.members[:0]
	for _, pid := range pids {
		if start := startOf(pid); start != "" {
			l.members = append(l.members, process{pid, start})
		}
	}
	return pids
}

// runs reports whether the process is still there.
func (p process) runs() bool { return startOf(p.pid) == p.start }

// ErrUnsupported is returned by Run where there are no process groups to keep hold of commands with.
var ErrUnsupported = errors.New("running shell commands is not supported on this system: it needs a Unix")
