package lsp

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

// gapWait is how long a missing change is waited for. Helix takes versions without
// telling of them, too, when it shows a completion on trial.
const gapWait = 250 * time.Millisecond

// changeOrder brings the changes of documents into the order of their versions. Helix
// 25.01 sends each in a task of its own, so that they overtake each other, and the opening, when
// one types fast or an edit opens a file; it counts them one by one.
type changeOrder struct {
	mu   sync.Mutex
	held map[string][]*didChangeParams // by document, in the order of their versions
}

// inOrder applies p once those before it are applied.
func (s *Server) inOrder(key string, p *didChangeParams) error {
	s.arriving.mu.Lock()
	defer s.arriving.mu.Unlock()
	d, ok := s.ws.Snapshot().DocumentByKey(key)
	if ok && len(s.arriving.held[key]) == 0 && p.TextDocument.Version <= d.Version+1 {
		return s.change(key, p)
	}
	if s.arriving.held == nil {
		s.arriving.held = map[string][]*didChangeParams{}
	}
	s.arriving.held[key] = append(s.arriving.held[key], p.clone())
	slices.SortStableFunc(s.arriving.held[key], func(a, b *didChangeParams) int {
		return int(a.TextDocument.Version - b.TextDocument.Version)
	})
	s.release(key, false)
	if held := s.arriving.held[key]; len(held) > 0 {
		first := held[0]
		s.background(func(ctx context.Context) {
			timer := time.NewTimer(gapWait)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			s.arriving.mu.Lock()
			defer s.arriving.mu.Unlock()
			if now := s.arriving.held[key]; len(now) > 0 && now[0] == first {
				s.release(key, true)
			}
		})
	}
	return nil
}

// release applies what is held of a document as far as nothing is missing before it, or
// all of it. The caller holds the lock.
func (s *Server) release(key string, all bool) {
	for len(s.arriving.held[key]) > 0 {
		p := s.arriving.held[key][0]
		d, ok := s.ws.Snapshot().DocumentByKey(key)
		if !all && (!ok || p.TextDocument.Version > d.Version+1) {
			return
		}
		s.arriving.held[key] = s.arriving.held[key][1:]
		if err := s.change(key, p); err != nil {
			s.log.Warn("textDocument/didChange", zap.Error(err))
		}
	}
	delete(s.arriving.held, key)
}

// afterOpen applies what overtook the opening of a document.
func (s *Server) afterOpen(key string) {
	s.arriving.mu.Lock()
	defer s.arriving.mu.Unlock()
	if len(s.arriving.held[key]) == 0 {
		return
	}
	d, _ := s.ws.Snapshot().DocumentByKey(key)
	s.arriving.held[key] = slices.DeleteFunc(s.arriving.held[key], func(p *didChangeParams) bool {
		return d != nil && p.TextDocument.Version <= d.Version // of before it was closed
	})
	s.release(key, false)
}

// forgetHeld drops what is held of a document that is closed.
func (s *Server) forgetHeld(key string) {
	s.arriving.mu.Lock()
	defer s.arriving.mu.Unlock()
	delete(s.arriving.held, key)
}

// clone returns a copy that shares nothing with the message it came in.
func (p *didChangeParams) clone() *didChangeParams {
	c := *p
	c.TextDocument.URI = strings.Clone(c.TextDocument.URI)
	c.ContentChanges = slices.Clone(c.ContentChanges)
	for i := range c.ContentChanges {
		c.ContentChanges[i].Text = strings.Clone(c.ContentChanges[i].Text)
	}
	return &c
}
