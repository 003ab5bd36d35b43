package agent

import (
	"context"
	"errors"
	"slices"

	"redline/tools/shell"
	"redline/workspace"
)

// A Looker asks an editor that does not report typing for its unsaved text. It puts
// the documents at paths, as far as they are unsaved, into the workspace, brings those
// that are there already up to date, and takes out those that are saved. It returns in
// bounded time, and when nothing is to be had the files on disk stand.
type Looker func(ctx context.Context, paths []string)

// refresh is called before files are read; see [Looker].
func (s *Session) refresh(ctx context.Context, paths []string) {
	if s.opt.Look != nil && ctx.Err() == nil {
		s.opt.Look(ctx, paths)
	}
}

// lookFor looks at what the calls of a step name.
func (s *Session) lookFor(ctx context.Context, calls []*call) {
	if s.opt.Look == nil {
		return
	}
	view := workspace.NewView(s.opt.Workspace.Snapshot())
	var paths []string
	for _, c := range calls {
		tool, err := s.opt.Tools.Lookup(c.fc.Name)
		if err != nil {
			continue
		}
		for _, p := range pathArgs(view, tool.Spec(), c.fc.Args) {
			if !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		}
	}
	s.refresh(ctx, paths)
}

// lookAtPrompt looks at what a prompt is about.
func (s *Session) lookAtPrompt(ctx context.Context, msg Message) {
	if s.opt.Look == nil {
		return
	}
	view := workspace.NewView(s.opt.Workspace.Snapshot())
	var paths []string
	for _, p := range msg.places(view) {
		if abs, err := view.Resolve(p); err == nil && p != "" {
			paths = append(paths, abs)
		}
	}
	s.refresh(ctx, paths)
}

// ErrNotRun says that a [Runner] could not run a command, and nothing of it ran.
var ErrNotRun = errors.New("the command could not be started there")

// A Runner runs commands in a place of the editor's, as in a terminal that the user
// watches. It does what [shell.Run] does; where that is not to be had it returns an
// error that wraps [ErrNotRun], and the command runs here.
type Runner interface {
	Run(ctx context.Context, callID string, c shell.Command) (shell.Result, error)
}

// runShell runs a command that is to be waited for, where the user sees it.
func (s *Session) runShell(ctx context.Context, callID string, c shell.Command, background bool) (shell.Result, error) {
	if s.opt.Runner != nil && !background {
		r, err := s.opt.Runner.Run(ctx, callID, c)
		if !errors.Is(err, ErrNotRun) {
			return r, err
		}
	}
	return shell.Run(ctx, c)
}
