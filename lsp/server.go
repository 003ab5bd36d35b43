// Package lsp is redline's server: it speaks the Language Server Protocol with an
// editor, keeps the open documents, runs sessions of the agent and brings their
// proposals into the documents.
//
// The handlers that must see messages in order (text synchronisation,
// configuration, lifecycle) run inline; everything else leaves the queue at once,
// so that typing is never held up by a turn. The transport is package lsp/rpc.
package lsp

import (
	"context"
	"io"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"redline/agent"
	"redline/agent/journal"
	"redline/agent/model"
	"redline/agent/retry"
	"redline/agent/slash"
	"redline/lsp/rpc"
	"redline/tools"
	"redline/tools/policy"
	"redline/tools/sandbox"
	"redline/tools/secret"
	"redline/tools/shell"
	"redline/workspace"
	"redline/workspace/blob"
)

// Options are what a server works with.
type Options struct {
	Version string // of redline, for serverInfo
	Log     *zap.Logger
	// Tools are what the sessions offer; the built-in ones when nil.
	Tools *tools.Registry
	// Settings returns what sessions in the given folders start with. It is called
	// for the first session, and again when the folders, or whether they are trusted,
	// have changed; never while initialising.
	Settings func(folders []string) (Settings, error)
	// Trust keeps which folders the user trusts; nil: all are.
	Trust Trust
	// Journal is where sessions are kept; nil: they end with the process.
	Journal *journal.Store
	// Hub joins the clients of one process; nil: this one is alone.
	Hub *Hub
	// Blobs keeps what checkpoints need; nil: there are none.
	Blobs *blob.Store
	// Review overrides how plain clients review (WIRE.md §6): auto, annotations,
	// message or codeAction.
	Review string
	// Folder is where documents are kept that the editor is shown: differences and
	// chats. A temporary folder when empty.
	Folder string
	// ClientLog, if set, is the part of Log that the client shows.
	ClientLog *ClientLog
	// Tap sees every message, for --trace.
	Tap func(rpc.Direction, []byte)
	// Debug, if set, is told of the server, for --debug.
	Debug *Debug
	// Timing of the requests to the client; zero values are useful.
	Timing Timing
}

// Settings are what a session starts with.
type Settings struct {
	Model    string
	MaxTurns int
	Review   string // settings key redline.review
	// ReviewBy is the settings key redline.reviewBy: clients that are asked about edits by
	// questions are asked about a proposal at once, or about each hunk: proposal or hunk.
	ReviewBy string
	// RestoreSession is the settings key redline.restoreSession: clients without a plugin
	// go on with the last conversation of the folder.
	RestoreSession bool
	ReviewAt       string // settings key redline.reviewAt: step or turn
	// KeepSessions is how many sessions of a folder are kept, and CheckpointBytes how
	// much for checkpoints; 0: the defaults of the stores.
	KeepSessions    int
	CheckpointBytes int64
	Retry           retry.Options
	Consents        agent.Consents
	Silence         time.Duration // settings key tools.shell.inactivityTimeout; see [agent.Options]
	// CorrectEdits is the settings key redline.correctEdits; see [agent.Options].
	CorrectEdits bool
	Policy       policy.Policy // redline.policy and redline.sensitiveFiles
	Env          secret.Env    // what commands get of the environment
	Secrets      []string      // masked in what commands print
	Sandbox      sandbox.Setting
	Commands     shell.Policy // tools.allowed and tools.exclude, as far as they are about commands
	// Conversation is what the settings say about how sessions talk to the model.
	Conversation agent.Conversation
	// Tools are what the session offers; Options.Tools when nil.
	Tools *tools.Registry
	// Background, if set, runs beside the sessions from the first one on, until its
	// context ends: what keeps Tools up to date.
	Background func(ctx context.Context)
	// Ready waits until Background has had time to begin. Callers without an editor,
	// whose first prompt is the only one, give it longer.
	Ready func(ctx context.Context)
	// Slash holds the custom prompts, and Resources what prompts mention as
	// @server:uri; see [agent.Options].
	Slash     *slash.Set
	Resources agent.Resources
	// Observe, if set, sees every event of the sessions before the client; it must
	// not block.
	Observe func(agent.Event)
	// Generator returns what talks to the model; see [agent.Options].
	Generator func(ctx context.Context) (model.ContentGenerator, error)
	// Auth tells how the model is reached, without trying.
	Auth func() (method string, err error)
	// Account signs the user in and out; nil where that has no meaning.
	Account Account
}

