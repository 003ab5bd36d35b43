package rpc

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// BenchmarkCall measures a request from the peer and its answer over a loopback socket.
func BenchmarkCall(b *testing.B) {
	for _, mode := range []struct {
		name string
		mode Mode
	}{{"inline", Inline}, {"async", Async}} {
		b.Run(mode.name, func(b *testing.B) {
			r := base()
			Handle(r, "work", mode.mode, func(_ context.Context, p *promptParams) (*promptParams, error) { return p, nil })
			_, p := connect(b, r, Options{})
			p.initialize()
			msg := frame(`{"jsonrpc":"2.0","id":1,"method":"work","params":{"sessionId":"s"}}`)
			for b.Loop() {
				p.raw(msg)
				<-p.in
			}
		})
	}
}

// BenchmarkReverseCall measures Conn.Call and the peer's answer.
func BenchmarkReverseCall(b *testing.B) {
	us, them := sockets(b)
	client := NewConn(them, Options{NoLifecycle: true})
	client.Go(context.Background(), base())
	c := NewConn(us, Options{})
	c.Go(context.Background(), base())
	for b.Loop() {
		var res map[string]any
		if err := c.Call(context.Background(), "echo", map[string]int{"a": 1}, &res); err != nil {
			b.Fatal(err)
		}
	}
	_ = c.Close()
	_ = client.Wait()
}

type event struct {
	SessionID string `json:"sessionId"`
	Seq       int    `json:"seq"`
	Text      string `json:"text"`
}

// BenchmarkNotify measures notifications of 200 bytes to a peer that reads them;
// the budget is 20,000 in 0.3 s, which is 15 µs each.
func BenchmarkNotify(b *testing.B) {
	us, them := sockets(b)
	c := NewConn(us, Options{})
	c.Go(context.Background(), base())
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, them)
	}()
	ev := &event{SessionID: "0123456789", Text: strings.Repeat("x", 110)}
	for b.Loop() {
		ev.Seq++
		if err := c.Notify(context.Background(), "agent/event", ev); err != nil {
			b.Fatal(err)
		}
	}
	_ = c.Close()
	<-read
	_ = them.Close()
}

// BenchmarkReceive measures didChange notifications handled inline.
func BenchmarkReceive(b *testing.B) {
	r := base()
	n := 0
	HandleNotify(r, "change", Inline, func(context.Context, *struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	}) error {
		n++
		return nil
	})
	_, p := connect(b, r, Options{})
	p.initialize()
	w := bufio.NewWriterSize(p.conn, 64<<10)
	msg := frame(`{"jsonrpc":"2.0","method":"change","params":{"uri":"file:///some/folder/file.go","text":"` + strings.Repeat("x", 100) + `"}}`)
	for b.Loop() {
		if _, err := w.WriteString(msg); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	p.answer(`{"jsonrpc":"2.0","id":1,"method":"echo"}`)
}

// TestThroughput holds the budget of streamed events, generously for shared machines.
func TestThroughput(t *testing.T) {
	us, them := sockets(t)
	c := NewConn(us, Options{})
	c.Go(context.Background(), base())
	const n, size = 20_000, 200
	counted := make(chan int64, 1)
	go func() {
		got, _ := io.Copy(io.Discard, them)
		counted <- got
	}()
	ev := &event{SessionID: "0123456789", Text: strings.Repeat("x", 110)}
	start := time.Now()
	for ev.Seq = range n {
		if err := c.Notify(context.Background(), "agent/event", ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	got, took := <-counted, time.Since(start)
	_ = them.Close()
	if got < n*size {
		t.Errorf("%d bytes arrived, want at least %d", got, n*size)
	}
	t.Logf("%d notifications, %d bytes, in %v", n, got, took)
	limit := 300 * time.Millisecond
	if raceEnabled {
		limit *= 10
	}
	if took > limit {
		t.Errorf("took %v, the budget is %v", took, limit)
	}
}

// BenchmarkBare measures jsonrpc2 with nothing around it, for comparison with
// BenchmarkCall.
func BenchmarkBare(b *testing.B) {
	us, them := sockets(b)
	conn := jsonrpc2.NewConn(jsonrpc2.NewHeaderStream(us))
	conn.Go(context.Background(), func(_ context.Context, req *jsonrpc2.Request) (any, error) {
		var p promptParams
		err := jsonrpc2.DefaultCodec.Unmarshal(req.Params(), &p)
		return &p, err
	})
	p := &peer{t: b, conn: them, in: make(chan string, 1)}
	go p.read(Headers)
	msg := frame(`{"jsonrpc":"2.0","id":1,"method":"work","params":{"sessionId":"s"}}`)
	for b.Loop() {
		p.raw(msg)
		<-p.in
	}
	_ = them.Close()
	<-conn.Done()
	for range p.in {
	}
}
