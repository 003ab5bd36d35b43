package main

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"redline/agent/retry"
	"redline/agent/slash"
	"redline/cmd/internal/config"
	"redline/cmd/internal/consents"
	"redline/cmd/internal/signin"
	"redline/lsp"
	"redline/lsp/rpc"
	"redline/tools"
	"redline/tools/mcp"
	"redline/tools/policy"
	"redline/tools/shell"
	"redline/workspace"
)

func runServe(ctx context.Context, std stdio, args []string) int {
	fs := flag.NewFlagSet("redline serve", flag.ContinueOnError)
	modelName := fs.String("model", "", "`name` of the model (default: settings, GEMINI_MODEL)")
	review := fs.String("review", "", "how editors without a plugin review: auto, annotations, message or codeAction")
	listenAt := fs.String("listen", "", "serve many clients at `address`, unix:PATH or 127.0.0.1:PORT, instead of one on stdin and stdout")
	idle := fs.Duration("idle", 0, "with --listen: end when nobody was connected for this `time` (0: never)")
	remote := fs.String("remote", "", "join stdin and stdout to the server at `address`; auto starts one when there is none")
	debugAt := fs.String("debug", "", "show what the server is at, and profiles, at http://`address`, a loopback HOST:PORT")
	var watch observation
	watch.flags(fs, "info")
	fs.Bool("stdio", true, "speak on stdin and stdout (always; accepted because editors pass it)")
	if code, ok := parse(fs, std, args); !ok {
		return code
	}
	if fs.NArg() > 0 {
		return fail(std, exitUsage, "serve takes no argument %q", fs.Arg(0))
	}
	if *listenAt != "" && *remote != "" {
		return fail(std, exitUsage, "--listen and --remote exclude each other")
	}
	if *remote != "" {
		if err := joinRemote(ctx, std, *remote, forServer(fs)); err != nil {
			return fail(std, exitFailed, "join the server at %s: %v", *remote, err)
		}
		return exitOK
	}
	var cores []zapcore.Core
	clientLog := watch.clientLog()
	if *listenAt == "" { // else each client has a log of its own
		cores = append(cores, clientLog)
	}
	code, err := watch.open(std, cores...)
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
	options := func(log *zap.Logger, clientLog *lsp.ClientLog) lsp.Options {
		return lsp.Options{
			Version: versionString(), Log: log, ClientLog: clientLog, Review: *review, Trust: trusted, Journal: config.Sessions(std.getenv), Blobs: config.Checkpoints(std.getenv),
			Folder: documentsFolder(std.getenv),
			Settings: func(folders []string) (lsp.Settings, error) {
				return trustedSettings(std.getenv, folders, trusted, user, *modelName, log, &watch)
			},
		}
	}
	opt := options(log, clientLog)
	if watch.tracer != nil {
		opt.Tap = watch.tracer.tap
	}
	if *debugAt != "" {
		opt.Debug = new(lsp.Debug)
		page, err := serveDebug(*debugAt, opt.Debug)
		if err != nil {
			return fail(std, exitUsage, "%v", err)
		}
		defer page.Close()
		log.Info("debug page at " + page.URL)
	}
	if *listenAt != "" {
		l, token, err := listen(std.getenv, *listenAt)
		if err != nil {
			return fail(std, exitFailed, "%v", err)
		}
		log.Info("listening", zap.Stringer("address", l.Addr()))
		serveMany(ctx, l, token, *idle, log, func() lsp.Options {
			clientLog := watch.anotherLog()
			own := options(log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return zapcore.NewTee(c, clientLog) })), clientLog)
			own.Tap, own.Debug = opt.Tap, opt.Debug
			return own
		})
		return exitOK
	}
	return lsp.Serve(ctx, rpc.Pair(std.in, writeCloser{std.out}), opt)
}

// documentsFolder returns where differences and chats are kept for the editor to
// open; empty when no folder of the user's is known, which means a temporary one.
func documentsFolder(getenv func(string) string) string {
	if dir := getenv("REDLINE_HOME"); dir != "" {
		return filepath.Join(dir, "documents")
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "redline", "documents")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "redline", "documents")
	}
	return ""
}

// sessionSettings reads what sessions in the given folders start with, as far as the
// folders are trusted without anybody being asked.
func sessionSettings(getenv func(string) string, folders []string, modelName string, log *zap.Logger) (lsp.Settings, error) {
	return trustedSettings(getenv, folders, newTrust(getenv), signin.NewUser(getenv, versionString()), modelName, log, nil)
}

