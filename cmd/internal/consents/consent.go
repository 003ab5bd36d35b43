// Package consents keeps what the user allowed for good, by folder, in the file
// allowed.json of the user's state.
package consents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"redline/cmd/internal/userfile"
	"redline/workspace"
)

// Store is the file. It is read each time, so that what another process forgets is
// forgotten here. The zero value keeps nothing.
type Store struct{ file string }

// New returns the store in the user's folder of state, which may be empty.
func New(stateDir string) *Store {
	if stateDir == "" {
		return &Store{}
	}
	return &Store{filepath.Join(stateDir, "allowed.json")}
}

// File is where the store keeps it all; empty for nowhere.
func (s *Store) File() string { return s.file }

// Entry is what is allowed in one folder.
type Entry struct {
	Commands []string `json:"commands,omitempty"` // prefixes of command lines
	Others   []string `json:"others,omitempty"`   // as of agent.ConsentKey
}

func (e Entry) empty() bool { return len(e.Commands)+len(e.Others) == 0 }

// All returns what is allowed, by absolute path of the folder.
func (s *Store) All() (map[string]Entry, error) {
	out := map[string]Entry{}
	if s.file == "" {
		return out, nil
	}
	data, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is allowed: %w", err)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read what is allowed: %s: %w; mend or remove it", s.file, err)
	}
	maps.Copy(out, f.Folders)
	return out, nil
}

// file is what is in the file.
type file struct {
	Folders map[string]Entry `json:"folders"`
}

// change replaces the file under its lock.
func (s *Store) change(f func(map[string]Entry)) error {
	if s.file == "" {
		return errors.New("there is no folder to keep it in; set REDLINE_HOME")
	}
	unlock, err := userfile.Lock(s.file)
	if err != nil {
		return fmt.Errorf("keep what is allowed: %w", err)
	}
	defer unlock()
	all, err := s.All()
	if err != nil {
		return err
	}
	f(all)
	maps.DeleteFunc(all, func(_ string, e Entry) bool { return e.empty() })
	data, err := json.MarshalIndent(file{all}, "", "  ")
	if err != nil {
		return err
	}
	if err := userfile.Replace(s.file, append(data, '\n')); err != nil {
		return fmt.Errorf("keep what is allowed: %w", err)
	}
	return nil
}

// Forget takes what was allowed in a folder out and returns it: all of it, or the
// one entry that what names.
func (s *Store) Forget(folder, what string) (gone []string, err error) {
	key := workspace.Key(folder)
	err = s.change(func(all map[string]Entry) {
		e := all[key]
		keep := func(list []string) []string {
			return slices.DeleteFunc(slices.Clone(list), func(x string) bool {
				if what != "" && x != what {
					return false
				}
				gone = append(gone, x)
				return true
			})
		}
		all[key] = Entry{keep(e.Commands), keep(e.Others)}
	})
	return gone, err
}

// Folder is what is allowed in the folders of one workspace: what is in the first.
type Folder struct {
	store *Store
	path  string
}

// In returns what is allowed in a workspace with the given folders.
func (s *Store) In(folders []string) Folder {
	if len(folders) == 0 {
		return Folder{store: s}
	}
	return Folder{s, workspace.Key(folders[0])}
}

// Allowed implements agent.Consents. Where the file cannot be read nothing is
// allowed: then the user is asked, and keeping the answer tells what is wrong.
func (f Folder) Allowed() (commands, others []string) {
	all, err := f.store.All()
	if err != nil || f.path == "" {
		return nil, nil
	}
	return all[f.path].Commands, all[f.path].Others
}

// Allow implements agent.Consents.
func (f Folder) Allow(commands, others []string) error {
	if f.path == "" {
		return errors.New("no folder is open")
	}
	return f.store.change(func(all map[string]Entry) {
		e := all[f.path]
		e.Commands, e.Others = merged(e.Commands, commands), merged(e.Others, others)
		all[f.path] = e
	})
}

func merged(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.SortFunc(out, strings.Compare)
	return slices.Compact(out)
}
