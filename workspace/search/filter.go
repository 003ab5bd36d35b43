package search

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// fileFilter is a glob as in include and exclude lists: without a slash it is matched against the last component, else
// against the path from the searched directory or from the root. Case counts.
type fileFilter struct {
	glob   string
	base   bool
	suffix string // every matching name ends in this
	exact  bool   // `*` and suffix is all there is
	within string // the searched directory with a trailing slash, or ""
}

func newFileFilter(glob, dir string) (*fileFilter, error) {
	f := &fileFilter{glob: glob}
	if dir != "" {
		f.within = dir + "/"
	}
	f.glob = strings.TrimPrefix(f.glob, "./")
	// A trailing slash means a folder with all it holds.
	if folder, ok := strings.CutSuffix(f.glob, "/"); ok {
		f.glob = folder + "/**"
		if !strings.Contains(folder, "/") {
			f.glob = "**/" + f.glob
		}
	}
	f.base = !strings.Contains(f.glob, "/")
	f.glob = strings.TrimPrefix(f.glob, "/")
	if !doublestar.ValidatePattern(f.glob) {
		return nil, badGlob(glob)
	}
	f.suffix = literalSuffix(f.glob)
	f.exact = f.base && f.glob == "*"+f.suffix
	return f, nil
}

func newFileFilters(globs []string, dir string) ([]*fileFilter, error) {
	var all []*fileFilter
	for _, g := range globs {
		if g == "" {
			continue
		}
		f, err := newFileFilter(g, dir)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

func badGlob(glob string) error {
	return fmt.Errorf("the glob %q is malformed: a bracket or brace is not closed, or it ends in a backslash; "+
		"put a backslash before a character that is meant as itself", glob)
}

func (f *fileFilter) matches(rel, name string) bool {
	if !strings.HasSuffix(name, f.suffix[strings.LastIndexByte(f.suffix, '/')+1:]) {
		return false
	}
	if f.exact {
		return true
	}
	if f.base {
		return doublestar.MatchUnvalidated(f.glob, name)
	}
	if doublestar.MatchUnvalidated(f.glob, rel) {
		return true
	}
	below, inside := strings.CutPrefix(rel, f.within)
	return f.within != "" && inside && doublestar.MatchUnvalidated(f.glob, below)
}

// literalSuffix is the end of a glob after its last special character.
func literalSuffix(glob string) string {
	if i := strings.LastIndexAny(glob, `*?[]{}\,`); i >= 0 {
		if glob[i] == '\\' {
			i++
		}
		glob = glob[min(i+1, len(glob)):]
	}
	if glob == "" || path.Clean(glob) == "." {
		return ""
	}
	return glob
}
