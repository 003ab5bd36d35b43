package config

import (
	"path/filepath"

	"redline/agent/journal"
	"redline/workspace/blob"
)

// Limits bound what is kept of sessions; zero values are the defaults.
type Limits struct {
	Sessions     int // redline.sessions.keep: of a folder
	CheckpointMB int // redline.checkpoints.maxMB: contents for all checkpoints together
}

// Sessions returns the store of the user's sessions; nil when there is no folder for
// them.
func Sessions(getenv func(string) string) *journal.Store {
	dir := StateDir(getenv)
	if dir == "" {
		return nil
	}
	return &journal.Store{Dir: filepath.Join(dir, "sessions")}
}

// Checkpoints returns the store of what checkpoints need; nil when there is no folder
// for it.
func Checkpoints(getenv func(string) string) *blob.Store {
	dir := StateDir(getenv)
	if dir == "" {
		return nil
	}
	return &blob.Store{Dir: filepath.Join(dir, "checkpoints")}
}
