package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/term"

	"redline/agent"
	"redline/cmd/internal/config"
	"redline/cmd/internal/signin"
	"redline/lsp"
	"redline/workspace"
)

// maxStdin is how much piped input is added to a prompt, in bytes.
const maxStdin = 8 << 20

func runRun(ctx context.Context, std stdio, args []string) (code int) {
	fs := flag.NewFlagSet("redline run", flag.ContinueOnError)
	var prompt, mode, modelName, output, resume, dir string
	fs.StringVar(&prompt, "p", "", "the `prompt`; piped input is appended to it")
	fs.StringVar(&prompt, "prompt", "", "the `prompt`, same as -p")
	fs.StringVar(&mode, "mode", string(agent.ModeDefault), "default (edits are refused), autoEdit, plan or yolo")
	fs.StringVar(&modelName, "model", "", "`name` of the model (default: settings, GEMINI_MODEL)")
	fs.StringVar(&output, "output", "text", "text, json or stream-json")
	fs.StringVar(&resume, "resume", "", "`id` of a session to go on with")
	maxTurns := fs.Int("max-turns", 0, "end after this many model requests (0: 100)")
	fs.StringVar(&dir, "C", "", "work in this `folder` instead of the current one")
	var watch observation
	watch.flags(fs, "warn")
	trustRun := fs.Bool("trust", false, "trust the folder in this run: its settings, MCP servers, commands, and the shell in it")
	if code, ok := parse(fs, std, args); !ok {
		return code
	}
	if fs.NArg() > 0 {
		return fail(std, exitUsage, "unexpected argument %q; give the prompt with -p, in quotes", fs.Arg(0))
	}
	m, err := agent.ParseMode(mode)
	if err != nil {
		return fail(std, exitUsage, "%v", err)
	}
	switch output {
	case "text", "json", "stream-json":
	default:
		return fail(std, exitUsage, "unknown output %q; use text, json or stream-json", output)
	}
	if *maxTurns < 0 {
		return fail(std, exitUsage, "--max-turns must not be negative")
	}
	prompt, err = withStdin(std.in, prompt)
	if err != nil {
		return fail(std, exitFailed, "read the piped input: %v", err)
	}
	if strings.TrimSpace(prompt) == "" {
		return fail(std, exitUsage, "the prompt is empty; give it with -p, or pipe it in")
	}
	ws, folder, err := openFolder(dir)
	if err != nil {
		return fail(std, exitUsage, "%v", err)
	}
	code, err = watch.open(std)
	if err != nil {
		return fail(std, code, "%v", err)
	}
	defer func() { code = watch.end(std, code) }()
	log := watch.log
	trusted := headlessTrust{newTrust(std.getenv), []string{folder}}
	if *trustRun {
		trusted.store.TrustRun()
	}
	set, err := trustedSettings(std.getenv, trusted.folders, trusted.folderTrust, signin.NewUser(std.getenv, versionString()), modelName, log, &watch)
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	if restore, err := zap.RedirectStdLogAt(log, zap.DebugLevel); err == nil { // the SDK logs there
		defer restore()
	}
	if _, err := set.Auth(); err != nil {
		// Said before anything starts: there is nothing to stream.
		return newPrinter(output, std, ws).early(err)
	}
	if set.Background != nil {
		defer inBackground(ctx, set)()
	}
	set.Conversation.Alone = true // nobody sends a next prompt
	printer, review := newPrinter(output, std, ws), &headless{mode: mode, ws: ws}
	opt := agent.Options{
		Workspace: ws, Reviewer: review, Approver: review, Trust: trusted, Emit: printer.event, Mode: m, Model: set.Model, MaxSteps: *maxTurns,
		Journal: config.Sessions(std.getenv), Blobs: config.Checkpoints(std.getenv),
	}
	set.Configure(&opt)
	s, err := openSession(ctx, opt, resume, flagGiven(fs, "mode"), modelName)
	if err != nil {
		return fail(std, exitFailed, "%v", sessionProblem(err))
	}
	defer s.Close()
	if _, err := s.Prompt(ctx, agent.Message{Text: prompt}); err != nil {
		return printer.early(err)
	}
	return printer.wait()
}

// openSession returns a new session, or the one to go on with, in the mode and with the
// model that were given or else are its own. Proposals that are open in it stay so.
func openSession(ctx context.Context, opt agent.Options, resume string, withMode bool, modelName string) (*agent.Session, error) {
	if resume == "" {
		return agent.NewSession(opt), nil
	}
	if !withMode {
		opt.Mode = ""
	}
	opt.Model = modelName
	s, _, err := agent.Resume(opt, resume)
	return s, err
}

