package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.uber.org/zap"
)

// turn is a handler's place in the queue, carried by its context.
type turn struct {
	conn *Conn
	// root is the connection's context. A handler's own context is the only
	// thing that refers to its turn, so this is a context's value, not a field
	// that outlives it.
	root context.Context
	held atomic.Bool // the handler holds the queue
	// answered is closed once the answer is queued; set when the queue is left.
	answered <-chan struct{}
	// leave leaves the queue. Only the goroutine that turned held from true to
	// false calls it.
	leave func()
}

type turnKey struct{}

// Release lets the messages after the current one be handled while the caller,
// an [Inline] handler, goes on. Call it on the goroutine the handler was called
// on. For an [Async] handler, and the second time, it does nothing.
func Release(ctx context.Context) {
	if t, ok := ctx.Value(turnKey{}).(*turn); ok && t.held.CompareAndSwap(true, false) {
		t.leave()
	}
}

// Detach returns a context for work that outlives the handler of ctx: it ends
// with the connection, and has the handler's values but not its cancellation.
// A context that does not come from a handler is returned as it is.
func Detach(ctx context.Context) context.Context {
	t, ok := ctx.Value(turnKey{}).(*turn)
	if !ok {
		return ctx
	}
	return context.WithValue(t.root, turnKey{}, &turn{conn: t.conn, root: t.root})
}

// Answered returns what is closed once the answer to the request of ctx is on its way,
// so that what is sent afterwards arrives behind it. The handler, which must be [Async]
// or have called [Release], may start a goroutine that waits for it. It is nil for a
// context of anything else.
func Answered(ctx context.Context) <-chan struct{} {
	if t, ok := ctx.Value(turnKey{}).(*turn); ok && !t.held.Load() {
		return t.answered
	}
	return nil
}

// FromContext returns the connection whose message is being handled, nil when
// ctx does not come from a handler.
func FromContext(ctx context.Context) *Conn {
	if t, ok := ctx.Value(turnKey{}).(*turn); ok {
		return t.conn
	}
	return nil
}

// handler is what jsonrpc2 calls for each message, on the goroutine that reads.
// It never panics and never fails a notification: both end the connection.
func (c *Conn) handler(root context.Context, r *Router) jsonrpc2.Handler {
	return func(ctx context.Context, req *jsonrpc2.Request) (any, error) {
		if req.IsCall() {
			result, err := c.request(ctx, root, r, req)
			if err != nil {
				return nil, toWire(err)
			}
			return result, nil
		}
		c.notification(ctx, root, r, req)
		return nil, nil
	}
}

// request handles one request and returns its result as JSON.
func (c *Conn) request(ctx, root context.Context, r *Router, req *jsonrpc2.Request) (result jsonrpc2.RawMessage, err error) {
	method := strings.Clone(req.Method())
	initializing := false
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("handler panicked", zap.String("method", method), zap.Any("panic", p), zap.Stack("stack"))
			err = Errorf(CodeInternal, KindInternal, "%s crashed: %v", method, p)
		}
		if initializing {
			c.life.initialized(err == nil)
		}
	}()
	rt, known := r.requests[method]
	if !c.opt.NoLifecycle {
		if err := c.life.request(method); err != nil {
			return nil, err
		}
		initializing = method == methodInitialize
		if method == methodShutdown && !known {
			return nil, nil
		}
	}
	if !known {
		return nil, Errorf(CodeMethodNotFound, KindMethodNotFound, "method %q is not known", method)
	}
	value, err := c.run(ctx, root, rt, method, req)
	if err != nil {
		return nil, err
	}
	raw, err := (codec{}).Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode the result of %s: %w", method, err)
	}
	return jsonrpc2.RawMessage(raw), nil
}

// notification handles one notification; what goes wrong is logged.
func (c *Conn) notification(ctx, root context.Context, r *Router, req *jsonrpc2.Request) {
	method := strings.Clone(req.Method())
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("handler panicked", zap.String("method", method), zap.Any("panic", p), zap.Stack("stack"))
		}
	}()
	switch {
	case method == c.cancelMethod():
		c.cancelRequest(req.Params())
		return
	case method == methodExit && !c.opt.NoLifecycle:
		c.exitOnce.Do(func() {
			c.exitCode.Store(c.life.exitCode())
			close(c.exit)
		})
		return
	case !c.opt.NoLifecycle && !c.life.notification():
		c.log.Debug("notification outside of the session dropped", zap.String("method", method))
		return
	}
	rt, known := r.notices[method]
	if !known {
		if !strings.HasPrefix(method, "$/") {
			c.log.Warn("unknown notification ignored", zap.String("method", method))
		}
		return
	}
	if _, err := c.run(ctx, root, rt, method, req); err != nil {
		c.log.Warn("notification failed", zap.String("method", method), zap.Error(err))
	}
}

// run calls a handler with a context of its own. It never derives from ctx,
// which jsonrpc2 recycles: a derived context would panic the process later.
func (c *Conn) run(ctx, root context.Context, rt route, method string, req *jsonrpc2.Request) (any, error) {
	hctx, cancel := context.WithCancelCause(root)
	defer cancel(nil)
	r := &running{method: method, id: req.ID(), cancel: cancel}
	if !c.running.begin(r, c.opt.MaxInFlight) {
		return nil, &Error{
			Code:    CodeOverloaded,
			Message: fmt.Sprintf("more than %d requests in progress", c.opt.MaxInFlight),
			Data:    ErrorData{Kind: KindOverloaded, RetryAfterMs: 200},
		}
	}
	defer c.running.end(r)
	t := &turn{conn: c, root: root}
	t.leave = func() {
		jsonrpc2.Async(ctx) // from here on ctx is not recycled, and req is a copy
		t.answered = ctx.Done()
		c.running.release(r, ctx.Done())
	}
	t.held.Store(true)
	// Whoever kept the context must not leave the queue in another's turn.
	defer t.held.Store(false)
	hctx = context.WithValue(hctx, turnKey{}, t)
	if rt.mode == Async {
		Release(hctx)
	}
	if c.opt.Timed != nil {
		start := time.Now()
		defer func() { c.opt.Timed(method, time.Since(start)) }()
	}
	return rt.call(hctx, req.Params())
}

// cancelRequest ends the context of the request that params name.
func (c *Conn) cancelRequest(params []byte) {
	var p struct {
		ID        json.RawMessage `json:"id"`
		RequestID json.RawMessage `json:"requestId"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		c.log.Warn("malformed $/cancelRequest", zap.Error(err))
		return
	}
	if c.opt.ACPCancel {
		p.ID = p.RequestID
	}
	var num int64
	var str string
	switch {
	case first(p.ID) == '"' && json.Unmarshal(p.ID, &str) == nil:
		c.running.cancel(jsonrpc2.NewStringID(str))
	case json.Unmarshal(p.ID, &num) == nil && first(p.ID) != 'n':
		c.running.cancel(jsonrpc2.NewNumberID(num))
	default:
		c.log.Warn("malformed $/cancelRequest", zap.ByteString("id", p.ID))
	}
}

// cancelMethod names the notification that cancels a request.
func (c *Conn) cancelMethod() string {
	if c.opt.ACPCancel {
		return methodCancelACP
	}
	return methodCancel
}

// cancelParams are its parameters for a call of our own.
func (c *Conn) cancelParams(id jsonrpc2.ID) ([]byte, error) {
	n, _ := id.Number()
	if c.opt.ACPCancel {
		return protocol.Marshal(struct {
			ID int64 `json:"requestId"`
		}{n})
	}
	return protocol.Marshal(struct {
		ID int64 `json:"id"`
	}{n})
}