// Configure puts what the settings say into the options of a session, but for what a
// session may have of its own: model, mode and when it is reviewed. It puts Observe around
// o.Emit: who calls it again for the same options sets Emit anew before.
func (set Settings) Configure(o *agent.Options) {
	if o.Journal != nil {
		o.Journal.SetKeep(set.KeepSessions)
	}
	if o.Blobs != nil {
		o.Blobs.SetMax(set.CheckpointBytes)
	}
	o.Tools = set.Tools
	o.Generator, o.Commands, o.Retry, o.MaxTurns = set.Generator, set.Commands, set.Retry, set.MaxTurns
	o.Policy, o.Env, o.Secrets, o.Sandbox = set.Policy, set.Env, set.Secrets, set.Sandbox
	o.Slash, o.Resources = set.Slash, set.Resources
	o.CorrectEdits, o.Conversation = set.CorrectEdits, set.Conversation
	o.Ready, o.Consents, o.Silence = set.Ready, set.Consents, set.Silence
	if emit := o.Emit; set.Observe != nil {
		o.Emit = func(ev agent.Event) {
			set.Observe(ev)
			emit(ev)
		}
	}
}

// Timing bounds how long the server waits for the client.
type Timing struct {
	Apply  time.Duration // an answer to workspace/applyEdit; 30 s
	Settle time.Duration // the document to follow a positive answer; 2 s
	Refuse time.Duration // the document to follow a negative answer; 200 ms
	Review time.Duration // a person to decide; 30 min
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&t.Apply, 30*time.Second)
	set(&t.Settle, 2*time.Second)
	set(&t.Refuse, 200*time.Millisecond)
	set(&t.Review, 30*time.Minute)
	return t
}

// Server serves one client.
type Server struct {
	opt    Options
	log    *zap.Logger
	conn   *rpc.Conn
	ws     *workspace.Workspace
	client client // set by initialize, before any other handler runs
	timing Timing

	root context.Context // ends with the connection; turns run in it
	bg   sync.WaitGroup  // of background

	mu        sync.Mutex
	sessions  map[string]*session
	order     []string
	proposals map[string]*review
	settled   []string // the proposals whose review is over, in that order
	told      told
	login     *login // that is waiting; nil when none is
	logins    int    // there have been
	docs      documents
	chats     map[string]string // session of each chat document, by its key
	questions []*question       // that clients without a plugin are asked now
	asked     int               // questions there have been
	turns     int               // of plain clients there have been
	hints     hints
	arriving  changeOrder
	settings  *loaded                  // once asked for
	loading   map[string]chan struct{} // sessions being read from the disk; closed when done

	stopBackground context.CancelFunc // of the settings that count now
	trust          trustState

	// message holds an element while a message request is shown: some editors replace
	// one by the next and never answer it.
	message    chan struct{}
	unanswered unanswered

	lines *lineCache
}

// client is what the client declared.
type client struct {
	encoding    protocol.PositionEncodingKind
	name        string // of the editors that need something of their own, as below
	knowsUs     bool   // capabilities.experimental.redline is there
	proposals   bool   // it reviews with agent/proposal/resolve
	changes     bool   // it takes proposal/changed
	annotations bool   // workspaceEdit.changeAnnotationSupport
	editor      editorExt
	create      bool  // workspaceEdit.resourceOperations has create
	rename      bool  // … rename
	remove      bool  // … delete
	progress    bool  // window.workDoneProgress
	lensRefresh bool  // workspace.codeLens.refreshSupport
	showDoc     bool  // window.showDocument
	approve     bool  // it answers agent/approve
	ask         bool  // it answers agent/ask
	save        bool  // it answers editor/save
	trusted     *bool // what it says of the workspace; nil when it says nothing
	// oneFile says that the client checks the version of an edit's first document
	// only, and that creating a file empties one that is there: Neovim, up to 0.12.
	oneFile bool
}

// The editors whose ways without a plugin are known, by the first word, in lower case, of the name they give.
const (
	editorHelix  = "helix"
	editorEglot  = "eglot"
	editorVimLSP = "vim-lsp"
)

