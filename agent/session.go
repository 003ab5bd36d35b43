// Package agent holds a conversation with a model that works on a workspace.
//
// A [Session] takes a prompt and runs a turn: it streams the model's answer, runs
// the functions the model calls, has the edits reviewed, tells the model what
// really happened, and goes on until the model calls nothing. It is the only
// package, with its subpackages, that knows Gemini's types.
package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/genai"

	"redline/agent/journal"
	"redline/agent/loop"
	"redline/agent/model"
	"redline/agent/retry"
	"redline/agent/slash"
	"redline/tools"
	"redline/tools/policy"
	"redline/tools/sandbox"
	"redline/tools/secret"
	"redline/tools/shell"
	"redline/workspace"
	"redline/workspace/blob"
)

// Mode says what may happen without asking.
type Mode string

// The modes of a session.
const (
	ModeDefault  Mode = "default"  // edits are reviewed, commands asked for
	ModeAutoEdit Mode = "autoEdit" // edits are applied at once
	ModePlan     Mode = "plan"     // nothing is changed
	ModeYolo     Mode = "yolo"     // nothing is asked
)

// ParseMode returns the mode with the given name.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case ModeDefault, ModeAutoEdit, ModePlan, ModeYolo:
		return m, nil
	}
	return "", fmt.Errorf("unknown mode %q; use default, autoEdit, plan or yolo", s)
}

// DefaultModel is used when nobody chose one.
const DefaultModel = "gemini-2.5-pro"

// A Reviewer gets a proposal decided, applied and settled.
//
// Review owns p until it returns; it calls updated after each change of it. When
// auto is set nobody is asked. It returns when no hunk is pending, or with the
// context's error, and then no hunk may be applied any more.
type Reviewer interface {
	Review(ctx context.Context, p *workspace.Proposal, auto bool, updated func()) error
}

// Options are the parts of a session.
type Options struct {
	ID        string // made when empty
	Workspace *workspace.Workspace
	Tools     *tools.Registry
	// Generator returns what talks to the model. It is asked for each turn, so that
	// nothing is needed before the first prompt and a new key works at once.
	Generator func(ctx context.Context) (model.ContentGenerator, error)
	Reviewer  Reviewer
	Approver  Approver // nil: what needs consent is refused
	Saver     Saver    // nil: nothing can be saved
	// Trust knows whether the folders are trusted; nil: they are.
	Trust TrustKeeper
	// Silence is how long a command may be without output before it is ended; 0: 5
	// minutes, negative: for ever.
	Silence  time.Duration
	Consents Consents // nil: nothing is allowed for good
	// Env says which variables commands get, and Secrets what is masked in what they
	// print, beside what looks like a key: our own credentials.
	Env     secret.Env
	Secrets []string
	// Sandbox says whether, and how, commands are confined.
	Sandbox sandbox.Setting
	// Policy is the user's rules, and which files are sensitive.
	Policy policy.Policy
	// Commands says which command lines run without asking, and which never.
	Commands shell.Policy
	Emit     func(Event) // called in order, from one goroutine at a time; must not block for long
	Mode     Mode
	ReviewAt ReviewAt // when edits are reviewed; empty: AtStep
	// News returns what became of settled proposals of this session since it was
	// asked last, for the model; nil: nobody knows.
	News     func(ctx context.Context, sessionID string) []string
	Model    string
	Retry    retry.Options // of failed requests; OnWait is the session's own
	MaxSteps int           // model requests in a turn; 0: 100
	MaxTurns int           // prompts in the session; 0: no limit
	// Ready, if set, waits until tools that come by themselves are in Tools, or its
	// context ends.
	Ready func(ctx context.Context)
	// CorrectEdits has a small model correct the quotations of edits that would be
	// refused.
	CorrectEdits bool
	Now          func() time.Time
	// Look brings the open documents up to date where nobody tells of typing; nil: the
	// workspace knows them. See [Looker].
	Look Looker
	// Runner runs commands elsewhere; nil: they run here.
	Runner Runner
	// Slash holds the custom prompts; nil: a "/" has no meaning.
	Slash *slash.Set
	// Resources reads what a prompt mentions as @server:uri; nil: there is none.
	Resources Resources
	// Asker puts questions to the user; nil: nobody can be asked.
	Asker Asker
	// Journal is where the session is kept on disk from its first prompt on; nil: it
	// is not.
	Journal *journal.Store
	// Blobs keeps what checkpoints need; nil: there are none.
	Blobs *blob.Store
	Conversation
}

