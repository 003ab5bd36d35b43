package search

import (
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// overlay is the content of one open file.
type overlay struct {
	content []byte
	onDisk  bool
	gone    bool // a deletion that is staged: as if the file were not there
}

// findOverlays indexes the open files inside the root by their relative path. A file opened through a symbolic link is
// found under its real name, since that is where the walk meets it.
func (t *target) findOverlays() map[string]overlay {
	if len(t.Overlay) == 0 {
		return nil
	}
	root, err := filepath.EvalSymlinks(t.Root)
	if err != nil {
		root = t.Root
	}
	found := make(map[string]overlay, len(t.Overlay))
	for abs, content := range t.Overlay {
		rel, ok := relativeTo(t.Root, abs)
		if !ok {
			if rel, ok = relativeTo(root, abs); !ok {
				continue
			}
		}
		real, onDisk := realPath(abs)
		if realRel, ok := relativeTo(root, real); ok {
			rel = realRel
		}
		found[rel] = overlay{content, onDisk, content == nil}
	}
	// A place that is named through a symbolic link is searched under that name: the open files in it count there.
	if real, _ := realPath(t.abs(t.dir)); t.dir != "" {
		if realDir, ok := relativeTo(root, real); ok && realDir != t.dir {
			for rel, o := range maps.Clone(found) {
				if below, ok := strings.CutPrefix(rel, realDir); ok && (below == "" || below[0] == '/') {
					found[t.dir+below] = o
				}
			}
		}
	}
	return found
}

// realPath follows the symbolic links in a path as far as it exists, and reports whether it does to its end.
func realPath(abs string) (real string, exists bool) {
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, true
	}
	return realOfMissing(abs, 0), false
}

// realOfMissing is realPath for what is not on disk, also where a link leads to it.
func realOfMissing(abs string, links int) string {
	const maxLinks = 40 // more are a loop
	if to, err := os.Readlink(abs); err == nil && links < maxLinks {
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(abs), to)
		}
		return realOfMissing(to, links+1)
	}
	dir := filepath.Dir(abs)
	if dir == abs {
		return abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(real, filepath.Base(abs))
	}
	return filepath.Join(realOfMissing(dir, links), filepath.Base(abs))
}

func relativeTo(root, abs string) (string, bool) {
	rel, err := filepath.Rel(root, abs)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// readRules makes unsaved rule files count. Nil when there is none, so that the walk need not look for them.
func (t *target) readRules() func(string) ([]byte, error) {
	rules := map[string][]byte{}
	for rel, o := range t.overlays {
		if isRuleFile(rel) { // one that is gone has no rules
			rules[t.abs(rel)] = o.content
		}
	}
	if len(rules) == 0 {
		return nil
	}
	return func(abs string) ([]byte, error) {
		if content, ok := rules[abs]; ok {
			return content, nil
		}
		if st, err := os.Stat(abs); err != nil || !st.Mode().IsRegular() {
			return nil, os.ErrNotExist
		}
		return os.ReadFile(abs)
	}
}

func isRuleFile(rel string) bool {
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	return name == ".gitignore" || name == ".geminiignore"
}

// holdsOverlay reports whether an open file lies below dir.
func (t *target) holdsOverlay(dir string) bool {
	for rel, o := range t.overlays {
		if o.gone {
			continue
		}
		if dir == "" || strings.HasPrefix(rel, dir+"/") {
			return true
		}
	}
	return false
}

// overlaysInScope lists the open files that a walk with these skipped names would find, sorted. The walk itself passes
// them over.
func (t *target) overlaysInScope(skip map[string]bool, w *walkStats) []string {
	var in []string
	for rel, o := range t.overlays {
		if o.gone {
			continue
		}
		if t.file {
			if rel == t.dir {
				in = append(in, rel)
			}
			continue
		}
		if t.reaches(rel, skip, w) {
			in = append(in, rel)
		}
	}
	sort.Strings(in)
	return in
}

// reaches goes down the path of an open file as the walk would.
func (t *target) reaches(rel string, skip map[string]bool, w *walkStats) bool {
	at := 0
	if t.dir != "" {
		if !strings.HasPrefix(rel, t.dir+"/") {
			return false
		}
		at = len(t.dir) + 1
	}
	for {
		end := strings.IndexByte(rel[at:], '/')
		isDir := end >= 0
		if isDir {
			end += at
		} else {
			end = len(rel)
		}
		name := rel[at:end]
		if skip[name] && isDir || name == ".git" || t.excluded(rel[:end], name) {
			return false
		}
		if t.rules.Dir(rel[:max(at-1, 0)]).Match(name, isDir).Ignored {
			if !isDir {
				w.ignored++
			}
			return false
		}
		if !isDir {
			return true
		}
		at = end + 1
	}
}
