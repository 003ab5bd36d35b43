package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/term"

	"redline/agent"
	"redline/agent/model"
	"redline/tools"
	"redline/workspace"
)

//go:embed demo/sample.txtar
var demoSample []byte

func runDemo(ctx context.Context, std stdio, args []string) int {
	fs := flag.NewFlagSet("redline demo", flag.ContinueOnError)
	yes := fs.Bool("yes", false, "accept every change without asking")
	show := fs.Bool("show", false, "only show the changes")
	keep := fs.String("dir", "", "unpack the sample into this new or empty `folder` (default: a temporary one)")
	if code, ok := parse(fs, std, args); !ok {
		return code
	}
	if fs.NArg() > 0 {
		return fail(std, exitUsage, "demo takes no argument %q", fs.Arg(0))
	}
	if *yes && *show {
		return fail(std, exitUsage, "--yes and --show exclude each other")
	}
	folder, err := unpackSample(*keep)
	if err != nil {
		return fail(std, exitFailed, "unpack the sample: %v", err)
	}
	ws, err := workspace.New(folder)
	if err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	in, inTerm := terminal(std.in)
	_, outTerm := terminal(std.out)
	d := &demo{ws: ws, out: std.out, in: bufio.NewReader(in), ask: inTerm && outTerm && !*yes && !*show, colour: outTerm && std.getenv("NO_COLOR") == "" && std.getenv("TERM") != "dumb"}
	d.end = make(chan agent.TurnEnded, 1)
	pause := time.Duration(0)
	if outTerm {
		pause = 18 * time.Millisecond
	}
	reviewer := &headless{mode: "demo", ws: ws, decide: d.decide}
	d.accept = *yes
	s := agent.NewSession(agent.Options{
		Workspace: ws, Tools: tools.NewRegistry(tools.Builtin()...), Reviewer: reviewer, Emit: d.event,
		Generator: func(context.Context) (model.ContentGenerator, error) {
			return &demoModel{folder: folder, pause: pause}, nil
		},
	})
	defer s.Close()
	d.printf("%s\n\n", d.paint(faint, "A scripted model works on a sample project with the real agent. Folder: "+folder))
	d.printf("%s %s\n\n", d.paint(bold, "You:"), demoPrompt)
	if _, err := s.Prompt(ctx, agent.Message{Text: demoPrompt}); err != nil {
		return fail(std, exitFailed, "%v", err)
	}
	end := <-d.end
	if end.Status == agent.Cancelled {
		d.printf("\n\nInterrupted; nothing further is changed.\n")
		return exitInterrupted
	}
	if end.Err != nil {
		return fail(std, exitFailed, "%v", end.Err)
	}
	d.summary(folder)
	return exitOK
}

// unpackSample writes the sample workspace to dir, or to a temporary folder.
func unpackSample(dir string) (string, error) {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "redline-demo-")
		if err != nil {
			return "", err
		}
		dir = tmp
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if entries, err := os.ReadDir(abs); err == nil && len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty", abs)
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", err
	}
	for _, f := range txtar.Parse(demoSample).Files {
		if err := os.WriteFile(filepath.Join(abs, f.Name), f.Data, 0o644); err != nil {
			return "", err
		}
	}
	return abs, nil
}

// terminal returns v as a reader, if it is one, and whether it is a terminal.
func terminal(v any) (io.Reader, bool) {
	r, _ := v.(io.Reader)
	if r == nil {
		r = strings.NewReader("")
	}
	f, ok := v.(*os.File)
	return r, ok && term.IsTerminal(int(f.Fd()))
}

// demo shows a session in a terminal. Its methods but summary are called by the
// session, one at a time.
type demo struct {
	ws     *workspace.Workspace
	out    io.Writer
	in     *bufio.Reader
	ask    bool // there is a person to ask
	accept bool // --yes
	colour bool

	midLine  bool
	proposal *workspace.Proposal
	end      chan agent.TurnEnded
}

// ANSI codes.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

