package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"redline/tools"
	"redline/tools/policy"
	"redline/tools/shell"
	"redline/workspace"
)

// guarded is what the user's rules say of one call, beyond what is asked anyway.
type guarded struct {
	allowed bool   // a rule allows it: it needs no consent
	ask     string // why consent is needed whatever the mode; empty when it is not
	always  bool   // and whatever was allowed in the session before
}

// readers are the tools whose rules on paths say what searches leave out.
var readers = []string{"read_file", "read_many_files", "grep_search"}

// namers are the tools that bring names of files and nothing of what is in them.
var namers = []string{"list_directory", "glob"}

// guard judges a call before it is prepared, since preparing may read what it is
// about. It asks for the paths that need consent; the rest is noted in c.guarded.
// Calls are guarded one after the other. An error is the call's response.
func (s *Session) guard(ctx context.Context, t *turn, view *workspace.View, c *call) error {
	tool, err := s.opt.Tools.Lookup(c.fc.Name)
	if err != nil || ctx.Err() != nil {
		return nil // reported where the call is run
	}
	spec := tool.Spec()
	j := policy.Call{Tools: []string{spec.Name, spec.DisplayName}}
	line, dir := commandArgs(view, spec, c.fc.Args)
	var paths []string
	if line != nil {
		j.Command = line
		paths = namesIn(view, *line, dir)
	} else {
		paths = pathArgs(view, spec, c.fc.Args)
	}
	for _, p := range paths {
		j.Paths = append(j.Paths, s.policyPath(p))
	}
	verdict := s.opt.Policy.Judge(j)
	if verdict.Decision == policy.Deny {
		c.status = CallRejected
		return fmt.Errorf("a rule of the user forbids this call, which was not made: %s. Do not try it in another way; go on without it, or tell the user", verdict.Rule)
	}
	// Without a review nobody sees what is written where programs look for what to run.
	mode, _ := s.settings()
	unseen := mode == ModeAutoEdit && spec.Kind == tools.KindEdit
	var secret, ruled, run []string
	for _, p := range paths {
		switch d := s.opt.Policy.Judge(policy.Call{Tools: j.Tools, Paths: []policy.Path{s.policyPath(p)}}); {
		case d.Decision == policy.Ask && d.Path != "":
			ruled = append(ruled, p)
		case d.Decision == policy.Allow && d.Path != "":
		case !slices.Contains(namers, spec.Name) && s.sensitive(p) && !s.opened(p):
			secret = append(secret, p)
		case unseen && policy.Runs(s.policyPath(p)) && !s.opened(p):
			run = append(run, p)
		}
	}
	ruled = slices.DeleteFunc(ruled, s.opened)
	switch {
	case line != nil && len(secret) > 0:
		c.guarded = guarded{ask: strings.Join(s.rel(secret), ", ") + " may hold secrets", always: true}
	case line != nil && len(ruled) > 0:
		c.guarded = guarded{ask: "of the rule on " + strings.Join(s.rel(ruled), ", "), always: true}
	case verdict.Decision == policy.Ask && verdict.Path == "":
		c.guarded = guarded{ask: "of the rule " + verdict.Rule.String()}
	case len(run) > 0:
		c.guarded = guarded{ask: strings.Join(s.rel(run), ", ") + " is where other programs look for what to run"}
	case verdict.Decision == policy.Allow:
		c.guarded = guarded{allowed: true}
	}
	if line != nil {
		return nil // asked with the command
	}
	if err := s.askPaths(ctx, t, c, secret, "may hold secrets, which would go to the model's service"); err != nil {
		return err
	}
	return s.askPaths(ctx, t, c, ruled, "is one that a rule of yours has asked for: "+verdict.Rule.String())
}

// askPaths asks whether a call may have the content of files. Consent for the session
// covers what is below a folder too.
func (s *Session) askPaths(ctx context.Context, t *turn, c *call, paths []string, why string) error {
	if len(paths) == 0 {
		return nil
	}
	shown := strings.Join(slices.Compact(s.rel(paths)), ", ") // a file by two of its names is shown once
	c.title = c.fc.Name + " " + shown
	kind, err := s.ask(ctx, t, c, Approval{
		Subject: Subject{Type: "path", Tool: c.fc.Name, Paths: paths}, Title: c.title,
		Detail: fmt.Sprintf("`%s` %s.", shown, why),
		Options: []Option{
			{"once", "Allow once", OptionOnce},
			{"session", "Allow in this session", OptionSession},
			{"reject", "Reject", OptionReject},
		},
		Unasked: fmt.Sprintf("add {\"path\": %q, \"decision\": \"allow\"} to redline.policy in the settings", s.rel(paths)[0]),
	})
	if err != nil {
		return err
	}
	s.guardMu.Lock()
	defer s.guardMu.Unlock()
	for _, p := range paths {
		s.open[workspace.Key(p)] = kind == OptionSession || s.open[workspace.Key(p)]
	}
	return nil
}

// closeOnce takes back what was allowed for one step.
func (s *Session) closeOnce() {
	s.guardMu.Lock()
	defer s.guardMu.Unlock()
	for p, session := range s.open {
		if !session {
			delete(s.open, p)
		}
	}
}

// opened reports whether the user has allowed the content of a file, or of a folder
// above it.
func (s *Session) opened(path string) bool {
	s.guardMu.Lock()
	defer s.guardMu.Unlock()
	if len(s.open) == 0 {
		return false
	}
	for p := workspace.Key(path); ; p = filepath.Dir(p) {
		if _, ok := s.open[p]; ok {
			return true
		}
		if p == filepath.Dir(p) {
			return false
		}
	}
}

