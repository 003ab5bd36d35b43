package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"redline/tools"
	"redline/tools/sandbox"
	"redline/tools/secret"
	"redline/tools/shell"
)

// Limits of one command.
const (
	maxCommandOutput = 16 << 20               // bytes of output that are kept
	maxCommandTold   = 48 << 10               // bytes of output that the model is told
	maxLiveOutput    = 1 << 20                // bytes of output that are shown as they come
	defaultSilence   = 5 * time.Minute        // without output, after which a command is ended
	killDelay        = 500 * time.Millisecond // for a command to end by itself when told to
	cancelDelay      = 60 * time.Millisecond  // the same when the user cancelled, who is to see it at once
)

// runCommand has a command approved, runs it and gives the call its response.
func (s *Session) runCommand(ctx context.Context, t *turn, c *call, cmd *tools.Command) {
	s.refresh(ctx, nil)
	unsaved := s.opt.Workspace.Snapshot().Unsaved()
	box, err := sandbox.Open(ctx, s.opt.Sandbox)
	if ctx.Err() != nil {
		s.finish(t, c, "", context.Cause(ctx))
		return
	}
	if err != nil {
		c.guarded = guarded{ask: "the sandbox that the settings want is not to be had, so that it would run without: " + strings.ReplaceAll(err.Error(), "\n", "; "), always: true}
	}
	if err := s.approveCommand(ctx, t, c, cmd, box, unsaved); err != nil {
		s.finish(t, c, "", err)
		return
	}
	unsaved, err = s.saveFirst(ctx, t, c, unsaved)
	if err != nil {
		s.finish(t, c, "", err)
		return
	}
	c.status = CallRunning
	s.update(t, c)

	line := shell.Command{
		Line: cmd.Line, Dir: cmd.Dir, Env: shell.Environ(s.opt.Env.Clean(os.Environ())),
		Timeout: s.silence(), MaxOutput: maxCommandOutput, KillDelay: killDelay, CancelDelay: cancelDelay,
	}
	if err := s.confine(&line, box, cmd.Background); err != nil {
		s.finish(t, c, "", err)
		return
	}
	shown := 0
	line.OnOutput = func(text string) {
		if shown > maxLiveOutput {
			return
		}
		if shown += len(text); shown > maxLiveOutput {
			text += "\n[further output is not shown as it comes]\n"
		}
		s.emit(t.id, ToolOutput{CallID: c.id, Text: secret.Redact(text, s.opt.Secrets...)})
	}
	var logFile string
	var log *shell.Log
	if cmd.Background {
		f, err := s.tempFile("background-*.log")
		if err != nil {
			s.finish(t, c, "", fmt.Errorf("make a file for the output: %w", err))
			return
		}
		log, err = shell.NewLog(f, maxBackgroundLog, func(text string) string { return secret.Redact(text, s.opt.Secrets...) })
		if err != nil {
			s.finish(t, c, "", fmt.Errorf("make a file for the output: %w", err))
			return
		}
		logFile = f
		line.Background(log)
	}
	r, err := s.runShell(ctx, c.id, line, cmd.Background)
	if log != nil && len(r.Background) == 0 {
		log.Close()
	}
	if err != nil {
		s.finish(t, c, "", err)
		return
	}
	r.Output = secret.Redact(r.Output, s.opt.Secrets...)
	if len(r.Background) > 0 {
		s.leaveRunning(cmd.Line, cmd.Dir, logFile, log, r)
	}
	if r.Canceled {
		r.Output = s.shorten(r.Output, maxCommandTold, true)
		s.finish(t, c, "", fmt.Errorf("%w while the command ran; its processes were ended. Its output until then:\n%s", context.Cause(ctx), r.Output))
		return
	}
	r.Output = s.shorten(r.Output, maxCommandTold, true)
	c.ran = &r
	c.display = commandDisplay(r)
	pid := 0
	if len(r.Background) > 0 {
		pid = r.Background[0]
	}
	text := commandText(r, s.silence(), logFile, backgroundText(s.Processes(ctx), pid), s.rel(unsaved))
	if box != nil && r.ExitCode != 0 {
		text += "\nNote: " + box.String() + " If that is why it failed, tell the user; do not look for a way around it."
	}
	s.finish(t, c, text, nil)
}

