package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"redline/workspace"
	"redline/workspace/search"
	"redline/workspace/text"
)

// Limits of one call of read_many_files.
const (
	maxManyFiles = 500
	maxManyBytes = 512 << 10 // of text
	maxManyMedia = 14 << 20  // of images and the like; a request may have 20 MB in base64
)

// ReadManyFiles is the tool read_many_files.
var ReadManyFiles = define(Spec{
	Name:        "read_many_files",
	DisplayName: "ReadManyFiles",
	Kind:        KindRead,
	Description: `Reads the text files that match globs, one after the other, each behind a line with its path. Images, audio and PDF only when named. ` +
		`For files whose names are known; to look for something use grep_search.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"paths":{"type":"array","items":{"type":"string"},"description":"Files, directories or globs such as src/**/*.go, relative to the workspace root or absolute."},
"exclude":{"type":"array","items":{"type":"string"},"description":"Globs to leave out."},
"recursive":{"type":"boolean","description":"Read directories with all below them; true by default."},
"useDefaultExcludes":{"type":"boolean","description":"Leave out dependencies, build output and the like; true by default."},
"respect_git_ignore":{"type":"boolean","description":"Leave out what .gitignore names; true by default."}},
"required":["paths"]}`),
	Aliases: map[string]string{
		"include": "paths", "path": "paths", "file_paths": "paths", "respect_gitignore": "respect_git_ignore",
		"use_default_excludes": "useDefaultExcludes", "file_filtering_options": "",
	},
}, prepareReadManyFiles)

type readManyFilesParams struct {
	Paths       []string `json:"paths"`
	Exclude     []string `json:"exclude"`
	Recursive   *bool    `json:"recursive"`
	UseDefaults *bool    `json:"useDefaultExcludes"`
	RespectGit  *bool    `json:"respect_git_ignore"`
	lenient     bool
}

// defaultExcludes are left out of globs and directories; what is named is read.
var defaultExcludes = []string{
	"node_modules", ".git", ".vscode", ".idea", "dist", "build", "coverage", "__pycache__", ".env", ".DS_Store",
	"*.lock", "package-lock.json", "*.min.js", "*.map", "*.pyc", "*.class", "*.o", "*.so", "*.dll", "*.exe",
}

func prepareReadManyFiles(v *workspace.View, p readManyFilesParams) (*Call, error) {
	for _, path := range p.Paths {
		if strings.TrimSpace(path) == "" {
			return nil, errors.New("one of the paths is empty; use **/* for every file")
		}
	}
	if len(p.Paths) == 0 {
		return nil, errors.New("paths is empty; give at least one")
	}
	title := strings.Join(p.Paths[:min(len(p.Paths), 3)], ", ")
	if n := len(p.Paths) - 3; n > 0 {
		title += fmt.Sprintf(" and %d more", n)
	}
	return &Call{Title: title, Run: func(ctx context.Context) (*Result, error) { return readMany(ctx, v, p) }}, nil
}

// ReadMany reads files, directories and globs as the tool read_many_files does. What
// cannot be read is said in the result; the error is the context's.
func ReadMany(ctx context.Context, v *workspace.View, paths []string) (*Result, error) {
	return readMany(ctx, v, readManyFilesParams{Paths: paths, lenient: true})
}

// many collects what read_many_files found.
type many struct {
	files []manyFile
	seen  map[string]bool
	none  []string // patterns that match nothing
}

type manyFile struct {
	path  string // absolute
	named bool   // by its path or its extension, not by a pattern for anything
}

