package acp

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"redline/agent"
	"redline/lsp"
	"redline/lsp/rpc"
	"redline/tools"
	"redline/tools/mcp"
	"redline/workspace"
)

// session is one conversation and what is kept beside it.
type session struct {
	*agent.Session
	s       *Server
	id      string
	ws      *workspace.Workspace
	servers []mcp.Server // that the client wants beside those of the settings
	files   *files
	show    *presenter
	trust   *trustKeeper

	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	bg     sync.WaitGroup // of what runs beside the turns

	mu      sync.Mutex
	running *promptRun // the newest prompt; nil when none is at work
	runs    map[*promptRun]bool
	stop    func()        // ends what the settings of this moment run
	models  []configValue // that can be chosen
	auth    func() (method string, err error)
	events  []agent.Event
	byHunk  bool // the user is asked about hunks from the start
}

// open makes the session of a client's request; with a name, of a saved session.
func (s *Server) open(ctx context.Context, p *openParams, id string) (*session, error) {
	folders, err := foldersOf(p)
	if err != nil {
		return nil, err
	}
	servers, err := serversOf(p.MCPServers)
	if err != nil {
		return nil, err
	}
	ws, err := workspace.New(folders...)
	if err != nil {
		return nil, rpc.BadParams("cwd", "%v", err)
	}
	x := &session{s: s, ws: ws, servers: servers, runs: map[*promptRun]bool{}}
	x.ctx, x.cancel = context.WithCancel(s.root)
	x.files = &files{x: x}
	x.show = newPresenter(x)
	set, err := x.loadSettings()
	if err != nil {
		x.cancel()
		return nil, err
	}
	opt := agent.Options{
		Workspace: ws, Reviewer: x, Approver: x, Saver: x.files, Asker: x, Journal: s.opt.Journal, Blobs: s.opt.Blobs,
		Emit: x.emit, Look: x.files.look,
	}
	if s.client.Terminal {
		opt.Runner = &terminals{x: x}
	}
	if s.opt.Trust != nil {
		x.trust = &trustKeeper{x: x, used: x.trustKey()}
		opt.Trust = x.trust
	}
	x.byHunk = set.ReviewBy == byHunk
	set.Configure(&opt)
	if id == "" {
		opt.Mode, opt.Model, opt.ReviewAt = agent.ModeDefault, set.Model, agent.ReviewAt(set.ReviewAt)
		x.Session = agent.NewSession(opt)
	} else if x.Session, x.events, err = agent.Resume(opt, id); err != nil {
		x.cancel()
		return nil, savedError(err)
	}
	x.id = x.Info().ID
	x.use(set)
	s.mu.Lock()
	s.sessions[x.id] = x
	s.mu.Unlock()
	return x, ctx.Err()
}

// loadSettings returns what the session works with now, with the tools that a client of
// this protocol makes possible.
func (x *session) loadSettings() (*lsp.Settings, error) {
	set, err := x.s.opt.Settings(x.ws.Snapshot().Folders(), x.servers)
	if err != nil {
		return nil, internal("settings: %v", err)
	}
	if set.Tools == nil {
		set.Tools = tools.NewRegistry(tools.Builtin()...)
	}
	for _, t := range []tools.Tool{tools.RenameFile, tools.DeleteFile} {
		if set.Tools.Admits(t) {
			set.Tools.Add(t)
		}
	}
	return &set, nil
}

// use starts what the settings want run, in the place of what earlier ones did.
func (x *session) use(set *lsp.Settings) {
	ctx, cancel := context.WithCancel(x.ctx)
	x.mu.Lock()
	before := x.stop
	x.stop = cancel
	x.models, x.auth = modelValues(set), set.Auth
	x.mu.Unlock()
	if before != nil {
		before()
	}
	if set.Background != nil {
		x.bg.Go(func() { set.Background(ctx) })
	}
	x.bg.Go(func() {
		if set.Ready != nil {
			set.Ready(ctx) // prompts of MCP servers are commands too
			if ctx.Err() == nil {
				x.show.commands()
			}
		}
	})
	x.show.slash(set.Slash)
}

