package main

import (
	"context"
	"flag"
	"fmt"

	"go.uber.org/zap"

	"redline/cmd/internal/config"
	"redline/cmd/internal/signin"
	"redline/lsp"
	"redline/lsp/acp"
	"redline/lsp/rpc"
	"redline/tools/mcp"
)

func runACP(ctx context.Context, std stdio, args []string) int {
	fs := flag.NewFlagSet("redline acp", flag.ContinueOnError)
	modelName := fs.String("model", "", "`name` of the model (default: settings, GEMINI_MODEL)")
	archives := fs.String("manifest", "", "print this release's entry for the ACP registry (agent.json), whose archives are below the `address`, and end")
	var watch observation
	watch.flags(fs, "warn")
	if code, ok := parse(fs, std, args); !ok {
		return code
	}
	if fs.NArg() > 0 {
		return fail(std, exitUsage, "acp takes no argument %q", fs.Arg(0))
	}
	if *archives != "" {
		entry, err := registryManifest(versionString(), *archives)
		if err != nil {
			return fail(std, exitUsage, "%v", err)
		}
		fmt.Fprintf(std.out, "%s\n", entry)
		return exitOK
	}
	code, err := watch.open(std)
	if err != nil {
		return fail(std, code, "%v", err)
	}
	log := watch.log
	defer func() {
		if err := watch.close(); err != nil {
			log.Error(err.Error())
		}
	}()
	if restore, err := zap.RedirectStdLogAt(log, zap.DebugLevel); err == nil { // the SDK logs there
		defer restore()
	}
	trusted, user := newTrust(std.getenv), signin.NewUser(std.getenv, versionString())
	opt := acp.Options{
		Version: versionString(), Log: log, Trust: trusted, Journal: config.Sessions(std.getenv), Blobs: config.Checkpoints(std.getenv),
		Methods: []acp.Method{
			{ID: signin.APIKey, Name: "Gemini API key", Description: "The key in GEMINI_API_KEY, or the one that “redline auth login” keeps"},
			{ID: signin.LoginOAuth, Name: "Login with Google", Description: "In the browser, with an OAuth client of your own"},
			{ID: signin.Vertex, Name: "Vertex AI", Description: "GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, or GOOGLE_API_KEY"},
			{ID: signin.Compute, Name: "Cloud Shell", Description: "The account of the machine"},
		},
		OpenLink: func(ctx context.Context, link string) error { return openBrowser(ctx, std.getenv, link) },
		Settings: func(folders []string, servers []mcp.Server) (lsp.Settings, error) {
			return trustedSettings(std.getenv, folders, trusted, user, *modelName, log, &watch, servers...)
		},
	}
	if watch.tracer != nil {
		opt.Tap = watch.tracer.tap
	}
	return acp.Serve(ctx, rpc.Pair(std.in, writeCloser{std.out}), opt)
}
