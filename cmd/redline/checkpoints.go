package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"redline/agent"
	"redline/cmd/internal/config"
	"redline/workspace"
)

const checkpointsUsage = "usage: redline checkpoints list SESSION | preview CHECKPOINT | restore CHECKPOINT [--scope files|conversation|both] [-C DIR] [FILE…]"

// runCheckpoints shows and restores checkpoints without an editor: files are written
// to the disk.
func runCheckpoints(ctx context.Context, std stdio, args []string) int {
	if asksHelp(std, args, checkpointsUsage) {
		return exitOK
	}
	if len(args) == 0 {
		return fail(std, exitUsage, "%s", checkpointsUsage)
	}
	fs := flag.NewFlagSet("redline checkpoints "+args[0], flag.ContinueOnError)
	var dir, scope string
	fs.StringVar(&dir, "C", "", "the session's `folder`, if it is not the current one")
	fs.StringVar(&scope, "scope", "files", "what goes back: files, conversation or both")
	if code, ok := parse(fs, std, args[1:]); !ok {
		return code
	}
	rest := fs.Args()
	if len(rest) > 1 { // flags may stand behind the name
		if code, ok := parse(fs, std, rest[1:]); !ok {
			return code
		}
		rest = append(rest[:1:1], fs.Args()...)
	}
	verb := args[0]
	if len(rest) == 0 || !slices.Contains([]string{"list", "preview", "restore"}, verb) || verb == "list" && len(rest) > 1 {
		return fail(std, exitUsage, "%s", checkpointsUsage)
	}
	switch agent.Scope(scope) {
	case agent.ScopeFiles, agent.ScopeConversation, agent.ScopeBoth:
	default:
		return fail(std, exitUsage, "unknown scope %q; use files, conversation or both", scope)
	}
	ws, _, err := openFolder(dir)
	if err != nil {
		return fail(std, exitUsage, "%v", err)
	}
	id, _, _ := strings.Cut(rest[0], ".k")
	s, _, err := agent.Resume(agent.Options{
		Workspace: ws, Reviewer: &headless{mode: string(agent.ModeAutoEdit), ws: ws}, Emit: func(agent.Event) {},
		Journal: config.Sessions(std.getenv), Blobs: config.Checkpoints(std.getenv),
	}, id)
	if err != nil {
		return fail(std, exitFailed, "%v", sessionProblem(err))
	}
	defer s.Close()
	if verb == "list" {
		for _, c := range s.Checkpoints() {
			fmt.Fprintf(std.out, "%s  %s  %3d files  %s\n", c.ID, c.Created.Local().Format(time.DateTime), len(c.Files), oneLine(c.Title))
		}
		return exitOK
	}
	var paths []string
	for _, name := range rest[1:] {
		path, err := ws.Snapshot().Resolve(name)
		if err != nil {
			return fail(std, exitUsage, "%v", err)
		}
		paths = append(paths, path)
	}
	if verb == "preview" {
		r, err := s.PreviewCheckpoint(rest[0], agent.Scope(scope), paths)
		if err != nil {
			return fail(std, exitFailed, "%v", err)
		}
		if r.Proposal != nil {
			fmt.Fprint(std.out, r.Proposal.Unified(ws.Snapshot().Rel, func(*workspace.Hunk) bool { return true }))
		}
		return tellLeft(std, r)
	}
	r, err := s.RestoreCheckpoint(ctx, rest[0], agent.Scope(scope), paths)
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	if r.Proposal != nil {
		for _, f := range r.Proposal.Files {
			if _, left := r.Skipped[f.Path]; !left {
				fmt.Fprintf(std.out, "changed back: %s\n", f.At())
			}
		}
	}
	fmt.Fprintf(std.out, "to undo this: redline checkpoints restore %s\n", r.Undo)
	return tellLeft(std, r)
}

// tellLeft says what does not go back.
func tellLeft(std stdio, r *agent.Rewind) int {
	for _, path := range slices.Sorted(maps.Keys(r.Skipped)) {
		fmt.Fprintf(std.err, "left as it is: %s: %s\n", path, r.Skipped[path])
	}
	for _, c := range r.Commands {
		fmt.Fprintf(std.err, "not taken back, a command: %s\n", oneLine(c))
	}
	if len(r.Skipped) > 0 {
		return exitFailed
	}
	return exitOK
}
