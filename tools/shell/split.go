package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Simple is one simple command of a line, such as "git push origin".
type Simple struct {
	command command
	unsafe  string // why nothing in the line can be allowed, if so
}

// Split takes a line apart into its commands, at every depth. The error says, for the
// user, why that cannot be done.
func Split(line string) ([]Simple, error) {
	s, err := parse(line)
	if err != nil {
		return nil, err
	}
	out := make([]Simple, len(s.commands))
	for i, c := range s.commands {
		out[i] = Simple{c, s.unsafe}
	}
	return out, nil
}

// Begins reports whether the command begins with the words of a prefix, or may: with
// options in between ("git -C x push"), by a path, or inside of what it runs
// ("sudo git push").
func (s Simple) Begins(prefix string) bool {
	found, _ := Policy{Deny: []string{prefix}}.denies(s.command, 0)
	return found != ""
}

// Allowable reports whether the command begins with the words of a prefix, and cannot
// do what the prefix does not show.
func (s Simple) Allowable(prefix string) bool {
	return s.unsafe == "" && s.command.unsafe == "" && Policy{Allow: []string{prefix}}.allows(s.command)
}

// separators part a word into what may be names of files: "--file=x", "a:b", and the
// line that sh -c is given.
const separators = " \t\r\n;|&<>()=,:'\"`@"

// Names returns what in a line may name a file: each word, and its parts. It is a
// guess to warn by: what a line computes is not in it. A line that cannot be parsed is
// parted all the same.
func Names(line string) []string {
	seen := map[string]bool{}
	var out []string
	add := func(word string) {
		for _, part := range append([]string{word}, strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(separators, r) })...) {
			if part != "" && !seen[part] {
				seen[part] = true
				out = append(out, part)
			}
		}
	}
	words(line, add)
	return out
}

// words calls add with the text of each word of a line, redirections included.
func words(line string, add func(string)) {
	if len(line) > maxLine || nesting(line) > maxNesting {
		add(line)
		return
	}
	defer func() {
		if recover() != nil {
			add(line)
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		add(line)
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			add(value(w).text)
		}
		return true
	})
}