// Session is one conversation. It is safe for concurrent use; its turns run one
// after the other, each in a goroutine that Close waits for.
type Session struct {
	opt     Options
	id      string
	created time.Time

	mu      sync.Mutex
	mode    Mode
	at      ReviewAt
	notes   []string // for the model, with its next message
	reviews map[*lateReview]bool
	model   string
	title   string
	updated time.Time
	turns   int
	running *turn // nil when idle
	closed  bool
	windows map[string]int // of models, as the service tells them; nil: not asked

	emitMu  sync.Mutex // held while an event is numbered and handed out
	seq     int64
	usage   Usage
	byModel map[string]Usage
	// contextTokens is what the last request's prompt and answer had; 0: not known.
	contextTokens int
	history       History // owned by the running turn
	weighed       int     // size of the history when contextTokens was counted, owned by the running turn
	tooSmall      int     // tokens below which it is not compressed again after a failure, likewise
	calls         int     // function calls so far, owned by the running turn
	props         int     // proposals so far, owned by the running turn

	// What the user allowed for the session, and processes that commands left
	// behind; owned by the running turn.
	allowedPrefixes []string
	allowedKeys     map[string]bool
	awaited         bool            // the tools that come by themselves had their time
	maySave         bool            // the user agreed to saving before commands
	guardMu         sync.Mutex      // of open
	open            map[string]bool // keys of paths whose content the user has allowed; true: for the session

	toldTrust bool // what is left out of an untrusted folder was said

	instructions instructions
	answers      answers // to requests beside the conversation

	bgMu       sync.Mutex
	background []*background // see leaveRunning

	kept   *keeper               // nil when the session is not kept
	reopen []*workspace.Proposal // see ReopenSaved

	// Guarded by mu.
	checkpoints []Checkpoint
	ckpts       int               // there have been
	changes     []change          // in the order they landed
	landed      map[string]landed // by proposal and file
	bytes       map[string]change // files that are no text, before they are deleted

	tempMu sync.Mutex
	temp   string // see tempDir; empty until it is needed
}

// turn is one run from a prompt until the session is idle.
type turn struct {
	id     string
	cancel context.CancelCauseFunc
	done   chan struct{}

	// Guarded by Session.mu.
	steer   []Message // for the next step
	closing bool      // no further message is taken

	generator model.ContentGenerator // what the turn talks to, once it has it

	instructions string // for the system prompt
	configs      configs
	loop         loop.Detector
	nudged       bool // the model was told that it goes round in circles
	tries        tries
	said         mark               // where the user's message begins
	began        bool               // something of the last step's answer came
	finish       genai.FinishReason // of the last answer
	worked       bool               // functions were called in the turn
	fellBack     bool               // the model was changed because the one before did not answer
	stay         map[string]bool    // models that the user does not want to leave
	compressed   Compression

	end   TurnEnded // before done is closed
	layer *layer    // edits of the turn that wait for its end; nil when there are none
}

// Errors of [Session.Prompt] and [Session.Steer].
var (
	ErrBusy   = errors.New("a turn is running; wait for it, steer it or cancel it")
	ErrIdle   = errors.New("no turn is running; send a prompt instead")
	ErrClosed = errors.New("the session is closed")
	ErrEmpty  = errors.New("the prompt is empty")
)

// ErrRefused is wrapped by the error of a turn whose prompt the service refused.
var ErrRefused = errors.New("the prompt was refused by the model's service")

// ErrTurnLimit says that the session may take no further prompt.
var ErrTurnLimit = errors.New("the limit of turns in this session is reached; start a new session or raise model.maxSessionTurns")

// errCancelled is the cause of a turn that the user stopped.
var errCancelled = errors.New("cancelled by the user")

// NewSession returns an idle session.
func NewSession(opt Options) *Session {
	if opt.ID == "" {
		opt.ID = NewID("s")
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.MaxSteps == 0 {
		opt.MaxSteps = 100
	}
	if opt.Mode == "" {
		opt.Mode = ModeDefault
	}
	if opt.ReviewAt == "" {
		opt.ReviewAt = AtStep
	}
	if opt.Model == "" {
		opt.Model = DefaultModel
	}
	now := opt.Now()
	return &Session{opt: opt, id: opt.ID, created: now, updated: now, mode: opt.Mode, at: opt.ReviewAt, model: opt.Model, reviews: map[*lateReview]bool{}, allowedKeys: map[string]bool{}, open: map[string]bool{}, kept: newKeeper(opt.Journal), landed: map[string]landed{}, bytes: map[string]change{}}
}

// NewID returns a fresh identifier that sorts by time.
func NewID(prefix string) string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand documents it)
	return fmt.Sprintf("%s-%011x%s", prefix, time.Now().UnixMilli(), hex.EncodeToString(b[:]))
}

// Info is what is known of a session from outside.
type Info struct {
	ID, Title, Model string
	Mode             Mode
	ReviewAt         ReviewAt
	Folders          []string
	Created, Updated time.Time
	Turns            int
	LastSeq          int64
	Running          bool
	Usage            Usage
}

// Info returns the session's state of this moment.
func (s *Session) Info() Info {
	s.emitMu.Lock()
	seq, usage := s.seq, s.usage
	s.emitMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return Info{
		ID: s.id, Title: s.title, Model: s.model, Mode: s.mode, ReviewAt: s.at, Folders: s.opt.Workspace.Snapshot().Folders(),
		Created: s.created, Updated: s.updated, Turns: s.turns, LastSeq: seq, Running: s.running != nil, Usage: usage,
	}
}

