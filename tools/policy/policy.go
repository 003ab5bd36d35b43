// Package policy judges by the user's rules what tools may do, and knows which files
// are sensitive.
//
// A rule names a tool, a command or a path, or several of them, which must then all
// fit, and says allow, ask or deny:
//
//	{"tool": "web_fetch", "decision": "deny", "reason": "no network at work"}
//	{"command": "git push", "decision": "ask"}
//	{"path": "infra/", "tool": "replace", "decision": "deny"}
//	{"tool": "docs__*", "decision": "allow"}
//
// The first rule that fits decides, so that an exception stands before what it is an
// exception of. Of a call that is about several commands or paths each is judged by
// itself and the strictest verdict counts; allowed is only what is allowed for all.
// The user's rules and the project's are lists of their own: a project's rule can make
// the user's stricter, never laxer, and may allow something only where the user has no
// rule for it and trusts the folder.
//
// What a rule asks for or denies holds in every mode. What it allows is not asked for;
// edits are reviewed as the mode says all the same.
package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"redline/tools/shell"
)

// Decision is what a rule says.
type Decision string

// The decisions. None is the zero value: no rule fits.
const (
	None  Decision = ""
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// strictness orders the decisions on the parts of a call.
var strictness = map[Decision]int{Allow: 0, None: 1, Ask: 2, Deny: 3}

// Rule is one rule. At least one of Tool, Command and Path is set.
type Rule struct {
	Tool     string   // glob on the tool's name, or its display name
	Command  string   // words that a command begins with, as in tools.allowed
	Path     string   // glob on a path, see [Glob]
	Decision Decision // allow, ask or deny
	Reason   string   // for the user and the model; may be empty
}

// Check reports what is wrong with a rule.
func (r Rule) Check() error {
	switch {
	case r.Decision != Allow && r.Decision != Ask && r.Decision != Deny:
		return fmt.Errorf("decision must be allow, ask or deny, not %q", r.Decision)
	case r.Tool == "" && strings.TrimSpace(r.Command) == "" && r.Path == "":
		return errors.New("it names none of tool, command and path")
	case !doublestar.ValidatePattern(r.Tool):
		return fmt.Errorf("tool %q is no valid glob", r.Tool)
	}
	_, err := newGlob(r.Path)
	return err
}

// String returns the rule in a few words.
func (r Rule) String() string {
	var on []string
	for _, f := range []struct{ name, value string }{{"tool", r.Tool}, {"command", r.Command}, {"path", r.Path}} {
		if f.value != "" {
			on = append(on, f.name+" "+f.value)
		}
	}
	text := fmt.Sprintf("%s: %s", strings.Join(on, ", "), r.Decision)
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	return text
}

// Policy is the rules that hold in a workspace. Its zero value has none.
type Policy struct {
	User, Project []Rule
	// ProjectAllows says that the project's rules may allow something.
	ProjectAllows bool
	// Sensitive are the files that are asked for; the zero value is the defaults.
	Sensitive Sensitive
}

// Path is a file or folder that a call is about.
type Path struct {
	Abs string // with slashes
	Rel string // from its workspace folder, with slashes; empty outside of all
}

// Call is what is judged.
type Call struct {
	Tools   []string // the tool's names; a rule on any of them fits
	Command *string  // the line of a command
	Paths   []Path
}

// Verdict is what the rules say of a call.
type Verdict struct {
	Decision Decision
	Rule     Rule   // that decided, unless the decision is None
	Path     string // absolute, that it decided about; empty when it was another part
}

// part is one combination of what a call is about.
type part struct {
	tools   []string
	path    *Path
	command *shell.Simple
	unclear bool // there is a command, and it cannot be taken apart
}

// Judge returns the strictest verdict on the parts of c.
func (p *Policy) Judge(c Call) Verdict {
	if len(p.User) == 0 && len(p.Project) == 0 {
		return Verdict{}
	}
	var commands []*shell.Simple
	unclear := false
	if c.Command != nil {
		list, err := shell.Split(*c.Command)
		unclear = err != nil || len(list) == 0
		for i := range list {
			commands = append(commands, &list[i])
		}
	}
	if len(commands) == 0 {
		commands = []*shell.Simple{nil}
	}
	paths := []*Path{nil}
	if c.Command == nil && len(c.Paths) > 0 {
		paths = nil
	}
	for i := range c.Paths {
		paths = append(paths, &c.Paths[i])
	}
	var worst *Verdict
	for _, path := range paths {
		for _, command := range commands {
			v := p.judge(part{c.Tools, path, command, unclear})
			if worst == nil || strictness[v.Decision] > strictness[worst.Decision] {
				worst = &v
			}
		}
	}
	return *worst
}

func (p *Policy) judge(x part) Verdict {
	user, project := first(p.User, x), first(p.Project, x)
	if project.Decision == Allow && !p.ProjectAllows {
		project = Verdict{}
	}
	if user.Decision == None || strictness[project.Decision] > strictness[user.Decision] && project.Decision != None {
		return project
	}
	return user
}

// first returns what the first of the rules that fits says.
func first(rules []Rule, x part) Verdict {
	for _, r := range rules {
		if d := r.judges(x); d != None {
			r.Decision = d
			v := Verdict{Decision: d, Rule: r}
			if r.Path != "" {
				v.Path = x.path.Abs
			}
			return v
		}
	}
	return Verdict{}
}

// judges returns the rule's decision on x, None when it does not fit.
func (r Rule) judges(x part) Decision {
	if r.Tool != "" && !anyMatch(r.Tool, x.tools) {
		return None
	}
	if r.Path != "" {
		if x.path == nil {
			return None
		}
		g, err := newGlob(r.Path)
		if err != nil || !g.Match(*x.path) {
			return None
		}
	}
	if r.Command == "" {
		return r.Decision
	}
	switch {
	case x.unclear && r.Decision != Allow:
		return Ask // it may be in there
	case x.command == nil:
		return None
	case r.Decision == Allow && x.command.Allowable(r.Command), r.Decision != Allow && x.command.Begins(r.Command):
		return r.Decision
	}
	return None
}

func anyMatch(glob string, names []string) bool {
	for _, n := range names {
		if doublestar.MatchUnvalidated(glob, n) {
			return true
		}
	}
	return false
}

// Glob is a pattern on paths, as in ignore files: without a slash it fits a name at any
// depth, else the path from a workspace folder, or when it begins with / or a drive the
// absolute one. It fits what is below a folder that it fits, too. Letters fit both
// cases: some disks do not tell them apart.
type Glob struct {
	pattern  string
	base     bool
	absolute bool
}

func newGlob(pattern string) (Glob, error) {
	g := Glob{pattern: strings.ToLower(strings.TrimSuffix(pattern, "/"))}
	g.pattern = strings.TrimPrefix(g.pattern, "./")
	if !doublestar.ValidatePattern(g.pattern) {
		return g, fmt.Errorf("path %q is no valid glob", pattern)
	}
	g.base = !strings.Contains(g.pattern, "/")
	g.absolute = strings.HasPrefix(g.pattern, "/") || len(g.pattern) > 2 && g.pattern[1] == ':'
	return g, nil
}

// Match reports whether the pattern fits a path or a folder above it.
func (g Glob) Match(p Path) bool {
	if g.absolute {
		return g.fits(strings.ToLower(p.Abs))
	}
	on := p.Rel
	if on == "" {
		on = strings.TrimPrefix(p.Abs, "/")
	}
	return g.fits(strings.ToLower(on))
}

func (g Glob) fits(p string) bool {
	for p != "" && p != "/" && p != "." {
		if doublestar.MatchUnvalidated(g.pattern, p) || g.base && doublestar.MatchUnvalidated(g.pattern, path.Base(p)) {
			return true
		}
		above := path.Dir(p)
		if above == p {
			return false
		}
		p = above
	}
	return false
}
