package slash

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"redline/tools"
	"redline/tools/mcp"
)

// Servers are MCP servers that offer prompts; [mcp.Servers] is that.
type Servers interface {
	States() []mcp.State
	Ready(ctx context.Context) // waits until each was tried once
	Prompt(ctx context.Context, server, name string, args map[string]string) (*tools.Result, error)
}

// Set is the commands there are. Files are read when they are asked for, so that a
// new or changed one counts at once.
type Set struct {
	User    string // folder of the user's commands; empty: none
	Project string // folder of the project's, which win over the user's
	Trusted bool   // the project is trusted: else its commands do not count
	Servers Servers
}

// maxWait is how long a command that may be an MCP server's waits for the servers.
const maxWait = 20 * time.Second

// files returns the commands in files by name.
func (s *Set) files() map[string]*file {
	out := load(s.User, User)
	if s.Trusted {
		for name, f := range load(s.Project, Project) {
			out[name] = f
		}
	}
	return out
}

// prompt is a prompt of a server.
type prompt struct {
	Command
	server, name string // as the server calls it
	full         string // the name with the server's before it
}

// prompts returns the prompts of the servers that are ready. One is called by its
// own name, or, when that is another's too, with the server's before it.
func (s *Set) prompts(files map[string]*file) []*prompt {
	if s.Servers == nil {
		return nil
	}
	var out []*prompt
	count := map[string]int{}
	for _, st := range s.Servers.States() {
		for _, p := range st.Prompts {
			short := clean(p.Name)
			x := &prompt{server: st.Server.Name, name: p.Name, full: clean(st.Server.Name + ":" + short)}
			if !isName(short) || !isName(x.full) {
				continue
			}
			x.Command = Command{Name: short, Description: p.Description, Source: MCP + st.Server.Name}
			for _, a := range p.Args {
				x.Args = append(x.Args, Arg{a.Name, a.Description, a.Required})
			}
			count[short]++
			out = append(out, x)
		}
	}
	for _, x := range out {
		if count[x.Name] > 1 || files[x.Name] != nil {
			x.Name = x.full
		}
	}
	return out
}

// List returns the commands that can be called now, by name.
func (s *Set) List() []Command {
	files := s.files()
	out := []Command{}
	for _, f := range files {
		if f.err == nil {
			out = append(out, f.Command)
		}
	}
	for _, p := range s.prompts(files) {
		out = append(out, p.Command)
	}
	slices.SortFunc(out, func(a, b Command) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Source, b.Source))
	})
	return out
}

// find returns the command of a name; both results are nil when there is none.
func (s *Set) find(name string) (*file, *prompt) {
	files := s.files()
	if f := files[name]; f != nil {
		return f, nil
	}
	for _, p := range s.prompts(files) {
		if p.Name == name || p.full == name {
			return nil, p
		}
	}
	return nil, nil
}

// UnknownError is a call of a command that there is not.
type UnknownError struct {
	Name string
	Near []string // names that may be meant
	All  []string
	// Withheld says that the project has it, and is not trusted.
	Withheld bool
}

// Error says what to do.
func (e *UnknownError) Error() string {
	if e.Withheld {
		return fmt.Sprintf("the command /%s is the project's, and counts only in a trusted folder", e.Name)
	}
	msg := fmt.Sprintf("there is no command /%s", e.Name)
	switch {
	case len(e.Near) > 0:
		msg += "; did you mean /" + strings.Join(e.Near, " or /") + "?"
	case len(e.All) > 0:
		const most = 20
		msg += "; the commands are /" + strings.Join(e.All[:min(len(e.All), most)], ", /")
		if len(e.All) > most {
			msg += fmt.Sprintf(" and %d more", len(e.All)-most)
		}
		msg += "."
	default:
		msg += "; there are none (they are files such as commands/NAME.toml, and prompts of MCP servers)."
	}
	return msg + " To send a text that begins with a slash, put a space before it."
}

// Check reports at once that there is no command of a name. It says nothing when
// that cannot be known yet, because servers are being connected or the project may
// still be trusted; [Set.Expand] does then.
func (s *Set) Check(name string) error {
	if f, p := s.find(name); f != nil || p != nil {
		return nil
	}
	if s.Servers != nil && slices.ContainsFunc(s.Servers.States(), func(st mcp.State) bool { return st.Status == mcp.Connecting }) {
		return nil
	}
	err := s.unknown(name)
	if err.Withheld {
		return nil
	}
	return err
}

func (s *Set) unknown(name string) *UnknownError {
	e := &UnknownError{Name: name}
	if !s.Trusted {
		_, e.Withheld = load(s.Project, Project)[name]
	}
	for _, c := range s.List() {
		e.All = append(e.All, c.Name)
	}
	e.Near = near(name, e.All)
	return e
}

// Expand returns what a call of a command stands for. It waits for servers that are
// being connected when the name is not known.
func (s *Set) Expand(ctx context.Context, name, args string) ([]Piece, error) {
	f, p := s.find(name)
	if f == nil && p == nil && s.Servers != nil {
		wait, cancel := context.WithTimeout(ctx, maxWait)
		s.Servers.Ready(wait)
		cancel()
		f, p = s.find(name)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case f != nil && f.err != nil:
		return nil, f.err
	case f != nil:
		return f.template.expand(name, args)
	case p != nil:
		return s.ask(ctx, p, args)
	}
	return nil, s.unknown(name)
}

func (s *Set) ask(ctx context.Context, p *prompt, args string) ([]Piece, error) {
	named, err := p.named(args)
	if err != nil {
		return nil, err
	}
	res, err := s.Servers.Prompt(ctx, p.server, p.name, named)
	if err != nil {
		return nil, err
	}
	var out []Piece
	if res.Text != "" {
		out = append(out, Piece{Text: res.Text})
	}
	for i := range res.Media {
		out = append(out, Piece{Media: &res.Media[i]})
	}
	return out, nil
}