// Configure changes the mode or model; empty values stay as they are. A running
// turn follows from its next step on.
func (s *Session) Configure(mode Mode, modelName string) error {
	if mode != "" {
		if _, err := ParseMode(string(mode)); err != nil {
			return err
		}
	}
	s.mu.Lock()
	if mode != "" {
		s.mode = mode
	}
	if modelName != "" {
		s.model = modelName
	}
	s.mu.Unlock()
	s.kept.put(record{T: recSet, Mode: mode, Model: modelName})
	s.kept.sync()
	return nil
}

func (s *Session) settings() (Mode, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode, s.model
}

// Prompt starts a turn with the user's message and returns its id at once; the
// turn ends with a [TurnEnded] event. It runs until it is done, cancelled, or ctx
// ends, which must therefore outlive the caller's request.
func (s *Session) Prompt(ctx context.Context, msg Message) (turnID string, err error) {
	t, err := s.start(ctx, msg)
	if err != nil {
		return "", err
	}
	return t.id, nil
}

func (s *Session) start(ctx context.Context, msg Message) (t *turn, err error) {
	if msg.empty() {
		return nil, ErrEmpty
	}
	if !msg.isCompress() {
		if err := s.checkSlash(msg.Text); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	switch {
	case s.closed:
		err = ErrClosed
	case s.running != nil:
		err = ErrBusy
	case s.opt.MaxTurns > 0 && s.turns >= s.opt.MaxTurns:
		err = ErrTurnLimit
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	s.turns++
	if s.title == "" {
		s.title = titleOf(msg.Text)
	}
	s.updated = s.opt.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	t = &turn{id: fmt.Sprintf("%s.t%d", s.id, s.turns), cancel: cancel, done: make(chan struct{})}
	s.running = t
	s.mu.Unlock()
	s.keepPrompt(t.id, msg)

	go func() {
		defer close(t.done)
		end := s.runTurn(ctx, t, msg)
		t.end = end
		cancel(nil)
		s.keepHistory()
		s.kept.sync()
		s.mu.Lock()
		s.running = nil
		s.updated = s.opt.Now()
		s.mu.Unlock()
		s.emit(t.id, end)
		s.keepEnd(t.id)
	}()
	return t, nil
}

// Steer adds a message to the running turn; the model gets it, with what is attached,
// with its next step.
func (s *Session) Steer(msg Message) (turnID string, err error) {
	if turnID, err = s.addSteer(msg); err == nil {
		r := record{T: recSteer, Turn: turnID, Text: msg.Text}
		if len(msg.Context) > 0 {
			r.Message = &msg
		}
		s.kept.put(r)
		s.kept.sync()
	}
	return turnID, err
}

func (s *Session) addSteer(msg Message) (turnID string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil || s.running.closing {
		return "", ErrIdle
	}
	if msg.Text == "" {
		return "", ErrEmpty // without words nothing says what it is for
	}
	s.running.steer = append(s.running.steer, msg)
	return s.running.id, nil
}

// Cancel stops the running turn, or the one with the given id if it is running.
// It does not wait.
func (s *Session) Cancel(turnID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.running; t != nil && (turnID == "" || turnID == t.id) {
		t.cancel(errCancelled)
	}
}

// Wait returns when the turn that runs now has ended, with its last event handed
// out, or when ctx ends.
func (s *Session) Wait(ctx context.Context) error {
	s.mu.Lock()
	t := s.running
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close cancels the running turn, waits for it, and ends what its commands left
// running. No prompt is taken afterwards.
func (s *Session) Close() {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	t := s.running
	if t != nil {
		t.cancel(errSessionEnd)
	}
	s.mu.Unlock()
	if t != nil {
		<-t.done
	}
	s.endReviews()
	if first {
		s.kept.close()
		s.cleanUp()
	}
}

// emit numbers an event and hands it out. The lock keeps numbers and order equal.
func (s *Session) emit(turnID string, b Body) {
	s.emitMu.Lock()
	defer s.emitMu.Unlock()
	s.seq++
	ev := Event{SessionID: s.id, Seq: s.seq, TurnID: turnID, Body: b}
	s.kept.event(ev)
	s.opt.Emit(ev)
	s.complain(turnID)
}

// takeSteer returns the messages that came in since the last step.
func (s *Session) takeSteer(t *turn) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := t.steer
	t.steer = nil
	return out
}

// titleOf returns the first line of a prompt, shortened.
func titleOf(text string) string {
	const limit = 60
	n := 0
	for i, r := range text {
		if r == '\n' {
			return text[:i]
		}
		if n++; n > limit {
			return text[:i] + "…"
		}
	}
	return text
}

// ErrCredentials is wrapped by what Options.Generator reports when there are no
// usable credentials; the text around it says what to do.
var ErrCredentials = errors.New("no usable credentials")
