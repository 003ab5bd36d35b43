package ignore

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

const (
	gitIgnoreName    = ".gitignore"
	geminiIgnoreName = ".geminiignore"
)

// Options changes where rules come from. The zero value reads git's rules and `.geminiignore` from disk.
type Options struct {
	// NoGit leaves out every rule of git: `.gitignore`, `info/exclude` and core.excludesFile.
	NoGit bool
	// NoGemini leaves out `.geminiignore`.
	NoGemini bool
	// ReadFile, when set, is asked for each rule file by its absolute path in the system's notation, so that a buffer the
	// user has not saved can stand in for the file. It is not used for git's own configuration. An error of any kind
	// means that there is no such file. It is called from several goroutines, and a symbolic link is never passed to it
	// for a `.gitignore`, since git does not follow those.
	ReadFile func(abs string) ([]byte, error)
	// Getenv stands in for os.Getenv (HOME, XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM,
	// GIT_CONFIG_NOSYSTEM); nil means os.Getenv.
	Getenv func(string) string
}

// Rule is one line of a rule file.
type Rule struct {
	File    string // relative to the workspace root with slashes when inside it, else absolute
	Line    int    // 1-based
	Pattern string // as written, without the line end and unescaped trailing spaces; a leading `!` is kept
}

// String gives the rule as FILE:LINE:PATTERN, the form of `git check-ignore -v`.
func (r *Rule) String() string {
	return r.File + ":" + strconv.Itoa(r.Line) + ":" + r.Pattern
}

// Verdict is what the rules say about one entry. The zero value is "not ignored, no rule matched".
type Verdict struct {
	Ignored bool
	// Rule is the one that decided: a pattern that ignores the entry or the directory it lies in, or, when Ignored is
	// false, the negated pattern that keeps it. Nil when no pattern matched.
	Rule *Rule
}

// Rules answers for one workspace. It is safe for concurrent use.
type Rules struct {
	root string // absolute, in the system's notation
	opts Options

	loadRoot sync.Once
	rootDir  *Dir

	mu   sync.Mutex
	dirs map[string]*Dir // by path relative to root; only filled by Match
}

// New makes the rules of the workspace at root, an absolute path. Nothing is read before the first question.
func New(root string, opts Options) *Rules {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	return &Rules{root: filepath.Clean(root), opts: opts, dirs: map[string]*Dir{}}
}

// Root gives the rules that hold for the entries of the workspace root.
func (r *Rules) Root() *Dir {
	r.loadRoot.Do(func() { r.rootDir = r.newRoot() })
	return r.rootDir
}

// Match says whether the entry at rel is ignored. rel is relative to the workspace root, with slashes; isDir says whether
// the entry is a directory (a symbolic link to one is not). The entry need not exist. The root itself is never ignored,
// and neither is a path that leads out of the workspace.
func (r *Rules) Match(rel string, isDir bool) Verdict {
	rel = strings.Trim(rel, "/")
	dir := r.Root()
	for start := 0; ; {
		end := strings.IndexByte(rel[start:], '/')
		if end < 0 {
			name := rel[start:]
			if name == "" || name == "." || name == ".." {
				return Verdict{}
			}
			return dir.Match(name, isDir)
		}
		name := rel[start : start+end]
		switch name {
		case "..":
			return Verdict{}
		case "", ".":
		default:
			if v := dir.Match(name, true); v.Ignored {
				return v
			}
			dir = r.child(dir, rel[:start+end], name)
		}
		start += end + 1
	}
}

// Dir gives the rules that hold for the entries of the directory at rel, relative to the workspace root with slashes. It
// does not ask whether that directory is itself ignored: who names an ignored directory wants to see what is in it.
func (r *Rules) Dir(rel string) *Dir {
	dir, at := r.Root(), ""
	for _, name := range strings.Split(rel, "/") {
		if name == "" || name == "." {
			continue
		}
		at += name
		dir = r.child(dir, at, name)
		at += "/"
	}
	return dir
}

// child is dir.Child with memory: Match is asked about many entries of the same few directories.
func (r *Rules) child(dir *Dir, rel, name string) *Dir {
	r.mu.Lock()
	d := r.dirs[rel]
	r.mu.Unlock()
	if d != nil {
		return d
	}
	// Loaded outside the lock; a second goroutine that does the same reads the same.
	d = dir.Child(name, MayHaveBoth)
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.dirs[rel]; first != nil {
		return first
	}
	r.dirs[rel] = d
	return d
}

// label names a rule file as Rule.File does.
func (r *Rules) label(file string) string {
	if rel, err := filepath.Rel(r.root, file); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(rel)
	}
	return file
}

// read returns the content of a rule file, or false when there is none. follow says whether a symbolic link counts.
func (r *Rules) read(file string, follow bool) ([]byte, bool) {
	if !follow {
		if st, err := os.Lstat(file); err == nil && st.Mode()&os.ModeSymlink != 0 {
			return nil, false
		}
	}
	if r.opts.ReadFile != nil {
		content, err := r.opts.ReadFile(file)
		return content, err == nil
	}
	return readRegular(file)
}

// readRegular reads a file unless it is something whose reading might block or never end.
func readRegular(file string) ([]byte, bool) {
	if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() {
		return nil, false
	}
	content, err := os.ReadFile(file)
	return content, err == nil
}
