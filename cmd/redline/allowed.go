package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"

	"redline/cmd/internal/config"
	"redline/cmd/internal/consents"
)

// listAllowed prints what the user allowed for good, all folders.
func listAllowed(std stdio) int {
	store := consents.New(config.StateDir(std.getenv))
	all, err := store.All()
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	if len(all) == 0 {
		fmt.Fprintln(std.out, "Nothing is allowed for good. An approval offers it as “Always allow …”.")
		return exitOK
	}
	for _, folder := range sortedKeys(all) {
		fmt.Fprintln(std.out, folder)
		for _, what := range slices.Concat(all[folder].Commands, all[folder].Others) {
			fmt.Fprintln(std.out, "  "+what)
		}
	}
	fmt.Fprintf(std.err, "(kept in %s; “redline tools -C FOLDER forget [WHAT]” takes it out)\n", store.File())
	return exitOK
}

// forgetAllowed takes out what was allowed for good in a folder.
func forgetAllowed(std stdio, dir string, fs *flag.FlagSet) int {
	if fs.NArg() > 1 {
		return fail(std, exitUsage, "forget takes one argument, in quotes if it has spaces, or none for all of the folder")
	}
	folder, err := filepath.Abs(dir) // the current folder for ""; it may be gone
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	gone, err := consents.New(config.StateDir(std.getenv)).Forget(folder, fs.Arg(0))
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	if len(gone) == 0 {
		return fail(std, exitFailed, "nothing like that was allowed in %s; “redline tools allowed” lists what is", folder)
	}
	for _, what := range gone {
		fmt.Fprintf(std.out, "Forgot %s\n", what)
	}
	return exitOK
}
