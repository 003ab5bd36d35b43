package agent

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"redline/agent/memory"
	"redline/agent/model"
	"redline/workspace"
)

// instructions is what a session knows of the GEMINI.md and AGENTS.md of the user
// and the project.
//
// Those of the user and of the workspace folders stand in the system prompt. They
// are read at the start of each turn and stay as they are until its end, so that the
// beginning of the requests is the same from step to step. Those of deeper folders
// join the message with which the work first gets there, and again when they changed.
type instructions struct {
	loaded *memory.Memory            // guarded by Session.mu
	below  map[string]*memory.Memory // by folder; guarded by Session.mu

	told map[string]string // folder → hash of what the model was told; of the running turn
}

// Memory returns the instructions of the session: those its turns work with, or when
// there was no turn yet, those of this moment.
func (s *Session) Memory() *memory.Memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instructions.loaded == nil {
		return memory.Load(s.opt.Workspace.Snapshot(), s.opt.Memory)
	}
	out := *s.instructions.loaded
	out.Files, out.Notes = slices.Clone(out.Files), slices.Clone(out.Notes)
	for _, dir := range slices.Sorted(maps.Keys(s.instructions.below)) {
		m := s.instructions.below[dir]
		out.Files = append(out.Files, m.Files...)
		out.Notes = append(out.Notes, m.Notes...)
		out.Text += "\n" + m.Text
	}
	return &out
}

// loadInstructions reads the instructions for a turn and returns what of them stands
// in the system prompt. The user is told what is new about them.
func (s *Session) loadInstructions(t *turn, snapshot *workspace.Snapshot) string {
	m := memory.Load(snapshot, s.opt.Memory)
	s.mu.Lock()
	old := s.instructions.loaded
	s.instructions.loaded = m
	s.mu.Unlock()
	for _, n := range m.Notes {
		if old == nil || !slices.Contains(old.Notes, n) {
			s.emit(t.id, Notice{"warning", n})
		}
	}
	if old != nil && old.Text != m.Text {
		s.emit(t.id, Notice{"info", "The instructions in GEMINI.md and the like have changed; they are read again."})
	}
	if m.Text == "" {
		return ""
	}
	return "\n# Instructions of the user and of the project\n" +
		"Follow them as far as they do not contradict the user's messages or what stands above. Where they differ, the later ones count.\n\n" + m.Text
}

// instructionsFor returns the instructions of the folders that the given files are
// in, as far as the model has not been told them.
func (s *Session) instructionsFor(t *turn, paths []string) []model.Part {
	var parts []model.Part
	snapshot := s.opt.Workspace.Snapshot()
	seen := map[string]bool{}
	for _, path := range paths {
		if path == "" {
			continue
		}
		path, err := snapshot.Resolve(path)
		if err != nil {
			continue
		}
		at := filepath.Dir(path)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			at = path
		}
		if seen[at] {
			continue
		}
		seen[at] = true
		all := memory.Below(snapshot, s.opt.Memory, at)
		for _, dir := range slices.Sorted(maps.Keys(all)) { // the outer ones first
			m := all[dir]
			hash := workspace.Hash(m.Text + strings.Join(m.Notes, "\n"))
			if s.instructions.told[dir] == hash {
				continue
			}
			s.mu.Lock()
			if s.instructions.below == nil {
				s.instructions.below, s.instructions.told = map[string]*memory.Memory{}, map[string]string{}
			}
			s.instructions.below[dir] = m
			s.mu.Unlock()
			s.instructions.told[dir] = hash
			for _, n := range m.Notes {
				s.emit(t.id, Notice{"warning", n})
			}
			if m.Text != "" {
				parts = append(parts, model.Text(fmt.Sprintf("[Instructions for the folder %s; follow them for what is in it]\n%s", snapshot.Rel(dir), m.Text)))
			}
		}
	}
	return parts
}

// placesOf returns the files that calls were about.
func placesOf(calls []*call) []string {
	var out []string
	for _, c := range calls {
		if c.err == nil {
			for _, l := range c.locations {
				out = append(out, l.Path)
			}
		}
	}
	return out
}
