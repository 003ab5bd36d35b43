// Package trust knows which folders the user trusts.
//
// It keeps them in trustedFolders.json, in Gemini CLI's place and format, so that
// each program respects what was told the other: an object of absolute paths and
// TRUST_FOLDER, TRUST_PARENT or DO_NOT_TRUST. Unlike Gemini CLI it knows no mode
// in which an unknown folder is trusted, but for the user's own word:
//
//  1. GEMINI_CLI_TRUST_WORKSPACE=true (or false), or --trust, for one run
//  2. security.folderTrust.enabled = false in the user's settings: everything is
//  3. a no: of the editor, of the user when asked, or DO_NOT_TRUST in the file
//  4. a yes of one of them
//
// so that where two disagree the no counts. What trust is for is told in package
// config (which settings count) and package agent (which tools run).
package trust

import (
	"path/filepath"
	"sync"

	"redline/workspace"
)

// Store answers whether folders are trusted. It is safe for concurrent use.
type Store struct {
	file string // trustedFolders.json; empty when there is no place for it
	env  string // GEMINI_CLI_TRUST_WORKSPACE

	mu   sync.Mutex
	run  bool                       // everything is trusted in this run
	said map[string]workspace.Trust // for as long as the process runs, by normal path
}

// New returns the store of the user whose folder of settings is home, which may be
// empty. GEMINI_CLI_TRUSTED_FOLDERS_PATH moves the file.
func New(getenv func(string) string, home string) *Store {
	s := &Store{env: getenv("GEMINI_CLI_TRUST_WORKSPACE"), said: map[string]workspace.Trust{}}
	if home != "" {
		s.file = filepath.Join(home, "trustedFolders.json")
	}
	if f := getenv("GEMINI_CLI_TRUSTED_FOLDERS_PATH"); f != "" {
		s.file = f
	}
	return s
}

// File returns the path of trustedFolders.json, which need not be there.
func (s *Store) File() string { return s.file }

// TrustRun trusts every folder for as long as the process runs, whatever the file
// says: the user named it on the command line.
func (s *Store) TrustRun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = true
}

// Say notes what the editor or the user said of folders, for as long as the process
// runs.
func (s *Store) Say(folders []string, trusted bool) {
	state := workspace.Untrusted
	if trusted {
		state = workspace.Trusted
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range folders {
		s.said[normal(f)] = state
	}
}

// State returns whether all of the folders are trusted: Untrusted when one is not,
// Unknown when nobody has said of one, or when there is none. An error says why the
// file could not be read; the state holds all the same.
func (s *Store) State(folders ...string) (workspace.Trust, error) {
	s.mu.Lock()
	run := s.run
	s.mu.Unlock()
	switch {
	case run, s.env == "true":
		return workspace.Trusted, nil
	case s.env == "false":
		return workspace.Untrusted, nil
	case len(folders) == 0:
		return workspace.TrustUnknown, nil
	}
	rules, err := s.Rules()
	all := workspace.Trusted
	for _, f := range folders {
		switch s.one(rules, f) {
		case workspace.Untrusted:
			return workspace.Untrusted, err
		case workspace.TrustUnknown:
			all = workspace.TrustUnknown
		}
	}
	return all, err
}

// one returns what is known of one folder.
func (s *Store) one(rules []Rule, folder string) workspace.Trust {
	s.mu.Lock()
	said := s.said[normal(folder)]
	s.mu.Unlock()
	filed := match(rules, folder)
	switch {
	case said == workspace.Untrusted || filed == workspace.Untrusted:
		return workspace.Untrusted
	case said == workspace.Trusted || filed == workspace.Trusted:
		return workspace.Trusted
	}
	return workspace.TrustUnknown
}
