package rpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// outbox queues encoded frames for one writing goroutine. Whatever is queued
// while a write is under way goes out in the next write, all at once.
type outbox struct {
	framing Framing
	soft    int // bytes from which notifications and calls wait
	hard    int // bytes from which answers wait too
	tap     func(Direction, []byte)

	mu      sync.Mutex
	buf     []byte
	closing bool
	err     error         // why nothing can be sent any more
	room    chan struct{} // closed and replaced when buf was taken
	wake    chan struct{} // capacity 1

	failed  chan struct{} // closed with err set by a failed write
	drained chan struct{} // closed when run has returned
}

// hardFactor is how far answers may exceed the soft bound. Answers must be able
// to: the reader sends them, and a reader that waits for a peer that waits for
// the reader is a deadlock.
const hardFactor = 8

func newOutbox(framing Framing, soft int, tap func(Direction, []byte)) *outbox {
	return &outbox{
		framing: framing, soft: soft, hard: hardFactor * soft, tap: tap,
		room: make(chan struct{}), wake: make(chan struct{}, 1),
		failed: make(chan struct{}), drained: make(chan struct{}),
	}
}

// put queues a body. An urgent one (an answer) is not held up by the soft bound;
// the others wait for room until ctx ends. A body larger than the bound is
// taken when the queue is empty.
func (o *outbox) put(ctx context.Context, body []byte, urgent bool) error {
	limit := o.hard
	if !urgent {
		if err := ctx.Err(); err != nil {
			return err
		}
		limit = o.soft
	}
	for {
		o.mu.Lock()
		if o.err != nil {
			err := o.err
			o.mu.Unlock()
			return err
		}
		if o.closing {
			o.mu.Unlock()
			return ErrClosed
		}
		if len(o.buf) == 0 || len(o.buf)+len(body) <= limit {
			o.append(body)
			o.mu.Unlock()
			signal(o.wake)
			return nil
		}
		room := o.room
		o.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

const lengthPrefix = "Content-Length: "

// append adds the frame of body to the buffer; mu is held.
func (o *outbox) append(body []byte) {
	if o.framing == Headers {
		o.buf = append(o.buf, lengthPrefix...)
		o.buf = strconv.AppendInt(o.buf, int64(len(body)), 10)
		o.buf = append(o.buf, "\r\n\r\n"...)
		o.buf = append(o.buf, body...)
		return
	}
	// A literal newline can only be white space between tokens (a raw value of
	// a handler's); inside strings JSON escapes it.
	start := len(o.buf)
	o.buf = append(o.buf, body...)
	if bytes.IndexByte(o.buf[start:], '\n') >= 0 {
		for i, c := range o.buf[start:] {
			if c == '\n' {
				o.buf[start+i] = ' '
			}
		}
	}
	o.buf = append(o.buf, '\n')
}

// keepSpare is the largest buffer kept for reuse.
const keepSpare = 1 << 20

// run writes until close was called and everything is out, or a write fails.
func (o *outbox) run(w io.Writer) {
	defer close(o.drained)
	var spare []byte
	for {
		o.mu.Lock()
		batch := o.buf
		if len(batch) == 0 {
			done := o.closing
			o.mu.Unlock()
			if done {
				return
			}
			<-o.wake
			continue
		}
		o.buf = spare[:0]
		close(o.room)
		o.room = make(chan struct{})
		o.mu.Unlock()

		if o.tap != nil {
			o.eachBody(batch, func(body []byte) { o.tap(Sent, body) })
		}
		if _, err := w.Write(batch); err != nil {
			o.mu.Lock()
			o.err = fmt.Errorf("%w: write: %w", ErrClosed, err)
			o.buf = nil
			close(o.room)
			o.room = make(chan struct{})
			o.mu.Unlock()
			close(o.failed)
			return
		}
		spare = nil
		if cap(batch) <= keepSpare {
			spare = batch
		}
	}
}

// close lets run end once the queue is empty; nothing more is taken.
func (o *outbox) close() {
	o.mu.Lock()
	o.closing = true
	close(o.room)
	o.room = make(chan struct{})
	o.mu.Unlock()
	signal(o.wake)
}

// eachBody splits what append has joined.
func (o *outbox) eachBody(batch []byte, yield func([]byte)) {
	for len(batch) > 0 {
		if o.framing == Lines {
			body, rest, _ := bytes.Cut(batch, []byte{'\n'})
			yield(body)
			batch = rest
			continue
		}
		head, rest, _ := bytes.Cut(batch, []byte("\r\n\r\n"))
		n, err := strconv.Atoi(string(head[len(lengthPrefix):]))
		if err != nil || n > len(rest) {
			return // not reached: the frames are our own
		}
		yield(rest[:n])
		batch = rest[n:]
	}
}
