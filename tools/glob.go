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

// maxGlobbed is how many paths a glob returns.
const maxGlobbed = 500

// Glob is the tool glob.
var Glob = define(Spec{
	Name:        "glob",
	DisplayName: "FindFiles",
	Kind:        KindSearch,
	Description: `Finds files by a glob pattern such as **/*.go or src/**/*.{ts,tsx}; returns absolute paths, newest first.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"pattern":{"type":"string","description":"The glob; it is matched against paths relative to path."},
"path":{"type":"string","description":"Directory to look in; the workspace root by default."},
"ignore":{"type":"array","items":{"type":"string"},"description":"Globs of files to leave out."},
"case_sensitive":{"type":"boolean","description":"False by default."},
"respect_git_ignore":{"type":"boolean","description":"Leave out what .gitignore names; true by default."}},
"required":["pattern"]}`),
	Aliases: map[string]string{"dir_path": "path", "respect_gitignore": "respect_git_ignore"},
}, prepareGlob)

type globParams struct {
	Pattern       string   `json:"pattern"`
	Path          string   `json:"path"`
	Ignore        []string `json:"ignore"`
	CaseSensitive bool     `json:"case_sensitive"`
	RespectGit    *bool    `json:"respect_git_ignore"`
}

func prepareGlob(v *workspace.View, p globParams) (*Call, error) {
	if strings.TrimSpace(p.Pattern) == "" {
		return nil, errors.New("the pattern is empty; use **/* for every file")
	}
	scope, root, abs, err := scopeOf(v, p.Path)
	if err != nil {
		return nil, err
	}
	scope.Exclude = p.Ignore
	scope.NoGitIgnore = p.RespectGit != nil && !*p.RespectGit
	title := fmt.Sprintf("%q", p.Pattern)
	if p.Path != "" {
		title += " in " + v.Rel(abs)
	}
	return &Call{Title: title, Run: func(ctx context.Context) (*Result, error) {
		got, err := search.Glob(ctx, search.GlobOptions{Scope: scope, Pattern: p.Pattern, CaseSensitive: p.CaseSensitive, Limit: maxGlobbed})
		if err != nil {
			return nil, err
		}
		where := shown(p.Path)
		if got.Total == 0 {
			text := fmt.Sprintf("No files found matching %q within %s", p.Pattern, where)
			if got.Ignored > 0 {
				text += fmt.Sprintf(" (%d ignored files match)", got.Ignored)
			}
			return &Result{Text: text + unreadable(got.Unreadable), Display: "No files found"}, nil
		}
		var b strings.Builder
		fmt.Fprintf(&b, "Found %d file(s) matching %q within %s, sorted by modification time (newest first):", got.Total, p.Pattern, where)
		for _, e := range got.Entries {
			b.WriteByte('\n')
			b.WriteString(printable(filepath.Join(root, filepath.FromSlash(e.Path))))
		}
		if n := got.Total - len(got.Entries); n > 0 {
			fmt.Fprintf(&b, "\n[%d more files not shown; make the pattern narrower]", n)
		}
		if got.Ignored > 0 {
			fmt.Fprintf(&b, "\n(%d more are ignored)", got.Ignored)
		}
		return &Result{Text: b.String() + unreadable(got.Unreadable), Display: fmt.Sprintf("Found %d files", got.Total)}, nil
	}}, nil
}
