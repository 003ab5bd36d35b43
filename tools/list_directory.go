package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"redline/workspace"
	"redline/workspace/search"
)

// maxListed is how many entries of a directory are listed.
const maxListed = 2000

// ListDirectory is the tool list_directory.
var ListDirectory = define(Spec{
	Name:        "list_directory",
	DisplayName: "ReadFolder",
	Kind:        KindRead,
	Description: `Lists the files and folders directly in a directory, folders first. Ignored entries are left out and counted.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"path":{"type":"string","description":"Path of the directory, absolute or relative to the workspace root."},
"ignore":{"type":"array","items":{"type":"string"},"description":"Globs of entries to leave out, such as *.log."},
"respect_git_ignore":{"type":"boolean","description":"Leave out what .gitignore names; true by default."}},
"required":["path"]}`),
	Aliases: map[string]string{"dir_path": "path", "respect_gitignore": "respect_git_ignore"},
}, prepareListDirectory)

type listDirectoryParams struct {
	Path       string   `json:"path"`
	Ignore     []string `json:"ignore"`
	RespectGit *bool    `json:"respect_git_ignore"`
}

func prepareListDirectory(v *workspace.View, p listDirectoryParams) (*Call, error) {
	if strings.TrimSpace(p.Path) == "" {
		return nil, errors.New("the path is empty; use . for the workspace root")
	}
	scope, _, abs, err := scopeOf(v, p.Path)
	if err != nil {
		return nil, err
	}
	scope.Exclude = p.Ignore
	scope.NoGitIgnore = p.RespectGit != nil && !*p.RespectGit
	return &Call{
		Title:     v.Rel(abs),
		Locations: []Location{{Path: abs}},
		Run: func(ctx context.Context) (*Result, error) {
			entries, err := search.List(ctx, scope)
			if err != nil {
				return nil, fmt.Errorf("cannot list %s: %w", abs, err)
			}
			var b strings.Builder
			n, ignored := 0, 0
			for _, e := range entries {
				if e.Verdict.Ignored {
					ignored++
					continue
				}
				if n++; n > maxListed {
					continue
				}
				b.WriteByte('\n')
				if e.Dir {
					b.WriteString("[DIR] ")
				}
				b.WriteString(printable(e.Name))
			}
			text := fmt.Sprintf("Directory listing for %s:%s", abs, b.String())
			if n == 0 {
				text = fmt.Sprintf("Directory %s is empty.", abs)
				if ignored > 0 {
					text = fmt.Sprintf("Directory %s has nothing but ignored entries.", abs)
				}
			}
			if n > maxListed {
				text += fmt.Sprintf("\n[%d more entries; use glob to find files by name]", n-maxListed)
			}
			if ignored > 0 {
				text += fmt.Sprintf("\n\n(%d ignored)", ignored)
			}
			return &Result{Text: text, Display: fmt.Sprintf("Listed %d entries", n)}, nil
		},
	}, nil
}

// printable returns a file name on one line, whatever bytes it has.
func printable(name string) string {
	if strings.ContainsAny(name, "\n\r\t\x00") || strings.ToValidUTF8(name, "") != name {
		return fmt.Sprintf("%q", name)
	}
	return name
}
