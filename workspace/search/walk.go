package search

import (
	"context"
	"errors"
	"io/fs"
	"sort"
	"strings"
	"sync"

	"redline/workspace/ignore"
)

// Files is what Walk found.
type Files struct {
	Paths   []string // relative to the root, with slashes, sorted by bytes
	Ignored int      // files left out by a rule; those below an ignored directory are not counted
	// Unreadable names directories that could not be listed, sorted.
	Unreadable []string
}

// Walk lists the regular files of the scope, and the symbolic links to regular files. The error is the context's, or says
// that the scope cannot be searched.
func Walk(ctx context.Context, scope Scope) (*Files, error) {
	t, err := scope.resolve(ctx)
	if err != nil {
		return nil, err
	}
	visitors := make([]*pathList, t.workers)
	stats, err := t.walk(ctx, nil, func(i int) visitor {
		visitors[i] = &pathList{}
		return visitors[i]
	})
	if err != nil {
		return nil, err
	}
	f := &Files{Ignored: stats.ignored, Unreadable: stats.unreadable}
	for _, v := range visitors {
		if v != nil {
			f.Paths = append(f.Paths, v.paths...)
		}
	}
	sort.Strings(f.Paths)
	return f, nil
}

type pathList struct{ paths []string }

func (*pathList) wants(rel, name string) bool { return true }
func (*pathList) enters(string) bool          { return true }

func (l *pathList) file(d *dir, rel, name string, k kind) {
	if k == kindLink && !d.isRegular(name) {
		return
	}
	l.paths = append(l.paths, rel)
}

func (l *pathList) overlay(rel string, _ overlay) { l.paths = append(l.paths, rel) }

// visitor receives what one worker of a walk finds. Its methods are never called concurrently.
type visitor interface {
	// wants is asked first, being cheap, whether a file of that path and last component is of interest.
	wants(rel, name string) bool
	// enters is asked whether anything of interest may lie below the directory.
	enters(rel string) bool
	// file receives a regular file or a symbolic link, with the directory it lies in.
	file(d *dir, rel, name string, k kind)
	// overlay receives an open file.
	overlay(rel string, o overlay)
}

// kind of a directory entry. Others, such as FIFOs and devices, never reach a visitor.
type kind uint8

const (
	kindOther kind = iota
	kindFile
	kindDir
	kindLink
)

type walkStats struct {
	ignored    int
	unreadable []string
}

// task is a directory to list, or some files of a directory that has been listed.
type task struct {
	dir   *dir        // the directory that holds the entry or the files; nil for the top
	rules *ignore.Dir // of dir
	rel   string      // the directory to list, relative to the root; "" for the root
	name  string      // its last component
	files []entry
}

type entry struct {
	rel    string
	nameAt int // where in rel the last component begins
	kind   kind
}

// filesPerTask keeps one huge flat directory from being one worker's burden.
const filesPerTask = 64

type walker struct {
	*target
	skip map[string]bool

	mu      sync.Mutex
	wake    sync.Cond
	tasks   []task // last in, first out: few directories are open at any time
	pending int    // tasks queued or at work
}

// walk visits the scope with t.workers goroutines and returns when all of them have ended. skip names directories that are
// not entered, besides `.git`.
func (t *target) walk(ctx context.Context, skip map[string]bool, newVisitor func(int) visitor) (walkStats, error) {
	w := &walker{target: t, skip: skip}
	w.wake.L = &w.mu
	var total walkStats

	first := newVisitor(0)
	for _, rel := range t.overlaysInScope(skip, &total) {
		if name := rel[strings.LastIndexByte(rel, '/')+1:]; t.file || first.wants(rel, name) {
			first.overlay(rel, t.overlays[rel])
		}
	}
	if _, isOpen := t.overlays[t.dir]; t.file && isOpen {
		return total, ctx.Err()
	}
	if t.file {
		err := visitFile(t, first)
		return total, errors.Join(err, ctx.Err())
	}

	w.tasks, w.pending = []task{{rel: t.dir}}, 1
	stats := make([]walkStats, t.workers)
	var wg sync.WaitGroup
	for i := range t.workers {
		v := first
		if i > 0 {
			v = newVisitor(i)
		}
		wg.Go(func() { w.work(v, &stats[i]) })
	}
	wg.Wait()
	for _, s := range stats {
		total.ignored += s.ignored
		total.unreadable = append(total.unreadable, s.unreadable...)
	}
	sort.Strings(total.unreadable)
	return total, ctx.Err()
}

