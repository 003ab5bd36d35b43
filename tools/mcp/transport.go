package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// secret are the variables that servers do not get unless their settings give them.
var secret = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}

// A way is how a server is reached.
type way struct {
	transport sdk.Transport
	stop      func()            // ends what was started for it, and waits for that
	explain   func(error) error // says more of an error of the connection
}

// transport returns the way to a server.
func (s *Servers) transport(srv Server) (*way, error) {
	if srv.Transport() == "stdio" {
		return s.program(srv)
	}
	c := &conns{open: map[net.Conn]bool{}}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DialContext = c.dial
	rt := &headers{base: base, add: srv.Headers}
	if u, err := url.Parse(cmp.Or(srv.HTTPURL, srv.URL)); err == nil {
		rt.scheme, rt.host = u.Scheme, u.Host
	}
	w := &way{
		stop: func() { c.close(); base.CloseIdleConnections() },
		explain: func(err error) error {
			if rt.denied.Load() {
				return fmt.Errorf("the server wants a sign-in (%w); redline does not sign in to MCP servers by OAuth: "+
					`get a token and set it in mcpServers.%s, as "headers": {"Authorization": "Bearer $YOUR_TOKEN"}`, err, srv.Name)
			}
			return err
		},
	}
	client := &http.Client{Transport: rt}
	if srv.Transport() == "http" {
		w.transport = &sdk.StreamableClientTransport{Endpoint: srv.HTTPURL, HTTPClient: client, MaxRetries: -1, MaxEventSize: maxLine}
	} else {
		w.transport = &sdk.SSEClientTransport{Endpoint: srv.URL, HTTPClient: client, MaxEventSize: maxLine}
	}
	return w, nil
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

// headers adds headers to each request, and remembers that the server refused one
// for want of a sign-in.
type headers struct {
	base http.RoundTripper
	add  map[string]string
	// scheme and host are the server's: what it sends us on to elsewhere gets no headers, which hold its token.
	scheme, host string
	denied       atomic.Bool
}

// RoundTrip implements [http.RoundTripper].
func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(h.add) > 0 && req.URL.Scheme == h.scheme && req.URL.Host == h.host {
		req = req.Clone(req.Context())
		for k, v := range h.add {
			req.Header.Set(k, v)
		}
	}
	res, err := h.base.RoundTrip(req)
	if err == nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden) {
		h.denied.Store(true)
	}
	if err == nil && strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		res.Body = &limited{res.Body, maxLine} // a stream's events are bounded by the SDK
	}
	return res, err
}

// limited is a body of which not more than left bytes are read.
type limited struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, errors.New("the server sent an answer longer than 64 MB")
	}
	return n, err
}

// program starts a server that speaks on stdin and stdout, in a process group of
// its own.
func (s *Servers) program(srv Server) (*way, error) {
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
		return nil, err
	}
	// Own pipes, not cmd's: its Wait would close them while they are read.
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	said := &tail{}
	cmd.Stdout, cmd.Stderr = outW, said
	cmd.WaitDelay = drain // a child that holds stderr must not hold us
	if err := cmd.Start(); err != nil {
		outR.Close()
		outW.Close()
		return nil, fmt.Errorf("start: %w", err)
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
		err := jsonLines(pw, outR, s.noise(srv))
		if err == nil {
			err = io.EOF
			// What it said last may still be on its way.
			select {
			case <-exited:
			case <-time.After(lastWords):
			}
			if t := said.String(); t != "" {
				err = fmt.Errorf("%w, saying: %s", errEnded, t)
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
	return &way{&sdk.IOTransport{Reader: pr, Writer: in, MaxLineLength: maxLine + 1}, stop, func(err error) error { return err }}, nil
}

// noise returns what takes the lines of a program that are no messages: the first
// few are logged.
func (s *Servers) noise(srv Server) func(string) {
	n := 0
	return func(line string) {
		switch n++; {
		case n < maxNoise:
			s.opt.Log(srv.Name, "MCP server "+srv.Name+" printed: "+srv.scrub(line))
		case n == maxNoise:
			s.opt.Log(srv.Name, "MCP server "+srv.Name+" prints more, which is not shown")
		}
	}
}

// maxNoise is how many lines that are no messages are shown of one program.
const maxNoise = 20

// errEnded is why a program cannot be read.
var errEnded = errors.New("the server ended")

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
