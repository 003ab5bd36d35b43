// Package mcp brings the tools of Model Context Protocol servers into a registry.
//
// Each server has a goroutine of its own: one that is slow, broken, noisy or gone
// holds up nothing else. It is tried again by itself, and its tools are in the
// registry exactly while it is there. What a server declares is made fit for the
// model's API or left out, with a note in its [State]; what it answers is bounded.
//
// Beside tools the package lists a server's prompts, which become commands (package
// agent/slash), and its resources, which prompts mention as @server:uri and which
// the model reads with the tool read_mcp_resource.
//
// Servers by HTTP that want a sign-in by OAuth are not signed in to, although the
// SDK would do the exchange: that needs a browser, a client registration and a store
// of tokens for each server. Their error says to set a token in headers.
package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Server is an entry of the settings' mcpServers.
type Server struct {
	Name string `json:"-"`

	// Exactly one of these says how it is reached.
	Command string `json:"command"` // a program that speaks on stdin and stdout
	URL     string `json:"url"`     // server-sent events
	HTTPURL string `json:"httpUrl"` // streamable HTTP

	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	Headers map[string]string `json:"headers"`

	TimeoutMs    int      `json:"timeout"` // of a call; 10 minutes when 0
	Trust        bool     `json:"trust"`   // its calls are not asked for
	Description  string   `json:"description"`
	IncludeTools []string `json:"includeTools"` // only these; all when empty
	ExcludeTools []string `json:"excludeTools"`
}

// ParseServers reads the settings value mcpServers: an object of servers by name.
// "$NAME" in environment, arguments, URLs and headers is replaced by getenv. A
// server that cannot be is left out, and said in problems.
func ParseServers(v map[string]any, getenv func(string) string) (servers []Server, problems []error) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		raw, err := json.Marshal(v[name])
		s := Server{Name: name}
		if err == nil {
			err = json.Unmarshal(raw, &s)
		}
		if err == nil {
			err = s.check()
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("mcpServers.%s: %w", name, err))
			continue
		}
		expand := func(t string) string { return os.Expand(t, getenv) }
		s.Command, s.URL, s.HTTPURL, s.Cwd = expand(s.Command), expand(s.URL), expand(s.HTTPURL), expand(s.Cwd)
		for i := range s.Args {
			s.Args[i] = expand(s.Args[i])
		}
		for k := range s.Env {
			s.Env[k] = expand(s.Env[k])
		}
		for k := range s.Headers {
			s.Headers[k] = expand(s.Headers[k])
		}
		servers = append(servers, s)
	}
	return servers, problems
}

func (s *Server) check() error {
	ways := 0
	for _, w := range []string{s.Command, s.URL, s.HTTPURL} {
		if w != "" {
			ways++
		}
	}
	switch {
	case ways != 1:
		return errors.New("needs exactly one of command, url and httpUrl")
	case s.TimeoutMs < 0:
		return errors.New("timeout must not be negative")
	}
	return nil
}

// Transport names the way the server is reached.
func (s *Server) Transport() string {
	switch {
	case s.Command != "":
		return "stdio"
	case s.HTTPURL != "":
		return "http"
	}
	return "sse"
}

func (s *Server) timeout() time.Duration {
	if s.TimeoutMs == 0 {
		return 10 * time.Minute
	}
	return time.Duration(s.TimeoutMs) * time.Millisecond
}

// offers reports whether a tool is wanted.
func (s *Server) offers(tool string) bool {
	named := func(list []string) bool {
		return slices.ContainsFunc(list, func(e string) bool {
			name, _, _ := strings.Cut(e, "(")
			return name == tool
		})
	}
	return (len(s.IncludeTools) == 0 || named(s.IncludeTools)) && !named(s.ExcludeTools)
}

// scrub takes the values that the settings give as headers and environment, and the
// query of the URL, out of a text to be shown.
func (s *Server) scrub(text string) string {
	for _, m := range []map[string]string{s.Headers, s.Env} {
		for _, v := range m {
			_, bare, _ := strings.Cut(v, " ") // Bearer TOKEN
			for _, secret := range []string{v, bare} {
				if len(secret) >= minSecret {
					text = strings.ReplaceAll(text, secret, "***")
				}
			}
		}
	}
	for _, u := range []string{s.URL, s.HTTPURL} {
		if _, query, ok := strings.Cut(u, "?"); ok && query != "" {
			text = strings.ReplaceAll(text, query, "***")
		}
	}
	return text
}

// minSecret is the length from which a value may be a secret; shorter ones, such as
// "1", are in too many texts.
const minSecret = 8