// approveCommand returns nil when the command may run.
func (s *Session) approveCommand(ctx context.Context, t *turn, c *call, cmd *tools.Command, box *sandbox.Box, unsaved []string) error {
	policy := s.opt.Commands
	consented, _ := s.allowed()
	policy.Allow = append(slices.Clone(policy.Allow), consented...)
	d := policy.Decide(cmd.Line)
	if d.Blocked {
		c.status = CallRejected
		return fmt.Errorf("the user's settings forbid this command: %s. It was not run; do not try it in another way", d.Reason)
	}
	if c.guarded.ask != "" {
		d.Reason = c.guarded.ask
	}
	a := Approval{
		Subject: Subject{Type: "command", Tool: c.fc.Name, Command: cmd.Line, Directory: cmd.Dir, Roots: d.Roots},
		Title:   c.title,
		Detail:  commandDetail(cmd, box, d),
		Options: []Option{{"once", "Run once", OptionOnce}},
	}
	if len(unsaved) > 0 && s.canSave() {
		a.Subject.Unsaved = unsaved
		a.Detail += "\n\nSaved first: " + strings.Join(s.rel(unsaved), ", ")
	}
	if consented, err := s.trustCommand(ctx, t, c, a); err != nil || consented {
		c.maySave = true
		return err
	}
	if c.guarded.allowed {
		return nil
	}
	mode, _ := s.settings()
	asked := c.guarded.ask != "" && (c.guarded.always || shell.Policy{Allow: consented}.Decide(cmd.Line).Confirm)
	if !asked && (mode == ModeYolo && !d.Suspected || !d.Confirm) {
		return nil
	}
	if c.guarded.ask != "" {
		a.Unasked = "allow it by a rule in redline.policy of the settings"
	}
	if !c.guarded.always {
		a.Options = append(a.Options, s.lasting(d.Prefixes)...)
	}
	a.Options = append(a.Options, Option{"reject", "Reject", OptionReject})
	kind, err := s.ask(ctx, t, c, a)
	if err != nil {
		return err
	}
	c.maySave = true
	s.maySave = s.maySave || len(unsaved) > 0 && kind != OptionOnce
	s.allow(t, kind, d.Prefixes, nil)
	return nil
}

// confine puts a command into the sandbox, if there is one.
func (s *Session) confine(line *shell.Command, box *sandbox.Box, detach bool) error {
	if box == nil {
		return nil
	}
	dir, err := s.tempDir()
	if err == nil {
		dir = filepath.Join(dir, "tmp")
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("make a folder for the sandbox: %w", err)
	}
	use := sandbox.Use{Folders: s.opt.Workspace.Snapshot().Folders(), Temp: dir, Detach: detach}
	line.Prefix = box.Prefix(use)
	line.Env = append(line.Env, box.Env(use)...)
	return nil
}

func commandDetail(cmd *tools.Command, box *sandbox.Box, d shell.Decision) string {
	fence := "```"
	for strings.Contains(cmd.Line, fence) {
		fence += "`"
	}
	text := fence + "sh\n" + cmd.Line + "\n" + fence + "\n\nin " + cmd.Dir
	if cmd.Description != "" {
		text += "\n\n" + cmd.Description
	}
	if cmd.Background {
		text += "\n\nIt goes on in the background until the session ends."
	}
	text += "\n\n" + box.String()
	if d.Reason != "" {
		text += "\n\nAsked because " + d.Reason + "."
	}
	return text
}

// silence is how long a command may be without output; 0 for as long as it likes.
func (s *Session) silence() time.Duration {
	switch d := s.opt.Silence; {
	case d == 0:
		return defaultSilence
	case d < 0:
		return 0
	default:
		return d
	}
}

func (s *Session) rel(paths []string) []string {
	snap := s.opt.Workspace.Snapshot()
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = snap.Rel(p)
	}
	return out
}

// commandText words for the model how a command ended.
func commandText(r shell.Result, silence time.Duration, logFile, background string, unsaved []string) string {
	var b strings.Builder
	if logFile != "" {
		fmt.Fprintf(&b, "Started in the background. Its output goes to %s, which read_file can read.\n", logFile)
	}
	switch {
	case r.Output != "":
		fmt.Fprintf(&b, "Output:\n%s\n", strings.TrimSuffix(r.Output, "\n"))
	case logFile == "":
		b.WriteString("Output: (none)\n")
	}
	switch {
	case r.TimedOut:
		fmt.Fprintf(&b, "It was ended after %v without output. If it needs longer, have it print its progress, or run it with is_background.\n", silence)
	case r.Signal != "":
		fmt.Fprintf(&b, "Signal: %s\n", r.Signal)
	case logFile == "":
		fmt.Fprintf(&b, "Exit Code: %d\n", r.ExitCode)
	}
	if len(r.Background) > 0 {
		fmt.Fprintf(&b, "Background PIDs: %s\n", strings.Trim(fmt.Sprint(r.Background), "[]"))
	} else if logFile != "" {
		b.WriteString("It has ended already; read its output.\n")
	}
	b.WriteString(background)
	if len(unsaved) > 0 {
		fmt.Fprintf(&b, "Note: the command saw these files as they are on disk, without the changes that are unsaved in the editor: %s. Ask the user to save them if that matters.\n", strings.Join(unsaved, ", "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func commandDisplay(r shell.Result) string {
	switch {
	case r.TimedOut:
		return "ended for its silence"
	case r.Signal != "":
		return "ended by a signal: " + r.Signal
	case len(r.Background) > 0:
		return "runs in the background"
	}
	return fmt.Sprintf("exit code %d", r.ExitCode)
}
