package rpc

import (
	"io"
	"sync"
)

// inbox holds the messages that have been read and checked but not yet
// dispatched. Reading ahead is what lets the end of the input, an exit or a
// cancellation be noticed while an inline handler is at work.
type inbox struct {
	limit int // bytes from which put waits

	mu     sync.Mutex
	frames [][]byte
	size   int
	ended  bool

	filled chan struct{} // capacity 1: something was put, or the input ended
	taken  chan struct{} // capacity 1: something was taken
	stop   chan struct{} // closed: take ends at once

	drained   chan struct{} // closed when take has found the input ended
	drainOnce sync.Once
	stopOnce  sync.Once
}

func newInbox(limit int) *inbox {
	return &inbox{
		limit:  limit,
		filled: make(chan struct{}, 1), taken: make(chan struct{}, 1),
		stop: make(chan struct{}), drained: make(chan struct{}),
	}
}

// put appends a message, waiting while too many bytes are queued. It reports
// false when the inbox was stopped.
func (b *inbox) put(frame []byte) bool {
	for {
		b.mu.Lock()
		if len(b.frames) == 0 || b.size+len(frame) <= b.limit {
			b.frames = append(b.frames, frame)
			b.size += len(frame)
			b.mu.Unlock()
			signal(b.filled)
			return true
		}
		b.mu.Unlock()
		select {
		case <-b.taken:
		case <-b.stop:
			return false
		}
	}
}

// end marks the end of the input.
func (b *inbox) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	signal(b.filled)
}

// take returns the next message. When the input has ended and all of it is
// taken it closes drained and waits for shut: the answers of handlers that are
// still at work can only be written as long as jsonrpc2 does not know of the end.
func (b *inbox) take() ([]byte, error) {
	for {
		select {
		case <-b.stop:
			return nil, io.EOF
		default:
		}
		b.mu.Lock()
		if len(b.frames) > 0 {
			frame := b.frames[0]
			b.frames[0] = nil
			b.frames = b.frames[1:]
			b.size -= len(frame)
			b.mu.Unlock()
			signal(b.taken)
			return frame, nil
		}
		ended := b.ended
		b.mu.Unlock()
		if ended {
			b.drainOnce.Do(func() { close(b.drained) })
		}
		select {
		case <-b.filled:
		case <-b.stop:
		}
	}
}

// shut makes take report io.EOF from now on and frees a waiting put.
func (b *inbox) shut() { b.stopOnce.Do(func() { close(b.stop) }) }

// signal leaves a token in a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
