package lsp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"

	"redline/agent"
	"redline/lsp/rpc"
	"redline/workspace"
)

// This file is the chat without any UI (WIRE.md §6): a Markdown document that holds the
// current conversation. The user writes under its last heading and runs the code action
// Send; the answer streams in by edits of the document. It lies outside of the workspace;
// the server writes the file once, when it makes it, and from then on it is a document of the
// editor's. Eglot tells a server only of files of the project, so there it is a new document
// in the workspace that the editor itself makes, and that is on disk only if the user
// saves it. What streams in is in chatturn.go.

const (
	chatPrefix = "chat-"
	chatOwn    = "redline-chat" // in the workspace
	chatYou    = "## You"
	chatAnswer = "## Redline"
	chatHead   = "# Redline\n\nWrite below the last heading, then run the code action “Redline: Send” (or the command redline.send).\n\n"
)

// isChat reports whether a document is a chat.
func (s *Server) isChat(u string) bool {
	path, ok := pathOf(u)
	base := filepath.Base(path)
	if !ok || filepath.Ext(base) != ".md" {
		return false
	}
	if strings.HasPrefix(base, chatOwn) {
		return slices.Contains(s.ws.Snapshot().Folders(), filepath.Dir(path))
	}
	dir, err := s.folder()
	return err == nil && strings.HasPrefix(base, chatPrefix) && filepath.Dir(workspace.Key(path)) == dir
}

// commandOpenChat shows the chat of the current conversation, making one if there is
// none. While a turn runs its answer streams in.
func (s *Server) commandOpenChat(context.Context, commandArgs) (any, error) {
	x, err := s.currentSession()
	if err == nil && x.direct { // its events go to the client
		x, err = s.newSession("", "", "", false)
	}
	if err != nil {
		return nil, err
	}
	if d, ok := s.openChatOf(x); ok {
		path, _ := pathOf(d.URI)
		s.background(func(ctx context.Context) { s.showChat(ctx, path, d.Key, strings.Count(d.Text, "\n")) })
		return map[string]string{"uri": d.URI}, nil
	}
	path, err := s.newChatPath()
	if err != nil {
		return nil, err
	}
	key := workspace.Key(path)
	s.setChat(key, x.Info().ID)

	x.mu.Lock()
	text := chatHead + x.talk.String()
	var t *chatTurn
	if x.plain == nil {
		text += chatYou + "\n\n"
	} else {
		t = s.newChatTurn(key)
		x.chat = t
	}
	x.mu.Unlock()
	if s.client.name != editorEglot {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, rpc.Failed("make a chat document: %v", err)
		}
	}
	s.background(func(ctx context.Context) {
		if s.client.name == editorEglot {
			if err := s.makeByEditor(ctx, path, text); err != nil {
				s.log.Info("chat", zap.Error(err))
			}
		}
		s.showChat(ctx, path, key, strings.Count(text, "\n"))
	})
	if t != nil {
		s.background(t.run)
	}
	return map[string]string{"uri": string(uri.File(path))}, nil
}

// newChatPath returns where a new chat goes. Where the server writes it there is an empty file.
func (s *Server) newChatPath() (string, error) {
	dir, err := s.folder()
	if err != nil {
		return "", rpc.Failed("%v", err)
	}
	name := chatPrefix + time.Now().Format("2006-01-02")
	snap := s.ws.Snapshot()
	folders := snap.Folders()
	own := s.client.name == editorEglot && len(folders) > 0
	if own {
		dir, name = folders[0], chatOwn
	}
	for n := 1; ; n++ {
		path := filepath.Join(dir, name+".md")
		if n > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.md", name, n))
		}
		if _, open := snap.Document(path); open {
			continue
		}
		if own {
			if _, err := os.Lstat(path); os.IsNotExist(err) {
				return path, nil
			}
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			err = f.Close()
		} else if os.IsExist(err) {
			continue
		}
		if err != nil {
			return "", rpc.Failed("make a chat document: %v", err)
		}
		return path, nil
	}
}

// makeByEditor has the editor make a document with a text. It may ask the user before.
func (s *Server) makeByEditor(ctx context.Context, path, text string) error {
	doc := protocol.OptionalVersionedTextDocumentIdentifier{}
	doc.URI = uri.File(path)
	label := "Redline: chat"
	params := protocol.ApplyWorkspaceEditParams{Label: &label, Edit: protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{
		&protocol.TextDocumentEdit{TextDocument: doc, Edits: []protocol.TextDocumentEditElement{&protocol.TextEdit{NewText: text}}},
	}}}
	var res protocol.ApplyWorkspaceEditResult
	ctx, cancel := context.WithTimeout(ctx, s.timing.Apply)
	defer cancel()
	s.unanswered.wait(ctx)
	return s.conn.Call(ctx, "workspace/applyEdit", &params, &res)
}

// showChat shows a chat document with the cursor at a line, and says what is wrong when the editor then does not
// tell the server of it.
func (s *Server) showChat(ctx context.Context, path, key string, line int) {
	if s.client.name == editorEglot && !onDisk(path) { // it shows only what is on the disk
		s.showMessage(ctx, protocol.MessageTypeInfo, "Redline: the chat is the buffer "+filepath.Base(path)+" (C-x b)")
		return
	}
	if err := s.show(ctx, path, true, line); err != nil {
		s.showMessage(ctx, protocol.MessageTypeWarning, "Redline: "+err.Error())
		return
	}
	if s.client.showDoc && !s.opened(ctx, key, chatOpens) && ctx.Err() == nil {
		s.showMessage(ctx, protocol.MessageTypeWarning, "Redline: this editor does not run redline for Markdown, so that nothing can be sent from the chat; add redline to that language in its settings")
	}
}

