package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"go.uber.org/zap/zapcore"

	"redline/agent/memory"
)

// runMemory shows the instructions that a session in a folder would read.
func runMemory(_ context.Context, std stdio, args []string) int {
	fs := flag.NewFlagSet("redline memory", flag.ContinueOnError)
	dir := fs.String("C", "", "work in this `folder` instead of the current one")
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), "Usage:\n  redline memory [-C DIR] list    the files\n  redline memory [-C DIR] show    what the model is told of them\n")
		fs.PrintDefaults()
	}
	if code, ok := parse(fs, std, args); !ok {
		return code
	}
	if fs.NArg() != 1 || (fs.Arg(0) != "list" && fs.Arg(0) != "show") {
		fs.Usage()
		return exitUsage
	}
	ws, folder, err := openFolder(*dir)
	if err != nil {
		return fail(std, exitUsage, "%v", err)
	}
	log := newLog(std.err, zapcore.ErrorLevel)
	set, err := sessionSettings(std.getenv, []string{folder}, "", log)
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	m := memory.Load(ws.Snapshot(), set.Conversation.Memory)
	if fs.Arg(0) == "show" {
		_, _ = io.WriteString(std.out, m.Text)
	} else {
		for _, f := range m.Files {
			fmt.Fprintf(std.out, "%-8s %7d bytes  %s", f.Level, f.Bytes, f.Path)
			if f.ImportedBy != "" {
				fmt.Fprintf(std.out, "  (taken in by %s)", f.ImportedBy)
			}
			fmt.Fprintln(std.out)
		}
	}
	if len(m.Files) == 0 {
		fmt.Fprintln(std.err, "redline: there are no instructions for this folder; write some to GEMINI.md or AGENTS.md in it, or to GEMINI.md in your settings folder")
	}
	for _, n := range m.Notes {
		fmt.Fprintf(std.err, "redline: %s\n", n)
	}
	return exitOK
}
