package rpc

import (
	"bufio"
	"context"
	"errors"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

// stream is what jsonrpc2 sees of a Conn: checked messages in, queued ones out.
// With ReadFrame and WriteFrame jsonrpc2 also takes batches.
type stream struct{ c *Conn }

var _ jsonrpc2.Stream = (*stream)(nil)

// ReadFrame returns the next checked message.
func (s *stream) ReadFrame(context.Context) ([]byte, int64, error) {
	frame, err := s.c.in.take()
	return frame, int64(len(frame)), err
}

// Read implements [jsonrpc2.Stream].
func (s *stream) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	frame, n, err := s.ReadFrame(ctx)
	if err != nil {
		return nil, 0, err
	}
	msg, err := jsonrpc2.DecodeMessage(frame)
	return msg, n, err
}

var scratch = sync.Pool{New: func() any { return new([]byte) }}

// Write implements [jsonrpc2.Stream]: it queues msg.
func (s *stream) Write(ctx context.Context, msg jsonrpc2.Message) (int64, error) {
	bp := scratch.Get().(*[]byte)
	body := jsonrpc2.AppendMessage((*bp)[:0], msg)
	out, ours := ctx.Value(outgoingKey{}).(*outgoing)
	err := s.c.out.put(ctx, body, !ours)
	if ours && err == nil {
		out.sent = true
	}
	n := int64(len(body))
	if cap(body) <= keepSpare {
		*bp = body
		scratch.Put(bp)
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// WriteFrame queues an encoded message: the answers of a batch.
func (s *stream) WriteFrame(ctx context.Context, data []byte) (int64, error) {
	if err := s.c.out.put(ctx, data, true); err != nil {
		return 0, err
	}
	return int64(len(data)), nil
}

// Close implements [jsonrpc2.Stream]. jsonrpc2 calls it with its lock held, so
// it only starts the end; the Conn's supervisor does the rest.
func (s *stream) Close() error {
	s.c.beginClose()
	return nil
}

// read is the guard: it reads frames until the input ends, answers what jsonrpc2
// must not see, and queues the rest.
func (c *Conn) read() {
	defer close(c.ended)
	defer c.in.end()
	var src source
	if c.opt.Framing == Lines {
		src = &lineSource{bufio.NewReaderSize(c.rw, readBuffer), c.opt.MaxBody}
	} else {
		src = newHeaderSource(c.rw, c.opt.MaxHeader, c.opt.MaxBody)
	}
	for {
		body, err := src.next()
		var fe *frameError
		switch {
		case errors.As(err, &fe):
			c.answer(refuse(nil, fe.code, fe.msg))
			continue
		case err != nil:
			c.readErr = err
			return
		}
		if c.opt.Tap != nil {
			c.opt.Tap(Received, body)
		}
		v := check(body)
		if v.pass == nil && c.waiting.Load() > 0 {
			if answer, ok := bareAnswer(body); ok {
				v = answer
			}
		}
		if v.pass == nil || v.problem != "" {
			c.answer(v)
		}
		switch v.method {
		case c.cancelMethod():
			// Handled again in its place in the queue, for a request that is
			// still in it; here for a turn at work while the queue is held up.
			c.cancelRequest(v.params)
		case methodExit:
			if !c.opt.NoLifecycle {
				signal(c.exitSeen)
			}
		}
		if v.pass != nil && !c.in.put(v.pass) {
			return
		}
	}
}

// answer logs a verdict and sends its reply.
func (c *Conn) answer(v verdict) {
	c.log.Warn("bad message", zap.String("problem", v.problem))
	if v.reply == nil {
		return
	}
	if err := c.out.put(context.Background(), v.reply, true); err != nil {
		c.log.Debug("answer not sent", zap.Error(err))
	}
}
