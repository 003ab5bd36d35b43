package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"redline/tools"
	"redline/workspace"
)

// readName is the tool with which the model reads resources. It is there while a
// server has some.
const readName = "read_mcp_resource"

var readSpec = tools.Spec{
	Name: readName, DisplayName: "ReadMcpResource", Kind: tools.KindFetch,
	Description: "Reads a resource of an MCP server, such as one that a tool's result links to. Without uri it lists the resources of the server; without server, those of all.",
	Schema:      json.RawMessage(`{"type":"object","properties":{"server":{"type":"string","description":"name of the server"},"uri":{"type":"string","description":"URI of the resource"}}}`),
}

// offerReader puts the tool that reads resources into the registry, or takes it
// out. s.mu is held.
func (s *Servers) offerReader() {
	if len(s.resources()) > 0 && s.opt.Offer(&readSpec) {
		s.reg.Add(reader{s})
		return
	}
	s.reg.Remove(readName)
}

// reader is the tool.
type reader struct{ servers *Servers }

// Spec implements [tools.Tool].
func (r reader) Spec() *tools.Spec { return &readSpec }

// Prepare implements [tools.Tool].
func (r reader) Prepare(_ *workspace.View, args json.RawMessage) (*tools.Call, error) {
	var p struct{ Server, URI string }
	if err := json.Unmarshal(args, &p); err != nil {
		return nil, fmt.Errorf("invalid parameters for %s: %w", readName, err)
	}
	if p.URI == "" {
		return &tools.Call{Title: "list the resources of " + or(p.Server, "the MCP servers"), Run: func(ctx context.Context) (*tools.Result, error) {
			return r.list(ctx, p.Server)
		}}, nil
	}
	if p.Server == "" {
		var having []string
		for _, st := range r.servers.States() {
			if slices.ContainsFunc(st.Resources, func(x Resource) bool { return x.URI == p.URI }) {
				having = append(having, st.Server.Name)
			}
		}
		if len(having) != 1 {
			return nil, fmt.Errorf("say which server has %s (parameter \"server\")", p.URI)
		}
		p.Server = having[0]
	}
	i := slices.IndexFunc(r.servers.states, func(st *State) bool { return st.Server.Name == p.Server }) // names never change
	if i < 0 {
		return nil, r.servers.errGone(p.Server)
	}
	call := &tools.Call{Title: p.Server + ":" + p.URI, Run: func(ctx context.Context) (*tools.Result, error) {
		return r.servers.Read(ctx, p.Server, p.URI)
	}}
	if !r.servers.States()[i].Server.Trust {
		call.Permission = &tools.Permission{
			Subject: "mcp", Keys: []string{readName + " " + p.Server},
			Detail: fmt.Sprintf("Read `%s` from the MCP server `%s`", p.URI, p.Server),
		}
	}
	return call, nil
}

// list words the resources of a server, or of all.
func (r reader) list(ctx context.Context, server string) (*tools.Result, error) {
	var b strings.Builder
	n := 0
	for _, st := range r.servers.States() {
		if server != "" && st.Server.Name != server {
			continue
		}
		for _, x := range st.Resources {
			n++
			fmt.Fprintf(&b, "%s %s", st.Server.Name, x.URI)
			if x.Template {
				b.WriteString(" (template: fill in what is in braces)")
			}
			if about := or(x.Description, x.Name); about != "" {
				b.WriteString(" - " + about)
			}
			b.WriteByte('\n')
		}
	}
	if n == 0 && server != "" {
		if _, err := r.servers.connected(ctx, server); err != nil {
			return nil, err
		}
	}
	return &tools.Result{Text: fmt.Sprintf("%d resources:\n%s", n, b.String())}, nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
