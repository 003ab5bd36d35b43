package ignore

import (
	"os"
	"path/filepath"
	"strings"
)

// MayHave says which carriers of rules a directory may hold. A walker that has just listed a directory passes what it
// saw, which saves two failing system calls for each directory.
type MayHave uint8

// The carriers of rules.
const (
	MayHaveIgnoreFile MayHave = 1 << iota // a `.gitignore`
	MayHaveGit                            // a `.git`, which makes the directory the top of a repository
	MayHaveBoth       = MayHaveIgnoreFile | MayHaveGit
)

// Dir is the set of rules that hold for the entries of one directory. It is immutable and safe for concurrent use.
type Dir struct {
	rules *Rules
	path  string // what is matched: absolute, symbolic links resolved where a repository above is concerned, with slashes and a trailing one
	dir   string // what is read: below the workspace root as the user named it, in the system's notation
	fold  bool   // the repository's core.ignoreCase
	// lists in order of precedence. The first gemini of them hold in nested repositories too.
	lists  []list
	gemini int
}

// Match says whether the entry called name is ignored by a pattern; that the directory itself is not ignored is the
// caller's affair. isDir says whether the entry is a directory, not a symbolic link to one.
func (d *Dir) Match(name string, isDir bool) Verdict {
	path := ""
	for i := range d.lists {
		l := &d.lists[i]
		rel := ""
		if l.set.usesPath {
			if path == "" {
				path = d.path + name
			}
			rel = path[l.baseLen:]
		}
		if p := l.set.match(rel, name, isDir, d.fold); p != nil {
			return Verdict{Ignored: !p.negated, Rule: &p.rule}
		}
	}
	return Verdict{}
}

// Child gives the rules inside the directory called name. What has excludes is taken not to exist and is not looked for.
func (d *Dir) Child(name string, has MayHave) *Dir {
	c := &Dir{
		rules: d.rules, path: d.path + name + "/", dir: filepath.Join(d.dir, name),
		fold: d.fold, lists: d.lists, gemini: d.gemini,
	}
	if d.rules.opts.NoGit {
		return c
	}
	if has&MayHaveGit != 0 {
		if gitDir, ok := gitDirOf(c.dir); ok {
			c.enterRepository(gitDir)
		}
	}
	if has&MayHaveIgnoreFile != 0 {
		c.addIgnoreFile()
	}
	return c
}

// enterRepository replaces the rules of whatever is around the directory by those of its own repository.
func (d *Dir) enterRepository(gitDir string) {
	config := d.rules.gitConfig(gitDir)
	d.fold = config.ignoreCase
	d.lists = append([]list(nil), d.lists[:d.gemini]...)
	d.addList(filepath.Join(gitDir, "info", "exclude"), true, len(d.lists))
	d.addList(config.excludesFile, true, len(d.lists))
}

// addIgnoreFile puts the directory's own `.gitignore` before those of the directories above.
func (d *Dir) addIgnoreFile() { d.addList(filepath.Join(d.dir, gitIgnoreName), false, d.gemini) }

// addList inserts the patterns of file at the given place and reports whether there were any.
func (d *Dir) addList(file string, follow bool, at int) bool {
	if file == "" {
		return false
	}
	content, ok := d.rules.read(file, follow)
	if !ok {
		return false
	}
	set := parse(content, d.rules.label(file))
	if len(set.patterns) == 0 {
		return false
	}
	lists := make([]list, 0, len(d.lists)+1) // a copy: the slice is shared with the parent
	lists = append(lists, d.lists[:at]...)
	lists = append(lists, list{set: set, baseLen: len(d.path)})
	d.lists = append(lists, d.lists[at:]...)
	return true
}

// newRoot collects what holds at the workspace root, from the top of the repository it lies in downwards.
func (r *Rules) newRoot() *Dir {
	root := &Dir{rules: r, path: slashed(r.root), dir: r.root}
	if !r.opts.NoGit {
		if gitDir, ok := gitDirOf(r.root); ok {
			root.enterRepository(gitDir)
		} else if !root.inherit() {
			root.addList(r.gitConfig("").excludesFile, true, 0)
		}
		root.addIgnoreFile()
	}
	if !r.opts.NoGemini {
		if root.addList(filepath.Join(r.root, geminiIgnoreName), true, 0) {
			root.gemini = 1
		}
	}
	return root
}

// inherit takes over the rules of the repository the workspace is a sub-folder of. It reports false, and changes nothing,
// when there is none or when that repository ignores the workspace.
func (d *Dir) inherit() bool {
	real, err := filepath.EvalSymlinks(d.rules.root)
	if err != nil {
		return false
	}
	top, gitDir := real, ""
	for {
		up := filepath.Dir(top)
		if up == top {
			return false
		}
		top = up
		if dir, ok := gitDirOf(top); ok {
			gitDir = dir
			break
		}
	}
	at := &Dir{rules: d.rules, path: slashed(top), dir: top}
	at.enterRepository(gitDir)
	at.addIgnoreFile()
	below, err := filepath.Rel(top, real)
	if err != nil {
		return false
	}
	names := strings.Split(filepath.ToSlash(below), "/")
	for i, name := range names {
		if at.Match(name, true).Ignored {
			return false
		}
		if i < len(names)-1 {
			at = at.Child(name, MayHaveIgnoreFile)
		}
	}
	d.fold = at.fold
	d.lists = at.lists
	// The lists' bases are lengths of real paths, so what is matched has to be one, whatever name the root was opened under.
	d.path = slashed(real)
	return true
}

// slashed writes a directory the way Dir.path has it.
func slashed(dir string) string { return strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/" }

// gitDirOf returns the directory that holds the shared files (config, info/exclude) of the repository whose work tree
// begins at dir, if one does. `.git` may be that directory or, in submodules and linked work trees, a file that names it.
func gitDirOf(dir string) (string, bool) {
	git := filepath.Join(dir, ".git")
	st, err := os.Stat(git)
	if err != nil {
		return "", false
	}
	if st.Mode().IsRegular() {
		content, ok := readRegular(git)
		target, isLink := strings.CutPrefix(string(content), "gitdir:")
		if !ok || !isLink {
			return "", false
		}
		if git = strings.TrimSpace(target); !filepath.IsAbs(git) {
			git = filepath.Join(dir, git)
		}
	}
	if _, err := os.Lstat(filepath.Join(git, "HEAD")); err != nil {
		return "", false
	}
	if content, ok := readRegular(filepath.Join(git, "commondir")); ok {
		common := strings.TrimSpace(string(content))
		if !filepath.IsAbs(common) {
			common = filepath.Join(git, common)
		}
		git = common
	}
	for _, needed := range []string{"objects", "refs"} {
		if st, err := os.Stat(filepath.Join(git, needed)); err != nil || !st.IsDir() {
			return "", false
		}
	}
	return git, true
}
