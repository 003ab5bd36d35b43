package mcp

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"redline/tools"
)

// Options are what the servers are run with.
type Options struct {
	Version string   // of redline
	Folders []string // of the workspace, told to the servers as roots
	Env     []string // for servers that are programs
	Log     func(server, text string)
	Connect time.Duration // for a server to be ready; 30 s
	Retry   time.Duration // before a server is tried again, doubled each time up to a minute; 1 s
}

// Servers keeps the tools of MCP servers in a registry.
type Servers struct {
	opt Options
	reg *tools.Registry

	mu     sync.Mutex
	states []*State // one for each server
	first  []chan struct{}
}

// State is how a server is.
type State struct {
	Server  Server
	Status  string // connecting, ready, failed
	Err     error  // why it failed
	Tools   []string
	Prompts []string
}

// New returns the servers, none of them started.
func New(servers []Server, reg *tools.Registry, opt Options) *Servers {
	if opt.Connect == 0 {
		opt.Connect = 30 * time.Second
	}
	if opt.Retry == 0 {
		opt.Retry = time.Second
	}
	if opt.Log == nil {
		opt.Log = func(string, string) {}
	}
	s := &Servers{opt: opt, reg: reg}
	for _, srv := range servers {
		s.states = append(s.states, &State{Server: srv, Status: "connecting"})
		s.first = append(s.first, make(chan struct{}))
	}
	return s
}

// Run keeps the servers connected until ctx ends, and returns when all of them are
// gone.
func (s *Servers) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range s.states {
		wg.Go(func() { s.keep(ctx, i) })
	}
	wg.Wait()
}

// Ready waits until each server was tried once, or ctx ends.
func (s *Servers) Ready(ctx context.Context) {
	for _, f := range s.first {
		select {
		case <-f:
		case <-ctx.Done():
			return
		}
	}
}

// States returns how the servers are, in the order of their names.
func (s *Servers) States() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]State, len(s.states))
	for i, st := range s.states {
		out[i] = *st
	}
	return out
}

func (s *Servers) set(i int, change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.states[i])
}

// keep connects server i, again and again.
func (s *Servers) keep(ctx context.Context, i int) {
	name := s.states[i].Server.Name
	once := sync.OnceFunc(func() { close(s.first[i]) })
	defer once()
	wait := s.opt.Retry
	for ctx.Err() == nil {
		began := time.Now()
		err := s.serve(ctx, i, once)
		if ctx.Err() != nil {
			return
		}
		s.set(i, func(st *State) { st.Status, st.Err, st.Tools, st.Prompts = "failed", err, nil, nil })
		once()
		s.opt.Log(name, fmt.Sprintf("MCP server %s: %v; it is tried again in %v", name, err, wait))
		if time.Since(began) > time.Minute {
			wait = s.opt.Retry // it had worked
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
		wait = min(2*wait, max(time.Minute, s.opt.Retry))
	}
}

// serve connects server i once and returns when it is gone.
func (s *Servers) serve(ctx context.Context, i int, ready func()) error {
	srv := s.states[i].Server
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.set(i, func(st *State) { st.Status = "connecting" })
	changed := make(chan struct{}, 1)
	client := sdk.NewClient(&sdk.Implementation{Name: "redline", Version: s.opt.Version}, &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case changed <- struct{}{}:
			default:
			}
		},
	})
	for _, f := range s.opt.Folders {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(f)}
		//lint:ignore SA1019 servers of today, such as the filesystem one, know their folders only by it
		client.AddRoots(&sdk.Root{URI: u.String(), Name: filepath.Base(f)})
	}
	transport, stop, err := s.transport(srv)
	if err != nil {
		return err
	}
	defer stop()
	session, err := connect(ctx, client, transport, min(s.opt.Connect, srv.timeout()))
	if err != nil {
		return err
	}
	gone := make(chan error, 1)
	go func() { gone <- session.Wait() }()
	ended := false
	defer func() {
		cancel()
		// A goodbye is said, but not waited for: the SDK gives it five seconds.
		hurry := time.AfterFunc(goodbye, stop)
		_ = session.Close()
		hurry.Stop()
		if !ended {
			<-gone
		}
	}()
	var names []string
	defer func() { s.reg.Remove(names...) }()
	for {
		list, err := s.list(ctx, i, session)
		if err != nil {
			return err
		}
		now := make([]string, 0, len(list))
		for _, t := range list {
			now = append(now, t.Spec().Name)
		}
		s.reg.Remove(slices.DeleteFunc(names, func(n string) bool { return slices.Contains(now, n) })...)
		for _, t := range list {
			s.reg.Add(t)
		}
		names = now
		s.set(i, func(st *State) { st.Status, st.Err, st.Tools = "ready", nil, slices.Clone(now) })
		ready()
		select {
		case <-changed:
		case err := <-gone:
			ended = true
			if err == nil {
				return fmt.Errorf("the server has ended")
			}
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// connect is [sdk.Client.Connect] within a time, which holds for the start only.
func connect(ctx context.Context, client *sdk.Client, t sdk.Transport, limit time.Duration) (*sdk.ClientSession, error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(limit, cancel)
	session, err := client.Connect(ctx, t, nil)
	if err != nil {
		defer cancel()
		if !timer.Stop() {
			return nil, fmt.Errorf("the server was not ready within %v", limit)
		}
		return nil, fmt.Errorf("connect: %w", err)
	}
	if !timer.Stop() {
		_ = session.Close()
		return nil, fmt.Errorf("the server was not ready within %v", limit)
	}
	// ctx lives on with its parent: some transports read in it.
	return session, nil
}

// list asks for the tools, and for the names of the prompts.
func (s *Servers) list(ctx context.Context, i int, session *sdk.ClientSession) ([]tools.Tool, error) {
	srv := s.states[i].Server
	ctx, cancel := context.WithTimeout(ctx, min(s.opt.Connect, srv.timeout()))
	defer cancel()
	var out []tools.Tool
	caps := session.InitializeResult().Capabilities
	if caps == nil || caps.Tools != nil {
		seen := map[string]bool{}
		for t, err := range session.Tools(ctx, nil) {
			if err != nil {
				return nil, fmt.Errorf("list the tools: %w", err)
			}
			if !srv.offers(t.Name) || len(out) >= maxTools {
				continue
			}
			tool := newTool(srv, session, t)
			if name := tool.Spec().Name; !seen[name] {
				seen[name] = true
				out = append(out, tool)
			}
		}
	}
	if caps != nil && caps.Prompts != nil {
		var names []string
		for p, err := range session.Prompts(ctx, nil) {
			if err != nil {
				break // they are listed only
			}
			names = append(names, p.Name)
		}
		s.set(i, func(st *State) { st.Prompts = names })
	}
	return out, nil
}

// goodbye is how long a server has to take leave.
const goodbye = 300 * time.Millisecond

// maxTools is how many tools of one server are taken.
const maxTools = 200
