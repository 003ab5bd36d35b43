package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"redline/workspace/ignore"
)

// ListEntry is one entry of a directory.
type ListEntry struct {
	Name string
	// Dir says that it is a directory; a symbolic link never is, whatever it leads to.
	Dir  bool
	Link bool
	Size int64 // bytes, of regular files and links to them
	// ModTime is when the content last changed; zero for directories and for what exists in the editor only.
	ModTime time.Time
	Unsaved bool // exists in the editor only
	// Verdict is what the rules say. `.git` counts as ignored, without a rule.
	Verdict ignore.Verdict
}

// List lists one directory, the ignored entries too: directories first, then by name in the order of bytes. Entries that
// match Exclude are left out, and so is what is neither file, directory nor link. The error says that the directory
// cannot be listed, or is the context's.
func List(ctx context.Context, scope Scope) ([]ListEntry, error) {
	t, err := scope.resolve(ctx)
	if err != nil {
		return nil, err
	}
	if t.file {
		return nil, fmt.Errorf("%s is a file, not a directory", t.dir)
	}
	prefix := ""
	if t.dir != "" {
		prefix = t.dir + "/"
	}
	rules := t.rules.Dir(t.dir)
	var entries []ListEntry
	seen := map[string]bool{}
	add := func(e ListEntry) {
		if seen[e.Name] || t.excluded(prefix+e.Name, e.Name) {
			return
		}
		seen[e.Name] = true
		if e.Verdict = rules.Match(e.Name, e.Dir); e.Name == ".git" {
			e.Verdict = ignore.Verdict{Ignored: true}
		}
		entries = append(entries, e)
	}

	d, err := openDir(nil, t.abs(t.dir), "")
	if err != nil && !t.holdsOverlay(t.dir) {
		return nil, fmt.Errorf("list %q: %w", t.dir, err)
	}
	if err == nil {
		defer d.release()
		lister := newLister()
		if err := lister.list(d); err != nil {
			return nil, fmt.Errorf("list %q: %w", t.dir, err)
		}
		for i := range lister.names {
			e := ListEntry{Name: string(lister.name(i))}
			switch lister.kind(d, i) {
			case kindOther:
				continue
			case kindDir:
				e.Dir = true
			case kindLink:
				e.Link = true
				e.ModTime, e.Size, _ = d.info(e.Name)
			case kindFile:
				e.ModTime, e.Size, _ = d.info(e.Name)
				if o, open := t.overlays[prefix+e.Name]; open {
					if o.gone {
						continue
					}
					e.Size = int64(len(o.content))
				}
			}
			add(e)
		}
	}
	for rel, o := range t.overlays {
		if below, ok := strings.CutPrefix(rel, prefix); ok {
			if o.gone {
				continue
			}
			name, _, deeper := strings.Cut(below, "/")
			e := ListEntry{Name: name, Dir: deeper, Unsaved: true}
			if !deeper {
				e.Size = int64(len(o.content))
			}
			add(e)
		}
	}
	slices.SortFunc(entries, func(a, b ListEntry) int {
		if a.Dir != b.Dir {
			if a.Dir {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return entries, ctx.Err()
}