func (d *demo) paint(code, s string) string {
	if !d.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (d *demo) printf(format string, args ...any) { fmt.Fprintf(d.out, format, args...) }

func (d *demo) event(ev agent.Event) {
	switch b := ev.Body.(type) {
	case agent.MessageDelta:
		if !d.midLine {
			d.printf("%s ", d.paint(bold, "Redline:"))
		}
		d.midLine = true
		d.printf("%s", b.Text)
	case agent.ToolUpdated:
		d.newline()
		switch b.Status {
		case agent.CallCompleted:
			detail := b.Display
			if detail == "" {
				detail = b.Output
			}
			d.printf("  %s %s %s %s\n", d.paint(green, "✓"), b.Name, b.Title, d.paint(faint, detail))
		case agent.CallFailed, agent.CallRejected:
			detail := b.Display
			if detail == "" {
				detail, _, _ = strings.Cut(b.Output, "\n")
			}
			d.printf("  %s %s %s %s\n", d.paint(red, "✗"), b.Name, b.Title, d.paint(faint, detail))
		}
	case agent.ProposalUpdated:
		d.proposal = b.Proposal
	case agent.TurnEnded:
		d.newline()
		d.end <- b
	}
}

func (d *demo) newline() {
	if d.midLine {
		d.printf("\n\n")
		d.midLine = false
	}
}

// decide shows the proposal and, in a terminal, asks for each hunk.
func (d *demo) decide(ctx context.Context, p *workspace.Proposal) error {
	d.printf("\n%s\n\n", d.paint(bold, "Proposal: "+p.Title))
	if !d.ask {
		d.printf("%s\n", d.diff(unified(d.ws, p)))
		for h := range p.Hunks() {
			if !d.accept {
				h.State, h.Reason = workspace.Rejected, onlyShown
			}
		}
		return nil
	}
	all := false
	snap := d.ws.Snapshot()
	total := 0
	for range p.Hunks() {
		total++
	}
	n := 0
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			n++
			if all {
				continue
			}
			one := p.Unified(snap.Rel, func(x *workspace.Hunk) bool { return x == h })
			d.printf("%s\n", d.diff(one))
			answer, err := d.question(ctx, fmt.Sprintf("Hunk %d of %d: accept? [y]es, [n]o, [a]ll, [q] reject the rest: ", n, total))
			if err != nil {
				return err
			}
			switch answer {
			case "y", "yes", "":
			case "a", "all":
				all = true
			case "q":
				reject(p, h)
				return nil
			default:
				h.State = workspace.Rejected
			}
			d.printf("\n")
		}
	}
	return nil
}

// reject rejects from and every hunk after it.
func reject(p *workspace.Proposal, from *workspace.Hunk) {
	found := false
	for h := range p.Hunks() {
		if found = found || h == from; found {
			h.State = workspace.Rejected
		}
	}
}

// question asks and reads a line. Ctrl-C ends the waiting.
func (d *demo) question(ctx context.Context, q string) (string, error) {
	d.printf("%s", d.paint(cyan, q))
	type line struct {
		text string
		err  error
	}
	got := make(chan line, 1)
	// Reading a terminal cannot be interrupted; the process ends soon after.
	go func() {
		text, err := d.in.ReadString('\n')
		got <- line{text, err}
	}()
	select {
	case l := <-got:
		if l.err != nil && l.text == "" {
			if errors.Is(l.err, io.EOF) {
				return "q", nil
			}
			return "", l.err
		}
		return strings.ToLower(strings.TrimSpace(l.text)), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// diff colours a unified diff.
func (d *demo) diff(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		code := ""
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			code = bold
		case strings.HasPrefix(line, "@@"):
			code = cyan
		case strings.HasPrefix(line, "-"):
			code = red
		case strings.HasPrefix(line, "+"):
			code = green
		}
		if code == "" {
			b.WriteString(line)
			continue
		}
		b.WriteString(d.paint(code, strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// summary says what changed and how to go on.
func (d *demo) summary(folder string) {
	d.printf("%s\n", d.paint(bold, "What changed"))
	changed := false
	if d.proposal != nil {
		for _, f := range d.proposal.Files {
			n, m := 0, 0
			for _, h := range f.Hunks {
				m++
				if h.State == workspace.Accepted {
					n++
				}
			}
			changed = changed || n > 0
			d.printf("  %s: %d of %d hunks applied\n", d.ws.Snapshot().Rel(f.Path), n, m)
		}
	}
	if !changed && !d.ask && !d.accept {
		d.printf("  Nothing is applied without a yes; run it in a terminal to be asked, or with --yes.\n")
	}
	d.printf(`
%s
  1. Get a key (https://aistudio.google.com/apikey):  export GEMINI_API_KEY=…
  2. Try it without an editor:  redline run -p "explain this project" -C %s
  3. In your editor: see README.md (VS Code extension, or any LSP editor with "redline serve").
`, d.paint(bold, "How to go on"), folder)
}
