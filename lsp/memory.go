package lsp

import (
	"context"

	"go.lsp.dev/uri"

	"redline/agent/memory"
	"redline/lsp/rpc"
)

// methodMemoryList asks which instructions a session works with.
const methodMemoryList = "agent/memory/list"

// MemoryListParams names a session; without one, the instructions are those that a
// new session would read.
type MemoryListParams struct {
	SessionID string `json:"sessionId,omitempty"`
}

// MemoryList is the answer to agent/memory/list.
type MemoryList struct {
	Files []MemoryFile `json:"files"`
	Notes []string     `json:"notes"` // what was refused or cut
	Text  string       `json:"text"`  // as the model gets it
}

// MemoryFile is one file with instructions.
type MemoryFile struct {
	URI        uri.URI `json:"uri"`
	Level      string  `json:"level"` // user, project or folder
	ImportedBy uri.URI `json:"importedBy,omitempty"`
	Bytes      int     `json:"bytes"`
	Open       bool    `json:"open,omitempty"` // the editor's text, perhaps not saved
}

func (s *Server) memoryList(_ context.Context, p *MemoryListParams) (MemoryList, error) {
	if p.SessionID != "" {
		x, err := s.session(p.SessionID)
		if err != nil {
			return MemoryList{}, err
		}
		return wireMemory(x.Memory()), nil
	}
	set, err := s.loadSettings()
	if err != nil {
		return MemoryList{}, rpc.Failed("settings: %v", err)
	}
	return wireMemory(memory.Load(s.ws.Snapshot(), set.Conversation.Memory)), nil
}

func wireMemory(m *memory.Memory) MemoryList {
	out := MemoryList{Files: []MemoryFile{}, Notes: append([]string{}, m.Notes...), Text: m.Text}
	for _, f := range m.Files {
		w := MemoryFile{URI: uri.File(f.Path), Level: string(f.Level), Bytes: f.Bytes, Open: f.Open}
		if f.ImportedBy != "" {
			w.ImportedBy = uri.File(f.ImportedBy)
		}
		out.Files = append(out.Files, w)
	}
	return out
}
