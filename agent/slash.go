package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/agent/slash"
	"redline/tools"
)

// checkSlash returns an error when a prompt calls a command that there is not. A
// text that names a path, such as "/tmp is full", calls none.
func (s *Session) checkSlash(text string) error {
	name, _, ok := slash.Split(text)
	if !ok {
		return nil
	}
	s.mu.Lock() // a turn may be renewing the options
	set := s.opt.Slash
	s.mu.Unlock()
	if set == nil || s.isPath(name) {
		return nil
	}
	return set.Check(name)
}

// isPath reports whether "/name" is there: on this machine or, for a name like that
// of a file, in the workspace.
func (s *Session) isPath(name string) bool {
	if _, err := os.Lstat("/" + name); err == nil {
		return true
	}
	return strings.Contains(name, ".") && exists(s.newView(), name)
}

// expand returns the text that a prompt stands for, and the media in it. A prompt
// that calls no command stands for itself.
func (s *Session) expand(ctx context.Context, t *turn, text string) (string, []model.Part, error) {
	set := s.opt.Slash
	name, args, ok := slash.Split(text)
	if !ok || set == nil {
		return text, nil, nil
	}
	pieces, err := set.Expand(ctx, name, args)
	var unknown *slash.UnknownError
	if errors.As(err, &unknown) && s.isPath(name) {
		return text, nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("/%s: %w", name, err)
	}
	var b strings.Builder
	var media []model.Part
	add := func(m tools.Media) {
		media = append(media, model.NewPart(&genai.Part{InlineData: &genai.Blob{MIMEType: m.MIMEType, Data: m.Data}}))
	}
	for _, p := range pieces {
		switch {
		case p.File != "":
			res, err := s.injected(ctx, p.File)
			if ctx.Err() != nil {
				return "", nil, ctx.Err()
			}
			if err != nil {
				s.emit(t.id, Notice{"warning", fmt.Sprintf("/%s: @{%s}: %v", name, p.File, err)})
				fmt.Fprintf(&b, "[%s cannot be read: %v]", p.File, err)
				continue
			}
			b.WriteString(res.Text)
			for _, m := range res.Media {
				add(m)
			}
		case p.Shell != "":
			out, err := s.commandOutput(ctx, t, p.Shell)
			if err != nil {
				return "", nil, fmt.Errorf("/%s: %w", name, err)
			}
			b.WriteString(out)
		case p.Media != nil:
			add(*p.Media)
		default:
			b.WriteString(p.Text)
		}
	}
	if strings.TrimSpace(b.String()) == "" && len(media) == 0 {
		return "", nil, fmt.Errorf("/%s: the prompt it makes is empty", name)
	}
	return b.String(), media, nil
}

// injected reads a file, or all files of a folder, as the tools do.
func (s *Session) injected(ctx context.Context, path string) (*tools.Result, error) {
	v := s.newView()
	abs, err := v.Resolve(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(abs); err == nil && info.IsDir() {
		return tools.ReadMany(ctx, v, []string{path})
	}
	args, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return nil, err
	}
	call, err := tools.NewRegistry(tools.ReadFile).Prepare(v, tools.ReadFile.Spec().Name, args)
	if err != nil {
		return nil, err
	}
	return call.Run(ctx)
}

// commandOutput runs a command line of the user's prompt as the model's are run:
// asked for, shown, and under the same rules. A command that fails has its output
// all the same, with a line that says so.
func (s *Session) commandOutput(ctx context.Context, t *turn, line string) (string, error) {
	name := tools.RunShellCommand.Spec().Name
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return "", err
	}
	s.calls++
	c := &call{
		id: fmt.Sprintf("%s.c%d", s.id, s.calls), fc: model.FunctionCall{Name: name, Args: args},
		input: shownInput(args), kind: tools.KindExecute, title: name, status: CallPending,
	}
	s.update(t, c)
	view := s.newView()
	if err := s.guard(ctx, t, view, c); err != nil {
		s.finish(t, c, "", err)
	} else {
		s.runCall(ctx, t, view, c)
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if c.ran == nil {
		return "", fmt.Errorf("!{%s} was not run: %w", line, c.err)
	}
	out := strings.TrimRight(c.ran.Output, "\r\n")
	switch {
	case c.ran.TimedOut:
		out += fmt.Sprintf("\n[Shell command ended after %v without output]", s.silence())
	case c.ran.Signal != "":
		out += fmt.Sprintf("\n[Shell command ended by signal %s]", c.ran.Signal)
	case c.ran.ExitCode != 0:
		out += fmt.Sprintf("\n[Shell command exited with code %d]", c.ran.ExitCode)
	}
	return out, nil
}

// Resources reads what MCP servers offer beside tools.
type Resources interface {
	// Resource takes "server:uri" apart; ok is false when there is no such server.
	Resource(mention string) (server, uri string, ok bool)
	Read(ctx context.Context, server, uri string) (*tools.Result, error)
}

// resource reports whether a mention is of a resource, and returns it without the
// signs that end a sentence.
func (s *Session) resource(mention string) (string, bool) {
	if s.opt.Resources == nil {
		return "", false
	}
	server, uri, ok := s.opt.Resources.Resource(mention)
	return server + ":" + uri, ok
}

// attachResources returns the contents of the resources that a prompt mentions.
func (s *Session) attachResources(ctx context.Context, t *turn, mentions []string) []model.Part {
	var parts []model.Part
	for _, m := range mentions {
		server, uri, _ := s.opt.Resources.Resource(m)
		res, err := s.opt.Resources.Read(ctx, server, uri)
		if ctx.Err() != nil {
			return nil // which ends the turn
		}
		if err != nil {
			s.emit(t.id, Notice{"warning", fmt.Sprintf("@%s: %v", m, err)})
			parts = append(parts, model.Text(fmt.Sprintf("[@%s cannot be read: %v]", m, err)))
			continue
		}
		s.emit(t.id, Notice{"info", "Read @" + m})
		parts = append(parts, model.Text("[Contents of @"+m+", from an MCP server]\n"+s.shorten(res.Text, maxResult, false)))
		for _, x := range res.Media {
			parts = append(parts, model.NewPart(&genai.Part{InlineData: &genai.Blob{MIMEType: x.MIMEType, Data: x.Data}}))
		}
	}
	return parts
}
