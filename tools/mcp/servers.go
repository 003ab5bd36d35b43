package mcp

import (
	"context"
	"errors"
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
	// Offer reports whether a tool is taken into the registry; all are when nil.
	Offer func(*tools.Spec) bool
}

// Servers keeps the tools of MCP servers in a registry.
type Servers struct {
	opt Options
	reg *tools.Registry

	mu       sync.Mutex
	states   []*State         // one for each server
	sessions []*link          // while they are connected
	owner    map[string]owner // of each function name
	first    []chan struct{}
}

// link is a connection to a server.
type link struct {
	*sdk.ClientSession
	server Server
	stop   func() // ends it, without a goodbye
}

// owner is a tool of a server, by the server's number and its own name for it.
type owner struct {
	server int
	tool   string
}

// The values of State.Status.
const (
	Connecting = "connecting"
	Ready      = "ready"
	Failed     = "failed"
)

// State is how a server is.
type State struct {
	Server    Server
	Status    string // [Connecting], [Ready] or [Failed]
	Err       error  // why it failed
	Tools     []string
	Prompts   []Prompt
	Resources []Resource
	// Notes say what was left out or changed of what the server declares.
	Notes []string
}

// Prompt is a template for a prompt that a server offers.
type Prompt struct {
	Name        string // as the server calls it
	Description string
	Args        []PromptArg
}

// PromptArg is an argument of a [Prompt].
type PromptArg struct {
	Name, Description string
	Required          bool
}

// Resource is data that a server offers, or a template of the URIs of such data.
type Resource struct {
	URI         string // of a template: as of RFC 6570
	Name        string
	Description string
	MIMEType    string
	Template    bool
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
	if opt.Offer == nil {
		opt.Offer = func(*tools.Spec) bool { return true }
	}
	s := &Servers{opt: opt, reg: reg, owner: map[string]owner{}, sessions: make([]*link, len(servers))}
	for _, srv := range servers {
		s.states = append(s.states, &State{Server: srv, Status: Connecting})
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
		out[i] = *st // its lists are replaced, never changed
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
	srv := s.states[i].Server
	once := sync.OnceFunc(func() { close(s.first[i]) })
	defer once()
	wait, told := s.opt.Retry, ""
	for ctx.Err() == nil {
		began := time.Now()
		err := s.serve(ctx, i, once)
		if ctx.Err() != nil {
			return
		}
		err = errors.New(srv.scrub(err.Error()))
		s.set(i, func(st *State) { *st = State{Server: srv, Status: Failed, Err: err} })
		once()
		if err.Error() != told { // the same again and again helps nobody
			told = err.Error()
			s.opt.Log(srv.Name, fmt.Sprintf("MCP server %s: %s; it is tried again in %v", srv.Name, told, wait))
		}
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
	s.set(i, func(st *State) { st.Status = Connecting })
	changed := make(chan struct{}, 1)
	change := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "redline", Version: s.opt.Version}, &sdk.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { change() },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { change() },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { change() },
	})
	for _, f := range s.opt.Folders {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(f)}
		//lint:ignore SA1019 servers of today, such as the filesystem one, know their folders only by it
		client.AddRoots(&sdk.Root{URI: u.String(), Name: filepath.Base(f)})
	}
	way, err := s.transport(srv)
	if err != nil {
		return err
	}
	defer way.stop()
	session, err := connect(ctx, client, way, min(s.opt.Connect, srv.timeout()))
	if err != nil {
		return err
	}
	gone := make(chan error, 1)
	go func() { gone <- session.Wait() }()
	ended := false
	defer func() {
		cancel()
		// A goodbye is said, but not waited for: the SDK gives it five seconds.
		hurry := time.AfterFunc(goodbye, way.stop)
		_ = session.Close()
		hurry.Stop()
		if !ended {
			<-gone
		}
	}()
	var names []string
	defer func() { s.leave(i, names) }()
	for {
		offer, err := s.list(ctx, i, &link{session, srv, way.stop})
		if err != nil {
			return way.explain(err)
		}
		now := make([]string, 0, len(offer.tools))
		for _, t := range offer.tools {
			now = append(now, t.spec.Name)
		}
		s.withdraw(slices.DeleteFunc(names, func(n string) bool { return slices.Contains(now, n) }))
		for _, t := range offer.tools {
			s.reg.Add(t)
		}
		names = now
		s.publish(i, offer.link, State{
			Server: srv, Status: Ready, Tools: slices.Clone(now),
			Prompts: offer.prompts, Resources: offer.resources, Notes: offer.notes,
		})
		ready()
		select {
		case <-changed:
			// A server that says so all the time is not asked all the time.
			t := time.NewTimer(settle)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
			}
		case err := <-gone:
			ended = true
			if err == nil {
				return errors.New("the server has ended")
			}
			return way.explain(err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// publish makes what server i offers known.
func (s *Servers) publish(i int, l *link, st State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.states[i], s.sessions[i] = st, l
	s.offerReader()
}

// withdraw takes tools of server i out of the registry.
func (s *Servers) withdraw(names []string) {
	s.reg.Remove(names...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range names {
		delete(s.owner, n)
	}
}

// leave takes out all that server i offered.
func (s *Servers) leave(i int, names []string) {
	s.withdraw(names)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[i] = nil
	*s.states[i] = State{Server: s.states[i].Server, Status: Connecting}
	s.offerReader()
}

// connect is [sdk.Client.Connect] within a time, which holds for the start only.
func connect(ctx context.Context, client *sdk.Client, w *way, limit time.Duration) (*sdk.ClientSession, error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(limit, cancel)
	session, err := client.Connect(ctx, w.transport, nil)
	if err != nil {
		defer cancel()
		if !timer.Stop() {
			return nil, fmt.Errorf("the server was not ready within %v", limit)
		}
		return nil, w.explain(fmt.Errorf("connect: %w", err))
	}
	if !timer.Stop() {
		_ = session.Close()
		return nil, fmt.Errorf("the server was not ready within %v", limit)
	}
	// ctx lives on with its parent: some transports read in it.
	return session, nil
}

// goodbye is how long a server has to take leave.
const goodbye = 300 * time.Millisecond

// settle is how long a server may go on changing what it offers before it is asked.
const settle = 50 * time.Millisecond