// end ends the session. It is kept, and can be opened again.
func (x *session) end() {
	x.cancel()
	x.Close()
	x.show.close()
	x.bg.Wait()
}

// emit hands an event to the client. It is called in order, and must not call the
// session.
func (x *session) emit(ev agent.Event) {
	x.mu.Lock()
	x.events = append(x.events, ev)
	runs := slices.Collect(maps.Keys(x.runs))
	x.mu.Unlock()
	x.show.event(ev, false)
	if end, ok := ev.Body.(agent.TurnEnded); ok {
		for _, run := range runs {
			run.finish(ev.TurnID, end)
		}
	}
}

func foldersOf(p *openParams) ([]string, error) {
	if p.Cwd == "" {
		return nil, rpc.BadParams("cwd", "is missing; give the absolute path of the folder to work in")
	}
	folders := []string{filepath.Clean(p.Cwd)}
	for _, d := range p.AdditionalDirectories {
		if d = filepath.Clean(d); !slices.Contains(folders, d) {
			folders = append(folders, d)
		}
	}
	for i, d := range folders {
		field := "cwd"
		if i > 0 {
			field = fmt.Sprintf("additionalDirectories[%d]", i-1)
		}
		if !filepath.IsAbs(d) {
			return nil, rpc.BadParams(field, "%q is not an absolute path", d)
		}
		if info, err := os.Stat(d); err != nil {
			return nil, rpc.BadParams(field, "%v", err)
		} else if !info.IsDir() {
			return nil, rpc.BadParams(field, "%s is not a folder", d)
		}
	}
	return folders, nil
}

// serversOf returns the MCP servers that a client wants.
func serversOf(in []mcpServer) (out []mcp.Server, err error) {
	for i, m := range in {
		field := fmt.Sprintf("mcpServers[%d]", i)
		if m.Name == "" {
			return nil, rpc.BadParams(field+".name", "is missing")
		}
		srv := mcp.Server{Name: m.Name}
		switch m.Type {
		case "", "stdio":
			if m.Command == "" {
				return nil, rpc.BadParams(field+".command", "is missing")
			}
			srv.Command, srv.Args, srv.Env = m.Command, m.Args, asMap(m.Env)
		case "http", "sse":
			if u, err := url.Parse(m.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" {
				return nil, rpc.BadParams(field+".url", "%q is no web address", m.URL)
			}
			srv.Headers = asMap(m.Headers)
			if m.Type == "http" {
				srv.HTTPURL = m.URL
			} else {
				srv.URL = m.URL
			}
		default:
			return nil, rpc.BadParams(field+".type", "is %q; use http, sse, or none for a program", m.Type)
		}
		out = append(out, srv)
	}
	return out, nil
}

func asMap(in []nameValue) map[string]string {
	out := map[string]string{}
	for _, v := range in {
		out[v.Name] = v.Value
	}
	return out
}

func (s *Server) sessionNew(ctx context.Context, p *openParams) (*openResult, error) {
	x, err := s.open(ctx, p, "")
	if err != nil {
		return nil, err
	}
	if err := x.checkAuth(); err != nil {
		s.forget(x)
		return nil, err
	}
	s.afterAnswer(ctx, x, false)
	return x.opened(x.id), nil
}

// checkAuth reports credentials that are missing, without trying those that are there.
func (x *session) checkAuth() error {
	x.mu.Lock()
	auth := x.auth
	x.mu.Unlock()
	if auth == nil {
		return nil
	}
	if _, err := auth(); err != nil {
		return authRequired(err)
	}
	return nil
}

// opened is the answer when a session is open.
func (x *session) opened(id string) *openResult {
	return &openResult{SessionID: id, Modes: x.modes(), ConfigOptions: x.configOptions()}
}

// afterAnswer sends, once the answer is out, what a client can place only then.
func (s *Server) afterAnswer(ctx context.Context, x *session, reopen bool) {
	answered := rpc.Answered(ctx)
	x.bg.Go(func() {
		select {
		case <-answered:
		case <-x.ctx.Done():
			return
		}
		x.show.commands()
		if reopen {
			x.ReopenSaved(x.ctx)
		}
	})
}

// forget ends a session and takes it out.
func (s *Server) forget(x *session) {
	x.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, x.id)
}

