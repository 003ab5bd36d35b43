package lsptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server runs a language server on a pair of streams until its input ends, exit
// is received, or ctx ends. [Process] makes one of a command.
type Server func(ctx context.Context, in io.Reader, out io.Writer) error

// Handler answers a request of the server. A [*ResponseError] is answered as it
// is, any other error as -32603. [ErrNoAnswer] leaves the request unanswered. ctx
// ends when the server cancels the request, and with the editor.
type Handler func(ctx context.Context, params json.RawMessage) (any, error)

// Options choose the editor. The zero value is VS Code with redline's extension
// in an empty folder.
type Options struct {
	// Personality defaults to [VSCode].
	Personality *Personality
	// Plain leaves redline's capabilities away, as an editor without a plugin.
	// Personalities without Plugin are always plain.
	Plain bool
	// Redline replaces capabilities.experimental.redline of a client with plugin;
	// by default everything in WIRE.md §2 is offered.
	Redline map[string]any
	// Encodings replaces the personality's.
	Encodings []string
	// Capabilities are merged over the personality's, member by member; nil
	// removes a member.
	Capabilities map[string]any
	// Root is the workspace folder; a temporary one by default.
	Root string
	// Files are written below Root first, by slash-separated relative path.
	Files map[string]string
	// InitializationOptions of initialize.
	InitializationOptions any
	// Settings answer workspace/configuration, by section.
	Settings map[string]any

	// Handlers override how requests of the server are answered, by method.
	Handlers map[string]Handler
	// Preview is the user in VS Code's Refactor Preview: it returns the indices
	// of the ticked changes, and false to discard. By default the user clicks
	// Apply and leaves the ticks as they are.
	Preview func(changes []Change) (ticked []int, ok bool)
	// Confirm is the user asked about a change (Neovim 0.12), or about a whole
	// workspace edit (eglot; the Change names only its label); yes by default.
	Confirm func(Change) bool
	// Message is the user who sees window/showMessageRequest; it returns the
	// title of the chosen action, or false to dismiss, which is the default.
	Message func(ctx context.Context, text string, actions []string) (title string, ok bool)
	// Format is the formatter of the fault [Formats].
	Format func(path, text string) string
	// VanishAt is the method at which [Vanishes] closes the pipe, by default
	// workspace/applyEdit.
	VanishAt string

	// Timeout bounds each wait, so that a test fails with a transcript rather
	// than hang; 20 s by default.
	Timeout time.Duration
	// Violation receives what the server did against the protocol; by default
	// it fails the test.
	Violation func(string)
	// NoInitialize leaves initialize to the test.
	NoInitialize bool
}

// Editor is a running fake editor. Its methods fail the test when something
// cannot be done; they may be called from the test's goroutine and from handlers,
// those named Wait… and Call only from the test's.
type Editor struct {
	t    testing.TB
	opt  Options
	p    Personality
	root string

	// Encoding is the negotiated position encoding.
	Encoding string
	// InitializeResult is what initialize answered.
	InitializeResult json.RawMessage

	server serverCapabilities
	caps   map[string]any // the client capabilities as sent
	out    *sender
	derive func() (context.Context, context.CancelFunc) // a context that ends with the editor
	stop   context.CancelFunc
	work   sync.WaitGroup // handlers at work
	ended  chan struct{}  // closed when the server returned, with err set
	err    error
	read   chan struct{} // closed when all output was read

	dialog sync.Mutex // held while a modal dialog is open, and not while mu is waited for

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced whenever something below changes
	nextID   int
	calls    map[string]*Pending
	incoming map[string]context.CancelFunc // requests of the server at work, by id
	docs     map[string]*document          // by URI
	notes    []Notification
	events   []Event
	sessions map[string]int // last seq by session
	log      []string       // transcript
	phase    int            // of the lifecycle, see phase… below
	vanished bool

	messages map[string]bool    // showMessageRequests neither answered nor given up, by id
	replaced chan struct{}      // of the message shown now, closed when another replaces it
	late     []*message         // changes that are sent after the answer to applyEdit
	front    string             // URI of the document the user was in last
	applying map[*document]bool // documents changed by the edit being applied; nil outside
	watched  bool               // the server registered for file changes
	progress map[string]string  // state by token: created, begun, ended
}

