package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// value returns the text the shell makes of a word, if that can be told; else the word as it is written.
func value(w *syntax.Word) word {
	if w == nil {
		return word{}
	}
	var b strings.Builder
	for _, part := range w.Parts {
		ok := false
		switch p := part.(type) {
		case *syntax.Lit:
			ok = unquoted(&b, p.Value, len(w.Parts) == 1)
		case *syntax.SglQuoted:
			// The escapes of $'…' are not worth decoding: without them it is a plain string.
			ok = !p.Dollar || !strings.Contains(p.Value, `\`)
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			ok = doubleQuoted(&b, p)
		}
		if !ok {
			return word{text: written(w)}
		}
	}
	return word{text: b.String(), static: true}
}

// unquoted appends the value of bare text. It reports false for text that the shell expands: globs and braces.
func unquoted(b *strings.Builder, s string, whole bool) bool {
	if whole && (s == "[" || s == "{" || s == "}" || s == "{}") {
		b.WriteString(s)
		return true
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
			continue
		case '*', '?', '[', '{', '}':
			return false
		}
		b.WriteByte(s[i])
	}
	return true
}

func doubleQuoted(b *strings.Builder, q *syntax.DblQuoted) bool {
	if q.Dollar {
		return false
	}
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return false
		}
		s := lit.Value
		for i := 0; i < len(s); i++ {
			if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\\"$`\n", s[i+1]) >= 0 {
				if i++; s[i] == '\n' {
					continue
				}
			}
			b.WriteByte(s[i])
		}
	}
	return true
}

// written returns a word as it stands in the line, or nearly so.
func written(w *syntax.Word) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, w); err != nil {
		return "?"
	}
	return b.String()
}
