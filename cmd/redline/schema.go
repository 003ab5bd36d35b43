package main

import (
	"context"
	"flag"
	"fmt"

	"redline/lsp"
)

// runSchema prints the JSON Schema of redline's own methods and events.
func runSchema(_ context.Context, std stdio, args []string) int {
	fs := flag.NewFlagSet("redline schema", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), "Usage:\n  redline schema    prints the methods and events beyond LSP as JSON Schema (lsp/METHODS.md has them to read)\n")
	}
	if code, ok := parse(fs, std, args); !ok {
		return code
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(std.err, "redline schema: %q is one argument too many\n", fs.Arg(0))
		return exitUsage
	}
	if _, err := std.out.Write(lsp.Schema()); err != nil {
		fmt.Fprintf(std.err, "redline schema: %v\n", err)
		return exitFailed
	}
	return exitOK
}