func readMany(ctx context.Context, v *workspace.View, p readManyFilesParams) (*Result, error) {
	m := &many{seen: map[string]bool{}}
	for _, pattern := range p.Paths {
		if err := m.find(ctx, v, p, pattern); err != nil {
			if ctx.Err() != nil || !p.lenient {
				return nil, err
			}
			m.none = append(m.none, pattern+": "+err.Error())
		}
	}
	var b strings.Builder
	res := &Result{}
	var skipped []string
	read, media := 0, 0
	for i, f := range m.files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if b.Len() >= maxManyBytes || i >= maxManyFiles {
			skipped = append(skipped, fmt.Sprintf("%d more files, because this is long enough already; read them with fewer paths", len(m.files)-i))
			break
		}
		name := printable(v.Rel(f.path))
		if v.Withholds(f.path) {
			skipped = append(skipped, name+" (it may hold secrets; name it by its path, and the user is asked)")
			continue
		}
		if mime := mediaType(f.path); mime != "" && !f.named {
			skipped = append(skipped, name+" ("+mime+"; name it to have it)")
			continue
		}
		one, err := readFile(ctx, v, f.path, readFileParams{})
		switch {
		case err != nil:
			skipped = append(skipped, fmt.Sprintf("%s (%v)", name, err))
			continue
		case len(one.Media) > 0 && media+len(one.Media[0].Data) > maxManyMedia:
			skipped = append(skipped, name+" (too much data for one request)")
			continue
		case len(one.Media) == 0 && isBinary(v, f.path):
			skipped = append(skipped, name+" (binary)")
			continue
		}
		for _, x := range one.Media {
			media += len(x.Data)
		}
		res.Media = append(res.Media, one.Media...)
		t := one.Text
		if room := maxManyBytes - b.Len(); len(t) > room {
			t = strings.ToValidUTF8(t[:room], "") + "\n[cut here; go on with read_file]"
		}
		fmt.Fprintf(&b, "--- %s ---\n%s", name, t)
		if !strings.HasSuffix(t, "\n") {
			b.WriteByte('\n')
		}
		read++
	}
	if read == 0 {
		b.WriteString("No files were read.\n")
	} else {
		b.WriteString("--- End of content ---\n")
	}
	for _, s := range skipped {
		fmt.Fprintf(&b, "Left out: %s\n", s)
	}
	for _, s := range m.none {
		fmt.Fprintf(&b, "Nothing matches %s\n", s)
	}
	res.Text = strings.TrimSuffix(b.String(), "\n")
	res.Display = fmt.Sprintf("Read %d files", read)
	if len(skipped) > 0 {
		res.Display += fmt.Sprintf(", left out %d", len(skipped))
	}
	return res, nil
}

func isBinary(v *workspace.View, path string) bool {
	_, err := v.Read(path)
	return errors.Is(err, text.ErrBinary)
}

// find adds the files that one parameter names.
func (m *many) find(ctx context.Context, v *workspace.View, p readManyFilesParams, pattern string) error {
	if abs, err := v.ResolveRead(pattern); err == nil {
		if _, open := v.Document(abs); open {
			m.add(abs, true)
			return nil
		}
		info, err := os.Stat(abs)
		switch {
		case err == nil && info.IsDir():
			glob := "**/*"
			if p.Recursive != nil && !*p.Recursive {
				glob = "*"
			}
			return m.glob(ctx, v, p, pattern, glob, pattern)
		case err == nil:
			m.add(abs, true)
			return nil
		}
	} else if !strings.ContainsAny(pattern, "*?[{") {
		return err // a plain path that is outside, or a loop
	}
	return m.glob(ctx, v, p, "", filepath.ToSlash(pattern), pattern)
}

func (m *many) glob(ctx context.Context, v *workspace.View, p readManyFilesParams, dir, glob, shown string) error {
	scope, root, _, err := scopeOf(v, dir)
	if err != nil {
		return err
	}
	scope.Exclude = slices.Clone(p.Exclude)
	defaults := p.UseDefaults == nil || *p.UseDefaults
	if defaults {
		scope.Exclude = append(scope.Exclude, defaultExcludes...)
	}
	scope.NoGitIgnore = p.RespectGit != nil && !*p.RespectGit
	got, err := search.Glob(ctx, search.GlobOptions{Scope: scope, Pattern: glob, NodeModules: !defaults})
	if err != nil {
		return err
	}
	slices.SortFunc(got.Entries, func(a, b search.Entry) int { return strings.Compare(a.Path, b.Path) })
	ext := strings.ToLower(filepath.Ext(glob))
	for _, e := range got.Entries {
		m.add(filepath.Join(root, filepath.FromSlash(e.Path)), ext != "" && strings.ToLower(filepath.Ext(e.Path)) == ext)
	}
	if got.Total == 0 {
		note := shown
		if got.Ignored > 0 {
			note += fmt.Sprintf(" (%d ignored files do)", got.Ignored)
		}
		m.none = append(m.none, note)
	}
	return nil
}

func (m *many) add(path string, named bool) {
	key := workspace.Key(path)
	if m.seen[key] {
		return
	}
	m.seen[key] = true
	m.files = append(m.files, manyFile{path, named})
}
