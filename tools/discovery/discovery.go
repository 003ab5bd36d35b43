// Package discovery brings the tools of a command into a registry: one command of
// the user's prints what there is, another one runs a tool.
//
// The discovery command (settings key tools.discoveryCommand) prints a JSON array of
// function declarations, or of objects {"functionDeclarations": […]} that hold some.
// The call command (tools.callCommand) is run with the tool's name behind it; it
// gets the arguments as a JSON object on its standard input, and what it prints is
// the result. Both are lines for bash and run in the workspace's first folder, in a
// process group of their own.
package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"redline/tools"
	"redline/tools/shell"
)

// Options say what is run, and how.
type Options struct {
	Discover string // the discovery command
	Call     string // the call command
	Dir      string // absolute path of the folder that both run in
	Env      []string
	// Timeout is how long the discovery may take; 0: 30 s.
	Timeout time.Duration
	// CallTimeout is how long a call may take; 0: 10 minutes.
	CallTimeout time.Duration
	// Offer reports whether a tool is taken into the registry; all are when nil.
	Offer func(*tools.Spec) bool
	Log   func(text string)
}

// Limits of the commands' output, in bytes, and of their number of tools.
const (
	maxDeclarations = 10 << 20
	maxResult       = 16 << 20
	maxTools        = 500
)

// Command brings the tools of a command into a registry.
type Command struct {
	opt   Options
	reg   *tools.Registry
	ready chan struct{}
	once  sync.Once
	err   error // set before ready is closed
}

// New returns a command that has not run.
func New(reg *tools.Registry, opt Options) *Command {
	if opt.Timeout == 0 {
		opt.Timeout = 30 * time.Second
	}
	if opt.CallTimeout == 0 {
		opt.CallTimeout = 10 * time.Minute
	}
	if opt.Log == nil {
		opt.Log = func(string) {}
	}
	return &Command{opt: opt, reg: reg, ready: make(chan struct{})}
}

// Run runs the discovery command and adds what it finds. It runs once; what goes
// wrong is logged.
func (c *Command) Run(ctx context.Context) {
	c.once.Do(func() {
		defer close(c.ready)
		if c.err = c.discover(ctx); c.err != nil && ctx.Err() == nil {
			c.opt.Log(c.err.Error())
		}
	})
}

// Ready waits until Run is done, or ctx ends.
func (c *Command) Ready(ctx context.Context) {
	select {
	case <-c.ready:
	case <-ctx.Done():
	}
}

func (c *Command) discover(ctx context.Context) error {
	if strings.TrimSpace(c.opt.Call) == "" {
		return errors.New("tools.discoveryCommand is set but tools.callCommand is not: the tools could not be run; set both")
	}
	limited, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	r, err := shell.Run(limited, shell.Command{
		Line: c.opt.Discover, Dir: c.opt.Dir, Env: c.opt.Env, Apart: true, MaxOutput: maxDeclarations,
	})
	fail := func(format string, args ...any) error {
		return fmt.Errorf("discover tools with %q: %w", c.opt.Discover, fmt.Errorf(format, args...))
	}
	switch {
	case err != nil:
		return fail("%w", err)
	case ctx.Err() != nil:
		return ctx.Err()
	case r.Canceled:
		return fail("it was ended after %v", c.opt.Timeout)
	case r.Signal != "":
		return fail("it was ended by a signal (%s)%s", r.Signal, saying(r.Errors))
	case r.ExitCode != 0:
		return fail("exit code %d%s", r.ExitCode, saying(r.Errors))
	case r.Omitted > 0:
		return fail("it printed more than %d MB", maxDeclarations>>20)
	}
	decls, problems, err := parse([]byte(r.Output))
	if err != nil {
		return fail("%w%s", err, saying(r.Errors))
	}
	for _, p := range problems {
		c.opt.Log(fail("%s", p).Error())
	}
	names := map[string]bool{}
	for _, t := range c.reg.All() {
		names[t.Spec().Name] = true
	}
	for i, d := range decls {
		if i == maxTools {
			c.opt.Log(fail("it has %d tools; the first %d are taken", len(decls), maxTools).Error())
			break
		}
		t := newTool(c, d, names)
		if c.opt.Offer == nil || c.opt.Offer(&t.spec) {
			names[t.spec.Name] = true
			c.reg.Add(t)
		}
	}
	return nil
}

// saying returns the end of what a command complained about.
func saying(errs string) string {
	const limit = 500
	if errs = strings.TrimSpace(errs); errs == "" {
		return ""
	}
	if len(errs) > limit {
		errs = "…" + strings.ToValidUTF8(errs[len(errs)-limit:], "")
	}
	return "; it says: " + errs
}

// declaration is what is known of a tool.
type declaration struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// The parameters as a JSON schema, or as the API's own kind of it.
	JSONSchema json.RawMessage `json:"parametersJsonSchema"`
	Parameters json.RawMessage `json:"parameters"`
}

// parse reads what the discovery command printed. Entries that cannot be used are
// left out and named in problems.
func parse(out []byte) (decls []declaration, problems []string, err error) {
	var list []json.RawMessage
	if err := json.Unmarshal(bytes.TrimSpace(out), &list); err != nil {
		return nil, nil, fmt.Errorf("it must print a JSON array of function declarations: %w", err)
	}
	for i, raw := range list {
		var entry struct {
			declaration
			Functions []json.RawMessage `json:"functionDeclarations"`
			Old       []json.RawMessage `json:"function_declarations"`
		}
		if err := json.Unmarshal(raw, &entry); err != nil {
			problems = append(problems, fmt.Sprintf("entry %d is no function declaration (%v) and is left out", i+1, err))
			continue
		}
		entry.Functions = append(entry.Functions, entry.Old...)
		if len(entry.Functions) == 0 {
			if entry.Name == "" {
				problems = append(problems, fmt.Sprintf("entry %d has no name and is left out", i+1))
				continue
			}
			decls = append(decls, entry.declaration)
			continue
		}
		for j, f := range entry.Functions {
			var d declaration
			if err := json.Unmarshal(f, &d); err != nil || d.Name == "" {
				problems = append(problems, fmt.Sprintf("function %d of entry %d has no name or is no object, and is left out", j+1, i+1))
				continue
			}
			decls = append(decls, d)
		}
	}
	return decls, problems, nil
}
