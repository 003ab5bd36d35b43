package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"redline/cmd/internal/userfile"
	"redline/workspace"
)

// Level is what trustedFolders.json says of a folder.
type Level string

// The levels, named as Gemini CLI names them.
const (
	Folder Level = "TRUST_FOLDER" // the folder and what is below
	Parent Level = "TRUST_PARENT" // the folder above it and what is below that
	Never  Level = "DO_NOT_TRUST"
)

func (l Level) valid() bool { return l == Folder || l == Parent || l == Never }

// Rule is one entry of trustedFolders.json.
type Rule struct {
	Path  string // absolute
	Level Level
}

// covers returns the folder that r is about.
func (r Rule) covers() string {
	if r.Level == Parent {
		return filepath.Dir(filepath.FromSlash(r.Path))
	}
	return filepath.FromSlash(r.Path)
}

// Rules returns the entries of the file, sorted by path. A file that is not there
// has none; one that cannot be read is an error, and then nothing is trusted.
func (s *Store) Rules() ([]Rule, error) {
	if s.file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the trusted folders: %w", err)
	}
	entries, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.file, err)
	}
	rules := make([]Rule, 0, len(entries))
	for _, path := range slices.Sorted(maps.Keys(entries)) {
		rules = append(rules, Rule{path, entries[path]})
	}
	return rules, nil
}

// parse reads the text of a trustedFolders.json: a JSON object, comments allowed.
func parse(data []byte) (map[string]Level, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	std, err := hujson.Standardize(bytes.Clone(data)) // it blanks the comments in place
	if err != nil {
		return nil, err
	}
	var entries map[string]Level
	if err := json.Unmarshal(std, &entries); err != nil {
		return nil, errors.New("must be a JSON object of folders and TRUST_FOLDER, TRUST_PARENT or DO_NOT_TRUST")
	}
	for path, level := range entries {
		if !level.valid() {
			return nil, fmt.Errorf("%q is %q; it must be TRUST_FOLDER, TRUST_PARENT or DO_NOT_TRUST", path, level)
		}
	}
	return entries, nil
}

// match returns what the rules say of a folder. As in Gemini CLI the longest path
// among the rules that cover it decides, symbolic links followed.
func match(rules []Rule, folder string) workspace.Trust {
	folder = normal(folder)
	best, state := -1, workspace.TrustUnknown
	for _, r := range rules {
		if len(r.Path) <= best || !within(normal(r.covers()), folder) {
			continue
		}
		best = len(r.Path)
		state = workspace.Trusted
		if r.Level == Never {
			state = workspace.Untrusted
		}
	}
	return state
}

// normal returns a path in the form that paths are compared in.
func normal(path string) string {
	path = filepath.ToSlash(workspace.Key(filepath.Clean(path)))
	if runtime.GOOS == "windows" {
		path = strings.ToLower(path)
	}
	return path
}

// within reports whether path is dir or below it; both are normal.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Set writes what a folder is from now on. Other entries and the comments in the
// file stay.
func (s *Store) Set(folder string, level Level) error {
	value, err := json.Marshal(level)
	if err != nil {
		return err
	}
	return s.change(func(entries map[string]Level) string {
		return fmt.Sprintf(`[{"op":"add","path":%s,"value":%s}]`, pointer(normal(folder)), value)
	})
}

// Remove takes the entries of exactly this folder out and reports whether there
// were any.
func (s *Store) Remove(folder string) (found bool, err error) {
	want := normal(folder)
	err = s.change(func(entries map[string]Level) string {
		var ops []string
		for _, path := range slices.Sorted(maps.Keys(entries)) {
			if normal(path) == want {
				ops = append(ops, fmt.Sprintf(`{"op":"remove","path":%s}`, pointer(path)))
			}
		}
		found = len(ops) > 0
		return "[" + strings.Join(ops, ",") + "]"
	})
	return found, err
}

// pointer returns the JSON pointer of a member of the top object, as a JSON string.
func pointer(key string) string {
	p, _ := json.Marshal("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)) // a string: cannot fail
	return string(p)
}

// change replaces the file by one with a JSON patch applied, under its lock.
func (s *Store) change(patch func(entries map[string]Level) string) error {
	if s.file == "" {
		return errors.New("there is no home folder to keep the trusted folders in; set REDLINE_HOME")
	}
	unlock, err := userfile.Lock(s.file) // as Gemini CLI does
	if err != nil {
		return fmt.Errorf("keep the trusted folders: %w", err)
	}
	defer unlock()
	data, err := os.ReadFile(s.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the trusted folders: %w", err)
	}
	entries, err := parse(data)
	if err != nil {
		return fmt.Errorf("%s cannot be changed, mend it first: %w", s.file, err)
	}
	if len(bytes.TrimSpace(data)) == 0 || entries == nil {
		data = []byte("{\n}\n")
	}
	v, err := hujson.Parse(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	if err := v.Patch([]byte(patch(entries))); err != nil {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	v.Format()
	if err := userfile.Replace(s.file, v.Pack()); err != nil {
		return fmt.Errorf("keep the trusted folders: %w", err)
	}
	return nil
}
