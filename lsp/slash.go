package lsp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"redline/agent"
	"redline/agent/slash"
	"redline/lsp/rpc"
)

// commandList names the custom prompts there are now; those of MCP servers once the
// servers are connected, which begins with this request or the first session.
func (s *Server) commandList(_ context.Context, p *CommandListParams) (CommandList, error) {
	if p.SessionID != "" {
		if _, err := s.session(p.SessionID); err != nil {
			return CommandList{}, err
		}
	}
	set, err := s.loadSettings()
	if err != nil {
		return CommandList{}, rpc.Failed("settings: %v", err)
	}
	s.runBackground(set)
	out := CommandList{Commands: []CommandInfo{}}
	for name, does := range agent.BuiltinCommands {
		out.Commands = append(out.Commands, CommandInfo{Name: name, Description: does, Source: "builtin"})
	}
	if set.Slash != nil {
		for _, c := range set.Slash.List() {
			if agent.BuiltinCommands[c.Name] != "" {
				continue // the built-in one counts
			}
			info := CommandInfo{Name: c.Name, Description: c.Description, Source: c.Source}
			for _, a := range c.Args {
				info.Args = append(info.Args, CommandArg(a))
			}
			out.Commands = append(out.Commands, info)
		}
	}
	slices.SortFunc(out.Commands, func(a, b CommandInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// asUnknownCommand reports whether a prompt failed because it calls a command that
// there is not.
func asUnknownCommand(err error) bool {
	var unknown *slash.UnknownError
	return errors.As(err, &unknown)
}
