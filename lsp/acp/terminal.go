package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"redline/agent"
	"redline/lsp/rpc"
	"redline/tools/shell"
)

// terminals runs commands in terminals of the client's, where the user watches them.
type terminals struct{ x *session }

var _ agent.Runner = (*terminals)(nil)

// maxTerminal is how much output the client keeps, in bytes; the model is told less.
const maxTerminal = 1 << 20

// endWait bounds each thing that is done for a terminal after its turn was cancelled. A
// client that has gone is not waited for.
const endWait = 3 * time.Second

// Run implements [agent.Runner].
func (t *terminals) Run(ctx context.Context, callID string, c shell.Command) (shell.Result, error) {
	argv := append(slices.Clone(c.Prefix), "bash", "-c", c.Line)
	conn, id := t.x.s.conn, t.x.id
	var made terminalCreated
	start, cancel := context.WithTimeout(ctx, t.x.s.timing.Start)
	err := conn.Call(start, methodTerminalCreate, terminalParams{
		SessionID: id, Command: argv[0], Args: argv[1:], Env: difference(os.Environ(), c.Env), Cwd: c.Dir, OutputByteLimit: maxTerminal,
	}, &made)
	cancel()
	var peer *rpc.Error
	switch {
	case ctx.Err() != nil:
		return shell.Result{ExitCode: -1, Canceled: true}, nil
	case errors.As(err, &peer), err == nil && made.TerminalID == "":
		t.x.s.log.Info("the client has no terminal for a command", zap.Error(err))
		return shell.Result{}, fmt.Errorf("%w: %v", agent.ErrNotRun, err)
	case err != nil:
		return shell.Result{}, fmt.Errorf("the editor did not say whether it started the command in its terminal (%w); it may be running there", err)
	}
	ref := terminalRef{id, made.TerminalID}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
		defer cancel()
		_ = conn.Call(end, methodTerminalFree, ref, nil) // the client frees it with the session
	}()
	t.x.show.inTerminal(callID, made.TerminalID)

	var r shell.Result
	exit := t.wait(ctx, ref, c.Timeout, &r)
	if r.Canceled || r.TimedOut {
		kill, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
		_ = conn.Call(kill, methodTerminalKill, ref, nil) // releasing it kills it too
		cancel()
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(endWait, t.x.s.timing.Files))
	defer cancel()
	var out terminalOutput
	if err := conn.Call(end, methodTerminalOutput, ref, &out); err != nil && !r.Canceled {
		r.Output = "(the editor does not tell what it printed: " + err.Error() + ")"
	}
	r.Output += shell.Clean(out.Output)
	if out.Truncated {
		r.Output = "[the beginning is left out]\n" + r.Output
	}
	if exit == nil {
		exit = out.ExitStatus
	}
	r.ExitCode = -1
	switch {
	case exit == nil && !r.Canceled && !r.TimedOut:
		r.Signal = "the terminal was closed"
	case exit == nil:
	case exit.Signal != nil && *exit.Signal != "":
		r.Signal = *exit.Signal
	case exit.ExitCode != nil:
		r.ExitCode = *exit.ExitCode
	}
	return r, nil
}

// wait returns how the command ended; nil when it was stopped, which r says, or nobody
// knows.
func (t *terminals) wait(ctx context.Context, ref terminalRef, silence time.Duration, r *shell.Result) *exitStatus {
	type answer struct {
		status exitStatus
		err    error
	}
	wait, cancel := context.WithCancel(ctx)
	ended := make(chan answer, 1)
	defer func() { // the call ends with its context
		cancel()
		if ended != nil {
			<-ended
		}
	}()
	go func() {
		var a answer
		a.err = t.x.s.conn.Call(wait, methodTerminalWait, ref, &a.status)
		ended <- a
	}()
	var look <-chan time.Time
	if silence > 0 {
		ticker := time.NewTicker(min(t.x.s.timing.Poll, silence))
		defer ticker.Stop()
		look = ticker.C
	}
	last, since := "", time.Now()
	for {
		select {
		case a := <-ended:
			ended = nil
			if a.err != nil {
				return nil
			}
			return &a.status
		case <-ctx.Done():
			r.Canceled = true
			return nil
		case <-look:
			var out terminalOutput
			if t.x.s.conn.Call(wait, methodTerminalOutput, ref, &out) != nil {
				continue
			}
			if out.Output != last {
				last, since = out.Output, time.Now()
			}
			if time.Since(since) >= silence {
				r.TimedOut = true
				return nil
			}
		}
	}
}

// difference returns what turns one environment into another, for a client that starts
// commands with its own, which is mostly ours: a variable that is not to be seen becomes
// empty.
func difference(ours, want []string) []nameValue {
	if want == nil {
		return nil
	}
	has := map[string]string{}
	for _, e := range ours {
		name, value, _ := strings.Cut(e, "=")
		has[name] = value
	}
	var out []nameValue
	kept := map[string]bool{}
	for _, e := range want {
		name, value, _ := strings.Cut(e, "=")
		kept[name] = true
		if old, ok := has[name]; !ok || old != value {
			out = append(out, nameValue{name, value})
		}
	}
	for _, e := range ours {
		if name, _, _ := strings.Cut(e, "="); name != "" && !kept[name] {
			out = append(out, nameValue{Name: name})
		}
	}
	return out
}
