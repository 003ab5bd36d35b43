package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"redline/workspace/ignore"
)

// Scope says where to look. Only Root is required.
type Scope struct {
	// Root is the workspace root, an absolute path in the system's notation.
	Root string
	// Dir is the directory to look in, or a single file, relative to Root with slashes; empty means Root. What is named
	// here is searched even if it is ignored; the rules hold for what is below it. The error wraps fs.ErrNotExist when it
	// is not there.
	Dir string
	// NoGitIgnore and NoGeminiIgnore switch off the rules of git and of `.geminiignore`.
	NoGitIgnore, NoGeminiIgnore bool
	// Exclude leaves out what matches one of these globs, folders with all they hold. A glob without a slash is matched
	// against the name at any depth, others against the path from Dir or from Root.
	Exclude []string
	// Overlay is the content of open files by absolute path in the system's notation; nil for one that is to be taken
	// for deleted. It replaces what is on disk and may name files that are not there. Rule files count as well. The content is not changed and not kept.
	Overlay map[string][]byte
	// Workers bounds the goroutines that are started; 0 means one for each processor, at most 8.
	Workers int
}

// maxDefaultWorkers is where more goroutines stop helping: the kernel's directory locks are the limit then.
const maxDefaultWorkers = 8

// target is a Scope that has been looked at.
type target struct {
	Scope
	dir      string // cleaned Dir; "" for the root
	file     bool   // Dir is a file
	rules    *ignore.Rules
	exclude  []*fileFilter
	overlays map[string]overlay // by path relative to Root
	workers  int
	done     <-chan struct{} // closed when the search is to end early
}

// cancelled reports whether the search is to end early.
func (t *target) cancelled() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// resolve checks a Scope and prepares what every search needs.
func (s Scope) resolve(ctx context.Context) (*target, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(s.Root) {
		return nil, fmt.Errorf("search: the root %q is not an absolute path", s.Root)
	}
	t := &target{Scope: s, workers: s.Workers, done: ctx.Done()}
	t.Root = filepath.Clean(s.Root)
	if t.workers <= 0 {
		t.workers = min(runtime.GOMAXPROCS(0), maxDefaultWorkers)
	}
	if path.IsAbs(s.Dir) || filepath.IsAbs(s.Dir) {
		return nil, fmt.Errorf("search: %q is not relative to the root", s.Dir)
	}
	if t.dir = path.Clean(s.Dir); t.dir == "." {
		t.dir = ""
	}
	if t.dir == ".." || strings.HasPrefix(t.dir, "../") {
		return nil, fmt.Errorf("search: %q lies outside the root", s.Dir)
	}
	var err error
	if t.exclude, err = newFileFilters(s.Exclude, t.dir); err != nil {
		return nil, err
	}
	t.overlays = t.findOverlays()
	t.rules = ignore.New(t.Root, ignore.Options{
		NoGit: s.NoGitIgnore, NoGemini: s.NoGeminiIgnore, ReadFile: t.readRules(),
	})
	o, isFile := t.overlays[t.dir]
	t.file = isFile && !o.gone
	if t.file {
		return t, nil
	}
	if isFile {
		return nil, fmt.Errorf("search in %q: %w", s.Dir, fs.ErrNotExist)
	}
	st, err := os.Stat(t.abs(t.dir))
	switch {
	case err == nil && st.Mode().IsRegular():
		t.file = true
	case err == nil && !st.IsDir():
		return nil, fmt.Errorf("search: %s is neither a directory nor a regular file", t.dir)
	case errors.Is(err, fs.ErrNotExist) && t.holdsOverlay(t.dir):
		// A directory that exists in the editor only.
	case err != nil:
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err // the path is said already
		}
		return nil, fmt.Errorf("search in %q: %w", s.Dir, err)
	}
	return t, nil
}

// abs gives the path of an entry in the system's notation.
func (t *target) abs(rel string) string { return filepath.Join(t.Root, filepath.FromSlash(rel)) }

// below cuts the path of Dir off a path relative to Root.
func (t *target) below(rel string) string {
	if t.dir == "" {
		return rel
	}
	if rel == t.dir {
		return path.Base(rel)
	}
	return strings.TrimPrefix(rel, t.dir+"/")
}

func (t *target) excluded(rel, name string) bool {
	for _, x := range t.exclude {
		if x.matches(rel, name) {
			return true
		}
	}
	return false
}
