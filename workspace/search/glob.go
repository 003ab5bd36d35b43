package search

import (
	"context"
	"slices"
	"strings"
	"time"
)

// GlobOptions says what Glob looks for.
type GlobOptions struct {
	Scope
	// Pattern is matched against the path relative to Dir: `*` and `?` stay within a component, `**` is any number of
	// components, `[a-z]` a class, `{a,b}` alternatives, `{1..9}` a range; a leading dot is nothing special. So `*.go` is
	// about Dir itself and `**/*.go` about all below it. A pattern that is, taken literally, the path of a file means
	// that file. A pattern may be absolute when it lies inside the root.
	Pattern string
	// CaseSensitive makes upper and lower case differ, in the pattern only.
	CaseSensitive bool
	// NodeModules enters directories of that name, which are passed over otherwise.
	NodeModules bool
	// Limit bounds the entries returned; 0 means no bound.
	Limit int
}

// GlobResult is what Glob found.
type GlobResult struct {
	// Entries are ordered by time of change, newest first, and by path where that is equal.
	Entries []Entry
	Total   int // matching files, also those beyond the limit
	Ignored int // matching files that a rule leaves out; those below an ignored directory are not counted
	// Unreadable names directories that could not be listed, sorted.
	Unreadable []string
}

// Entry is a file.
type Entry struct {
	Path    string // relative to the root, with slashes
	ModTime time.Time
	Size    int64 // bytes; of the text in the editor for an open file
	// Unsaved says that the file exists in the editor only. Its ModTime is when the search began.
	Unsaved bool
}

var nodeModules = map[string]bool{"node_modules": true}

// Glob lists the regular files, and the links to regular files, whose path matches. The error is the context's, or says
// that the pattern is malformed or the scope cannot be searched.
func Glob(ctx context.Context, opts GlobOptions) (*GlobResult, error) {
	began := time.Now()
	t, err := opts.resolve(ctx)
	if err != nil {
		return nil, err
	}
	pattern, err := newPathPattern(t, opts.Pattern, opts.CaseSensitive)
	if err != nil {
		return nil, err
	}
	skip := nodeModules
	if opts.NodeModules {
		skip = nil
	}
	visitors := make([]*globber, t.workers)
	stats, err := t.walk(ctx, skip, func(i int) visitor {
		visitors[i] = &globber{target: t, pattern: pattern, began: began, limit: opts.Limit}
		return visitors[i]
	})
	if err != nil {
		return nil, err
	}
	r := &GlobResult{Ignored: stats.ignored, Unreadable: stats.unreadable}
	var literal []Entry
	for _, v := range visitors {
		if v != nil {
			r.Entries = append(r.Entries, v.found...)
			r.Total += v.total
			literal = append(literal, v.literal...)
		}
	}
	if literal != nil {
		r.Entries, r.Total = literal, len(literal)
	}
	if r.Total == 0 && pattern.broken {
		return nil, badGlob(opts.Pattern)
	}
	r.Entries = newest(r.Entries, opts.Limit)
	return r, nil
}

// newest sorts entries, those changed last first, and returns the first limit of them in an array of their own; all when
// limit is 0.
func newest(entries []Entry, limit int) []Entry {
	slices.SortFunc(entries, func(a, b Entry) int {
		if c := b.ModTime.Compare(a.ModTime); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	if limit > 0 && len(entries) > limit {
		return slices.Clone(entries[:limit])
	}
	return entries
}

// globber collects the matching files of one worker: the newest, so that memory does not grow with what matches.
type globber struct {
	*target
	pattern *pathPattern
	began   time.Time
	limit   int
	found   []Entry
	total   int     // also of those that are not in found any more
	literal []Entry // the file that is called exactly as the pattern is written
}

func (g *globber) wants(rel, _ string) bool { return g.pattern.matches(g.below(rel)) }
func (g *globber) enters(rel string) bool   { return g.pattern.mayMatchBelow(g.below(rel)) }

func (g *globber) file(d *dir, rel, name string, _ kind) {
	if g.target.file && !g.wants(rel, name) {
		return
	}
	if changed, size, ok := d.info(name); ok {
		g.add(Entry{Path: rel, ModTime: changed, Size: size})
	}
}

func (g *globber) overlay(rel string, o overlay) {
	if g.target.file && !g.wants(rel, rel) {
		return
	}
	e := Entry{Path: rel, ModTime: g.began, Size: int64(len(o.content)), Unsaved: true}
	if o.onDisk {
		parent, name := "", rel
		if i := strings.LastIndexByte(rel, '/'); i >= 0 {
			parent, name = rel[:i], rel[i+1:]
		}
		if d, err := openDir(nil, g.abs(parent), ""); err == nil {
			defer d.release()
			if changed, _, ok := d.info(name); ok {
				e.ModTime, e.Unsaved = changed, false
			}
		}
	}
	g.add(e)
}

func (g *globber) add(e Entry) {
	if g.below(e.Path) == g.pattern.literal {
		g.literal = append(g.literal, e)
	}
	g.total++
	g.found = append(g.found, e)
	if g.limit > 0 && len(g.found) >= max(16*g.limit, 1024) {
		g.found = append(g.found[:0], newest(g.found, g.limit)...)
	}
}
