package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PathError says why a path was refused. Its text is meant for the model.
type PathError struct {
	Path   string // as given
	Reason string
}

func (e *PathError) Error() string { return e.Reason }

// maxLinks is how many symbolic links are followed in one path, as in Linux.
const maxLinks = 40

// Resolve returns the absolute, clean form of p, which may be relative to the
// first folder. The file need not exist. A path that is outside of every folder,
// as it is spelled or once its symbolic links are followed, is a [*PathError]. An
// [Untitled] document resolves to itself while it is open.
func (s *Snapshot) Resolve(p string) (string, error) {
	if Untitled(p) {
		return s.resolveUntitled(p)
	}
	if len(s.folders) == 0 {
		return "", &PathError{p, "no folder is open, so there are no files to work on; ask the user to open a folder"}
	}
	if strings.IndexByte(p, 0) >= 0 {
		return "", &PathError{p, fmt.Sprintf("path %q holds a NUL byte, which no file name can", p)}
	}
	if scheme, _, ok := strings.Cut(p, "://"); ok && !strings.ContainsAny(scheme, "/ ") {
		return "", &PathError{p, fmt.Sprintf("%q is a URI; give the path of a file instead", p)}
	}
	abs := Unquoted(p)
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(s.folders[0].path, abs)
	}
	abs = filepath.Clean(abs)
	if !s.contains(abs, false) {
		return "", s.outside(p)
	}
	real, err := Canonical(abs)
	if err != nil {
		return "", &PathError{p, fmt.Sprintf("cannot follow path %q: %v", p, err)}
	}
	if !s.contains(real, true) {
		return "", s.outside(p)
	}
	return abs, nil
}

// Unquoted returns the name that a quoted one stands for: names with line breaks or
// invalid UTF-8 in them are listed in Go's notation, and so can be given that way.
func Unquoted(p string) string {
	if len(p) > 2 && p[0] == '"' && strings.IndexByte(p, '\\') > 0 {
		if name, err := strconv.Unquote(p); err == nil && strings.IndexByte(name, 0) < 0 {
			return name
		}
	}
	return p
}

func (s *Snapshot) outside(p string) error {
	roots := make([]string, len(s.folders))
	for i, f := range s.folders {
		roots[i] = f.path
	}
	return &PathError{p, fmt.Sprintf("path %q is outside the workspace; use a path within the root directory: %s", p, strings.Join(roots, ", "))}
}

func (s *Snapshot) contains(abs string, canonical bool) bool {
	for _, f := range s.folders {
		root := f.path
		if canonical {
			root = f.real
		}
		if within(root, abs) || (!canonical && within(f.real, abs)) {
			return true
		}
	}
	return false
}

// within reports whether abs is root or below it. Both are clean.
func within(root, abs string) bool {
	if abs == root {
		return true
	}
	if !strings.HasSuffix(root, string(filepath.Separator)) {
		root += string(filepath.Separator)
	}
	return strings.HasPrefix(abs, root)
}

// Canonical follows the symbolic links of the clean absolute path p as far as it
// exists; what does not exist is kept as spelled. Unlike [filepath.EvalSymlinks]
// it resolves a dangling link to where it points, which is where a write would go.
func Canonical(p string) (string, error) {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r, nil
	}
	links := 0
	return canonical(p, &links)
}

func canonical(p string, links *int) (string, error) {
	dir, base := filepath.Split(p)
	dir = filepath.Clean(dir)
	if dir == p || base == "" {
		return p, nil
	}
	dir, err := canonical(dir, links)
	if err != nil {
		return "", err
	}
	p = filepath.Join(dir, base)
	info, err := os.Lstat(p)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || isNotDir(err) {
			return p, nil
		}
		return "", err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return p, nil
	}
	if *links++; *links > maxLinks {
		return "", errors.New("too many symbolic links")
	}
	target, err := os.Readlink(p)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	return canonical(filepath.Clean(target), links)
}

// Rel returns abs relative to the folder that holds it, with forward slashes, for
// showing; a path in no folder is returned as it is. In a workspace of several
// folders it begins with the folder's name.
func (s *Snapshot) Rel(abs string) string {
	for _, f := range s.folders {
		for _, root := range []string{f.path, f.real} {
			if !within(root, abs) {
				continue
			}
			rel, err := filepath.Rel(root, abs)
			if err != nil {
				continue
			}
			rel = filepath.ToSlash(rel)
			if len(s.folders) > 1 {
				rel = filepath.Base(f.path) + "/" + rel
			}
			return rel
		}
	}
	return abs
}
