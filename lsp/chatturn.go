package lsp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"

	"redline/workspace"
)

// chatTurn brings one answer into a chat document.
type chatTurn struct {
	s    *Server
	key  string
	once bool   // the editor asks about each edit: there is only one
	head string // goes before the answer
	// above puts all before the last heading, where the user may be writing; else it goes
	// to the end.
	above bool

	mu      sync.Mutex
	pending strings.Builder
	over    bool
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

// end says that nothing more comes.
func (t *chatTurn) end() {
	t.mu.Lock()
	t.over = true
	if !t.above {
		t.pending.WriteString(chatYou + "\n\n")
	}
	t.mu.Unlock()
	t.wake()
}

func (t *chatTurn) wake() {
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// keep puts text back before what has come since.
func (t *chatTurn) keep(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text += t.pending.String()
	t.pending.Reset()
	t.pending.WriteString(text)
}

// newChatTurn returns what brings the next answer to the end of a chat document.
func (s *Server) newChatTurn(key string) *chatTurn {
	return &chatTurn{s: s, key: key, more: make(chan struct{}, 1), once: !s.client.create}
}

// run inserts the answer as it comes, until the turn has ended.
func (t *chatTurn) run(ctx context.Context) {
	if !t.s.opened(ctx, t.key, time.Minute) {
		t.once = true // all of it is shown as a message
	}
	if d, ok := t.s.ws.Snapshot().DocumentByKey(t.key); ok {
		t.last, t.pos = d.Text, len(d.Text)
		if i := strings.LastIndex("\n"+d.Text, "\n"+chatYou); t.above && i >= 0 {
			t.pos = i
		}
	}
	for {
		select {
		case <-t.more:
		case <-ctx.Done():
			return
		}
		t.mu.Lock()
		text, over := t.pending.String(), t.over
		if t.once && !over {
			t.mu.Unlock()
			continue
		}
		t.pending.Reset()
		t.mu.Unlock()
		if text != "" {
			err := t.insert(ctx, t.head+text)
			switch {
			case err == nil:
				t.head = ""
			case ctx.Err() == nil && !over:
				t.keep(text) // it goes along with what comes next
			case ctx.Err() == nil:
				t.s.log.Info("chat", zap.Error(err))
				t.s.showMessage(ctx, protocol.MessageTypeInfo, t.s.answerText(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), chatYou))))
			}
		}
		if over {
			return
		}
	}
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
		t.s.unanswered.wait(call)
		err := t.s.conn.Call(call, "workspace/applyEdit", &params, &res)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait := t.s.timing.Refuse
		if err == nil && res.Applied {
			wait = t.s.settleTime()
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
