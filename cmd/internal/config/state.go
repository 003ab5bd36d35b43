package config

import (
	"path/filepath"

	"redline/agent/journal"
)

// Sessions returns the store of the user's sessions; nil when there is no folder for
// them.
func Sessions(getenv func(string) string) *journal.Store {
	dir := StateDir(getenv)
	if dir == "" {
		return nil
	}
	return &journal.Store{Dir: filepath.Join(dir, "sessions")}
}
