package mcp

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of what one server may offer.
const (
	maxTools     = 200
	maxPrompts   = 200
	maxResources = 500
	maxListed    = 2000            // entries of any kind that are looked at
	maxMore      = 5 * time.Second // for all that are not tools
)

// offer is what a server has at one moment.
type offer struct {
	link      *link
	tools     []*tool
	prompts   []Prompt
	resources []Resource
	notes     []string
}

func (o *offer) note(format string, args ...any) {
	const max = 20
	if len(o.notes) < max {
		o.notes = append(o.notes, fmt.Sprintf(format, args...))
	}
}

// list asks server i what it offers. That it cannot list its tools is an error;
// what else goes wrong is a note.
func (s *Servers) list(ctx context.Context, i int, session *link) (*offer, error) {
	srv := s.states[i].Server
	parent := ctx
	ctx, cancel := context.WithTimeout(parent, min(s.opt.Connect, srv.timeout()))
	defer cancel()
	o := &offer{link: session}
	caps := session.InitializeResult().Capabilities
	if caps == nil {
		caps = &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}} // an old server
	}
	if caps.Tools != nil {
		seen := map[string]bool{}
		err := each(session.Tools(ctx, nil), func(t *sdk.Tool) {
			switch {
			case t.Name == "" || !srv.offers(t.Name):
			case seen[t.Name]:
				o.note("tool %q is declared twice; the first counts", t.Name)
			case len(o.tools) == maxTools:
				o.note("only %d tools are taken; choose with includeTools", maxTools)
				seen[t.Name] = true
			default:
				seen[t.Name] = true
				x, notes := newTool(session, t)
				o.notes = append(o.notes, notes...)
				if x.spec.Name = s.claim(i, srv.Name, t.Name); !s.opt.Offer(&x.spec) {
					o.note("tool %q is left out by the settings", t.Name)
					s.withdraw([]string{x.spec.Name})
					return
				}
				o.tools = append(o.tools, x)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("list the tools: %w", err)
		}
	}
	more, cancelMore := context.WithTimeout(ctx, maxMore)
	defer cancelMore()
	if caps.Prompts != nil {
		err := each(session.Prompts(more, nil), func(p *sdk.Prompt) {
			if p.Name == "" || len(o.prompts) == maxPrompts {
				return
			}
			prompt := Prompt{Name: p.Name, Description: line(p.Description)}
			for _, a := range p.Arguments {
				if a != nil && a.Name != "" {
					prompt.Args = append(prompt.Args, PromptArg{a.Name, line(a.Description), a.Required})
				}
			}
			o.prompts = append(o.prompts, prompt)
		})
		if err != nil {
			o.note("its prompts cannot be listed: %v", err)
		}
	}
	if caps.Resources != nil {
		add := func(r Resource) {
			if r.URI != "" && len(o.resources) < maxResources {
				o.resources = append(o.resources, r)
			}
		}
		err := each(session.Resources(more, nil), func(r *sdk.Resource) {
			add(Resource{URI: r.URI, Name: line(r.Name), Description: line(r.Description), MIMEType: r.MIMEType})
		})
		if err != nil {
			o.note("its resources cannot be listed: %v", err)
		}
		// Servers without templates often do not know the question.
		_ = each(session.ResourceTemplates(more, nil), func(r *sdk.ResourceTemplate) {
			add(Resource{URI: r.URITemplate, Name: line(r.Name), Description: line(r.Description), MIMEType: r.MIMEType, Template: true})
		})
	}
	return o, parent.Err()
}

// each visits the entries of a list, not more than can be meant.
func each[T any](seq iter.Seq2[*T, error], visit func(*T)) error {
	n := 0
	for x, err := range seq {
		if err != nil {
			return err
		}
		if n++; n > maxListed {
			return fmt.Errorf("there are more than %d", maxListed)
		}
		if x != nil { // a null in the list
			visit(x)
		}
	}
	return nil
}

// claim gives server i a function name for a tool, which no other tool has.
func (s *Servers) claim(i int, server, tool string) string {
	name := functionName(server, tool, false)
	taken := func() bool {
		if o, ok := s.owner[name]; ok {
			return o != owner{i, tool}
		}
		_, err := s.reg.Lookup(name) // a tool that no server brought
		return err == nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if taken() {
		name = functionName(server, tool, true)
	}
	s.owner[name] = owner{i, tool}
	return name
}

// functionName returns what the model calls a tool: server__tool, of letters,
// digits, "_", "." and "-", with a hash in place of what is too long, or, where the
// name is another's already, to tell them apart.
func functionName(server, tool string, apart bool) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '_'
	}, server+"__"+tool)
	if c := name[0]; c >= '0' && c <= '9' || c == '-' || c == '.' {
		name = "_" + name
	}
	if apart || len(name) > maxName {
		h := fnv.New32a()
		_, _ = h.Write([]byte(server + "__" + tool))
		name = fmt.Sprintf("%s_%08x", name[:min(len(name), maxName-9)], h.Sum32())
	}
	return name
}

// line returns a text of a server fit for one line.
func line(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}
