package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

// Direction tells a [Options.Tap] which way a message went.
type Direction int

const (
	// Received messages come from the peer.
	Received Direction = iota
	// Sent messages go to the peer.
	Sent
)

func (d Direction) String() string {
	if d == Sent {
		return "sent"
	}
	return "received"
}

// Options set bounds and hooks of a [Conn]. The zero value is useful.
type Options struct {
	// Framing of both directions; LSP headers by default.
	Framing Framing
	// MaxHeader bounds a header in bytes; 8 KiB by default.
	MaxHeader int
	// MaxBody bounds a received message in bytes; 256 MiB by default.
	MaxBody int64
	// QueueBytes is how much may wait to be sent before Notify and Call wait
	// for room; 8 MiB by default. Answers may exceed it eightfold.
	QueueBytes int
	// MaxInFlight bounds the requests at work at the same time; further ones
	// are answered -32802. 1024 by default.
	MaxInFlight int
	// NoLifecycle switches off LSP's rules about initialize, shutdown and exit,
	// for other protocols.
	NoLifecycle bool
	// ACPCancel switches from LSP's notification that cancels a request,
	// $/cancelRequest with the member id, to ACP's $/cancel_request with requestId.
	ACPCancel bool
	// Tap sees the body of every message, also malformed ones, in the order of
	// each direction, from one goroutine a direction. The bytes are valid during
	// the call.
	Tap func(Direction, []byte)
	// Timed, if set, is told how long each request's handler took.
	Timed func(method string, took time.Duration)
	// Log receives what cannot be answered; nothing is logged when nil.
	Log *zap.Logger
}

func (o Options) withDefaults() Options {
	if o.MaxHeader <= 0 {
		o.MaxHeader = 8 << 10
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 256 << 20
	}
	if o.QueueBytes <= 0 {
		o.QueueBytes = 8 << 20
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 1024
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return o
}

// inboxBytes is how much is read ahead of the handlers.
const inboxBytes = 16 << 20

// Conn is one JSON-RPC peer. Make it with [NewConn], start it with [Conn.Go];
// Call and Notify may be used from any goroutine, also before Go.
type Conn struct {
	opt     Options
	log     *zap.Logger
	rw      io.ReadWriteCloser
	rpc     jsonrpc2.Conn
	in      *inbox
	out     *outbox
	running *inflight
	waiting atomic.Int32 // calls of ours that have no answer yet
	life    lifecycle

	closing   chan struct{} // closed by Close, and when jsonrpc2 gives up
	closeOnce sync.Once
	exit      chan struct{} // closed by the notification exit
	exitOnce  sync.Once
	exitCode  atomic.Int32
	exitSeen  chan struct{} // capacity 1: exit was read, perhaps not handled yet
	ended     chan struct{} // closed when reading has ended, with readErr set
	readErr   error
	done      chan struct{} // closed when everything has ended, with err set
	err       error
}

// NewConn makes a connection over rw, which it owns from now on. Nothing is read
// or written before [Conn.Go].
func NewConn(rw io.ReadWriteCloser, opt Options) *Conn {
	opt = opt.withDefaults()
	c := &Conn{
		opt: opt, log: opt.Log, rw: rw,
		in:      newInbox(inboxBytes),
		out:     newOutbox(opt.Framing, opt.QueueBytes, opt.Tap),
		running: newInflight(),
		closing: make(chan struct{}), exit: make(chan struct{}), exitSeen: make(chan struct{}, 1),
		ended: make(chan struct{}), done: make(chan struct{}),
	}
	c.rpc = jsonrpc2.NewConn(&stream{c}, jsonrpc2.WithCodec(codec{}))
	return c
}

// Pair joins a reader and a writer, such as stdin and stdout, into what NewConn
// takes. Close closes both.
func Pair(r io.ReadCloser, w io.WriteCloser) io.ReadWriteCloser { return pair{r, w} }

type pair struct {
	io.ReadCloser
	w io.WriteCloser
}

func (p pair) Write(b []byte) (int, error) { return p.w.Write(b) }

func (p pair) Close() error { return errors.Join(p.w.Close(), p.ReadCloser.Close()) }

// outgoing marks the context of what Call and Notify write; whatever else
// jsonrpc2 writes is an answer.
type outgoing struct{ sent bool }

type outgoingKey struct{}

// Notify sends a notification. It returns once the message is queued, waiting
// for room in the queue at most until ctx ends. Notifications of one goroutine
// arrive in their order.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	ctx = context.WithValue(ctx, outgoingKey{}, &outgoing{})
	if err := c.rpc.Notify(ctx, method, params); err != nil {
		return fmt.Errorf("notify %s: %w", method, closedError(err))
	}
	return nil
}

