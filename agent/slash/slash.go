// Package slash holds custom prompts: what a prompt that begins with "/name" stands
// for. They come from files, commands/NAME.toml of the user and of the project as
// Gemini CLI has them, and from the prompts of MCP servers.
//
// The package reads files and asks servers. What a prompt injects beyond that, files
// of the workspace and the output of commands, is returned as data: the session
// reads and runs it under its own rules.
package slash

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"redline/tools"
)

// Where a command comes from.
const (
	User    = "user"
	Project = "project"
	MCP     = "mcp:" // and the server's name
)

// Command is a custom prompt.
type Command struct {
	Name        string // without the "/"
	Description string
	Source      string // [User], [Project], or [MCP] and the server's name
	Args        []Arg  // of an MCP prompt; a file takes any text
}

// Arg is a named argument.
type Arg struct {
	Name, Description string
	Required          bool
}

// Piece is a part of an expanded prompt. Exactly one of its fields is set.
type Piece struct {
	Text  string
	File  string // path of a file or folder of the workspace, to be read
	Shell string // command line, whose output is meant
	Media *tools.Media
}

// Split takes "/name args" apart. ok is false for a text that is no call of a
// command: one that does not begin with "/", or goes on like a path or a comment.
func Split(text string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if end < 0 {
		end = len(rest)
	}
	name = rest[:end]
	if !isName(name) {
		return "", "", false
	}
	return name, strings.TrimSpace(rest[end:]), true
}

// isName reports whether a command can be called so.
func isName(s string) bool {
	if s == "" || len(s) > 200 || !utf8.ValidString(s) {
		return false
	}
	for i, r := range s {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
		if !letter && (i == 0 || !strings.ContainsRune("-.:", r)) {
			return false
		}
	}
	return true
}

// clean returns a name that [Split] takes.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.:", r) {
			return r
		}
		return '-'
	}, strings.TrimSpace(s))
	return strings.TrimLeft(s, "-.:")
}
