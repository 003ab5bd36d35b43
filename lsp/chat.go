package lsp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"

	"redline/agent"
	"redline/lsp/rpc"
	"redline/workspace"
)

// This file is the chat without any UI (WIRE.md §6): a Markdown document outside of
// the workspace. The user writes under its last heading and runs the code action
// Send; the answer streams in by edits of the document. The server writes the file
// once, when it makes it; from then on it is a document of the editor's.

const (
	chatPrefix = "chat-"
	chatYou    = "## You"
	chatAnswer = "## Redline"
	chatHead   = "# Redline\n\nWrite below the last heading, then run the code action “Redline: Send” (or the command redline.send).\n\n" + chatYou + "\n\n"
)

// isChat reports whether a document is a chat.
func (s *Server) isChat(u string) bool {
	path, ok := pathOf(u)
	if !ok || !strings.HasPrefix(filepath.Base(path), chatPrefix) || filepath.Ext(path) != ".md" {
		return false
	}
	dir, err := s.folder()
	return err == nil && filepath.Dir(workspace.Key(path)) == dir
}

// commandOpenChat opens a new chat document.
func (s *Server) commandOpenChat(context.Context, commandArgs) (any, error) {
	dir, err := s.folder()
	if err != nil {
		return nil, rpc.Failed("%v", err)
	}
	f, err := os.CreateTemp(dir, chatPrefix+time.Now().Format("2006-01-02-")+"*.md")
	if err != nil {
		return nil, rpc.Failed("make a chat document: %v", err)
	}
	_, err = f.WriteString(chatHead)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, rpc.Failed("make a chat document: %v", err)
	}
	s.background(func(ctx context.Context) {
		if err := s.show(ctx, f.Name(), true); err != nil {
			s.showMessage(ctx, protocol.MessageTypeWarning, "Redline: "+err.Error())
		}
	})
	return map[string]string{"uri": string(uri.File(f.Name()))}, nil
}

// commandSend sends what stands under the last heading of a chat document.
func (s *Server) commandSend(_ context.Context, a commandArgs) (any, error) {
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
	t := &chatTurn{s: s, key: key, more: make(chan struct{}, 1), once: !s.client.create}
	x.mu.Lock()
	busy := x.plain != nil
	if !busy {
		x.chat = t
	}
	x.mu.Unlock()
	if busy {
		return nil, sessionError(agent.ErrBusy)
	}
	id, err := x.Prompt(s.root, agent.Message{Text: text})
	if err != nil {
		x.mu.Lock()
		x.chat = nil
		x.mu.Unlock()
		return nil, sessionError(err)
	}
	s.background(t.run)
	return map[string]string{"sessionId": x.Info().ID, "turnId": id}, nil
}