// chatOpens is how long an editor may take to tell of a document that it shows.
const chatOpens = 5 * time.Second

// opened waits until a document is open.
func (s *Server) opened(ctx context.Context, key string, wait time.Duration) bool {
	changed := make(chan struct{}, 1)
	stop := s.ws.Watch(func(_, now *workspace.Document) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer stop()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		if _, ok := s.ws.Snapshot().DocumentByKey(key); ok {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// openChatOf returns the chat document of a session that is open in the editor.
func (s *Server) openChatOf(x *session) (*workspace.Document, bool) {
	id := x.Info().ID
	snap := s.ws.Snapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range sortedKeys(s.chats) {
		if d, ok := snap.DocumentByKey(key); ok && s.chats[key] == id {
			return d, true
		}
	}
	return nil, false
}

// chatToSend returns the chat document that has something to send, for editors whose
// commands cannot name one.
func (s *Server) chatToSend() (u string, err error) {
	for _, d := range s.ws.Snapshot().Documents() {
		if !s.isChat(d.URI) || lastSection(d.Text) == "" {
			continue
		}
		if u != "" {
			return "", rpc.Failed("several chats have something to send; run the code action “Redline: Send” in one")
		}
		u = d.URI
	}
	if u == "" {
		return "", rpc.Failed("there is no chat with something to send; open one with redline.openChat and write below its last heading")
	}
	return u, nil
}

// commandSend sends what stands under the last heading of a chat document.
func (s *Server) commandSend(_ context.Context, a commandArgs) (res any, err error) {
	if a.URI == "" {
		if a.URI, err = s.chatToSend(); err != nil {
			return nil, err
		}
	}
	if !s.isChat(a.URI) {
		return nil, rpc.BadParams("arguments[0].uri", "is no chat document; make one with redline.openChat")
	}
	key, _ := keyOf(a.URI)
	d, ok := s.ws.Snapshot().DocumentByKey(key)
	if !ok {
		return nil, rpc.Failed("the chat document is not open in the editor")
	}
	text := lastSection(d.Text)
	if text == "" {
		return nil, rpc.Failed("there is nothing to send; write below the last heading first")
	}
	x, err := s.chatSession(key)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	idle := x.plain == nil
	x.mu.Unlock()
	if idle && cutOff(d.Text) {
		s.goOnInChat(x, d)
		return nil, rpc.Failed("this answer was cut off; write below the new last heading and send that")
	}
	t := s.newChatTurn(key)
	t.head = "\n" + chatAnswer + "\n\n"
	if !strings.HasSuffix(d.Text, "\n") {
		t.head = "\n" + t.head
	}
	id, err := x.promptInChat(agent.Message{Text: text}, t)
	if err != nil {
		return nil, sessionError(err)
	}
	return map[string]string{"sessionId": x.Info().ID, "turnId": id}, nil
}

// promptInChat prompts and has the answer streamed into a chat document; t is nil when
// none is open.
func (x *session) promptInChat(msg agent.Message, t *chatTurn) (turnID string, err error) {
	if t == nil {
		return x.Prompt(x.home.root, msg)
	}
	x.mu.Lock()
	busy := x.plain != nil
	if !busy {
		x.chat = t
	}
	x.mu.Unlock()
	if busy {
		return "", agent.ErrBusy
	}
	if turnID, err = x.Prompt(x.home.root, msg); err != nil {
		x.mu.Lock()
		if x.chat == t {
			x.chat = nil
		}
		x.mu.Unlock()
		return "", err
	}
	x.home.background(t.run)
	return turnID, nil
}

// chatSession returns the session of a chat document. One that the user made has the
// current conversation, unless another has it.
func (s *Server) chatSession(key string) (*session, error) {
	s.mu.Lock()
	x := s.sessions[s.chats[key]]
	s.mu.Unlock()
	if x != nil {
		return x, nil
	}
	if id := s.keptChat(key); id != "" {
		x, err := s.resumable(s.root, id, "")
		if err == nil {
			s.setChat(key, id)
			s.wentOn(s.root, x)
			return x, nil
		}
		s.log.Info("the chat begins a new conversation", zap.Error(err))
	}
	x, err := s.currentSession()
	if err != nil {
		return nil, err
	}
	if _, taken := s.openChatOf(x); taken || x.direct {
		if x, err = s.newSession("", "", "", false); err != nil {
			return nil, err
		}
	}
	s.setChat(key, x.Info().ID)
	return x, nil
}

// lastSection returns what stands under the last heading of a chat.
func lastSection(t string) string {
	at := 0
	for pos := 0; pos < len(t); {
		end := len(t)
		if i := strings.IndexByte(t[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		if line := strings.TrimSpace(t[pos:end]); line == chatYou || line == chatAnswer {
			at = end
		}
		pos = end
	}
	return strings.TrimSpace(t[at:])
}
