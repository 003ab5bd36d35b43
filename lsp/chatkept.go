package lsp

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"redline/workspace"
)

// This file remembers beyond the process which conversation a chat document holds: a chat
// that is still open in the editor after a crash, or is opened again, goes on with its own.

// chatNote returns the file that says which session the chat with that key has.
func (s *Server) chatNote(key string) (string, error) {
	dir, err := s.folder()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(dir, "session-of-"+hex.EncodeToString(sum[:8])), nil
}

// setChat notes that the chat document with that key holds the conversation of a session.
func (s *Server) setChat(key, session string) {
	s.mu.Lock()
	if s.chats == nil {
		s.chats = map[string]string{}
	}
	s.chats[key] = session
	s.mu.Unlock()
	if s.opt.Journal == nil {
		return
	}
	file, err := s.chatNote(key)
	if err == nil {
		err = os.WriteFile(file, []byte(session+"\n"), 0o600)
	}
	if err != nil {
		s.log.Info("after a restart this chat begins a new conversation", zap.Error(err))
	}
}

// keptChat returns the session that the chat with that key had in an earlier process;
// empty when it had none.
func (s *Server) keptChat(key string) string {
	file, err := s.chatNote(key)
	if err != nil || s.opt.Journal == nil {
		return ""
	}
	data, _ := os.ReadFile(file) // none
	return strings.TrimSpace(string(data))
}

// adoptChats finds the chat documents of a session from an earlier process that are still
// open in the editor.
func (s *Server) adoptChats(x *session) {
	id := x.Info().ID
	for _, d := range s.ws.Snapshot().Documents() {
		if s.isChat(d.URI) && s.keptChat(d.Key) == id {
			s.mu.Lock()
			if s.chats == nil {
				s.chats = map[string]string{}
			}
			s.chats[d.Key] = id
			s.mu.Unlock()
		}
	}
}

// cutOff reports whether a chat ends in the middle of an answer: there is no heading to
// write below.
func cutOff(text string) bool {
	last := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == chatYou || line == chatAnswer {
			last = line
		}
	}
	return last == chatAnswer
}

// goOnInChat gives a chat whose answer was cut off the heading for the next prompt.
func (s *Server) goOnInChat(x *session, d *workspace.Document) {
	x.mu.Lock()
	busy := x.chat != nil
	x.mu.Unlock()
	if busy || !cutOff(d.Text) {
		return
	}
	t := s.newChatTurn(d.Key)
	t.add("\n\n*" + wasCutOff + "*\n\n")
	t.end()
	s.background(t.run)
}

// wasCutOff is what the user reads of a turn whose process ended.
const wasCutOff = "Cut off: redline ended in the middle of this."
