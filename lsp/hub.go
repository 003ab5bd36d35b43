package lsp

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"redline/agent"
)

// Hub joins the clients of one process: a session that one of them has opened can be
// followed and worked with by the others. It stays with the window that opened it,
// whose documents its edits go into; when that window goes, a window that follows the
// session takes it over.
type Hub struct {
	mu       sync.Mutex
	sessions map[string]*session
}

// NewHub returns a hub without clients.
func NewHub() *Hub { return &Hub{sessions: map[string]*session{}} }

func (h *Hub) session(id string) *session {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

func (h *Hub) add(id string, x *session) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions[id] = x
}

func (h *Hub) remove(id string, x *session) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[id] == x {
		delete(h.sessions, id)
	}
}

// others returns the sessions that are not of s.
func (h *Hub) others(s *Server) (out []*session) {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range h.sessions {
		if x.home != s {
			out = append(out, x)
		}
	}
	return out
}

// slow is how long a window that follows a session may hold up the others.
const slow = time.Second

// followers are the other windows that see a session. Guarded by session.follow.
func (x *session) tellFollowers(ev agent.Event) {
	for _, v := range slices.Clone(x.followers) {
		ctx, cancel := context.WithTimeout(v.root, slow)
		err := v.conn.Notify(ctx, methodEvent, v.wireEvent(ev))
		cancel()
		if err != nil { // it can resume when it is well again
			v.log.Debug("a window does not follow any more", zap.Error(err))
			x.followers = slices.DeleteFunc(x.followers, func(o *Server) bool { return o == v })
		}
	}
}

// followed lets s follow a session of another window from an event on.
func (s *Server) followSession(ctx context.Context, x *session, after int64) error {
	x.follow.Lock()
	defer x.follow.Unlock()
	for _, ev := range x.log.after(after) {
		if err := s.conn.Notify(ctx, methodEvent, s.wireEvent(ev)); err != nil {
			return err
		}
	}
	if !slices.Contains(x.followers, s) {
		x.followers = append(x.followers, s)
	}
	return nil
}

// unfollow lets s see no more of a session.
func (s *Server) unfollow(x *session) {
	x.follow.Lock()
	defer x.follow.Unlock()
	x.followers = slices.DeleteFunc(x.followers, func(o *Server) bool { return o == s })
}

// handOver gives a session that has been closed to the first window that follows it.
func (x *session) handOver(id string) {
	x.follow.Lock()
	left := x.followers
	x.followers = nil
	x.follow.Unlock()
	left = slices.DeleteFunc(left, func(v *Server) bool { return v.root.Err() != nil })
	if len(left) == 0 {
		return
	}
	next := left[0]
	seen := int64(len(x.log.after(0)))
	y, err := next.load(next.root, id, true)
	if err != nil {
		next.log.Warn("a session of a window that is gone cannot go on here", zap.String("session", id), zap.Error(err))
		return
	}
	if next.root.Err() != nil { // it has gone meanwhile
		next.close(y)
		return
	}
	for _, ev := range y.log.after(seen) {
		_ = next.conn.Notify(next.root, methodEvent, next.wireEvent(ev)) // a broken connection ends by itself
	}
	for _, v := range left[1:] {
		_ = v.followSession(v.root, y, seen)
	}
	y.ReopenSaved(next.root)
}

// owner returns the server of the window that a proposal belongs to: s itself, unless
// another window of the process opened the session.
func (s *Server) owner(proposalID string) *Server {
	id, _, _ := strings.Cut(proposalID, ".p")
	s.mu.Lock()
	_, own := s.sessions[id]
	s.mu.Unlock()
	if x := s.opt.Hub.session(id); x != nil && !own {
		return x.home
	}
	return s
}
