package rpc

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// errCancelledByPeer is the cause of a context that $/cancelRequest ended.
var errCancelledByPeer = fmt.Errorf("cancelled by the peer: %w", context.Canceled)

// running is one handler at work.
type running struct {
	method string
	id     jsonrpc2.ID // invalid for a notification
	cancel context.CancelCauseFunc
	// answered is closed once jsonrpc2 is done with the request, its answer
	// written; nil for a handler that holds the queue, as there the next read
	// says the same.
	answered <-chan struct{}
}

// inflight knows the handlers at work, for cancellation and for the end.
type inflight struct {
	mu       sync.Mutex
	all      map[*running]struct{}
	byID     map[jsonrpc2.ID]*running
	requests int
	leaving  []<-chan struct{} // handler returned, answer perhaps not written yet
	quiet    chan struct{}     // closed when all is empty; nil when nobody waits
}

func newInflight() *inflight {
	return &inflight{all: map[*running]struct{}{}, byID: map[jsonrpc2.ID]*running{}}
}

// begin registers a handler. It reports false for a request beyond the limit.
func (f *inflight) begin(r *running, limit int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.id.IsValid() {
		if f.requests >= limit {
			return false
		}
		f.requests++
		f.byID[r.id] = r
	}
	f.all[r] = struct{}{}
	return true
}

// release notes that the handler has left the queue.
func (f *inflight) release(r *running, answered <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.answered = answered
}

func (f *inflight) end(r *running) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, r)
	if r.id.IsValid() {
		f.requests--
		if f.byID[r.id] == r { // a peer may have used the id twice
			delete(f.byID, r.id)
		}
		if r.answered != nil {
			kept := f.leaving[:0]
			for _, c := range f.leaving {
				select {
				case <-c:
				default:
					kept = append(kept, c)
				}
			}
			f.leaving = append(kept, r.answered)
		}
	}
	if len(f.all) == 0 && f.quiet != nil {
		close(f.quiet)
		f.quiet = nil
	}
}

// cancel ends the context of the request with that id, if it is at work.
func (f *inflight) cancel(id jsonrpc2.ID) {
	f.mu.Lock()
	r := f.byID[id]
	f.mu.Unlock()
	if r != nil {
		r.cancel(errCancelledByPeer)
	}
}

// wait waits until no handler is at work and all answers are written, at most
// as long as given. It reports false when time ran out.
func (f *inflight) wait(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	f.mu.Lock()
	var quiet chan struct{}
	if len(f.all) > 0 {
		if f.quiet == nil {
			f.quiet = make(chan struct{})
		}
		quiet = f.quiet
	}
	f.mu.Unlock()
	if quiet != nil {
		select {
		case <-quiet:
		case <-timer.C:
			return false
		}
	}
	f.mu.Lock()
	leaving := f.leaving
	f.leaving = nil
	f.mu.Unlock()
	for i, c := range leaving {
		select {
		case <-c:
		case <-timer.C:
			f.mu.Lock()
			f.leaving = append(f.leaving, leaving[i:]...)
			f.mu.Unlock()
			return false
		}
	}
	return true
}

// stuck returns an error that names the handlers still at work, nil for none.
func (f *inflight) stuck() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all) == 0 {
		return nil
	}
	var names []string
	for r := range f.all {
		names = append(names, r.method)
	}
	sort.Strings(names)
	return errors.New("handlers that did not end: " + strings.Join(names, ", "))
}
