package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"redline/workspace"
	"redline/workspace/search"
)

// Limits of one search.
const (
	maxMatches    = 200
	maxMatchBytes = 500 // of one line
	fewMatches    = 3   // so few come with lines around them
	fewContext    = 2
	maxContext    = 20
)

// GrepSearch is the tool grep_search.
var GrepSearch = define(Spec{
	Name:        "grep_search",
	DisplayName: "SearchText",
	Kind:        KindSearch,
	Description: `Searches file contents with a regular expression (RE2 syntax, line by line), unsaved changes included; ` +
		`returns matching lines grouped by file.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"pattern":{"type":"string","description":"The regular expression, such as func\\s+New."},
"path":{"type":"string","description":"Directory or file to search; the workspace root by default."},
"include":{"type":"string","description":"Glob of the files to search, such as *.go or src/**/*.{ts,tsx}."},
"case_sensitive":{"type":"boolean","description":"False by default."},
"fixed_strings":{"type":"boolean","description":"Take the pattern as plain text."},
"context":{"type":"integer","minimum":0,"description":"Lines to show around each match."}},
"required":["pattern"]}`),
	Aliases: map[string]string{"dir_path": "path", "include_pattern": "include", "regex": "pattern"},
}, prepareGrep)

type grepParams struct {
	Pattern       string `json:"pattern"`
	Path          string `json:"path"`
	Include       string `json:"include"`
	CaseSensitive bool   `json:"case_sensitive"`
	Fixed         bool   `json:"fixed_strings"`
	Context       *int   `json:"context"`
}

func prepareGrep(v *workspace.View, p grepParams) (*Call, error) {
	if p.Pattern == "" {
		return nil, errors.New("the pattern is empty; to list files use glob")
	}
	scope, root, abs, err := scopeOf(v, p.Path)
	if err != nil {
		return nil, err
	}
	if v.Withholds(abs) {
		return nil, readError(abs, workspace.ErrWithheld)
	}
	title := fmt.Sprintf("%q", p.Pattern)
	if p.Path != "" {
		title += " in " + v.Rel(abs)
	}
	if p.Include != "" {
		title += " (" + p.Include + ")"
	}
	return &Call{Title: title, Run: func(ctx context.Context) (*Result, error) {
		o := search.GrepOptions{
			Scope: scope, Pattern: p.Pattern, Fixed: p.Fixed, CaseSensitive: p.CaseSensitive,
			MaxMatches: maxMatches, MaxLine: maxMatchBytes,
		}
		if v.Withheld != nil {
			o.Withhold = func(rel string) bool { return v.Withheld(filepath.Join(root, filepath.FromSlash(rel))) }
		}
		if p.Include != "" {
			o.Include = []string{p.Include}
		}
		if p.Context != nil {
			o.Context = min(*p.Context, maxContext)
		}
		got, err := search.Grep(ctx, o)
		if err != nil {
			return nil, err
		}
		if p.Context == nil && got.Matches > 0 && got.Matches <= fewMatches {
			o.Context = fewContext
			if got, err = search.Grep(ctx, o); err != nil {
				return nil, err
			}
		}
		text, summary := grepText(p, got, root, scope)
		return &Result{Text: text + unreadable(got.Unreadable), Display: summary}, nil
	}}, nil
}

// unreadable words what a search had to pass over.
func unreadable(names []string) string {
	if len(names) == 0 {
		return ""
	}
	const most = 5
	shown := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		shown = append(shown, printable(n))
	}
	text := "\n(could not be read: " + strings.Join(shown, ", ")
	if n := len(names) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text + ")"
}

func grepText(p grepParams, got *search.GrepResult, root string, scope search.Scope) (text, summary string) {
	what := fmt.Sprintf("for pattern %q in path %q", p.Pattern, shown(p.Path))
	if p.Include != "" {
		what += fmt.Sprintf(" (filter: %q)", p.Include)
	}
	if got.Matches == 0 {
		text := "No matches found " + what
		if got.Ignored > 0 {
			text += fmt.Sprintf(" (%d files searched, %d ignored)", got.Searched, got.Ignored)
		}
		text += withheldNote(got)
		return text, "No matches found"
	}
	noun := "matches"
	if got.Matches == 1 {
		noun = "match"
	}
	count := fmt.Sprint(got.Matches)
	if got.AtLeast {
		count = "at least " + count
	}
	summary = fmt.Sprintf("Found %s %s", count, noun)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s:\n---", summary, what)
	for _, f := range got.Files {
		if len(f.Lines) == 0 {
			continue
		}
		// The seeds give paths relative to the directory searched.
		name := f.Path
		if rel, err := filepath.Rel(filepath.FromSlash(scope.Dir), filepath.FromSlash(f.Path)); err == nil && filepath.IsLocal(rel) && rel != "." {
			name = filepath.ToSlash(rel)
		}
		fmt.Fprintf(&b, "\nFile: %s", printable(name))
		last := 0
		for _, l := range f.Lines {
			if last > 0 && l.Number > last+1 && !l.Match {
				b.WriteString("\n…")
			}
			last = l.Number
			mark := "L%d: %s"
			if !l.Match {
				mark = "L%d- %s"
			}
			fmt.Fprintf(&b, "\n"+mark, l.Number, l.Text)
		}
		b.WriteString("\n---")
	}
	if n := got.Matches - got.Shown; n > 0 {
		fmt.Fprintf(&b, "\n[%d more matches not shown; narrow the pattern, the path or the filter]", n)
	}
	b.WriteString(withheldNote(got))
	return b.String(), summary
}

// withheldNote says that files were not looked into.
func withheldNote(got *search.GrepResult) string {
	if got.Withheld == 0 {
		return ""
	}
	return fmt.Sprintf("\n[%d files that may hold secrets were not searched; name one as path, and the user is asked]", got.Withheld)
}
