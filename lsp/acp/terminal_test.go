package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/acp"
	"redline/tools/mcp"
	"redline/tools/secret"
)

var terminalCaps = map[string]any{"terminal": true}

type terminalMethod = func(context.Context, json.RawMessage) (any, error)

// realTerminal runs commands as an editor's terminal does.
type realTerminal struct {
	mu   sync.Mutex
	cmd  *exec.Cmd
	out  strings.Builder
	done chan struct{}
	made struct {
		Command string
		Args    []string
		Env     []struct{ Name, Value string }
		Cwd     string
	}
	released bool
}

func (r *realTerminal) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

func (r *realTerminal) methods() map[string]terminalMethod {
	status := func() any {
		select {
		case <-r.done:
			if s := r.cmd.ProcessState; s.ExitCode() < 0 {
				return map[string]any{"exitCode": nil, "signal": "SIGKILL"}
			}
			return map[string]any{"exitCode": r.cmd.ProcessState.ExitCode()}
		default:
			return nil
		}
	}
	return map[string]terminalMethod{
		"terminal/create": func(_ context.Context, raw json.RawMessage) (any, error) {
			if err := json.Unmarshal(raw, &r.made); err != nil {
				return nil, err
			}
			r.done = make(chan struct{})
			r.cmd = exec.Command(r.made.Command, r.made.Args...)
			r.cmd.Dir, r.cmd.Env = r.made.Cwd, os.Environ()
			for _, e := range r.made.Env {
				r.cmd.Env = append(r.cmd.Env, e.Name+"="+e.Value)
			}
			r.cmd.Stdout, r.cmd.Stderr = r, r
			if err := r.cmd.Start(); err != nil {
				return nil, err
			}
			go func() { _ = r.cmd.Wait(); close(r.done) }()
			return map[string]any{"terminalId": "t1"}, nil
		},
		"terminal/output": func(context.Context, json.RawMessage) (any, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			out := map[string]any{"output": r.out.String(), "truncated": false}
			if s := status(); s != nil {
				out["exitStatus"] = s
			}
			return out, nil
		},
		"terminal/wait_for_exit": func(ctx context.Context, _ json.RawMessage) (any, error) {
			select {
			case <-r.done:
				return status(), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		"terminal/kill": func(context.Context, json.RawMessage) (any, error) {
			return map[string]any{}, r.cmd.Process.Kill()
		},
		"terminal/release": func(context.Context, json.RawMessage) (any, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.released = true
			return map[string]any{}, nil
		},
	}
}

func shellStep(line string) agenttest.Step {
	return calls(call("run_shell_command", map[string]any{"command": line}))
}

// Commands run in the client's terminal, which the call shows; variables that look like
// secrets are not handed on.
func TestTerminal(t *testing.T) {
	t.Setenv("MY_API_KEY", "hidden")
	m := agenttest.NewModel(shellStep(`echo "key=$MY_API_KEY"; printf '\033[31mred\033[0m\n'; pwd; exit 3`), say("Done."))
	c := start(t, setup{model: m, caps: terminalCaps, change: func(o *acp.Options) {
		inner := o.Settings
		o.Settings = func(f []string, s []mcp.Server) (lsp.Settings, error) {
			set, err := inner(f, s)
			set.Env = secret.Env{}
			return set, err
		}
	}})
	term := &realTerminal{}
	c.terminals = term.methods()
	o := c.open()
	c.prompt(o.SessionID, text("run"))
	out := m.Responses(1)[0].Output
	for _, want := range []string{"key=\n", "red\n", c.dir, "Exit Code: 3"} {
		if !strings.Contains(out, want) {
			t.Errorf("the model was told %q, want %q in it", out, want)
		}
	}
	if strings.Contains(out, "hidden") || strings.Contains(out, "\033") {
		t.Errorf("the model was told %q", out)
	}
	id := c.callNamed("run_shell_command")
	if its := shownLast(c.of(id)); len(its) == 0 || its[0].Type != "terminal" || its[0].TerminalID != "t1" {
		t.Errorf("the call shows %+v", its)
	}
	if !term.released {
		t.Error("the terminal was not released")
	}
}

// A client without a working terminal has commands run here; one that does not say
// whether it started a command does not have it run twice.
func TestTerminalRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		create terminalMethod
		told   string
		ran    bool
	}{
		"an error": {func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("no terminal") }, "Exit Code: 0", true},
		"no name":  {func(context.Context, json.RawMessage) (any, error) { return map[string]any{"terminalId": ""}, nil }, "Exit Code: 0", true},
		"silence":  {func(ctx context.Context, _ json.RawMessage) (any, error) { <-ctx.Done(); return nil, ctx.Err() }, "may be running there", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := agenttest.NewModel(shellStep("touch ran"), say("Done."))
			c := start(t, setup{model: m, caps: terminalCaps, change: func(o *acp.Options) {
				if !tt.ran {
					o.Timing.Start = 200 * time.Millisecond
				}
			}})
			lax(t)
			c.terminals = map[string]terminalMethod{"terminal/create": tt.create}
			o := c.open()
			c.prompt(o.SessionID, text("run"))
			if r := m.Responses(1)[0]; !strings.Contains(r.Output+r.Error, tt.told) {
				t.Errorf("the model was told %+v", r)
			}
			if _, err := os.Stat(c.path("ran")); (err == nil) != tt.ran {
				t.Errorf("it ran: %v", err == nil)
			}
		})
	}
}

// A command in a terminal ends with its turn, and for its silence.
func TestTerminalEnds(t *testing.T) {
	t.Run("cancel", func(t *testing.T) {
		m := agenttest.NewModel(shellStep("echo begun; exec sleep 60"))
		c := start(t, setup{model: m, caps: terminalCaps})
		term := &realTerminal{}
		c.terminals = term.methods()
		o := c.open()
		done := make(chan string, 1)
		go func() { done <- c.prompt(o.SessionID, text("run")) }()
		c.await("the terminal", func(u update) bool { return strings.Contains(string(u.raw), `"terminalId":"t1"`) })
		if err := c.conn.Notify(t.Context(), "session/cancel", map[string]any{"sessionId": o.SessionID}); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got != "cancelled" {
			t.Errorf("stop reason %s", got)
		}
		select {
		case <-term.done:
		case <-time.After(patience):
			t.Error("the command runs on")
		}
	})
	t.Run("silence", func(t *testing.T) {
		m := agenttest.NewModel(shellStep("echo begun; exec sleep 60"), say("Done."))
		c := start(t, setup{model: m, caps: terminalCaps, change: func(o *acp.Options) {
			inner := o.Settings
			o.Settings = func(f []string, s []mcp.Server) (lsp.Settings, error) {
				set, err := inner(f, s)
				set.Silence = 150 * time.Millisecond
				return set, err
			}
		}})
		term := &realTerminal{}
		c.terminals = term.methods()
		o := c.open()
		c.prompt(o.SessionID, text("run"))
		if r := m.Responses(1)[0]; !strings.Contains(r.Output, "without output") || !strings.Contains(r.Output, "begun") {
			t.Errorf("the model was told %+v", r)
		}
		<-term.done
	})
}