const (
	phaseStarted = iota
	phaseInitialized
	phaseShutdown
)

// NewEditor starts an editor with its server and initialises it. When the test
// ends it shuts the server down and checks that it returns.
func NewEditor(t testing.TB, server Server, opt Options) *Editor {
	t.Helper()
	p := VSCode()
	if opt.Personality != nil {
		p = *opt.Personality
	}
	if opt.Encodings != nil {
		p.Encodings = opt.Encodings
	}
	if opt.Timeout == 0 {
		opt.Timeout = 20 * time.Second
	}
	if opt.VanishAt == "" {
		opt.VanishAt = "workspace/applyEdit"
	}
	if opt.Root == "" {
		opt.Root = t.TempDir()
	}
	e := &Editor{
		t: t, opt: opt, p: p, root: opt.Root, Encoding: UTF16,
		ended: make(chan struct{}), read: make(chan struct{}), changed: make(chan struct{}),
		calls: map[string]*Pending{}, incoming: map[string]context.CancelFunc{}, docs: map[string]*document{},
		messages: map[string]bool{}, sessions: map[string]int{}, progress: map[string]string{},
	}
	for name, text := range opt.Files {
		e.WriteFile(name, text)
	}
	base, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.derive = func() (context.Context, context.CancelFunc) { return context.WithCancel(base) }

	toServer, editorOut := io.Pipe()
	editorIn, fromServer := io.Pipe()
	e.out = startSender(editorOut)
	go func() {
		err := server(base, toServer, fromServer)
		_ = fromServer.Close() // a pipe of our own does not fail
		_ = toServer.Close()
		e.err = err
		close(e.ended)
	}()
	go e.readAll(editorIn)
	t.Cleanup(e.finish)
	if !opt.NoInitialize {
		e.Initialize()
	}
	return e
}

// Initialize sends initialize and initialized.
func (e *Editor) Initialize() {
	e.t.Helper()
	e.caps = e.capabilities()
	params := map[string]any{
		"processId":    os.Getpid(),
		"clientInfo":   map[string]any{"name": e.p.Name, "version": "test"},
		"rootUri":      URI(e.root),
		"rootPath":     e.root,
		"capabilities": e.caps,
		"trace":        "off",
		"workspaceFolders": []any{
			map[string]any{"uri": URI(e.root), "name": filepath.Base(e.root)},
		},
	}
	if e.opt.InitializationOptions != nil {
		params["initializationOptions"] = e.opt.InitializationOptions
	}
	var raw json.RawMessage
	if err := e.Call("initialize", params, &raw); err != nil {
		e.t.Fatalf("initialize: %v", err)
	}
	e.InitializeResult = raw
	var res struct {
		Capabilities serverCapabilities `json:"capabilities"`
	}
	if err := json.Unmarshal(raw, &res); err != nil {
		e.t.Fatalf("initialize answered %s: %v", raw, err)
	}
	e.lock(func() {
		e.server = res.Capabilities
		if enc := res.Capabilities.PositionEncoding; enc != "" {
			offered := e.p.Encodings
			if len(offered) == 0 {
				offered = []string{UTF16}
			}
			if !contains(offered, enc) {
				e.violation("position encoding %q was not offered (%v)", enc, offered)
			}
			e.Encoding = enc
		}
		e.phase = phaseInitialized
	})
	e.Notify("initialized", struct{}{})
}

// finish is the end of the test.
func (e *Editor) finish() {
	e.lock(func() {
		if e.t.Failed() {
			e.t.Logf("transcript:\n%s", strings.Join(tail(e.log, 60), "\n"))
		}
	})
	if e.running() && e.phaseIs(phaseInitialized) {
		p := e.send("shutdown", nil)
		if !e.waitQuietly(func() bool { return p.answered || e.vanished }) {
			e.t.Errorf("lsptest: shutdown was not answered")
		}
		e.Notify("exit", nil)
	}
	e.out.close()
	timer := time.NewTimer(5 * time.Second)
	defer timer.Stop()
	select {
	case <-e.ended:
	case <-timer.C:
		e.t.Errorf("lsptest: the server did not return within 5 s of the end of its input")
	}
	e.stop() // a server that hangs is told by its context
	timer.Reset(5 * time.Second)
	select {
	case <-e.ended:
	case <-timer.C:
		e.t.Errorf("lsptest: the server did not return when its context ended; it is left behind")
		return
	}
	<-e.read
	<-e.out.done
	e.work.Wait()
}