// Serve speaks with the client over rw until the connection ends and returns the
// code that the process should exit with. When it returns nothing runs any more.
func Serve(ctx context.Context, rw io.ReadWriteCloser, opt Options) int {
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	if opt.Tools == nil {
		opt.Tools = tools.NewRegistry(tools.Builtin()...)
	}
	ws, _ := workspace.New() // no folders yet, so there is nothing to fail
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &Server{
		opt: opt, log: opt.Log, ws: ws, root: ctx, timing: opt.Timing.withDefaults(),
		sessions: map[string]*session{}, lines: &lineCache{}, proposals: map[string]*review{}, loading: map[string]chan struct{}{}, message: make(chan struct{}, 1),
	}
	s.client.encoding = protocol.PositionEncodingKindUTF16
	wire := rpc.Options{Tap: s.tapped(), Log: opt.Log}
	if opt.Debug != nil {
		wire.Timed = opt.Debug.timed
		defer opt.Debug.remove(s)
	}
	s.conn = rpc.NewConn(rw, wire)
	s.conn.Go(ctx, s.routes())
	<-s.conn.Done()
	cancel()
	s.closeSessions()
	s.bg.Wait()
	s.dropDocuments()
	return s.conn.ExitCode()
}

// routes registers every method the server answers.
func (s *Server) routes() *rpc.Router {
	r := rpc.NewRouter()
	rpc.Handle(r, "initialize", rpc.Inline, s.initialize)
	rpc.HandleNotify(r, "initialized", rpc.Inline, func(context.Context, *protocol.InitializedParams) error {
		s.startLog()
		s.background(s.welcome)
		return nil
	})
	rpc.Handle(r, "shutdown", rpc.Inline, s.shutdown)

	rpc.HandleNotify(r, "textDocument/didOpen", rpc.Inline, s.didOpen)
	rpc.HandleNotify(r, "textDocument/didChange", rpc.Inline, s.didChange)
	rpc.HandleNotify(r, "textDocument/didClose", rpc.Inline, s.didClose)
	rpc.HandleNotify(r, "textDocument/didSave", rpc.Inline, s.didSave)
	rpc.HandleNotify(r, "workspace/didChangeWorkspaceFolders", rpc.Inline, s.didChangeFolders)
	rpc.HandleNotify(r, "workspace/didChangeConfiguration", rpc.Inline, func(context.Context, *protocol.DidChangeConfigurationParams) error { return nil })
	rpc.HandleNotify(r, "workspace/didChangeWatchedFiles", rpc.Inline, func(context.Context, *protocol.DidChangeWatchedFilesParams) error { return nil })
	rpc.HandleNotify(r, "workspace/didCreateFiles", rpc.Inline, func(context.Context, *protocol.CreateFilesParams) error { return nil })
	rpc.HandleNotify(r, "workspace/didRenameFiles", rpc.Inline, s.didRenameFiles)
	rpc.HandleNotify(r, "workspace/didDeleteFiles", rpc.Inline, func(context.Context, *protocol.DeleteFilesParams) error { return nil })
	rpc.HandleNotify(r, "$/setTrace", rpc.Inline, func(_ context.Context, p *protocol.SetTraceParams) error {
		s.setTrace(p.Value)
		return nil
	})
	rpc.HandleNotify(r, "window/workDoneProgress/cancel", rpc.Inline, s.progressCancel)

	rpc.Handle(r, "workspace/executeCommand", rpc.Async, s.executeCommand)
	rpc.Handle(r, "textDocument/codeAction", rpc.Async, s.codeAction)
	rpc.Handle(r, "textDocument/codeLens", rpc.Async, s.codeLens)

	rpc.Handle(r, methodSessionNew, rpc.Async, s.sessionNew)
	rpc.Handle(r, methodSessionList, rpc.Async, s.sessionList)
	rpc.Handle(r, methodSessionResume, rpc.Async, s.sessionResume)
	rpc.Handle(r, methodSessionConfigure, rpc.Async, s.sessionConfigure)
	rpc.Handle(r, methodSessionClose, rpc.Async, s.sessionClose)
	rpc.Handle(r, methodSessionDelete, rpc.Async, s.sessionDelete)
	rpc.Handle(r, methodCheckpointList, rpc.Async, s.checkpointList)
	rpc.Handle(r, methodCheckpointPreview, rpc.Async, s.checkpointPreview)
	rpc.Handle(r, methodCheckpointRestore, rpc.Async, s.checkpointRestore)
	rpc.Handle(r, methodSessionFork, rpc.Async, s.sessionFork)
	rpc.Handle(r, methodPrompt, rpc.Async, s.prompt)
	rpc.Handle(r, methodSteer, rpc.Async, s.steer)
	rpc.Handle(r, methodCancel, rpc.Async, s.cancel)
	rpc.Handle(r, methodProposalList, rpc.Async, s.proposalList)
	rpc.Handle(r, methodProposalNew, rpc.Async, s.proposalNew)
	rpc.Handle(r, methodProposalGet, rpc.Async, s.proposalGet)
	rpc.Handle(r, methodProposalResolve, rpc.Async, s.proposalResolve)
	rpc.Handle(r, methodProposalRevert, rpc.Async, s.proposalRevert)
	rpc.Handle(r, methodProposalConfirm, rpc.Async, s.proposalConfirm)
	rpc.Handle(r, methodAuthStatus, rpc.Async, s.authStatus)
	rpc.Handle(r, methodAuthLogin, rpc.Async, s.authLogin)
	rpc.Handle(r, methodAuthComplete, rpc.Async, s.authComplete)
	rpc.Handle(r, methodAuthLogout, rpc.Async, s.authLogout)
	rpc.Handle(r, methodModelList, rpc.Async, s.modelList)
	rpc.Handle(r, methodToolList, rpc.Async, s.toolList)
	rpc.Handle(r, methodCommandList, rpc.Async, s.commandList)
	rpc.Handle(r, methodUsageGet, rpc.Async, s.usageGet)
	rpc.Handle(r, methodMemoryList, rpc.Async, s.memoryList)
	rpc.Handle(r, methodSessionCompress, rpc.Async, s.sessionCompress)
	rpc.Handle(r, methodProcessList, rpc.Async, s.processList)
	rpc.Handle(r, methodProcessStop, rpc.Async, s.processStop)
	rpc.Handle(r, methodTrustSet, rpc.Async, s.trustSet)
	return r
}

