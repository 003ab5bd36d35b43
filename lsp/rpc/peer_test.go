package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("RPC_TEST_SERVE") != "" {
		// The process of TestStdio.
		c := NewConn(Pair(os.Stdin, os.Stdout), Options{})
		c.Go(context.Background(), base())
		os.Exit(c.ExitCode())
	}
	goleak.VerifyTestMain(m)
}

// peer is the other end of a connection, with framing of its own.
type peer struct {
	t    testing.TB
	conn net.Conn
	in   chan string // bodies received; closed at the end
}

// connect starts a Conn on one end of a socket pair and returns it with the other end.
func connect(t testing.TB, r *Router, opt Options) (*Conn, *peer) {
	t.Helper()
	a, b := sockets(t)
	c := NewConn(a, opt)
	p := &peer{t: t, conn: b, in: make(chan string, 100_000)}
	go p.read(opt.Framing)
	ctx, cancel := context.WithCancel(context.Background())
	c.Go(ctx, r)
	t.Cleanup(func() {
		cancel()
		_ = b.Close()
		<-c.Done()
		for range p.in { // until its reader has returned
		}
	})
	return c, p
}

// sockets returns the two ends of a loopback connection: unlike net.Pipe it
// buffers, as a real editor's pipe does.
func sockets(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if b, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if a, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

func (p *peer) read(framing Framing) {
	defer close(p.in)
	br := bufio.NewReader(p.conn)
	for {
		if framing == Lines {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			p.in <- strings.TrimSpace(line)
			continue
		}
		n := -1
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				n, _ = strconv.Atoi(v)
			}
		}
		buf := make([]byte, n)
		if _, err := io.ReadFull(br, buf); err != nil {
			return
		}
		p.in <- string(buf)
	}
}

func frame(body string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// raw writes bytes as they are.
func (p *peer) raw(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.conn, s); err != nil {
		p.t.Fatalf("write: %v", err)
	}
}

func (p *peer) send(body string) { p.t.Helper(); p.raw(frame(body)) }

// receive returns the next message in a normal form: keys sorted.
func (p *peer) receive() string {
	p.t.Helper()
	select {
	case s, ok := <-p.in:
		if !ok {
			p.t.Fatal("connection closed")
		}
		return normal(p.t, s)
	case <-time.After(10 * time.Second):
		p.t.Fatal("nothing received")
	}
	return ""
}

// answer sends and receives.
func (p *peer) answer(body string) string {
	p.t.Helper()
	p.send(body)
	return p.receive()
}

// initialize brings the connection into its running phase.
func (p *peer) initialize() {
	p.t.Helper()
	got := p.answer(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{}}`)
	if !strings.Contains(got, `"result"`) {
		p.t.Fatalf("initialize: %s", got)
	}
}

func normal(t testing.TB, s string) string {
	t.Helper()
	var v any
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("received %q: %v", s, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type none struct{}

// base is a router with the handlers that most tests need.
func base() *Router {
	r := NewRouter()
	Handle(r, "initialize", Inline, func(context.Context, *none) (none, error) { return none{}, nil })
	Handle(r, "echo", Inline, func(_ context.Context, p *map[string]any) (map[string]any, error) { return *p, nil })
	return r
}
