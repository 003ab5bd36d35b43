package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"redline/cmd/internal/config"
	"redline/lsp"
)

// listen opens an address of --listen: unix:PATH or a loopback HOST:PORT. token is what
// clients of a TCP address must show; a socket's folder is closed to others instead.
func listen(getenv func(string) string, addr string) (l net.Listener, token string, err error) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		l, err = listenUnix(path)
		return l, "", err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, "", fmt.Errorf("--listen %q: use unix:PATH or 127.0.0.1:PORT", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, "", fmt.Errorf("--listen %q: only addresses of this machine are served; use 127.0.0.1:PORT, and ssh to reach it from elsewhere", addr)
	}
	if token, err = serveToken(getenv, true); err != nil {
		return nil, "", err
	}
	l, err = net.Listen("tcp", addr)
	return l, token, err
}

// listenUnix opens a socket that only its owner can reach.
func listenUnix(path string) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the socket's folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("the socket's folder: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others can reach the folder %s; use one with mode 0700", dir)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return nil, fmt.Errorf("another redline serves %s already; join it with --remote unix:%s", path, path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		_ = os.Remove(path) // left behind: nobody answers
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("open the socket: %w", err)
	}
	return l, nil
}

// serveToken returns what guards TCP addresses, from a file that only the user can
// read, which is made when create is set.
func serveToken(getenv func(string) string, create bool) (string, error) {
	dir := config.StateDir(getenv)
	if dir == "" {
		return "", errors.New("there is no folder to keep the token in; set REDLINE_HOME")
	}
	path := filepath.Join(dir, "serve-token")
	data, err := os.ReadFile(path)
	if err == nil && len(strings.TrimSpace(string(data))) >= 32 {
		return strings.TrimSpace(string(data)), nil
	}
	if !create {
		return "", fmt.Errorf("read the token of the server: %w", errors.Join(err, errors.New("start redline serve --listen first")))
	}
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails (crypto/rand documents it)
	token := hex.EncodeToString(raw)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("keep the token: %w", err)
	}
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the token: %w", err)
	}
	return token, nil
}

// preface is what a client of a TCP address sends before anything else.
const preface = "Authorization: Bearer %s\r\n\r\n"

// authorized reads the preface. Nothing of what follows it is taken.
func authorized(c net.Conn, token string) bool {
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	want := fmt.Appendf(nil, preface, token)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil {
		return false
	}
	_ = c.SetReadDeadline(time.Time{})
	return subtle.ConstantTimeCompare(got, want) == 1
}

// serveMany serves the clients of l, each with documents of its own, until ctx ends or
// nobody was connected for idle (0: it stays). options returns what each of them is served with.
func serveMany(ctx context.Context, l net.Listener, token string, idle time.Duration, log *zap.Logger, options func() lsp.Options) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hub := lsp.NewHub()
	var (
		clients sync.WaitGroup
		mu      sync.Mutex
		n       int
		timer   *time.Timer
	)
	if idle > 0 {
		timer = time.AfterFunc(idle, cancel)
		defer timer.Stop()
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		mu.Lock()
		if n++; timer != nil {
			timer.Stop()
		}
		mu.Unlock()
		clients.Go(func() {
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				if n--; n == 0 && timer != nil {
					timer.Reset(idle)
				}
			}()
			end := context.AfterFunc(ctx, func() { c.Close() })
			defer end()
			if token != "" && !authorized(c, token) {
				log.Warn("a client without the token was refused", zap.String("from", c.RemoteAddr().String()))
				c.Close()
				return
			}
			opt := options()
			opt.Hub = hub
			lsp.Serve(ctx, c, opt)
		})
	}
	cancel()
	clients.Wait()
}
