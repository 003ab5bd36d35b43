//go:build unix

package shell

import (
	"bytes"
	"context"
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
	cmd.Env = c.Env
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
	waitErr := supervise(ctx, c, group, out.heard, ended, &r)
	if r.TimedOut || r.Canceled {
		// The first process is gone; what ignored SIGTERM goes too.
		_ = syscall.Kill(-group, syscall.SIGKILL)
	} else {
		r.Background = groupMembers(ctx, group)
	}
	r.group = group
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
func supervise(ctx context.Context, c Command, group int, heard <-chan struct{}, ended <-chan error, r *Result) error {
	var silent, kill <-chan time.Time
	var silence *time.Timer
	if c.Timeout > 0 {
		silence = time.NewTimer(c.Timeout)
		defer silence.Stop()
		silent = silence.C
	}
	done := ctx.Done()
	stop := func() {
		done, silent, heard = nil, nil, nil
		_ = syscall.Kill(-group, syscall.SIGTERM)
		t := time.NewTimer(c.KillDelay)
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
			stop()
		case <-silent:
			r.TimedOut = true
			stop()
		case <-kill:
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	}
}

// End kills what is left of the group. It does nothing when none of the processes that were left is there any more:
// the number of the group may then be another's.
func (l Leftover) End() {
	for _, p := range l.members {
		if p.runs() {
			_ = syscall.Kill(-l.group, syscall.SIGKILL)
			return
		}
	}
}
