package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// ending starts a connection with a handler that is at work when the end comes.
// heed says whether it ends with its context.
func ending(t *testing.T, mode Mode, heed bool) (c *Conn, p *peer, hold chan struct{}) {
	t.Helper()
	r := base()
	started := make(chan struct{}, 1)
	hold = make(chan struct{})
	Handle(r, "work", mode, func(ctx context.Context, _ *none) (none, error) {
		started <- struct{}{}
		if heed {
			<-ctx.Done()
			return none{}, ctx.Err()
		}
		<-hold
		return none{}, nil
	})
	c, p = connect(t, r, Options{})
	p.initialize()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"work"}`)
	<-started
	return c, p, hold
}

func TestEnds(t *testing.T) {
	const exit = `{"jsonrpc":"2.0","method":"exit"}`
	const shutdown = `{"jsonrpc":"2.0","id":2,"method":"shutdown"}`
	for _, tt := range []struct {
		name string
		mode Mode
		end  func(c *Conn, p *peer)
		code int
	}{
		{"end of input", Async, func(_ *Conn, p *peer) { _ = p.conn.Close() }, 0},
		{"end of input, queue held", Inline, func(_ *Conn, p *peer) { _ = p.conn.Close() }, 0},
		{"exit", Async, func(_ *Conn, p *peer) { p.send(exit) }, 1},
		{"exit, queue held", Inline, func(_ *Conn, p *peer) { p.send(exit) }, 1},
		{"shutdown and exit", Async, func(_ *Conn, p *peer) { p.send(shutdown); p.send(exit) }, 0},
		{"close", Inline, func(c *Conn, _ *peer) { _ = c.Close() }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, p, _ := ending(t, tt.mode, true)
			deadline(t, "the end", func() {
				tt.end(c, p)
				if err := c.Wait(); err != nil {
					t.Errorf("Wait: %v", err)
				}
			})
			if c.ExitCode() != tt.code {
				t.Errorf("exit code %d, want %d", c.ExitCode(), tt.code)
			}
			if err := c.Notify(context.Background(), "x", nil); !errors.Is(err, ErrClosed) {
				t.Errorf("Notify afterwards: %v", err)
			}
			if err := c.Call(context.Background(), "x", nil, nil); !errors.Is(err, ErrClosed) {
				t.Errorf("Call afterwards: %v", err)
			}
		})
	}
}

// TestStuckHandler checks that a handler that ignores its context delays the end
// by less than a second, and is named.
func TestStuckHandler(t *testing.T) {
	for _, mode := range []Mode{Async, Inline} {
		c, p, hold := ending(t, mode, false)
		deadline(t, "the end", func() {
			_ = p.conn.Close()
			if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "work") {
				t.Errorf("Wait: %v", err)
			}
		})
		close(hold)
		<-c.rpc.Done()
	}
}

func TestContextEnds(t *testing.T) {
	a, b := sockets(t)
	defer b.Close()
	c := NewConn(a, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	c.Go(ctx, base())
	deadline(t, "the end", func() {
		cancel()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestAfterShutdown checks what is still allowed after shutdown: exit.
func TestAfterShutdown(t *testing.T) {
	c, p := connect(t, base(), Options{})
	p.initialize()
	if got := p.answer(`{"jsonrpc":"2.0","id":1,"method":"shutdown"}`); got != `{"id":1,"jsonrpc":"2.0","result":null}` {
		t.Errorf("shutdown: %s", got)
	}
	for _, method := range []string{"echo", "shutdown", "initialize", "no/such"} {
		if got := p.answer(`{"jsonrpc":"2.0","id":2,"method":"` + method + `"}`); !strings.Contains(got, `-32600`) {
			t.Errorf("%s after shutdown: %s", method, got)
		}
	}
	p.send(`{"jsonrpc":"2.0","method":"exit"}`)
	if code := c.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// closedInput is stdin after the end of a pipe, and stdout.
type closedInput struct {
	io.Reader
	out bytes.Buffer
	// end is closed when the end of the input was read.
	end  chan struct{}
	once sync.Once
}

func (c *closedInput) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if err != nil && c.end != nil {
		c.once.Do(func() { close(c.end) })
	}
	return n, err
}

func (c *closedInput) Write(b []byte) (int, error) { return c.out.Write(b) }
func (*closedInput) Close() error                  { return nil }

// slowResult takes its time to be encoded: beyond the end of the input.
type slowResult struct{ end chan struct{} }

func (s slowResult) MarshalJSON() ([]byte, error) {
	afterEnd(s.end)
	return []byte(`"encoded"`), nil
}

// afterEnd gives everybody else the chance to act upon the end of the input.
func afterEnd(end chan struct{}) {
	<-end
	for range 1000 {
		runtime.Gosched()
	}
}

// TestPipedInput checks that requests are answered although the input ends right
// after them: those of async handlers too, which get a moment to finish.
func TestPipedInput(t *testing.T) {
	for range 20 {
		rw := &closedInput{end: make(chan struct{}), Reader: strings.NewReader(
			frame(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`) + frame(`{`) +
				frame(`{"jsonrpc":"2.0","id":2,"method":"quick"}`) + frame(`{"jsonrpc":"2.0","id":3,"method":"echo"}`) +
				frame(`{"jsonrpc":"2.0","id":4,"method":"slow/result"}`))}
		r := base()
		Handle(r, "quick", Async, func(ctx context.Context, _ *none) (string, error) {
			afterEnd(rw.end)
			return "done", ctx.Err()
		})
		Handle(r, "slow/result", Async, func(context.Context, *none) (slowResult, error) { return slowResult{rw.end}, nil })
		if err := Serve(context.Background(), rw, r, Options{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"id":1,"result"`, `-32700`, `"id":2,"result":"done"`, `"id":3,"result"`, `"id":4,"result":"encoded"`} {
			if !strings.Contains(rw.out.String(), want) {
				t.Fatalf("no %s in %s", want, rw.out.String())
			}
		}
	}
}

// TestInputCut checks that an end within a frame is an error, and that bare JSON
// is told what it lacks.
func TestInputCut(t *testing.T) {
	for _, tt := range []struct{ in, err, out string }{
		{"", "", ""},
		{"Content-Length: 10\r\n\r\n{}", "unexpected EOF", ""},
		{"Content-Length: 10\r\n", "unexpected EOF", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, "unexpected EOF", "without a Content-Length"},
	} {
		rw := &closedInput{Reader: strings.NewReader(tt.in)}
		err := Serve(context.Background(), rw, base(), Options{})
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %v, want %s", tt.in, err, tt.err)
		}
		if !strings.Contains(rw.out.String(), tt.out) {
			t.Errorf("%q: wrote %q, want %s", tt.in, rw.out.String(), tt.out)
		}
	}
}

// brokenWriter reads until closed and fails each write.
type brokenWriter struct {
	*io.PipeReader
}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrPermission }

func TestWriteError(t *testing.T) {
	r, w := io.Pipe()
	c := NewConn(brokenWriter{r}, Options{QueueBytes: 10})
	c.Go(context.Background(), base())
	deadline(t, "the end", func() {
		if err := c.Notify(context.Background(), "x", nil); err != nil {
			t.Error(err) // it is only queued
		}
		if err := c.Wait(); !errors.Is(err, os.ErrPermission) || !errors.Is(err, ErrClosed) {
			t.Errorf("Wait: %v", err)
		}
	})
	if c.ExitCode() != 1 {
		t.Errorf("exit code %d", c.ExitCode())
	}
	_ = w.Close()
}

// TestSlowPeer checks the bound of the queue when the peer does not read:
// notifications wait for room or for the end of their context, while answers, and
// with them the handlers, are not held up.
func TestSlowPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := io.Pipe() // what we write
		in, feed := io.Pipe()
		c := NewConn(Pair(in, theirs), Options{QueueBytes: 1000, NoLifecycle: true})
		r := NewRouter()
		echoes := 0
		Handle(r, "echo", Inline, func(context.Context, *none) (int, error) { echoes++; return echoes, nil })
		c.Go(t.Context(), r)

		ctx, cancel := context.WithCancel(t.Context())
		var sent, gaveUp atomic.Int32
		for range 5 {
			go func() {
				switch err := c.Notify(ctx, "n", strings.Repeat("x", 600)); {
				case err == nil:
					sent.Add(1)
				case errors.Is(err, context.Canceled):
					gaveUp.Add(1)
				default:
					t.Errorf("Notify: %v", err)
				}
			}()
			synctest.Wait()
		}
		// One is being written, one is queued, the others wait.
		if sent.Load() != 2 {
			t.Errorf("%d notifications taken, want 2", sent.Load())
		}
		for range 30 { // more than the bound in answers
			if _, err := io.WriteString(feed, frame(`{"jsonrpc":"2.0","id":1,"method":"echo"}`)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if echoes != 30 {
			t.Errorf("%d of 30 requests handled", echoes)
		}
		cancel()
		synctest.Wait()
		if gaveUp.Load() != 3 {
			t.Errorf("%d notifications gave up, want 3", gaveUp.Load())
		}
		go func() { _ = feed.Close() }()
		got, err := io.ReadAll(ours)
		if err != nil {
			t.Error(err)
		}
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		if n, a := strings.Count(string(got), `"method":"n"`), strings.Count(string(got), `"result"`); n != 2 || a != 30 {
			t.Errorf("%d notifications and %d answers arrived, want 2 and 30", n, a)
		}
	})
}

// TestNobodyReads checks that an end is not held up by a peer that stopped reading.
func TestNobodyReads(t *testing.T) {
	_, theirs := io.Pipe()
	in, feed := io.Pipe()
	c := NewConn(Pair(in, theirs), Options{})
	c.Go(context.Background(), base())
	if err := c.Notify(context.Background(), "n", nil); err != nil {
		t.Error(err)
	}
	deadline(t, "the end", func() {
		_ = feed.Close()
		_ = c.Wait()
	})
}

// deafInput is a stdin whose read is not ended by closing it.
type deafInput struct {
	data io.Reader
	hold chan struct{}
}

func (d *deafInput) Read(b []byte) (int, error) {
	if n, err := d.data.Read(b); err == nil {
		return n, nil
	}
	<-d.hold
	return 0, io.EOF
}
func (*deafInput) Close() error { return nil }

// TestDeafInput checks that exit ends a connection whose input stays open and
// cannot be interrupted, as a blocking stdin.
func TestDeafInput(t *testing.T) {
	in := &deafInput{hold: make(chan struct{}), data: strings.NewReader(
		frame(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`) + frame(`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`) +
			frame(`{"jsonrpc":"2.0","method":"exit"}`))}
	rw := &closedInput{}
	c := NewConn(Pair(in, rw), Options{})
	c.Go(context.Background(), base())
	deadline(t, "the end", func() {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	if c.ExitCode() != 0 || !strings.Contains(rw.out.String(), `"id":2,"result":null`) {
		t.Errorf("exit code %d, wrote %s", c.ExitCode(), rw.out.String())
	}
	close(in.hold)
	<-c.ended
}

// TestStdio runs this package as a process on real pipes, whose reads cannot be
// interrupted.
func TestStdio(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize"}`
	const shutdown = `{"jsonrpc":"2.0","id":2,"method":"shutdown"}`
	const exit = `{"jsonrpc":"2.0","method":"exit"}`
	for _, tt := range []struct {
		name  string
		send  []string
		close bool // stdin at the end
		code  int
		want  string
	}{
		{"exit after shutdown, stdin open", []string{initialize, shutdown, exit}, false, 0, `"id":2,"result":null`},
		{"exit without shutdown, stdin open", []string{initialize, exit}, false, 1, `"id":1,"result"`},
		{"end of input", []string{initialize, `{`}, true, 0, `-32700`},
		{"end of input within a frame", []string{initialize, "Content-Length: 99\r\n\r\n{"}, true, 1, `"id":1,"result"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), "RPC_TEST_SERVE=1")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for _, m := range tt.send {
				if !strings.HasPrefix(m, "Content") {
					m = frame(m)
				}
				if _, err := io.WriteString(stdin, m); err != nil {
					t.Fatal(err)
				}
			}
			if tt.close {
				_ = stdin.Close()
			}
			_ = cmd.Wait() // its exit code is looked at below
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(out.String(), tt.want) {
				t.Errorf("exit code %d, output %q; want %d and %s", code, out.String(), tt.code, tt.want)
			}
		})
	}
}