// Shutdown ends the session in order before the test's end and returns what the
// server returned.
func (e *Editor) Shutdown() error {
	e.t.Helper()
	if err := e.Call("shutdown", nil, nil); err != nil {
		e.t.Errorf("shutdown: %v", err)
	}
	e.lock(func() { e.phase = phaseShutdown })
	e.Notify("exit", nil)
	return e.WaitEnd()
}

// Vanish closes the pipe at once, as an editor that was killed.
func (e *Editor) Vanish() {
	e.lock(func() { e.vanished = true })
	e.out.close()
}

// WaitEnd waits until the server has returned and returns its error.
func (e *Editor) WaitEnd() error {
	e.t.Helper()
	timer := time.NewTimer(e.opt.Timeout)
	defer timer.Stop()
	select {
	case <-e.ended:
		return e.err
	case <-timer.C:
		e.fatal("the server did not end")
		return nil
	}
}

// Root is the workspace folder's path.
func (e *Editor) Root() string { return e.root }

// lock runs f with the state locked and wakes whoever waits for a change.
func (e *Editor) lock(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *Editor) running() bool {
	select {
	case <-e.ended:
		return false
	default:
		return true
	}
}

func (e *Editor) phaseIs(p int) (is bool) {
	e.lock(func() { is = e.phase == p && !e.vanished })
	return is
}

// violation reports what the server did wrong; mu may be held.
func (e *Editor) violation(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if e.opt.Violation != nil {
		e.opt.Violation(msg)
		return
	}
	e.t.Errorf("lsptest: protocol violation: %s", msg)
}

// fatal fails the test with the transcript.
func (e *Editor) fatal(format string, args ...any) {
	e.t.Helper()
	var log []string
	e.lock(func() { log = tail(e.log, 40) })
	e.t.Fatalf("lsptest: %s\ntranscript:\n%s", fmt.Sprintf(format, args...), strings.Join(log, "\n"))
}

// Wait blocks until cond, which runs with the editor's state locked, holds. what
// names it for the failure.
func (e *Editor) wait(what string, cond func() bool) {
	e.t.Helper()
	timer := time.NewTimer(e.opt.Timeout)
	defer timer.Stop()
	for {
		e.mu.Lock()
		ok, changed := cond(), e.changed
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-e.read:
			e.mu.Lock()
			ok = cond()
			e.mu.Unlock()
			if ok {
				return
			}
			e.fatal("the server ended while waiting for %s", what)
		case <-timer.C:
			e.fatal("timed out waiting for %s", what)
		}
	}
}

// waitQuietly is wait without failing.
func (e *Editor) waitQuietly(cond func() bool) bool {
	timer := time.NewTimer(5 * time.Second)
	defer timer.Stop()
	for {
		e.mu.Lock()
		ok, changed := cond(), e.changed
		e.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-e.read:
			return true
		case <-timer.C:
			return false
		}
	}
}

// WaitFor blocks until cond holds, which is asked after every message of the
// server. what names it for the failure.
func (e *Editor) WaitFor(what string, cond func() bool) {
	e.t.Helper()
	timer := time.NewTimer(e.opt.Timeout)
	defer timer.Stop()
	for {
		e.mu.Lock()
		changed := e.changed
		e.mu.Unlock()
		if cond() { // unlocked: it may use the editor's methods
			return
		}
		select {
		case <-changed:
		case <-e.read:
			if cond() {
				return
			}
			e.fatal("the server ended while waiting for %s", what)
		case <-timer.C:
			e.fatal("timed out waiting for %s", what)
		}
	}
}

func tail(s []string, n int) []string { return s[max(0, len(s)-n):] }

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
