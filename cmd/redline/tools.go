package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap/zapcore"

	"redline/agent/model"
	"redline/lsp"
	"redline/tools"
	"redline/tools/shell"
	"redline/workspace"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func isAuth(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Kind == model.KindAuth
}

func runTools(ctx context.Context, std stdio, args []string) int {
	fs := flag.NewFlagSet("redline tools", flag.ContinueOnError)
	dir := fs.String("C", "", "work in this `folder` instead of the current one")
	asJSON := fs.Bool("json", false, "print the schemas too, as JSON")
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), "Usage:\n  redline tools [-C DIR] list\n  redline tools [-C DIR] call NAME JSON\n  redline tools allowed\n  redline tools [-C DIR] forget [WHAT]\n")
		fs.PrintDefaults()
	}
	verb, code, ok := parseVerb(fs, std, args)
	if !ok {
		return code
	}
	switch {
	case verb == "allowed" && fs.NArg() == 0:
		return listAllowed(std)
	case verb == "forget":
		return forgetAllowed(std, *dir, fs)
	case verb == "list" && fs.NArg() == 0, verb == "call" && fs.NArg() == 2:
	default:
		fs.Usage()
		return exitUsage
	}
	_, folder, err := openFolder(*dir)
	if err != nil {
		return fail(std, exitUsage, "%v", err)
	}
	log := newLog(std.err, zapcore.WarnLevel)
	set, err := sessionSettings(std.getenv, []string{folder}, "", log)
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	reg := set.Tools
	if verb == "list" {
		if set.Background != nil {
			defer inBackground(ctx, set)()
		}
		if *asJSON {
			enc := json.NewEncoder(std.out)
			enc.SetIndent("", "  ")
			if err := enc.Encode(lsp.ToolInfos(reg)); err != nil {
				return fail(std, exitFailed, "%v", err)
			}
			return exitOK
		}
		for _, t := range reg.All() {
			first, _, _ := strings.Cut(t.Spec().Description, ". ")
			fmt.Fprintf(std.out, "%-18s %-12s %s\n", t.Spec().Name, t.Spec().DisplayName, strings.TrimSuffix(first, "."))
		}
		return exitOK
	}
	if _, err := reg.Lookup(fs.Arg(0)); err != nil && set.Background != nil {
		defer inBackground(ctx, set)() // it may be a server's
	}
	return callTool(ctx, std, reg, *dir, fs.Arg(0), fs.Arg(1))
}

// callTool runs one tool and prints what the model would be told. An edit is shown
// as a diff; nothing is written.
func callTool(ctx context.Context, std stdio, reg *tools.Registry, dir, name, args string) int {
	ws, _, err := openFolder(dir)
	if err != nil {
		return fail(std, exitUsage, "%v", err)
	}
	if !json.Valid([]byte(args)) {
		return fail(std, exitUsage, "the arguments are no JSON; write them like '{\"path\": \".\"}'")
	}
	view := workspace.NewView(ws.Snapshot())
	call, err := reg.Prepare(view, name, json.RawMessage(args))
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	if call.RunWeb != nil {
		return fail(std, exitFailed, "%s needs the model and cannot be called by itself", name)
	}
	res, err := call.Run(ctx)
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	if res.Command != nil {
		return runCommand(ctx, std, res.Command)
	}
	if res.Change == nil {
		fmt.Fprintln(std.out, res.Text)
		for _, m := range res.Media {
			fmt.Fprintf(std.out, "[%s, %d bytes]\n", m.MIMEType, len(m.Data))
		}
		return exitOK
	}
	if err := res.Change.Stage(view, "call"); err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	if p := view.Propose(); p != nil {
		fmt.Fprint(std.out, unified(ws, p))
	}
	fmt.Fprintln(std.err, "(shown only; nothing was written)")
	return exitOK
}

// runCommand runs a command line that the user gave themself.
func runCommand(ctx context.Context, std stdio, c *tools.Command) int {
	r, err := shell.Run(ctx, shell.Command{Line: c.Line, Dir: c.Dir, OnOutput: func(text string) { fmt.Fprint(std.out, text) }})
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	if r.Canceled {
		return exitInterrupted
	}
	if r.ExitCode != 0 {
		return fail(std, exitFailed, "exit code %d %s", r.ExitCode, r.Signal)
	}
	return exitOK
}

// unified returns a proposal as a unified diff on what it was made against.
func unified(ws *workspace.Workspace, p *workspace.Proposal) string {
	snap := ws.Snapshot()
	return p.Unified(
		func(path string) string { return strings.TrimPrefix(snap.Rel(path), "/") },
		func(*workspace.Hunk) bool { return true })
}