// Call sends a request and waits for its answer until ctx ends; then it tells
// the peer (with $/cancelRequest, in LSP), and the late answer is dropped. An error answer
// is returned as an [*Error]. result is a pointer, nil to ignore the result; an
// answer of null leaves it as it was. Call must not be used by a handler that
// holds the queue (see [Release]).
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	if t, ok := ctx.Value(turnKey{}).(*turn); ok && t.held.Load() {
		return fmt.Errorf("call %s: %w", method, ErrInline)
	}
	sending := &outgoing{}
	var raw jsonrpc2.RawMessage
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	id, err := c.rpc.Call(context.WithValue(ctx, outgoingKey{}, sending), method, params, &raw)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			if sending.sent {
				c.cancelCall(id)
			}
			return fmt.Errorf("call %s: %w", method, context.Cause(ctx))
		}
		return c.callError(method, err)
	}
	if result == nil || len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if err := (codec{}).Unmarshal(raw, result); err != nil {
		return fmt.Errorf("decode the answer to %s: %w", method, err)
	}
	return nil
}

// callError keeps a peer's answer free of wrapping, so that it reads as the peer
// put it, and tells everything else with what was attempted.
func (c *Conn) callError(method string, err error) error {
	if own := fromWire(err); own != err { //nolint:errorlint // identity is meant
		return own
	}
	return fmt.Errorf("call %s: %w", method, closedError(err))
}

// cancelCall tells the peer that nobody waits for its answer. It must not wait
// itself: its caller's time is over.
func (c *Conn) cancelCall(id jsonrpc2.ID) {
	params, err := c.cancelParams(id)
	if err != nil {
		return
	}
	body := jsonrpc2.AppendNotification(nil, c.cancelMethod(), params)
	if err := c.out.put(context.Background(), body, true); err != nil {
		c.log.Debug("$/cancelRequest not sent", zap.Error(err))
	}
}

// closedError adds [ErrClosed] to what jsonrpc2 reports at the end.
func closedError(err error) error {
	switch {
	case errors.Is(err, ErrClosed):
		return err
	case errors.Is(err, jsonrpc2.ErrClientClosing), errors.Is(err, jsonrpc2.ErrServerClosing), errors.Is(err, io.EOF):
		return fmt.Errorf("%w (%w)", ErrClosed, err)
	}
	return err
}

// Close ends the connection: handlers are cancelled, what is queued is sent, and
// the stream is closed. It returns what Wait returns.
func (c *Conn) Close() error {
	c.beginClose()
	return c.Wait()
}

func (c *Conn) beginClose() { c.closeOnce.Do(func() { close(c.closing) }) }

// Done is closed when the connection has ended completely.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Wait waits for the end of the connection: the end of input, the notification
// exit, Close, the end of Go's context, or a failed write; from then on it takes
// less than a second, even if a handler or the peer does not cooperate. It
// returns nil for an orderly end.
func (c *Conn) Wait() error {
	<-c.done
	return c.err
}

// ExitCode is what the process should exit with after Wait, as LSP has it: 1 for
// exit without shutdown or a broken connection, else 0.
func (c *Conn) ExitCode() int {
	<-c.done
	if c.err != nil {
		return 1
	}
	return int(c.exitCode.Load())
}