// withheld is [workspace.View.Withheld]: files that a search comes across are not read
// when they would be asked for by name.
func (s *Session) withheld(path string) bool {
	p := s.policyPath(path)
	v := s.opt.Policy.Judge(policy.Call{Tools: readers, Paths: []policy.Path{p}})
	byRule := v.Path != "" && (v.Decision == policy.Ask || v.Decision == policy.Deny)
	if v.Path != "" && v.Decision == policy.Allow || !byRule && !s.opt.Policy.Sensitive.Match(p) {
		return false
	}
	return v.Decision == policy.Deny && byRule || !s.opened(path)
}

// sensitive reports whether a file that is there may hold secrets, by either of its
// names.
func (s *Session) sensitive(path string) bool {
	if _, err := os.Lstat(path); err != nil {
		return false // to be created: there is nothing in it yet
	}
	return s.opt.Policy.Sensitive.Match(s.policyPath(path)) || s.opt.Policy.Sensitive.Match(s.policyPath(workspace.Key(path)))
}

// policyPath returns a path as rules see it.
func (s *Session) policyPath(path string) policy.Path {
	p := policy.Path{Abs: filepath.ToSlash(path)}
	folders := s.opt.Workspace.Snapshot().Folders()
	for _, real := range []bool{false, true} { // as the editor spells it, which is nearly always right
		for _, f := range folders {
			if real {
				f = workspace.Key(f)
			}
			if rel, err := filepath.Rel(f, path); err == nil && filepath.IsLocal(rel) {
				p.Rel = filepath.ToSlash(rel)
				return p
			}
		}
	}
	return p
}

// commandArgs returns the line of a tool that runs one, and where it would run.
func commandArgs(v *workspace.View, spec *tools.Spec, raw json.RawMessage) (line *string, dir string) {
	if spec.Kind != tools.KindExecute {
		return nil, ""
	}
	var args map[string]any
	if json.Unmarshal(raw, &args) != nil {
		return nil, ""
	}
	text, ok := args["command"].(string)
	if !ok {
		return nil, ""
	}
	for _, key := range []string{"directory", "dir_path"} {
		if d, ok := args[key].(string); ok && strings.TrimSpace(d) != "" {
			dir = d
		}
	}
	if dir == "" {
		dir = "."
	}
	if abs, err := v.Resolve(dir); err == nil {
		return &text, abs
	}
	return &text, ""
}

// maxNames bounds how many names of a command line, or arguments of a call, are
// looked up, and maxGlobbed what a pattern among them stands for.
const (
	maxNames   = 500
	maxGlobbed = 200
)

// namesIn returns the files there are that the words of a command line name, wherever
// they are.
func namesIn(v *workspace.View, line, dir string) []string {
	home, _ := os.UserHomeDir() // none: then no ~ is followed
	var out []string
	names := shell.Names(line)
	for _, n := range names[:min(len(names), maxNames)] {
		if rest, ok := strings.CutPrefix(n, "~/"); ok && home != "" {
			n = filepath.Join(home, rest)
		}
		for _, prefix := range []string{"$HOME/", "${HOME}/"} {
			if rest, ok := strings.CutPrefix(n, prefix); ok && home != "" {
				n = filepath.Join(home, rest)
			}
		}
		if !filepath.IsAbs(n) {
			if dir == "" {
				continue
			}
			n = filepath.Join(dir, n)
		}
		found := []string{n}
		if strings.ContainsAny(n, "*?[") {
			found, _ = filepath.Glob(n) // a malformed pattern finds nothing
		}
		for _, f := range found[:min(len(found), maxGlobbed)] {
			if info, err := os.Lstat(f); err == nil && (!info.IsDir() || f == n) && !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// pathArgs returns the absolute paths that the arguments of a call name: of our own
// tools by the parameter's name; of the tools of others every string that is the name
// of a file.
func pathArgs(v *workspace.View, spec *tools.Spec, raw json.RawMessage) []string {
	var args map[string]any
	if json.Unmarshal(raw, &args) != nil {
		return nil
	}
	var out []string
	add := func(text string) {
		if len(out) >= maxNames || text == "" || len(text) > 4096 || strings.ContainsAny(text, "\n\x00") {
			return
		}
		abs, err := v.ResolveRead(strings.TrimPrefix(text, "file://"))
		if err != nil {
			// Outside, which our own tools refuse; those of others may go there.
			if !filepath.IsAbs(text) {
				return
			}
			abs = filepath.Clean(text)
		}
		if spec.Lenient && !v.Exists(abs) {
			return
		}
		for _, p := range []string{abs, workspace.Key(abs)} {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	for key, value := range args {
		key = strings.ToLower(key)
		if !spec.Lenient && !strings.Contains(key, "path") && !strings.Contains(key, "dir") && key != "include" {
			continue
		}
		eachString(value, 0, add)
	}
	slices.Sort(out)
	return out
}

// eachString calls f with the strings in a JSON value.
func eachString(v any, depth int, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, x := range v {
			if depth < 8 {
				eachString(x, depth+1, f)
			}
		}
	case map[string]any:
		for _, x := range v {
			if depth < 8 {
				eachString(x, depth+1, f)
			}
		}
	}
}

// mentionView is a view that gives out what the user named in the prompt itself.
func (s *Session) mentionView(v *workspace.View, paths []string) *workspace.View {
	named := map[string]bool{}
	for _, p := range paths {
		if abs, err := v.Resolve(p); err == nil {
			named[workspace.Key(abs)] = true
		}
	}
	v.Withheld = func(path string) bool { return s.withheld(path) && !named[workspace.Key(path)] }
	return v
}

// errPlan is the response of a call that plan mode does not make.
var errPlan = errors.New("the session is in plan mode, in which nothing is changed; describe what you would do instead, and the user will switch the mode")
