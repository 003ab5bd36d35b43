package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"redline/workspace"
	"redline/workspace/search"
)

// scopeOf returns where to search for the parameter p, which may be empty for the
// first folder, and the folder's and the place's absolute path.
func scopeOf(v *workspace.View, p string) (scope search.Scope, root, abs string, err error) {
	if p == "" {
		p = "."
	}
	abs, err = v.Resolve(p)
	if err != nil {
		return scope, "", "", err
	}
	if _, open := v.Document(abs); !open {
		if _, err := os.Stat(abs); err != nil {
			return scope, "", "", readError(abs, err)
		}
	}
	for _, f := range v.Folders() {
		rel, err := filepath.Rel(f, abs)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if rel == "." {
			rel = ""
		}
		return search.Scope{Root: f, Dir: filepath.ToSlash(rel), Overlay: v.Overlay()}, f, abs, nil
	}
	// Named by the folder's real path rather than as the editor spells it.
	real := workspace.Key(abs)
	for _, f := range v.Folders() {
		if rel, err := filepath.Rel(workspace.Key(f), real); err == nil && filepath.IsLocal(rel) {
			if rel == "." {
				rel = ""
			}
			return search.Scope{Root: f, Dir: filepath.ToSlash(rel), Overlay: v.Overlay()}, f, filepath.Join(f, rel), nil
		}
	}
	return scope, "", "", fmt.Errorf("path %q is outside the workspace", p)
}

// hiddenBy names the rule that leaves a file out of searches; empty when none does.
func hiddenBy(ctx context.Context, v *workspace.View, path string) string {
	scope, _, _, err := scopeOf(v, path)
	if err != nil || scope.Dir == "" {
		return ""
	}
	verdict, err := search.Verdict(ctx, scope)
	if err != nil || !verdict.Ignored || verdict.Rule == nil {
		return ""
	}
	return verdict.Rule.String()
}

// shown returns p as a search was asked for it: relative when it was.
func shown(p string) string {
	if p == "" {
		return "."
	}
	return p
}
