//go:build unix

package shell

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

const (
	defaultMaxOutput  = 256 << 10
	defaultKillDelay  = 2 * time.Second
	defaultDrainDelay = 300 * time.Millisecond
)

func (c Command) withDefaults() Command {
	if c.MaxOutput <= 0 {
		c.MaxOutput = defaultMaxOutput
	}
	if c.KillDelay <= 0 {
		c.KillDelay = defaultKillDelay
	}
	if c.CancelDelay <= 0 {
		c.CancelDelay = c.KillDelay
	}
	if c.DrainDelay <= 0 {
		c.DrainDelay = defaultDrainDelay
	}
	return c
}

// Run runs a command line with bash in a process group of its own, with no input, and waits for it to end. A command
// that fails is no error: the result tells its exit code. The error is for commands that could not be started.
//
// When ctx is done, or the command is silent for its timeout, the whole group is asked to end (SIGTERM) and after
// KillDelay made to (SIGKILL).
func Run(ctx context.Context, c Command) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{ExitCode: -1, Canceled: true}, nil
	}
	c = c.withDefaults()
	bash, err := exec.LookPath("bash")
	if err != nil {
		return Result{}, fmt.Errorf("looking for bash: %w", err)
	}
	out := newOutput(c.MaxOutput, c.OnOutput)
	argv := append(append(slices.Clone(c.Prefix), bash, "-c", c.Line, "bash"), c.behind...)
	cmd := exec.Command(argv[0], argv[1:]...) // not CommandContext: that kills the first process only
	cmd.Dir = c.Dir
	if cmd.Env = c.Env; cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	// What leaves the process group is found by this.
	mark := "REDLINE_COMMAND=" + rand.Text()
	cmd.Env = append(slices.Clip(cmd.Env), mark)
	cmd.Stdout, cmd.Stderr = out, out // one writer, so one pipe: the order of the two is kept
	errs := newOutput(c.MaxOutput, nil)
	if c.Apart {
		errs.heard = out.heard
		cmd.Stderr = errs
	}
	if len(c.Input) > 0 {
		cmd.Stdin = bytes.NewReader(c.Input)
	}
	if c.log != nil {
		cmd.ExtraFiles = []*os.File{c.log.out} // 3 in the command
		defer c.log.started()
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = c.DrainDelay // a background process that holds the pipe must not hold us
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("starting bash in %q: %w", c.Dir, err)
	}
	if c.log != nil {
		c.log.started()
	}
	group := cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	var r Result
	waitErr := supervise(ctx, c, group, mark, out.heard, ended, &r)
	if r.TimedOut || r.Canceled {
		// The first process is gone; what ignored SIGTERM goes too.
		killAll(group, mark, syscall.SIGKILL)
	} else {
		r.Background = groupMembers(ctx, group, mark)
	}
	r.group, r.mark = group, mark
	r.Output, r.Omitted = out.finish()
	r.Errors, _ = errs.finish()
	r.ExitCode = cmd.ProcessState.ExitCode()
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		r.Signal = st.Signal().String()
	}
	var exit *exec.ExitError
	if waitErr != nil && !errors.As(waitErr, &exit) && !errors.Is(waitErr, exec.ErrWaitDelay) {
		return r, fmt.Errorf("waiting for the command: %w", waitErr)
	}
	return r, nil
}

// supervise waits for the command to end and ends it when it is time to.
func supervise(ctx context.Context, c Command, group int, mark string, heard <-chan struct{}, ended <-chan error, r *Result) error {
	var silent, kill <-chan time.Time
	var silence *time.Timer
	if c.Timeout > 0 {
		silence = time.NewTimer(c.Timeout)
		defer silence.Stop()
		silent = silence.C
	}
	done := ctx.Done()
	stop := func(delay time.Duration) {
		done, silent, heard = nil, nil, nil
		killAll(group, mark, syscall.SIGTERM)
		t := time.NewTimer(delay)
		kill = t.C
	}
	for {
		select {
		case err := <-ended:
			return err
		case <-heard:
			if silence != nil {
				silence.Reset(c.Timeout)
			}
		case <-done:
			r.Canceled = true
			stop(c.CancelDelay)
		case <-silent:
			r.TimedOut = true
			stop(c.KillDelay)
		case <-kill:
			killAll(group, mark, syscall.SIGKILL)
		}
	}
}

// killAll sends a signal to a process group and to what left it.
func killAll(group int, mark string, signal syscall.Signal) {
	_ = syscall.Kill(-group, signal)
	for _, pid := range groupMembers(context.Background(), group, mark) {
		_ = syscall.Kill(pid, signal)
	}
}

// End kills what is left of the group, and what left it. It does nothing when none of the processes that were left is there any more:
// the number of the group may then be another's.
func (l Leftover) End() {
	for _, p := range l.members {
		if p.runs() {
			killAll(l.group, l.mark, syscall.SIGKILL)
			return
		}
	}
}
