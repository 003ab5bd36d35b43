package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"redline/agent"
	"redline/cmd/internal/config"
	"redline/cmd/internal/trust"
	"redline/lsp"
	"redline/workspace"
)

// newTrust returns what keeps the folders that the user trusts.
func newTrust(getenv func(string) string) *folderTrust {
	return &folderTrust{getenv: getenv, store: trust.New(getenv, config.Home(getenv))}
}

// folderTrust is [lsp.Trust] by trustedFolders.json and the settings.
type folderTrust struct {
	getenv func(string) string
	store  *trust.Store
}

var _ lsp.Trust = (*folderTrust)(nil)

// Check implements [lsp.Trust].
func (f *folderTrust) Check(folders []string) (workspace.Trust, []string, error) {
	cfg, err := config.Source{Getenv: f.getenv, Folders: folders, Trust: f.store}.Load()
	if err != nil {
		// The settings cannot be used, which is said where they are needed.
		state, err := f.store.State(folders...)
		return state, nil, err
	}
	return cfg.Trust, cfg.LeftOut, nil
}

// Say implements [lsp.Trust].
func (f *folderTrust) Say(folders []string, trusted bool) { f.store.Say(folders, trusted) }

// Keep implements [lsp.Trust].
func (f *folderTrust) Keep(folders []string) error {
	for _, dir := range folders {
		if err := f.store.Set(dir, trust.Folder); err != nil {
			return err
		}
	}
	return nil
}

// How implements [lsp.Trust].
func (f *folderTrust) How(folders []string) string {
	return fmt.Sprintf("To trust it, run “redline trust add %s” in a terminal and begin a new session; “redline trust deny” ends the questions.", strings.Join(folders, " "))
}

// headlessTrust is [agent.TrustKeeper] where nobody can be asked.
type headlessTrust struct {
	*folderTrust
	folders []string
}

var _ agent.TrustKeeper = headlessTrust{}

// Trust implements [agent.TrustKeeper].
func (h headlessTrust) Trust() agent.TrustInfo {
	state, leftOut, _ := h.Check(h.folders) // said as a warning when the settings were read
	if state == workspace.TrustUnknown {
		state = workspace.Untrusted
	}
	return agent.TrustInfo{
		State: state, LeftOut: leftOut,
		How: fmt.Sprintf("To trust it, run again with --trust (or GEMINI_CLI_TRUST_WORKSPACE=true), or once “redline trust add %s”.", strings.Join(h.folders, " ")),
	}
}

// Keep implements [agent.TrustKeeper].
func (h headlessTrust) Keep(bool) error { return nil }

// Declined implements [agent.TrustKeeper].
func (h headlessTrust) Declined() {}

// Renew implements [agent.TrustKeeper].
func (h headlessTrust) Renew() (func(*agent.Options), error) { return nil, nil }

func runTrust(_ context.Context, std stdio, args []string) int {
	fs := flag.NewFlagSet("redline trust", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), `Usage:
  redline trust [list]         the folders you trust, and whether this is one
  redline trust add [DIR]      trust a folder and what is below it
  redline trust parent [DIR]   trust the folder above it, and so all beside it
  redline trust deny [DIR]     never trust it, and do not ask
  redline trust remove [DIR]   forget what was said of it

DIR is the current folder when it is left out. In a folder that is not trusted its
settings, MCP servers, commands and the shell are off; reading and editing work.
`)
	}
	verb, code, ok := parseVerb(fs, std, args)
	if !ok {
		return code
	}
	if fs.NArg() > 1 || (verb == "" || verb == "list") && fs.NArg() > 0 {
		fs.Usage()
		return exitUsage
	}
	f := newTrust(std.getenv)
	if verb == "" || verb == "list" {
		return f.list(std)
	}
	levels := map[string]trust.Level{"add": trust.Folder, "parent": trust.Parent, "deny": trust.Never, "remove": ""}
	level, ok := levels[verb]
	if !ok {
		fs.Usage()
		return exitUsage
	}
	dir, err := filepath.Abs(fs.Arg(0))
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	if verb == "remove" {
		found, err := f.store.Remove(dir)
		switch {
		case err != nil:
			return fail(std, exitFailed, "%v", err)
		case !found:
			return fail(std, exitFailed, "%s has no entry in %s; see redline trust list", dir, f.store.File())
		}
	} else {
		if _, _, err := openFolder(dir); err != nil {
			return fail(std, exitUsage, "%v", err)
		}
		if err := f.store.Set(dir, level); err != nil {
			return fail(std, exitFailed, "%v", err)
		}
	}
	state, _, err := f.Check([]string{dir})
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	fmt.Fprintf(std.out, "%s is %s.\n", dir, state)
	return exitOK
}

// list prints the entries, and what is known of the current folder.
func (f *folderTrust) list(std stdio) int {
	rules, err := f.store.Rules()
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	for _, r := range rules {
		fmt.Fprintf(std.out, "%-12s %s\n", r.Level, r.Path)
	}
	if len(rules) == 0 {
		fmt.Fprintf(std.out, "There is no entry in %s.\n", f.store.File())
	}
	dir, err := filepath.Abs("")
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	state, leftOut, err := f.Check([]string{dir})
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	fmt.Fprintf(std.out, "This folder, %s, is %s.\n", dir, state)
	if len(leftOut) > 0 {
		fmt.Fprintf(std.out, "Left out of it: %s.\n", strings.Join(leftOut, "; "))
	}
	return exitOK
}