// flagGiven reports whether a flag stands on the command line.
func flagGiven(fs *flag.FlagSet, name string) (given bool) {
	fs.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// openFolder returns the workspace of dir, or of the current folder.
func openFolder(dir string) (*workspace.Workspace, string, error) {
	abs, err := filepath.Abs(dir) // the current folder for ""
	if err != nil {
		return nil, "", err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, "", err
	}
	if !info.IsDir() {
		return nil, "", fmt.Errorf("%s is not a folder", abs)
	}
	ws, err := workspace.New(abs)
	return ws, abs, err
}

// withStdin appends what is piped in to the prompt.
func withStdin(in io.Reader, prompt string) (string, error) {
	f, ok := in.(*os.File)
	if ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 || term.IsTerminal(int(f.Fd())) {
			return prompt, nil
		}
	}
	if in == nil {
		return prompt, nil
	}
	data, err := io.ReadAll(io.LimitReader(in, maxStdin+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxStdin {
		return "", fmt.Errorf("more than %d MB", maxStdin>>20)
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return prompt, nil
	}
	if prompt == "" {
		return string(data), nil
	}
	return prompt + "\n\n" + string(data), nil
}

// printer shows the events of a run. Its methods but wait are called by the
// session, in order.
type printer struct {
	output string
	std    stdio
	ws     *workspace.Workspace

	answer    agent.Transcript
	sessionID string
	files     map[string]string // path → what became of it
	once      sync.Once
	end       agent.TurnEnded
	done      chan struct{}
}

func newPrinter(output string, std stdio, ws *workspace.Workspace) *printer {
	return &printer{output: output, std: std, ws: ws, files: map[string]string{}, done: make(chan struct{})}
}

func (p *printer) event(ev agent.Event) {
	p.sessionID = ev.SessionID
	if p.output == "stream-json" {
		p.line(lsp.EncodeEvent(p.ws.Snapshot(), ev))
	}
	switch b := ev.Body.(type) {
	case agent.MessageDelta:
		piece := p.answer.Add(b)
		if p.output == "text" {
			fmt.Fprint(p.std.out, piece)
		}
	case agent.ToolUpdated:
		if p.output == "text" && (b.Status == agent.CallCompleted || b.Status == agent.CallFailed || b.Status == agent.CallRejected) {
			fmt.Fprintf(p.std.err, "[%s] %s %s\n", b.Status, b.Name, b.Title)
		}
	case agent.ProposalUpdated:
		for _, f := range b.Proposal.Files {
			for _, h := range f.Hunks {
				if h.State == workspace.Accepted || h.State == workspace.Amended {
					p.files[f.Path] = string(f.Op)
				}
			}
		}
	case agent.Notice:
		fmt.Fprintf(p.std.err, "redline: %s\n", b.Text)
	case agent.Retry:
		fmt.Fprintf(p.std.err, "redline: %s; trying again in %s (attempt %d)\n", b.Reason, b.Delay.Round(time.Millisecond), b.Attempt)
	case agent.TurnEnded:
		p.end = b
		p.once.Do(func() { close(p.done) })
	}
}

// wait prints what remains when the turn has ended and returns the exit code.
func (p *printer) wait() int {
	<-p.done
	code := exitCode(p.end)
	if p.output == "text" {
		if s := p.answer.String(); s != "" && !strings.HasSuffix(s, "\n") {
			fmt.Fprintln(p.std.out)
		}
		if p.end.Err != nil {
			fmt.Fprintf(p.std.err, "redline: %v\n", p.end.Err)
		}
		return code
	}
	if p.output == "json" {
		p.line(p.result(string(p.end.Status), p.end.Err))
	}
	return code
}

// early reports an error from before the turn.
func (p *printer) early(err error) int {
	code := exitCode(agent.TurnEnded{Status: agent.Failed, Err: err})
	if p.output == "text" {
		fmt.Fprintf(p.std.err, "redline: %v\n", err)
	} else {
		p.line(p.result(string(agent.Failed), err))
	}
	return code
}

type runResult struct {
	SessionID string          `json:"sessionId,omitempty"`
	Status    string          `json:"status"`
	Response  string          `json:"response"`
	Error     *lsp.EventError `json:"error,omitempty"`
	Files     []runFile       `json:"files"`
	Usage     lsp.Usage       `json:"usage"`
}

type runFile struct {
	Path string `json:"path"`
	Op   string `json:"op"`
}

func (p *printer) result(status string, err error) runResult {
	r := runResult{SessionID: p.sessionID, Status: status, Response: p.answer.String(), Files: []runFile{}, Usage: lsp.WireUsage(p.end.Usage)}
	if err != nil {
		r.Error = lsp.WireError(agent.TurnEnded{Status: agent.Status(status), Err: err})
	}
	for _, path := range sortedKeys(p.files) {
		r.Files = append(r.Files, runFile{path, p.files[path]})
	}
	return r
}

func (p *printer) line(v any) {
	enc := json.NewEncoder(p.std.out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a closed stdout is noticed by the shell
}

// exitCode returns what a run ends with.
func exitCode(end agent.TurnEnded) int {
	switch {
	case errors.Is(end.Err, agent.ErrCredentials), isAuth(end.Err):
		return exitCredentials
	case end.Status == agent.Completed:
		return exitOK
	case end.Status == agent.Cancelled:
		return exitInterrupted
	case end.Status == agent.Limit:
		return exitTurnLimit
	}
	return exitFailed
}
