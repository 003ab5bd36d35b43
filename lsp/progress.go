package lsp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"go.uber.org/zap"
)

// progress shows that a turn works, with $/progress. Its messages are sent by a
// goroutine of its own, so that a client that is slow to take the token holds up
// nothing; of several messages in the meantime the last is shown.
type progress struct {
	mu   sync.Mutex
	last string
	more chan struct{} // capacity 1: last has changed
	stop chan struct{}
	done chan struct{} // closed when the client has been told all there is
	once sync.Once
}

// startProgress begins a progress with the given token; it ends by itself with the
// connection. create says that the client does not know the token yet.
func (s *Server) startProgress(token json.RawMessage, title string, create bool) *progress {
	p := &progress{more: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	s.background(func(ctx context.Context) {
		defer close(p.done)
		if create {
			wait, cancel := context.WithTimeout(ctx, 10*time.Second)
			err := s.conn.Call(wait, "window/workDoneProgress/create", map[string]any{"token": token}, nil)
			cancel()
			if err != nil {
				s.log.Debug("progress", zap.Error(err))
				return
			}
		}
		send := func(kind string, rest map[string]any) {
			value := map[string]any{"kind": kind}
			for k, v := range rest {
				value[k] = v
			}
			if err := s.conn.Notify(ctx, "$/progress", map[string]any{"token": token, "value": value}); err != nil {
				s.log.Debug("progress", zap.Error(err))
			}
		}
		send("begin", map[string]any{"title": title, "cancellable": true})
		for {
			select {
			case <-p.more:
				p.mu.Lock()
				text := p.last
				p.mu.Unlock()
				send("report", map[string]any{"message": text})
			case <-p.stop:
				send("end", nil)
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return p
}

// report shows a message.
func (p *progress) report(text string) {
	p.mu.Lock()
	p.last = text
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
}

func (p *progress) end() { p.once.Do(func() { close(p.stop) }) }

// quoted returns s as JSON.
func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string always can be
	return b
}
