package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"redline/cmd/internal/config"
)

// autoIdle is how long a server that --remote auto has started waits for clients.
const autoIdle = 10 * time.Minute

// joinRemote joins stdin and stdout to a server at addr, "auto" for one of its own
// that is started when there is none. It returns when either side ends.
func joinRemote(ctx context.Context, std stdio, addr string, args []string) error {
	c, err := dialRemote(ctx, std.getenv, addr, args)
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(std.out, c) // the server ends the connection
	}()
	go func() { // ends with the process when the editor never closes stdin
		_, _ = io.Copy(c, std.in)
		if half, ok := c.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	<-ended
	return nil
}

func dialRemote(ctx context.Context, getenv func(string) string, addr string, args []string) (net.Conn, error) {
	var d net.Dialer
	if addr != "auto" {
		if path, ok := strings.CutPrefix(addr, "unix:"); ok {
			return d.DialContext(ctx, "unix", path)
		}
		token, err := serveToken(getenv, false)
		if err != nil {
			return nil, err
		}
		c, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Fprintf(c, preface, token); err != nil {
			c.Close()
			return nil, err
		}
		return c, nil
	}
	path, err := autoSocket(getenv)
	if err != nil {
		return nil, err
	}
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		return c, nil
	}
	if err := startServer(getenv, path, args); err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		if c, err = d.DialContext(ctx, "unix", path); err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the server that was started does not answer at %s: %w", path, err)
		case <-again.C:
		}
	}
}

// autoSocket returns where the server of --remote auto is: one for each version, since
// a client must not meet a server that does not know its words.
func autoSocket(getenv func(string) string) (string, error) {
	dir := config.StateDir(getenv)
	if dir == "" {
		return "", fmt.Errorf("there is no folder for the server's socket; set REDLINE_HOME")
	}
	name := "serve-" + strings.NewReplacer("/", "_", " ", "_").Replace(versionString()) + ".sock"
	path := filepath.Join(dir, "run", name)
	if len(path) > 100 { // sockets have short names
		return "", fmt.Errorf("the path %s is too long for a socket; give one with --listen unix:PATH and --remote unix:PATH", path)
	}
	return path, nil
}

// startServer starts a server that outlives this process and ends when it is idle.
func startServer(getenv func(string) string, path string, args []string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(config.StateDir(getenv), "serve.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(exe, append([]string{"serve", "--listen", "unix:" + path, "--idle", autoIdle.String()}, args...)...)
	cmd.Args[0] = os.Args[0]
	cmd.Dir = string(filepath.Separator)
	cmd.Stderr = log
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// forServer returns the flags that a server started for this client gets too.
func forServer(fs *flag.FlagSet) (out []string) {
	fs.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "model", "review":
			out = append(out, "--"+f.Name+"="+f.Value.String())
		}
	})
	return out
}
