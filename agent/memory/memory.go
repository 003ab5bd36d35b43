// Package memory finds and reads the instructions that users and projects keep for
// agents: GEMINI.md and AGENTS.md.
//
// There are three levels. The user's file lies in the user's settings folder and
// counts everywhere. A project's lie in each workspace folder and in the folders
// above it, up to the root of its repository. [Load] reads both at the start of a
// turn. Files deeper in the project count for what is below them only; [Below]
// reads those when the work gets there.
//
// What the editor shows wins over the disk, as everywhere. A file may take another
// in with "@path"; see imports.go for the rules. Whatever is refused or cut is said
// in a note and in the text itself.
package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"redline/workspace"
)

// Limits of what is taken in, in bytes.
const (
	MaxFile  = 100 << 10 // of one file
	MaxTotal = 200 << 10 // of the text of all files together
)

// DefaultNames are the names of the files when the settings give none.
var DefaultNames = []string{"GEMINI.md", "AGENTS.md"}

// userName is the name of the user's file that save_memory writes to: it is read
// whatever names the settings give.
const userName = "GEMINI.md"

// Options say where to look.
type Options struct {
	// Home is the user's settings folder, absolute; empty: there is no user level.
	Home string
	// Names of the files, in the order they are read; nil: DefaultNames.
	Names []string
	// Trusted tells whether a workspace folder's own instructions count; nil: all do.
	// Those of a folder that is not trusted are not read, as in Gemini CLI.
	Trusted func(folder string) bool
}

// Level says whose instructions a file holds.
type Level string

// The levels.
const (
	User    Level = "user"
	Project Level = "project"
	Folder  Level = "folder" // below a workspace folder
)

// File is one file that was taken in.
type File struct {
	Path       string // absolute
	Level      Level
	ImportedBy string // the path of the file that names it; empty when it was found by its name
	Bytes      int    // of its own text, before imports
	Open       bool   // the text is the editor's
}

// Memory is what was read.
type Memory struct {
	Files []File
	Notes []string // what was refused or cut, for the user
	Text  string   // for the model; empty when there is nothing
}

// Load reads the user's instructions and those of each workspace folder.
func Load(s *workspace.Snapshot, opt Options) *Memory {
	l := newLoader(s, opt)
	if opt.Home != "" {
		names := slices.Clone(l.names)
		if !slices.Contains(names, userName) {
			names = append(names, userName)
		}
		l.roots = []string{opt.Home}
		l.dir(opt.Home, names, User)
	}
	for _, folder := range s.Folders() {
		if !l.trusts(folder) {
			continue
		}
		dirs := upTo(folder, ProjectRoot(folder))
		l.roots = allowed(s, opt, folder)
		for _, d := range dirs {
			l.dir(d, l.names, Project)
		}
	}
	return l.memory()
}

// Below reads the instructions of the folders between the workspace folder and dir,
// dir itself included and the workspace folder not. It returns one Memory for each
// folder that has any, by its path.
func Below(s *workspace.Snapshot, opt Options, dir string) map[string]*Memory {
	folder := ""
	for _, f := range s.Folders() {
		if f != dir && within(f, dir) && len(f) > len(folder) {
			folder = f
		}
	}
	probe := newLoader(s, opt)
	if folder == "" || !probe.trusts(folder) {
		return nil
	}
	if _, err := s.Resolve(dir); err != nil { // links out of the workspace
		return nil
	}
	out := map[string]*Memory{}
	for _, d := range upTo(dir, folder)[1:] {
		l := newLoader(s, opt)
		l.roots = allowed(s, opt, folder)
		l.dir(d, l.names, Folder)
		if m := l.memory(); m.Text != "" || len(m.Notes) > 0 {
			out[d] = m
		}
	}
	return out
}

// allowed returns the roots that files of a workspace folder may import from.
func allowed(s *workspace.Snapshot, opt Options, folder string) []string {
	out := []string{ProjectRoot(folder)}
	for _, f := range s.Folders() {
		if opt.Trusted == nil || opt.Trusted(f) {
			out = append(out, f)
		}
	}
	return out
}