// visitFile handles a scope that is a single file.
func visitFile(t *target, v visitor) error {
	parent, name := "", t.dir
	if i := strings.LastIndexByte(t.dir, '/'); i >= 0 {
		parent, name = t.dir[:i], t.dir[i+1:]
	}
	d, err := openDir(nil, t.abs(parent), "")
	if err != nil {
		return err
	}
	defer d.release()
	k := kindFile
	if d.isLink(name) {
		k = kindLink
	}
	v.file(d, t.dir, name, k)
	return nil
}

// work runs tasks until there are no more.
func (w *walker) work(v visitor, stats *walkStats) {
	lister := newLister()
	for {
		w.mu.Lock()
		for len(w.tasks) == 0 && w.pending > 0 {
			w.wake.Wait()
		}
		if len(w.tasks) == 0 {
			w.mu.Unlock()
			return
		}
		t := w.tasks[len(w.tasks)-1]
		w.tasks[len(w.tasks)-1] = task{}
		w.tasks = w.tasks[:len(w.tasks)-1]
		w.mu.Unlock()

		w.run(t, v, lister, stats)

		w.mu.Lock()
		if w.pending--; w.pending == 0 {
			w.wake.Broadcast()
		}
		w.mu.Unlock()
	}
}

func (w *walker) run(t task, v visitor, lister *lister, stats *walkStats) {
	if t.dir != nil {
		defer t.dir.release()
	}
	if w.cancelled() {
		return // what is queued is still taken, so that every directory gets closed
	}
	if t.files != nil {
		w.visit(t.dir, t.files, v)
		return
	}
	d, err := openDir(t.dir, w.abs(t.rel), t.name)
	if err == nil {
		defer d.release()
		err = lister.list(d)
	}
	if err != nil {
		// What vanished, or became something else, between listing and opening is not an error.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotDirectory) {
			stats.unreadable = append(stats.unreadable, t.rel)
		}
		return
	}
	w.sortOut(t, d, v, lister, stats)
}

// sortOut decides about the entries of a directory that has just been listed.
func (w *walker) sortOut(t task, d *dir, v visitor, lister *lister, stats *walkStats) {
	var has ignore.MayHave
	for i := range lister.names {
		switch string(lister.name(i)) {
		case ".git":
			has |= ignore.MayHaveGit
		case ".gitignore":
			has |= ignore.MayHaveIgnoreFile
		}
	}
	prefix := ""
	if t.rel != "" {
		prefix = t.rel + "/"
	}
	if _, unsaved := w.overlays[prefix+".gitignore"]; unsaved {
		has |= ignore.MayHaveIgnoreFile
	}
	rules := w.rules.Root()
	switch {
	case t.rules != nil:
		rules = t.rules.Child(t.name, has)
	case t.rel != "":
		rules = w.rules.Dir(t.rel)
	}

	var dirs []task
	var files []entry
	for i := range lister.names {
		k := lister.kind(d, i)
		if k == kindOther {
			continue
		}
		raw := lister.name(i)
		if string(raw) == ".git" {
			continue
		}
		if k == kindDir && w.skip != nil && w.skip[string(raw)] {
			continue
		}
		rel := prefix + string(raw)
		name := rel[len(prefix):]
		if k == kindDir {
			if !v.enters(rel) || w.excluded(rel, name) || rules.Match(name, true).Ignored {
				continue
			}
			d.retain()
			dirs = append(dirs, task{dir: d, rules: rules, rel: rel, name: name})
			continue
		}
		if !v.wants(rel, name) || w.excluded(rel, name) {
			continue
		}
		if w.overlays != nil {
			if _, open := w.overlays[rel]; open {
				continue
			}
		}
		if rules.Match(name, false).Ignored {
			stats.ignored++
			continue
		}
		files = append(files, entry{rel, len(prefix), k})
	}
	mine := files[:min(len(files), filesPerTask)]
	for rest := files[len(mine):]; len(rest) > 0; {
		n := min(len(rest), filesPerTask)
		d.retain()
		dirs = append(dirs, task{dir: d, files: rest[:n]})
		rest = rest[n:]
	}
	w.add(dirs)
	w.visit(d, mine, v)
}

func (w *walker) visit(d *dir, files []entry, v visitor) {
	for _, f := range files {
		if w.cancelled() {
			return
		}
		v.file(d, f.rel, f.rel[f.nameAt:], f.kind)
	}
}

func (w *walker) add(tasks []task) {
	if len(tasks) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks = append(w.tasks, tasks...)
	w.pending += len(tasks)
	if len(tasks) == 1 {
		w.wake.Signal()
	} else {
		w.wake.Broadcast()
	}
}
