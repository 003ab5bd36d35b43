package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.uber.org/zap/zapcore"

	"redline/cmd/internal/config"
	"redline/lsp"
	"redline/tools"
	"redline/tools/mcp"
)

// mcpWait is how long a run without an editor, and "redline mcp list", wait for MCP
// servers before they go on without.
const mcpWait = 15 * time.Second

// mcpServers returns the MCP servers of the settings, and more that take the place of
// those with the same names; they bring their tools into reg once they run. It is nil
// when there are none.
func mcpServers(cfg *config.Config, folders []string, reg *tools.Registry, log *zap.Logger, more ...mcp.Server) *mcp.Servers {
	list, problems := mcp.ParseServers(cfg.MCPServers, cfg.Env.Get)
	list = slices.DeleteFunc(list, func(s mcp.Server) bool {
		return slices.ContainsFunc(more, func(m mcp.Server) bool { return m.Name == s.Name })
	})
	list = append(list, more...)
	for _, p := range problems {
		log.Warn(p.Error())
	}
	if len(list) == 0 {
		return nil
	}
	return mcp.New(list, reg, mcp.Options{
		Version: versionString(), Folders: folders,
		Offer: func(t *tools.Spec) bool { return !tools.Excluded(t, cfg.ExcludedTools) },
		Log:   func(server, text string) { log.Warn(text, zap.String("server", server)) },
	})
}

// inBackground runs what the settings want run until stop is called, and waits
// until it is ready.
func inBackground(ctx context.Context, set lsp.Settings) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { set.Background(ctx) })
	if set.Ready != nil {
		wait, done := context.WithTimeout(ctx, mcpWait)
		set.Ready(wait)
		done()
	}
	return func() { cancel(); wg.Wait() }
}

func runMCP(ctx context.Context, std stdio, args []string) int {
	fs := flag.NewFlagSet("redline mcp", flag.ContinueOnError)
	dir := fs.String("C", "", "work in this `folder` instead of the current one")
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), "Usage:\n  redline mcp [-C DIR] list\n")
		fs.PrintDefaults()
	}
	verb, code, ok := parseVerb(fs, std, args)
	if !ok {
		return code
	}
	if verb != "list" || fs.NArg() != 0 {
		fs.Usage()
		return exitUsage
	}
	_, folder, err := openFolder(*dir)
	if err != nil {
		return fail(std, exitUsage, "%v", err)
	}
	cfg, err := config.Load(std.getenv, folder)
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	log := newLog(std.err, zapcore.ErrorLevel)
	_, problems := mcp.ParseServers(cfg.MCPServers, cfg.Env.Get)
	for _, p := range problems {
		fmt.Fprintf(std.err, "redline: %v\n", p)
	}
	servers := mcpServers(cfg, []string{folder}, tools.NewRegistry(), log)
	if servers == nil {
		fmt.Fprintln(std.out, "There are no MCP servers in your settings (mcpServers).")
		return exitOK
	}
	stop := inBackground(ctx, lsp.Settings{Background: servers.Run, Ready: servers.Ready})
	states := servers.States()
	stop()
	for _, s := range states {
		printServer(std.out, s)
		if s.Status != mcp.Ready {
			code = exitFailed
		}
	}
	return code
}

// printServer prints how a server is and what it offers.
func printServer(w io.Writer, s mcp.State) {
	fmt.Fprintf(w, "%-20s %-6s %s", s.Server.Name, s.Server.Transport(), s.Status)
	switch {
	case s.Err != nil:
		fmt.Fprintf(w, ": %v", s.Err)
	case s.Status == mcp.Ready:
		fmt.Fprintf(w, ", %d tools, %d prompts, %d resources", len(s.Tools), len(s.Prompts), len(s.Resources))
	}
	fmt.Fprintln(w)
	for _, t := range s.Tools {
		fmt.Fprintln(w, "  "+t)
	}
	for _, p := range s.Prompts {
		fmt.Fprintf(w, "  /%s", p.Name)
		for _, a := range p.Args {
			if a.Required {
				fmt.Fprintf(w, " --%s=…", a.Name)
			} else {
				fmt.Fprintf(w, " [--%s=…]", a.Name)
			}
		}
		fmt.Fprintln(w)
	}
	for _, r := range s.Resources {
		fmt.Fprintf(w, "  @%s:%s\n", s.Server.Name, r.URI)
	}
	for _, n := range s.Notes {
		fmt.Fprintln(w, "  note: "+n)
	}
}
