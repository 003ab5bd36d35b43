package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// The second that an end may take, and what it is spent on. None of it is waited
// for when nothing is left to do.
const (
	drainTime   = 250 * time.Millisecond // messages already read get to their handlers
	finishTime  = 100 * time.Millisecond // handlers finish by themselves after the input ended
	handlerTime = 300 * time.Millisecond // cancelled handlers return
	flushTime   = 150 * time.Millisecond // queued messages are written
	closeTime   = 100 * time.Millisecond // the stream closes and its goroutines return
)

// Go starts the connection: messages are dispatched to the handlers of r from
// now on. It must be called once and returns immediately; the end of ctx ends
// the connection, and so does the end of the input.
func (c *Conn) Go(ctx context.Context, r *Router) {
	root, cancel := context.WithCancelCause(ctx)
	go c.out.run(c.rw)
	go c.read()
	// Answers are written under the context given here, and must get out also
	// when the connection is ending.
	c.rpc.Go(context.WithoutCancel(ctx), c.handler(root, r))
	go c.supervise(root, cancel)
}

// Serve runs a connection from start to end: NewConn, Go and Wait for a router
// that is ready.
func Serve(ctx context.Context, rw io.ReadWriteCloser, r *Router, opt Options) error {
	c := NewConn(rw, opt)
	c.Go(ctx, r)
	return c.Wait()
}

// supervise waits for the first reason to end and then ends everything in order.
func (c *Conn) supervise(root context.Context, cancel context.CancelCauseFunc) {
	defer close(c.done)
	why := c.untilEnd(root)
	broken := errors.Is(why, errWrite)
	cancel(fmt.Errorf("%w: %w", ErrClosed, context.Canceled))
	c.running.wait(handlerTime)
	stuck := c.running.stuck()
	c.in.shut()
	c.out.close()
	if !broken {
		within(flushTime, c.out.drained)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = c.rw.Close() // the peer may have closed it already
	}()
	// A read or write that the close does not interrupt (a blocking stdin) is
	// left behind; the process is about to end.
	limit := time.NewTimer(closeTime)
	defer limit.Stop()
	for _, ch := range []<-chan struct{}{closed, c.ended, c.out.drained, c.rpc.Done()} {
		select {
		case <-ch:
		case <-limit.C:
			limit.Reset(0)
		}
	}
	c.err = c.endError(why, stuck)
}

// errWrite marks an end because of a failed write.
var errWrite = errors.New("write failed")

// untilEnd waits for a reason to end and returns it; nil when it is an orderly one.
func (c *Conn) untilEnd(root context.Context) error {
	ended, exitSeen := c.ended, c.exitSeen
	var late <-chan time.Time
	for {
		select {
		case <-c.in.drained:
			// The messages before the end are handled; their answers may be under
			// way still. A peer that pipes requests in and closes gets them.
			c.running.wait(finishTime)
			return c.readErr
		case <-ended:
			// An inline handler at work keeps the rest from being handled.
			ended = nil
			if late == nil {
				late = time.After(drainTime)
			}
		case <-exitSeen:
			exitSeen = nil
			if late == nil {
				late = time.After(drainTime)
			}
		case <-late:
			if exitSeen == nil {
				c.exitCode.Store(c.life.exitCode())
			}
			return nil
		case <-c.exit:
			return nil
		case <-c.out.failed:
			return errWrite
		case <-c.closing:
			return c.rpcError()
		case <-root.Done():
			return nil
		}
	}
}

// rpcError is why jsonrpc2 gave up, if it did. The guard and the dispatcher are
// there to let that not happen.
func (c *Conn) rpcError() error {
	select {
	case <-c.rpc.Done():
		return c.rpc.Err()
	default:
		return nil
	}
}

// endError decides what Wait returns.
func (c *Conn) endError(why, stuck error) error {
	switch {
	case errors.Is(why, errWrite):
		why = c.out.err
	case errors.Is(why, io.EOF), errors.Is(why, io.ErrClosedPipe), errors.Is(why, net.ErrClosed), errors.Is(why, os.ErrClosed):
		why = nil
	case why != nil:
		why = fmt.Errorf("read: %w", why)
	}
	return errors.Join(why, stuck)
}

func within(limit time.Duration, ch <-chan struct{}) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-ch:
	case <-t.C:
	}
}