// ProjectRoot returns the nearest folder from dir upwards that holds a .git, or dir
// when there is none.
func ProjectRoot(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// upTo returns the folders from root down to dir, both included.
func upTo(dir, root string) []string {
	var out []string
	for d := dir; ; d = filepath.Dir(d) {
		out = append(out, d)
		if d == root || d == filepath.Dir(d) {
			break
		}
	}
	slices.Reverse(out)
	return out
}

// within reports whether path is root or below it; both are clean.
func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// loader collects files.
type loader struct {
	s     *workspace.Snapshot
	opt   Options
	names []string
	roots []string // that imports may come from, of the file being read

	out   Memory
	seen  map[string]bool // keys and contents of what was taken in
	parts []string
	size  int // bytes of parts

	pending int // bytes of the part that is being made
}

func newLoader(s *workspace.Snapshot, opt Options) *loader {
	l := &loader{s: s, opt: opt, names: opt.Names, seen: map[string]bool{}}
	if len(l.names) == 0 {
		l.names = DefaultNames
	}
	return l
}

func (l *loader) trusts(folder string) bool { return l.opt.Trusted == nil || l.opt.Trusted(folder) }

func (l *loader) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(l.out.Notes, n) {
		l.out.Notes = append(l.out.Notes, n)
	}
}

// dir takes in the files of one folder. Two names for the same content, such as a
// link from one to the other, count once.
func (l *loader) dir(dir string, names []string, level Level) {
	for _, name := range names {
		// A name may have folders in it (".github/agents.md"), but never leads out.
		path := filepath.Join(dir, name)
		if name == "" || filepath.IsAbs(name) || !within(dir, path) {
			l.note("context.fileName: %q is no name of a file in a folder; it is left out", name)
			continue
		}
		key := workspace.Key(path)
		if l.seen[key] {
			continue
		}
		if level != User && !l.inRoots(path) {
			if _, err := os.Lstat(path); err == nil {
				l.note("%s leads outside of the project; it is not read", path)
			}
			continue
		}
		text, open, ok := l.read(path)
		if !ok {
			continue
		}
		l.seen[key] = true
		content := dir + workspace.Hash(text)
		if l.seen[content] || strings.TrimSpace(text) == "" {
			continue
		}
		l.seen[content] = true
		at := len(l.out.Files)
		l.pending = len(text)
		l.out.Files = append(l.out.Files, File{Path: path, Level: level, Bytes: len(text), Open: open})
		body := strings.TrimSpace(l.expand(text, path, level, []string{key}))
		shown := path
		if level != User {
			shown = l.s.Rel(path)
		}
		part := fmt.Sprintf("--- %s ---\n%s\n", shown, body)
		if l.size+len(part) > MaxTotal {
			l.out.Files = l.out.Files[:at]
			l.note("%s is left out: all instructions together would be more than %d KB", path, MaxTotal>>10)
			continue
		}
		l.size += len(part)
		l.parts = append(l.parts, part)
	}
}

// read returns the text of a file; ok is false when there is none to be had, which
// is noted unless it is just not there.
func (l *loader) read(path string) (text string, open, ok bool) {
	f, err := l.s.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, workspace.ErrNotRegular):
		return "", false, false
	case err != nil:
		l.note("%s cannot be read: %v", path, err)
		return "", false, false
	}
	if len(f.Text) > MaxFile {
		cut := f.Text[:MaxFile]
		cut = cut[:strings.LastIndexByte(cut, '\n')+1]
		l.note("%s has %d KB; only the first %d KB are read", path, len(f.Text)>>10, MaxFile>>10)
		return cut + "[The rest of this file is left out: it is too long.]\n", f.Open, true
	}
	return f.Text, f.Open, true
}

// inRoots reports whether path, once its links are followed, is below an allowed
// root.
func (l *loader) inRoots(path string) bool {
	real, err := workspace.Canonical(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(l.roots, func(r string) bool {
		root, err := workspace.Canonical(r)
		return err == nil && within(root, real)
	})
}

// memory returns what was collected.
func (l *loader) memory() *Memory {
	m := l.out
	m.Text = strings.Join(l.parts, "\n")
	return &m
}
