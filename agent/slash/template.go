package slash

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// argsMark is where the user's words go.
const argsMark = "{{args}}"

// template is the prompt of a file, taken apart once: what is put into it later is
// never looked at again, so that neither the user's words nor a file's text can
// inject anything.
type template struct {
	pieces []Piece
	args   bool // argsMark is in it
}

// parse takes a prompt apart: "@{path}" and "!{command}", with balanced braces.
func parse(prompt string) (*template, error) {
	t := &template{args: strings.Contains(prompt, argsMark)}
	text := 0
	for i := 0; i+1 < len(prompt); {
		kind := prompt[i]
		if prompt[i+1] != '{' || kind != '@' && kind != '!' {
			i++
			continue
		}
		end := closing(prompt, i+1)
		if end < 0 {
			return nil, fmt.Errorf("%q has no closing brace; what is in braces must have balanced braces itself", first(prompt[i:], 30))
		}
		inner := strings.TrimSpace(prompt[i+2 : end])
		if inner == "" {
			return nil, fmt.Errorf("%q is empty", prompt[i:end+1])
		}
		t.text(prompt[text:i])
		if kind == '@' {
			t.pieces = append(t.pieces, Piece{File: inner})
		} else {
			t.pieces = append(t.pieces, Piece{Shell: inner})
		}
		i = end + 1
		text = i
	}
	t.text(prompt[text:])
	return t, nil
}

func (t *template) text(s string) {
	if s != "" {
		t.pieces = append(t.pieces, Piece{Text: s})
	}
}

// closing returns where the brace at open is closed, or -1.
func closing(s string, open int) int {
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// expand puts the user's words in: as they are into text and paths, as one quoted
// word into commands. Without a place for them, the whole call is appended.
func (t *template) expand(name, args string) ([]Piece, error) {
	out := make([]Piece, 0, len(t.pieces)+1)
	for _, p := range t.pieces {
		p.Text = strings.ReplaceAll(p.Text, argsMark, args)
		p.File = strings.ReplaceAll(p.File, argsMark, args)
		if strings.Contains(p.Shell, argsMark) {
			quoted, err := syntax.Quote(args, syntax.LangBash)
			if err != nil {
				return nil, fmt.Errorf("%q cannot be part of a command: %w", first(args, 60), err)
			}
			p.Shell = strings.ReplaceAll(p.Shell, argsMark, quoted)
		}
		if p == (Piece{}) {
			continue // only the place of words that are not there
		}
		out = append(out, p)
	}
	if !t.args && args != "" {
		out = append(out, Piece{Text: "\n\n/" + name + " " + args})
	}
	return out, nil
}

// first returns the beginning of a text, for a message.
func first(s string, n int) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