// trustedSettings is sessionSettings as far as the folders are trusted by now, for a
// user who may have handed over a key, with more MCP servers than the settings name.
func trustedSettings(getenv func(string) string, folders []string, trusted *folderTrust, user *signin.User, modelName string, log *zap.Logger, watch *observation, more ...mcp.Server) (lsp.Settings, error) {
	source := config.Source{Getenv: getenv, Folders: folders, Trust: trusted.store}
	cfg, err := source.Load()
	if err != nil {
		return lsp.Settings{}, err
	}
	for _, w := range cfg.Warnings {
		log.Warn(w)
	}
	modelFlag := modelName
	if modelName == "" {
		modelName = cfg.Model
	}
	account := user.Account(source.Load)
	all := registry(getenv)
	all.Add(tools.WebFetch(webOptions(cfg)))
	reg := all.Filter(cfg.CoreTools, cfg.ExcludedTools)
	set := lsp.Settings{
		Model: modelName, MaxTurns: cfg.MaxSessionTurns, Review: cfg.Review, ReviewAt: cfg.ReviewAt, ReviewBy: cfg.ReviewBy, RestoreSession: cfg.RestoreSession,
		KeepSessions: cfg.Limits.Sessions, CheckpointBytes: int64(cfg.Limits.CheckpointMB) << 20,
		Retry:     retry.Options{MaxAttempts: cfg.Retry.MaxAttempts, Initial: cfg.Retry.Initial, Max: cfg.Retry.MaxDelay},
		Generator: account.Generator, Auth: account.Auth, Account: account,
		Commands: commandPolicy(cfg), Tools: reg,
		Policy: toolPolicy(cfg), Env: cfg.CommandEnv, Secrets: cfg.Env.Secrets(), Sandbox: cfg.Sandbox,
		CorrectEdits: cfg.CorrectEdits, Silence: cfg.Silence,
		Consents:     consents.New(config.StateDir(getenv)).In(folders),
		Conversation: conversation(getenv, cfg, trusted, func() string { m, _ := account.Auth(); return m }),
	}
	if cfg.Provider == config.ProviderOpenAI {
		useOpenAI(&set, cfg, modelFlag)
	}
	set.Slash = &slash.Set{User: cfg.UserCommands, Project: cfg.ProjectCommands, Trusted: cfg.Trust == workspace.Trusted}
	var bring []bringer
	if servers := mcpServers(cfg, folders, reg, log, more...); servers != nil {
		bring = append(bring, servers)
		set.Slash.Servers, set.Resources = servers, servers
	}
	if command := discovered(cfg, folders, reg, log); command != nil {
		bring = append(bring, command)
	}
	set.Background, set.Ready = together(bring)
	if watch != nil {
		watch.settings(&set, cfg, folders)
	}
	return set, nil
}

// registry returns every built-in tool.
func registry(getenv func(string) string) *tools.Registry {
	r := tools.NewRegistry(tools.Builtin()...)
	if home := config.Home(getenv); home != "" {
		r.Add(tools.SaveMemory(filepath.Join(home, "GEMINI.md")))
	}
	return r
}

// toolPolicy returns the user's rules, and behind them what tools.allowed says of
// tools that run no command, such as "web_fetch" or "server__*".
func toolPolicy(cfg *config.Config) policy.Policy {
	p := cfg.Policy
	p.User = slices.Clone(p.User)
	for _, e := range cfg.AllowedTools {
		e = strings.TrimSpace(e)
		if prefixes, all := shell.Prefixes([]string{e}); all || len(prefixes) > 0 || e == "" || strings.Contains(e, "(") {
			continue
		}
		p.User = append(p.User, policy.Rule{Tool: e, Decision: policy.Allow, Reason: "tools.allowed"})
	}
	return p
}

// commandPolicy returns what the settings say about command lines. Without a
// prefix, an allowed tool is one for which every line that could be allowed is.
func commandPolicy(cfg *config.Config) shell.Policy {
	var p shell.Policy
	p.Allow, p.AllowAll = shell.Prefixes(cfg.AllowedTools)
	p.Deny, _ = shell.Prefixes(cfg.ExcludedTools)
	return p
}

// writeCloser closes what it wraps when that can be closed.
type writeCloser struct{ io.Writer }

func (w writeCloser) Close() error {
	if c, ok := w.Writer.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
