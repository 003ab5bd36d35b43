package agent

import (
	"slices"
	"strings"
)

// Consents keeps what the user allowed for good. It may read and write a file.
type Consents interface {
	// Allowed returns prefixes of commands, and keys of other consents in the form of
	// [ConsentKey].
	Allowed() (commands, keys []string)
	Allow(commands, keys []string) error
}

// ConsentKey names what a consent other than for a command is about, such as
// "network example.org", "mcp server__tool" or "tool name".
func ConsentKey(subject, key string) string { return subject + " " + key }

// allowed returns what the user allowed, in the session or for good.
func (s *Session) allowed() (commands, keys []string) {
	if s.opt.Consents != nil {
		commands, keys = s.opt.Consents.Allowed()
	}
	for k := range s.allowedKeys {
		keys = append(keys, k)
	}
	return append(slices.Clone(commands), s.allowedPrefixes...), keys
}

// allow notes the user's answer to a question about commands or keys.
func (s *Session) allow(t *turn, kind OptionKind, commands, keys []string) {
	if kind != OptionSession && kind != OptionAlways {
		return
	}
	s.allowedPrefixes = append(s.allowedPrefixes, commands...)
	for _, k := range keys {
		s.allowedKeys[k] = true
	}
	if kind == OptionAlways && s.opt.Consents != nil {
		if err := s.opt.Consents.Allow(commands, keys); err != nil {
			s.emit(t.id, Notice{"warning", "It is allowed in this session only: " + err.Error()})
		}
	}
}

// lasting returns the options that allow what is named for longer than once.
func (s *Session) lasting(what []string) []Option {
	if len(what) == 0 {
		return nil
	}
	names := strings.Join(what, ", ")
	out := []Option{{"session", "Allow " + names + " in this session", OptionSession}}
	if s.opt.Consents != nil {
		out = append(out, Option{"always", "Always allow " + names + " in this folder", OptionAlways})
	}
	return out
}
