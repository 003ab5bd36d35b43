package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"redline/tools"
)

// errGone says that a server is not connected.
func (s *Servers) errGone(name string) error {
	var names []string
	for _, st := range s.States() {
		if st.Server.Name != name {
			names = append(names, st.Server.Name)
			continue
		}
		if st.Err != nil {
			return fmt.Errorf("the MCP server %s is not there: %w", name, st.Err)
		}
		return fmt.Errorf("the MCP server %s is not ready yet; try again in a moment", name)
	}
	if len(names) == 0 {
		return errors.New("there are no MCP servers")
	}
	return fmt.Errorf("there is no MCP server %q; the servers are: %s", name, strings.Join(names, ", "))
}

// connected returns the connection to a server. It waits for one that is being
// connected for the first time.
func (s *Servers) connected(ctx context.Context, name string) (*link, error) {
	i := slices.IndexFunc(s.states, func(st *State) bool { return st.Server.Name == name }) // names never change
	if i < 0 {
		return nil, s.errGone(name)
	}
	select {
	case <-s.first[i]:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	l := s.sessions[i]
	s.mu.Unlock()
	if l == nil {
		return nil, s.errGone(name)
	}
	return l, nil
}

// Prompt has a server write one of its prompts. The parts of the conversation that
// it makes the assistant say are marked as such.
func (s *Servers) Prompt(ctx context.Context, server, name string, args map[string]string) (*tools.Result, error) {
	l, err := s.connected(ctx, server)
	if err != nil {
		return nil, err
	}
	res, err := ask(ctx, l, func(ctx context.Context) (*sdk.GetPromptResult, error) {
		return l.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: args})
	})
	if err != nil {
		return nil, err
	}
	var c content
	for _, m := range res.Messages {
		if m == nil || m.Content == nil {
			continue
		}
		before := len(c.text)
		c.add(m.Content)
		if m.Role == "assistant" && len(c.text) > before {
			c.text[before] = "[the assistant says] " + c.text[before]
		}
	}
	if len(c.text) == 0 {
		return nil, fmt.Errorf("the prompt %s of the MCP server %s is empty", name, server)
	}
	return c.result(), nil
}

// Read returns a resource of a server.
func (s *Servers) Read(ctx context.Context, server, uri string) (*tools.Result, error) {
	l, err := s.connected(ctx, server)
	if err != nil {
		return nil, err
	}
	res, err := ask(ctx, l, func(ctx context.Context) (*sdk.ReadResourceResult, error) {
		return l.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	})
	if err != nil {
		return nil, err
	}
	var c content
	for _, r := range res.Contents {
		c.resource(r)
	}
	if len(c.text) == 0 {
		return nil, fmt.Errorf("the MCP server %s has nothing under %s", server, uri)
	}
	return c.result(), nil
}

// Resource splits "server:uri", the form in which prompts mention resources, when
// there is such a server; it need not be connected. A sign at the end that ends a
// sentence is no part of the URI, unless a resource is called so.
func (s *Servers) Resource(mention string) (server, uri string, ok bool) {
	for _, st := range s.States() {
		rest, found := strings.CutPrefix(mention, st.Server.Name+":")
		if !found || !strings.Contains(rest, ":") || len(st.Server.Name) < len(server) {
			continue
		}
		if !slices.ContainsFunc(st.Resources, func(r Resource) bool { return r.URI == rest }) {
			rest = strings.TrimRight(rest, ".,;:!?)]}")
		}
		server, uri, ok = st.Server.Name, rest, true
	}
	return server, uri, ok
}

// resources returns the names of the servers that have resources. s.mu is held.
func (s *Servers) resources() []string {
	var out []string
	for _, st := range s.states {
		if len(st.Resources) > 0 {
			out = append(out, st.Server.Name)
		}
	}
	return slices.Clip(out)
}
