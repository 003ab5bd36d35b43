package lsp

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// Debug collects what the servers of a process are at, for a page that a developer looks
// at. Its zero value is ready; a nil one collects nothing.
type Debug struct {
	mu      sync.Mutex
	servers []*Server
	took    map[string]Latency
}

// Latency says how long the requests of a method took, from the handler's start to its end;
// those that wait for a person are among them.
type Latency struct {
	Method     string
	Count      int
	Total, Max time.Duration
}

// WindowState is what a server knows of its client. It holds no text of anybody.
type WindowState struct {
	Client    string // as it calls itself; empty for one that is not known
	Folders   []string
	Documents []DocumentState
	Sessions  []SessionState
	Open      []ProposalState // proposals that wait for a decision
}

// DocumentState is an open document; Bytes is its size.
type DocumentState struct {
	URI     string
	Version int32
	Bytes   int
}

// SessionState is a session.
type SessionState struct {
	ID, Mode, Model string
	Turns           int
	Running         bool
	LastSeq         int64
	Followers       int
}

// ProposalState is a proposal under review.
type ProposalState struct {
	ID, Title, State string
	Rev              int
	Pending, Hunks   int
}

func (d *Debug) add(s *Server) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.servers = append(d.servers, s)
}

func (d *Debug) remove(s *Server) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.servers = slices.DeleteFunc(d.servers, func(o *Server) bool { return o == s })
}

// timed notes how long a request took.
func (d *Debug) timed(method string, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.took == nil {
		d.took = map[string]Latency{}
	}
	l := d.took[method]
	d.took[method] = Latency{method, l.Count + 1, l.Total + took, max(l.Max, took)}
}

// Latencies returns how long requests took, by method.
func (d *Debug) Latencies() []Latency {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedFunc(maps.Values(d.took), func(a, b Latency) int { return cmp.Compare(a.Method, b.Method) })
}

// Windows returns what each server is at, the oldest first.
func (d *Debug) Windows() []WindowState {
	d.mu.Lock()
	servers := slices.Clone(d.servers)
	d.mu.Unlock()
	var out []WindowState
	for _, s := range servers {
		out = append(out, s.state())
	}
	return out
}

func (s *Server) state() WindowState {
	snap := s.ws.Snapshot()
	w := WindowState{Client: s.client.name, Folders: snap.Folders()}
	for _, d := range snap.Documents() {
		w.Documents = append(w.Documents, DocumentState{d.URI, d.Version, len(d.Text)})
	}
	s.mu.Lock()
	sessions := make([]*session, 0, len(s.order))
	for _, id := range s.order {
		if x := s.sessions[id]; x != nil {
			sessions = append(sessions, x)
		}
	}
	s.mu.Unlock()
	for _, x := range sessions {
		i := x.Info()
		x.follow.Lock()
		n := len(x.followers)
		x.follow.Unlock()
		w.Sessions = append(w.Sessions, SessionState{i.ID, string(i.Mode), i.Model, i.Turns, i.Running, i.LastSeq, n})
	}
	for _, p := range s.openProposals() {
		st := ProposalState{ID: p.ID, Title: p.Title, State: string(p.State), Rev: p.Rev}
		for h := range p.Hunks() {
			st.Hunks++
			if h.State.String() == "pending" {
				st.Pending++
			}
		}
		w.Open = append(w.Open, st)
	}
	return w
}