// sessionLoad opens a saved session and shows what was said in it before it answers.
func (s *Server) sessionLoad(ctx context.Context, p *openParams) (*openResult, error) {
	x, err := s.reopen(ctx, p)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	events := slices.Clone(x.events)
	x.mu.Unlock()
	x.show.replay(events)
	s.afterAnswer(ctx, x, true)
	return x.opened(""), nil
}

// sessionResume opens a saved session; the client knows what was said in it.
func (s *Server) sessionResume(ctx context.Context, p *openParams) (*openResult, error) {
	x, err := s.reopen(ctx, p)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	events := slices.Clone(x.events)
	x.mu.Unlock()
	x.show.learn(events)
	s.afterAnswer(ctx, x, true)
	return x.opened(""), nil
}

// reopen returns the open session of a name, or opens the saved one. A client that opens
// one twice goes on with the same.
func (s *Server) reopen(ctx context.Context, p *openParams) (*session, error) {
	if p.SessionID == "" {
		return nil, rpc.BadParams("sessionId", "is missing")
	}
	if s.opt.Journal == nil {
		return nil, notFound("sessions are not kept here; make one with %s", methodSessionNew)
	}
	s.mu.Lock()
	x, busy := s.sessions[p.SessionID], s.opening[p.SessionID]
	if x == nil && !busy {
		s.opening[p.SessionID] = true
	}
	s.mu.Unlock()
	switch {
	case x != nil:
		return x, nil
	case busy:
		return nil, invalid("the session %s is being opened already", p.SessionID)
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.opening, p.SessionID)
	}()
	return s.open(ctx, p, strings.Clone(p.SessionID))
}

// pageSize is how many sessions one answer lists.
const pageSize = 50

// sessionList answers with saved sessions, newest first; of all folders when none is
// named. The cursor is the name of the last one before.
func (s *Server) sessionList(_ context.Context, p *listParams) (*listResult, error) {
	out := &listResult{Sessions: []sessionInfo{}}
	if s.opt.Journal == nil {
		return out, nil
	}
	var folders []string
	if p.Cwd != "" {
		if !filepath.IsAbs(p.Cwd) {
			return nil, rpc.BadParams("cwd", "%q is not an absolute path", p.Cwd)
		}
		folders = []string{filepath.Clean(p.Cwd)}
	}
	saved, err := agent.Saved(s.opt.Journal, folders...)
	if err != nil {
		return nil, internal("%v", err)
	}
	saved = slices.DeleteFunc(saved, func(i agent.Info) bool { return len(i.Folders) == 0 })
	if p.Cursor != "" {
		at := slices.IndexFunc(saved, func(i agent.Info) bool { return i.ID == p.Cursor })
		if at < 0 {
			return nil, rpc.BadParams("cursor", "is not one that was given out, or its session was deleted; list from the start")
		}
		saved = saved[at+1:]
	}
	if len(saved) > pageSize {
		saved = saved[:pageSize]
		out.NextCursor = saved[pageSize-1].ID
	}
	for _, i := range saved {
		out.Sessions = append(out.Sessions, sessionInfo{
			SessionID: i.ID, Cwd: i.Folders[0], AdditionalDirectories: i.Folders[1:],
			Title: i.Title, UpdatedAt: i.Updated.UTC().Format(time.RFC3339),
		})
	}
	return out, nil
}

// sessionClose cancels what the session does and ends it.
func (s *Server) sessionClose(_ context.Context, p *sessionParams) (empty, error) {
	x, err := s.session(p.SessionID)
	if err != nil {
		return empty{}, err
	}
	s.forget(x)
	return empty{}, nil
}

// sessionDelete ends a session, if it is open, and removes what is kept of it.
func (s *Server) sessionDelete(_ context.Context, p *sessionParams) (empty, error) {
	x, open := s.session(p.SessionID)
	if open == nil {
		s.forget(x)
	}
	if s.opt.Journal == nil {
		return empty{}, open
	}
	if err := s.opt.Journal.Delete(p.SessionID); err != nil && open != nil {
		return empty{}, savedError(err)
	}
	return empty{}, nil
}