// chatSession returns the session of a chat document, making one if there is none.
func (s *Server) chatSession(key string) (*session, error) {
	s.mu.Lock()
	x := s.sessions[s.chats[key]]
	s.mu.Unlock()
	if x != nil {
		return x, nil
	}
	x, err := s.newSession("", "", "", false)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chats == nil {
		s.chats = map[string]string{}
	}
	s.chats[key] = x.Info().ID
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

// chatTurn brings one answer into a chat document.
type chatTurn struct {
	s    *Server
	key  string
	once bool // the editor asks about each edit: there is only one

	mu      sync.Mutex
	pending strings.Builder
	over    *agent.TurnEnded
	more    chan struct{} // capacity 1: something has changed

	// The document as it was after the last edit, and where the answer ends in it.
	last string
	pos  int
}

func (t *chatTurn) add(text string) {
	t.mu.Lock()
	t.pending.WriteString(text)
	t.mu.Unlock()
	t.wake()
}

func (t *chatTurn) end(ev agent.TurnEnded) {
	t.mu.Lock()
	t.over = &ev
	t.mu.Unlock()
	t.wake()
}

func (t *chatTurn) wake() {
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// run inserts the answer as it comes, until the turn has ended.
func (t *chatTurn) run(ctx context.Context) {
	d, ok := t.s.ws.Snapshot().DocumentByKey(t.key)
	if !ok {
		return
	}
	t.last, t.pos = d.Text, len(d.Text)
	head := "\n" + chatAnswer + "\n\n"
	if !strings.HasSuffix(d.Text, "\n") {
		head = "\n" + head
	}
	for {
		select {
		case <-t.more:
		case <-ctx.Done():
			return
		}
		t.mu.Lock()
		text, over := t.pending.String(), t.over
		if t.once && over == nil {
			t.mu.Unlock()
			continue
		}
		t.pending.Reset()
		t.mu.Unlock()
		if over != nil {
			text += ending(*over)
		}
		if text == "" {
			continue
		}
		if err := t.insert(ctx, head+text); err != nil {
			if ctx.Err() == nil {
				t.s.log.Info("chat", zap.Error(err))
				t.s.showMessage(ctx, protocol.MessageTypeInfo, strings.TrimSpace(text))
			}
			if over != nil {
				return
			}
			continue
		}
		head = ""
		if over != nil {
			return
		}
	}
}

// ending returns what follows an answer.
func ending(b agent.TurnEnded) string {
	why := ""
	switch {
	case b.Status == agent.Cancelled:
		why = "\n\n*Cancelled.*"
	case b.Err != nil:
		why = "\n\n*" + b.Err.Error() + "*"
	}
	return why + "\n\n" + chatYou + "\n\n"
}

// insert puts text where the answer ends, whatever the user does around it.
func (t *chatTurn) insert(ctx context.Context, text string) error {
	changed := make(chan struct{}, 1)
	stop := t.s.ws.Watch(func(_, now *workspace.Document) {
		if now == nil || now.Key == t.key {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	})
	defer stop()
	for range 2 * maxTries {
		d, ok := t.s.ws.Snapshot().DocumentByKey(t.key)
		if !ok {
			return fmt.Errorf("the chat document was closed")
		}
		pos, ok := follow(t.last, t.pos, d.Text)
		if !ok {
			pos = len(d.Text) // its place is gone: it goes on at the end
		}
		t.last, t.pos = d.Text, pos
		at := newMapper(d.Text, t.s.client.encoding).position(pos)
		doc := protocol.OptionalVersionedTextDocumentIdentifier{Version: &d.Version}
		doc.URI = uri.URI(d.URI)
		label := "Redline: answer"
		params := protocol.ApplyWorkspaceEditParams{Label: &label, Edit: protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{
			&protocol.TextDocumentEdit{TextDocument: doc, Edits: []protocol.TextDocumentEditElement{
				&protocol.TextEdit{Range: protocol.Range{Start: at, End: at}, NewText: text},
			}},
		}}}
		call, cancel := context.WithTimeout(ctx, t.s.timing.Apply)
		var res protocol.ApplyWorkspaceEditResult
		err := t.s.conn.Call(call, "workspace/applyEdit", &params, &res)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait := t.s.timing.Refuse
		if err == nil && res.Applied {
			wait = t.s.timing.Settle
		}
		if t.arrived(ctx, changed, text, wait) {
			return nil
		}
	}
	return fmt.Errorf("the editor does not take the answer")
}

// arrived waits until the text is in the document, and notes where it ends.
func (t *chatTurn) arrived(ctx context.Context, changed <-chan struct{}, text string, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	expected := t.last[:t.pos] + text + t.last[t.pos:]
	for {
		if d, ok := t.s.ws.Snapshot().DocumentByKey(t.key); ok {
			if end, ok := follow(expected, t.pos+len(text), d.Text); ok && strings.HasSuffix(d.Text[:end], text) {
				t.last, t.pos = d.Text, end
				return true
			}
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

// follow returns where the offset pos of the text last is in now, when the user has
// typed on one side of it only.
func follow(last string, pos int, now string) (int, bool) {
	if strings.HasPrefix(now, last[:pos]) {
		return pos, true
	}
	if rest := last[pos:]; strings.HasSuffix(now, rest) && len(now) >= len(rest) && rest != "" {
		return len(now) - len(rest), true
	}
	// On both sides: by the words before it.
	tail := last[max(0, pos-200):pos]
	if i := strings.LastIndex(now, tail); i >= 0 && tail != "" && strings.Count(now, tail) == 1 {
		return i + len(tail), true
	}
	return 0, false
}
