package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// secret are the variables that servers do not get unless their settings give them.
var secret = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}

// transport returns the way to a server; stop ends what was started for it and
// waits for that.
func (s *Servers) transport(srv Server) (t sdk.Transport, stop func(), err error) {
	if srv.Transport() == "stdio" {
		return s.program(srv)
	}
	c := &conns{open: map[net.Conn]bool{}}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DialContext = c.dial
	client := &http.Client{Transport: headers{base, srv.Headers}}
	stop = func() { c.close(); base.CloseIdleConnections() }
	if srv.Transport() == "http" {
		return &sdk.StreamableClientTransport{Endpoint: srv.HTTPURL, HTTPClient: client, MaxRetries: -1}, stop, nil
	}
	return &sdk.SSEClientTransport{Endpoint: srv.URL, HTTPClient: client}, stop, nil
}

// conns are the connections to a server, so that all of them can be cut.
type conns struct {
	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

func (c *conns) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	c.open[conn] = true
	return &counted{conn, c}, nil
}

func (c *conns) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for conn := range c.open {
		conn.Close()
	}
}

// counted is a connection that says when it is closed.
type counted struct {
	net.Conn
	c *conns
}

// Close implements [net.Conn].
func (n *counted) Close() error {
	n.c.mu.Lock()
	delete(n.c.open, n.Conn)
	n.c.mu.Unlock()
	return n.Conn.Close()
}

// headers adds headers to each request.
type headers struct {
	base http.RoundTripper
	add  map[string]string
}

// RoundTrip implements [http.RoundTripper].
func (h headers) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(h.add) > 0 {
		req = req.Clone(req.Context())
		for k, v := range h.add {
			req.Header.Set(k, v)
		}
	}
	return h.base.RoundTrip(req)
}

// program starts a server that speaks on stdin and stdout, in a process group of
// its own.
func (s *Servers) program(srv Server) (sdk.Transport, func(), error) {
	cmd := exec.Command(srv.Command, srv.Args...)
	cmd.Dir = srv.Cwd
	if cmd.Dir == "" && len(s.opt.Folders) > 0 {
		cmd.Dir = s.opt.Folders[0]
	}
	env := s.opt.Env
	if env == nil {
		env = os.Environ()
	}
	cmd.Env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(secret, name)
	})
	for k, v := range srv.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	// Own pipes, not cmd's: its Wait would close them while they are read.
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	said := &tail{}
	cmd.Stdout, cmd.Stderr = outW, said
	cmd.WaitDelay = drain // a child that holds stderr must not hold us
	if err := cmd.Start(); err != nil {
		outR.Close()
		outW.Close()
		return nil, nil, fmt.Errorf("start: %w", err)
	}
	outW.Close()
	pr, pw := io.Pipe()
	var wg sync.WaitGroup
	exited := make(chan struct{}) // closed when the program is gone and its stderr is read
	wg.Go(func() {
		defer close(exited)
		_ = cmd.Wait() // how it ended says nothing: mostly it was killed
	})
	wg.Go(func() {
		err := jsonLines(pw, outR, func(line string) { s.opt.Log(srv.Name, "MCP server "+srv.Name+" printed: "+line) })
		if err == nil {
			err = io.EOF
			// What it said last may still be on its way.
			select {
			case <-exited:
			case <-time.After(lastWords):
			}
			if t := said.String(); t != "" {
				err = fmt.Errorf("the server ended, saying: %s", t)
			}
		}
		pw.CloseWithError(err)
	})
	stop := sync.OnceFunc(func() {
		in.Close()
		kill(cmd)
		<-exited
		outR.Close()
		pr.Close()
		wg.Wait()
	})
	return &sdk.IOTransport{Reader: pr, Writer: in}, stop, nil
}

// lastWords is how long a program that closed its output may take to end, so that
// what it says on stderr can be told.
const lastWords = 2 * time.Second

// maxLine is the longest message of a program, in bytes; images come in base64.
const maxLine = 64 << 20

// jsonLines copies the lines of in that can be messages and hands the others, such
// as words of a package manager, to noise.
func jsonLines(out io.Writer, in io.Reader, noise func(string)) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return errors.New("the server sent a line longer than 64 MB")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if t := bytes.TrimSpace(line); len(t) > 0 {
			if t[0] == '{' || t[0] == '[' {
				if _, werr := out.Write(append(t, '\n')); werr != nil {
					return werr
				}
			} else {
				noise(string(t[:min(len(t), 500)]))
			}
		}
		line = line[:0]
		if err != nil {
			return nil // the end, however it came
		}
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - 500; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.buf), ""))
}
