package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"golang.org/x/term"

	"redline/agent"
	"redline/agent/model"
	"redline/cmd/internal/config"
	"redline/cmd/internal/signin"
	"redline/lsp"
)

func runAuth(ctx context.Context, std stdio, args []string) int {
	fs := flag.NewFlagSet("redline auth", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), `Usage:
  redline auth login [-method NAME] [-no-browser]   sign in
  redline auth status [-json]                       how the model is reached, without trying
  redline auth logout                               forget what is kept, and tell Google

NAME is gemini-api-key (the key is asked for, or read from standard input),
oauth-personal (Login with Google), vertex-ai or cloud-shell; without it, what the
settings say. Keys and tokens are kept encrypted, readable by you alone.

`)
	}
	if code, ok := parse(fs, std, args); !ok {
		return code
	}
	verb, rest := fs.Arg(0), args[min(len(args), len(args)-fs.NArg()+1):]
	sub := flag.NewFlagSet("redline auth "+verb, flag.ContinueOnError)
	dir := sub.String("C", "", "go by the settings of this `folder` instead of the current one")
	var run func(account *signin.Account) int
	switch verb {
	case "login":
		method := sub.String("method", "", "`name` of the way to sign in: "+strings.Join(signin.Methods, ", "))
		noBrowser := sub.Bool("no-browser", false, "show the link instead of opening it, and take the code by paste")
		run = func(a *signin.Account) int { return authLogin(ctx, std, a, *method, *noBrowser) }
	case "status":
		asJSON := sub.Bool("json", false, "print it as JSON")
		run = func(a *signin.Account) int { return authStatus(ctx, std, a, *asJSON) }
	case "logout":
		run = func(a *signin.Account) int { return authLogout(ctx, std, a) }
	default:
		fs.SetOutput(std.err)
		fs.Usage()
		return exitUsage
	}
	if code, ok := parse(sub, std, rest); !ok {
		return code
	}
	if sub.NArg() > 0 {
		return fail(std, exitUsage, "unexpected argument %q", sub.Arg(0))
	}
	_, folder, err := openFolder(*dir)
	if err != nil {
		return fail(std, exitUsage, "%v", err)
	}
	source := config.Source{Getenv: std.getenv, Folders: []string{folder}}
	if cfg, err := source.Load(); err == nil && cfg.Provider == config.ProviderOpenAI && verb != "logout" {
		return authOpenAI(std, cfg, verb)
	}
	return run(signin.NewUser(std.getenv, versionString()).Account(source.Load))
}

func authLogin(ctx context.Context, std stdio, a *signin.Account, method string, noBrowser bool) int {
	noBrowser = noBrowser || std.getenv("NO_BROWSER") != ""
	req := lsp.AuthLoginParams{Method: method, NoBrowser: noBrowser}
	if m, err := signin.ParseMethod(method); err == nil && m == signin.APIKey {
		key, err := readKey(std)
		if err != nil {
			return fail(std, exitFailed, "read the key: %v", err)
		}
		req.APIKey = key
	}
	log.SetOutput(io.Discard) // the SDK's remarks on the environment are no help here
	in, stop := context.WithCancel(ctx)
	defer stop()
	talk := lsp.AuthTalk{
		Progress: func(text string) { fmt.Fprintln(std.err, text) },
		Show: func(ctx context.Context, link string) error {
			fmt.Fprintf(std.err, "\nOpen this link to sign in:\n\n  %s\n\n", link)
			if noBrowser || openBrowser(ctx, std.getenv, link) != nil {
				fmt.Fprint(std.err, "When the browser has ended at an address that begins with http://127.0.0.1, and no page\ncomes there because it runs on another machine, paste that address here:\n")
			}
			return nil
		},
		Codes: lines(in, std.in),
	}
	if err := a.Login(ctx, req, talk); err != nil {
		return authFail(ctx, std, err)
	}
	return authStatus(ctx, std, a, false)
}

// lines brings the lines of what the user types, until ctx ends. The goroutine that
// reads may stay until the process ends: reading cannot be broken off.
func lines(ctx context.Context, in io.Reader) <-chan string {
	out := make(chan string)
	if in == nil {
		return nil
	}
	go func() {
		defer close(out)
		for s := bufio.NewScanner(in); s.Scan(); {
			select {
			case out <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// readKey asks for an API key, without showing it; what is piped in is read instead.
func readKey(std stdio) (string, error) {
	if f, ok := std.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(std.err, "API key (https://aistudio.google.com/apikey; not shown; empty: the environment's): ")
		key, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(std.err)
		return string(key), err
	}
	line, err := bufio.NewReader(io.LimitReader(std.in, 64<<10)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

func authStatus(ctx context.Context, std stdio, a *signin.Account, asJSON bool) int {
	st, err := a.Status(ctx)
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	code := exitOK
	if !st.SignedIn {
		code = exitCredentials
	}
	if asJSON {
		enc := json.NewEncoder(std.out)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(st) // a closed stdout is noticed by the shell
		return code
	}
	if !st.SignedIn {
		fmt.Fprintf(std.err, "redline: not signed in (%s).\n%s\n", st.Method, st.Message)
		return code
	}
	fmt.Fprintf(std.out, "Signed in: %s, %s\n", st.Method, sources[st.Source])
	for _, line := range [][2]string{{"account", st.Account}, {"tier", st.Tier}, {"project", st.Project}, {"location", st.Location}} {
		if line[1] != "" {
			fmt.Fprintf(std.out, "  %-9s %s\n", line[0], line[1])
		}
	}
	return code
}

// sources are the words for where a credential is from.
var sources = map[string]string{
	"environment": "from the environment", "saved": "from a sign-in that is kept", "client": "from the editor",
	"default": "by application default credentials", "machine": "by the credentials of this machine",
}

func authLogout(ctx context.Context, std stdio, a *signin.Account) int {
	if err := a.Logout(ctx); err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	fmt.Fprintln(std.out, "You are signed out; nothing is kept.")
	if st, err := a.Status(ctx); err == nil && st.SignedIn {
		fmt.Fprintf(std.out, "Note: %s is still usable, %s.\n", st.Method, sources[st.Source])
	}
	return exitOK
}

// authFail says why a sign-in failed.
func authFail(ctx context.Context, std stdio, err error) int {
	var e *model.Error
	switch {
	case ctx.Err() != nil:
		return fail(std, exitInterrupted, "cancelled; you are not signed in")
	case errors.As(err, &e):
		code := exitFailed
		if e.Kind == model.KindAuth {
			code = exitCredentials
		}
		return fail(std, code, "%s", e.Message)
	case errors.Is(err, agent.ErrCredentials):
		return fail(std, exitCredentials, "%v", err)
	}
	return fail(std, exitFailed, "%v", err)
}

// authOpenAI says how the server of redline.openai is reached: there is no signing in to it.
func authOpenAI(std stdio, cfg *config.Config, verb string) int {
	if verb == "login" {
		return fail(std, exitUsage, "there is nothing to sign in to: redline.provider is %q, and the server at %s is used. Remove that setting to use Gemini.", config.ProviderOpenAI, cfg.OpenAI.BaseURL)
	}
	key, missing := cfg.OpenAI.Key(cfg.Env)
	if missing != "" {
		return fail(std, exitCredentials, "%v", missingKey(missing))
	}
	with := "without a key"
	if key != "" {
		with = "with the key of the environment"
	}
	fmt.Fprintf(std.out, "No sign-in is needed: %s, %s.\n", cfg.OpenAI.BaseURL, with)
	return exitOK
}
