// Package acp is redline's front end for clients of the Agent Client Protocol, such as
// Zed, JetBrains' IDEs and CodeCompanion.nvim: JSON-RPC, one message a line, on stdin
// and stdout (https://agentclientprotocol.com). Version 1 is spoken.
//
// It runs the same sessions as the language server does, saved in the same place, and
// has no agent's logic of its own. What differs is how the person and their editor are
// reached:
//
//   - The client does not report typing. Before files are read it is asked for those
//     that are named and for those known to be unsaved ([files.look]); what differs from
//     the disk is laid over it, so that the tools see it.
//   - A proposal is one question with diffs ([session.decide]), or one for each hunk
//     ([session.decideHunks]); words of the user come by forms ([session.form]). What is allowed is
//     written by the client, else to the disk, and then read again: what stands there is
//     what the model is told ([session.write]).
//   - Commands run in a terminal of the client's, if it has any ([terminal]).
//
// # Robustness
//
// Whatever comes in is answered or ignored, and the next line is read (package lsp/rpc):
// what is no JSON (-32700), no request (-32600), too long, unknown. When the input ends,
// turns, commands and servers end with it, within a second; sessions are saved as they
// happen and can be loaded again.
package acp

import (
	"context"
	"io"
	"sync"
	"time"

	"go.uber.org/zap"

	"redline/agent/journal"
	"redline/lsp"
	"redline/lsp/rpc"
	"redline/tools/mcp"
	"redline/workspace"
	"redline/workspace/blob"
)

// maxMessage is the longest message that is taken, in bytes: a picture in a prompt, or a
// file of the largest size that is read, with room for escaping.
const maxMessage = 64 << 20

// Options are what a server works with.
type Options struct {
	Version string
	Log     *zap.Logger
	// Settings returns what a session in the given folders starts with, with the MCP
	// servers that the client wants beside those of the settings. It is never called
	// while initialising.
	Settings func(folders []string, servers []mcp.Server) (lsp.Settings, error)
	// Methods are the ways to sign in.
	Methods []Method
	// OpenLink opens a link in the user's browser; nil: nothing can.
	OpenLink func(ctx context.Context, link string) error
	Trust    lsp.Trust      // nil: all folders are trusted
	Journal  *journal.Store // nil: sessions end with the process
	Blobs    *blob.Store    // nil: there are no checkpoints
	// Tap sees every message, for --trace.
	Tap    func(rpc.Direction, []byte)
	Timing Timing
}

// Method is a way to sign in.
type Method struct{ ID, Name, Description string }

// Timing bounds how long the client is waited for.
type Timing struct {
	Review time.Duration // a person to decide; 30 min
	Files  time.Duration // an answer about a file; 5 s
	Start  time.Duration // a terminal to be made; 10 s
	Poll   time.Duration // between looks at a terminal's output; 250 ms
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&t.Review, 30*time.Minute)
	set(&t.Files, 5*time.Second)
	set(&t.Start, 10*time.Second)
	set(&t.Poll, 250*time.Millisecond)
	return t
}

// Server serves one client.
type Server struct {
	opt    Options
	log    *zap.Logger
	timing Timing
	conn   *rpc.Conn

	root context.Context // ends with the connection

	client clientCapabilities // set by initialize, before any other handler runs
	ready  bool               // initialize was answered; of the inline handlers
	quirks quirks

	mu       sync.Mutex
	sessions map[string]*session
	opening  map[string]bool // names of saved sessions that are being opened

	accountMu sync.Mutex
	user      *lsp.Settings // of no folder, for signing in; nil until it is needed
}

// Serve speaks with the client over rw until the connection ends and returns the code
// that the process should exit with. When it returns nothing runs any more.
func Serve(ctx context.Context, rw io.ReadWriteCloser, opt Options) int {
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &Server{opt: opt, log: opt.Log, timing: opt.Timing.withDefaults(), root: ctx, sessions: map[string]*session{}, opening: map[string]bool{}}
	s.conn = rpc.NewConn(rw, rpc.Options{
		Framing: rpc.Lines, NoLifecycle: true, ACPCancel: true, MaxBody: maxMessage, Tap: opt.Tap, Log: opt.Log,
	})
	s.conn.Go(ctx, s.routes())
	<-s.conn.Done()
	cancel()
	s.closeAll()
	return s.conn.ExitCode()
}

// routes registers every method that is answered. What must take effect in the order of
// the wire is inline.
func (s *Server) routes() *rpc.Router {
	r := rpc.NewRouter()
	rpc.Handle(r, methodInitialize, rpc.Inline, s.initialize)
	handle(s, r, methodAuthenticate, rpc.Async, s.authenticate)
	handle(s, r, methodLogout, rpc.Async, s.logout)
	handle(s, r, methodSessionNew, rpc.Async, s.sessionNew)
	handle(s, r, methodSessionLoad, rpc.Async, s.sessionLoad)
	handle(s, r, methodSessionResume, rpc.Async, s.sessionResume)
	handle(s, r, methodSessionList, rpc.Async, s.sessionList)
	handle(s, r, methodSessionClose, rpc.Async, s.sessionClose)
	handle(s, r, methodSessionDelete, rpc.Async, s.sessionDelete)
	handle(s, r, methodSetMode, rpc.Inline, s.setMode)
	handle(s, r, methodSetConfig, rpc.Inline, s.setConfig)
	handle(s, r, methodPrompt, rpc.Inline, s.prompt)
	rpc.HandleNotify(r, methodCancel, rpc.Inline, s.cancel)
	return r
}

// handle registers a request that is answered once the client has initialised.
func handle[P, R any](s *Server, r *rpc.Router, method string, mode rpc.Mode, fn func(context.Context, *P) (R, error)) {
	rpc.Handle(r, method, rpc.Inline, func(ctx context.Context, p *P) (R, error) {
		if !s.ready { // inline handlers alone touch it
			var none R
			return none, invalid("%s before %s; initialize the connection first", method, methodInitialize)
		}
		if mode == rpc.Async {
			rpc.Release(ctx)
		}
		return fn(ctx, p)
	})
}

// session returns the open session of a name.
func (s *Server) session(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.sessions[id]; x != nil {
		return x, nil
	}
	if id == "" {
		return nil, rpc.BadParams("sessionId", "is missing")
	}
	return nil, notFound("there is no open session %q; make one with %s, or open a saved one with %s", id, methodSessionNew, methodSessionLoad)
}

// closeAll ends the sessions, with their turns.
func (s *Server) closeAll() {
	s.mu.Lock()
	all := make([]*session, 0, len(s.sessions))
	for _, x := range s.sessions {
		all = append(all, x)
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, x := range all {
		wg.Go(x.end)
	}
	wg.Wait()
}

// notify sends an update of a session.
func (s *Server) notify(sessionID string, update any) {
	if err := s.conn.Notify(s.root, methodUpdate, updateParams{sessionID, update}); err != nil {
		s.log.Debug("update not sent", zap.Error(err))
	}
}

// trustOf returns whether the folders are trusted, and what does not count when not.
func (s *Server) trustOf(folders []string) (workspace.Trust, []string) {
	if s.opt.Trust == nil {
		return workspace.Trusted, nil
	}
	state, leftOut, err := s.opt.Trust.Check(folders)
	if err != nil {
		s.log.Warn("trusted folders", zap.Error(err))
	}
	return state, leftOut
}
