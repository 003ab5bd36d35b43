// Command redline is an AI agent that lives in the editor: a language server whose
// edits are previewed, accepted hunk by hunk, and never overwrite what was typed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"redline/tools/sandbox"
)

// version is set by release builds with -ldflags "-X main.version=…".
var version string

// Exit codes (WIRE.md §1).
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitCredentials = 41
	exitTurnLimit   = 53
	exitInterrupted = 130
)

// stdio is where a command reads and writes.
type stdio struct {
	in       io.ReadCloser
	out, err io.Writer
	getenv   func(string) string
}

// command is a subcommand; run returns the exit code.
type command struct {
	name, args, summary string
	run                 func(ctx context.Context, std stdio, args []string) int
}

func commands() []command {
	return []command{
		{"demo", "[--yes] [--show]", "see the main job, with no key and no network", runDemo},
		{"serve", "", "the editor's server: LSP on stdin and stdout", runServe},
		{"acp", "", "the same for clients of the Agent Client Protocol", runACP},
		{"run", "-p PROMPT", "one prompt without an editor", runRun},
		{"tools", "list | call NAME JSON | allowed | forget", "what the model can call", runTools},
		{"mcp", "list", "the MCP servers of the settings and how they are", runMCP},
		{"memory", "show | list", "the instructions (GEMINI.md, AGENTS.md) that are read", runMemory},
		{"checkpoints", "list SESSION | preview ID | restore ID", "go back to before a turn", runCheckpoints},
		{"sessions", "list | show ID | delete ID", "what was said before, and what became of it", runSessions},
		{"trust", "[list | add | parent | deny | remove] [DIR]", "the folders you trust", runTrust},
		{"auth", "login | status | logout", "sign in to the model's service, and out", runAuth},
		{"inspect", "FILE", "a trace or a recording, as Markdown", runInspect},
		{"schema", "", "the methods and events beyond LSP, as JSON Schema", runSchema},
		{"doctor", "[--online]", "what redline finds here, and what is wrong", runDoctor},
		{"version", "", "print the version", runVersion},
	}
}

func main() {
	sandbox.Helper() // does not return in the helper of a sandbox
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := dispatch(ctx, stdio{os.Stdin, os.Stdout, os.Stderr, os.Getenv}, os.Args[1:])
	stop()
	os.Exit(code)
}

// dispatch runs the command that args name.
func dispatch(ctx context.Context, std stdio, args []string) int {
	if len(args) == 0 {
		usage(std.err)
		return exitUsage
	}
	switch args[0] {
	case "-h", "--help", "help":
		usage(std.out)
		return exitOK
	case "-v", "--version":
		args[0] = "version"
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, std, args[1:])
		}
	}
	fmt.Fprintf(std.err, "redline: there is no command %q\n\n", args[0])
	usage(std.err)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "redline is an AI agent that lives in your editor.\n\nUsage:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  redline %-32s %s\n", strings.TrimSpace(c.name+" "+c.args), c.summary)
	}
	fmt.Fprint(w, "\nredline COMMAND --help tells more.\n")
}

// parse parses a command's flags. ok is false when the command is to end with code.
func parse(fs *flag.FlagSet, std stdio, args []string) (code int, ok bool) {
	fs.SetOutput(std.err)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK, false
	case err != nil:
		return exitUsage, false
	}
	return 0, true
}

// parseVerb is parse for a command that has commands of its own: flags may stand
// before and behind the verb, which is empty when there is none. What is left of the
// arguments is fs.Args.
func parseVerb(fs *flag.FlagSet, std stdio, args []string) (verb string, code int, ok bool) {
	if code, ok = parse(fs, std, args); !ok || fs.NArg() == 0 {
		return "", code, ok
	}
	verb = fs.Arg(0)
	code, ok = parse(fs, std, fs.Args()[1:])
	return verb, code, ok
}

// asksHelp answers a --help that stands where a command of the command is expected.
func asksHelp(std stdio, args []string, usage string) bool {
	if len(args) == 0 || args[0] != "--help" && args[0] != "-help" && args[0] != "-h" && args[0] != "help" {
		return false
	}
	fmt.Fprintln(std.err, usage)
	return true
}

func fail(std stdio, code int, format string, args ...any) int {
	fmt.Fprintf(std.err, "redline: "+format+"\n", args...)
	return code
}

func runVersion(_ context.Context, std stdio, _ []string) int {
	fmt.Fprintf(std.out, "redline %s\n", versionString())
	return exitOK
}

// versionString returns the release's version, else what the build knows of the
// commit.
func versionString() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			rev = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+"
		}
	}
	if rev == "" {
		return "dev"
	}
	return "dev-" + rev + dirty
}
