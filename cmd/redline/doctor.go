package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"go.uber.org/zap/zapcore"

	"redline/agent/model"
	"redline/cmd/internal/config"
	"redline/cmd/internal/signin"
	"redline/workspace"
)

// runDoctor tells what redline finds, and what is wrong with it and what to do. With
// --online it asks the model's service for its models, which costs nothing.
func runDoctor(ctx context.Context, std stdio, args []string) int {
	fs := flag.NewFlagSet("redline doctor", flag.ContinueOnError)
	dir := fs.String("C", "", "look from this `folder` instead of the current one")
	online := fs.Bool("online", false, "try the model's service too")
	if code, ok := parse(fs, std, args); !ok {
		return code
	}
	if fs.NArg() > 0 {
		return fail(std, exitUsage, "doctor takes no argument %q", fs.Arg(0))
	}
	_, folder, err := openFolder(*dir)
	if err != nil {
		return fail(std, exitUsage, "%v", err)
	}
	d := &diagnosis{std: std}
	d.good("redline", "%s, %s/%s, %s", versionString(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	d.good("folder", "%s", folder)
	home := config.Home(std.getenv)
	d.good("your settings", "%s%s", filepath.Join(home, "settings.json"), there(filepath.Join(home, "settings.json")))
	d.good("its settings", "%s%s", filepath.Join(folder, ".gemini", "settings.json"), there(filepath.Join(folder, ".gemini", "settings.json")))

	trusted := newTrust(std.getenv)
	cfg, err := config.Source{Getenv: std.getenv, Folders: []string{folder}, Trust: trusted.store}.Load()
	if err != nil {
		d.bad("settings", "%v", err)
		return d.end()
	}
	for _, w := range cfg.Warnings {
		d.warn("settings", "%s", w)
	}
	switch {
	case cfg.Trust == workspace.Trusted:
		d.good("trust", "the folder is trusted")
	case len(cfg.LeftOut) > 0:
		d.warn("trust", "the folder is not trusted, so that these do not count: %s (redline trust add)", strings.Join(cfg.LeftOut, "; "))
	default:
		d.good("trust", "the folder is not trusted, and has nothing that would need it")
	}
	log := newLog(std.err, zapcore.ErrorLevel)
	set, err := trustedSettings(std.getenv, []string{folder}, trusted, signin.NewUser(std.getenv, versionString()), "", log, nil)
	if err != nil {
		d.bad("settings", "%v", err)
		return d.end()
	}
	method, err := set.Auth()
	if err != nil {
		d.bad("sign-in", "%v", err)
	} else {
		d.good("sign-in", "%s", method)
	}
	d.good("model", "%s", orDefault(set.Model, "the default"))
	if err == nil && *online {
		d.online(ctx, set.Generator)
	}
	d.good("tools", "%d, and those of %d MCP servers", len(set.Tools.All()), len(cfg.MCPServers))
	d.program("git", "ignore rules and diffs work without it")
	d.program("bash", "commands cannot be run without it")
	state := config.StateDir(std.getenv)
	if err := writable(state); err != nil {
		d.bad("state", "%s cannot be written: %v", state, err)
	} else {
		d.good("state", "%s", state)
	}
	return d.end()
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func there(file string) string {
	if _, err := os.Stat(file); err != nil {
		return " (not there)"
	}
	return ""
}

// writable tries the folder, or the nearest one above it that is there; it leaves
// nothing behind.
func writable(dir string) error {
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("it is no folder")
		}
		if err == nil {
			f, err := os.CreateTemp(dir, ".redline-doctor-")
			if err != nil {
				return err
			}
			_ = f.Close()
			return os.Remove(f.Name())
		}
		if dir == filepath.Dir(dir) {
			return err
		}
		dir = filepath.Dir(dir)
	}
}

// diagnosis prints findings, one a line.
type diagnosis struct {
	std stdio
	ill bool
}

func (d *diagnosis) say(mark, what, format string, args ...any) {
	fmt.Fprintf(d.std.out, "%-5s %-14s %s\n", mark, what, fmt.Sprintf(format, args...))
}

func (d *diagnosis) good(what, format string, args ...any) { d.say("ok", what, format, args...) }
func (d *diagnosis) warn(what, format string, args ...any) { d.say("note", what, format, args...) }
func (d *diagnosis) bad(what, format string, args ...any) {
	d.ill = true
	d.say("WRONG", what, format, args...)
}

func (d *diagnosis) program(name, without string) {
	if path, err := exec.LookPath(name); err == nil {
		d.good(name, "%s", path)
	} else {
		d.warn(name, "is not installed; %s", without)
	}
}

func (d *diagnosis) online(ctx context.Context, generator func(context.Context) (model.ContentGenerator, error)) {
	g, err := generator(ctx)
	if err != nil {
		d.bad("service", "%v", err)
		return
	}
	lister, ok := g.(model.Lister)
	if !ok {
		d.warn("service", "it does not tell its models, so that it was not tried")
		return
	}
	infos, err := lister.ListModels(ctx)
	if err != nil {
		d.bad("service", "%v", err)
		return
	}
	d.good("service", "answers; %d models", len(infos))
}

func (d *diagnosis) end() int {
	if d.ill {
		return exitFailed
	}
	return exitOK
}