// encoder returns what turns data into its wire form as of now.
func (s *Server) encoder() *encoder {
	return &encoder{lines: s.lines, snapshot: s.ws.Snapshot(), encoding: s.client.encoding, create: s.client.create, rename: s.client.rename, remove: s.client.remove, keep: s.client.oneFile, lineEnd: s.client.name == editorVimLSP}
}

// session is one conversation and what the server keeps beside it.
type session struct {
	*agent.Session
	log eventLog
	// direct says that the client knows the session by agent/session/new and gets
	// its events; else it was made for a command of a plain client.
	direct bool
	home   *Server // of the window that the session's edits go into

	follow    sync.Mutex // held while an event is handed out
	followers []*Server  // other windows that see the session

	mu    sync.Mutex
	plain *plainTurn // the running turn of a plain client
	chat  *chatTurn  // its answer goes to the chat document; nil when it does not
	talk  talk       // all of it so far, for plain clients
}

func (s *Server) session(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, ok := s.sessions[id]; ok {
		return x, nil
	}
	if x := s.opt.Hub.session(id); x != nil {
		return x, nil
	}
	return nil, rpc.BadParams("sessionId", "there is no session %q; make one with %s", id, methodSessionNew)
}

// background runs f beside the handlers, until the connection ends; Serve waits for
// it.
func (s *Server) background(f func(ctx context.Context)) {
	s.bg.Go(func() { f(s.root) })
}

// closeSessions ends every session, with their turns.
func (s *Server) closeSessions() {
	s.mu.Lock()
	all := make([]*session, 0, len(s.sessions))
	for _, x := range s.sessions {
		all = append(all, x)
	}
	s.mu.Unlock()
	for _, x := range all {
		id := x.Info().ID
		x.Close()
		s.opt.Hub.remove(id, x)
		x.handOver(id)
	}
	for _, x := range s.opt.Hub.others(s) {
		s.unfollow(x)
	}
}

var _ agent.Reviewer = (*Server)(nil)
