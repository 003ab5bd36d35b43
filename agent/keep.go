package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"redline/agent/journal"
	"redline/agent/model"
	"redline/workspace"
)

// keepVersion is the version of what a session's file says. A file with a higher one
// is not read: a session must not go on from half of what it knew.
const keepVersion = 1

// The kinds of records in a session's file.
const (
	recSession    = "session" // the first one: version, names, settings
	recSet        = "set"     // settings that changed
	recPrompt     = "prompt"  // of the user, before it is acknowledged
	recSteer      = "steer"   // likewise
	recEvent      = "event"
	recHistory    = "history" // what changed in what is sent to the model
	recText       = "text"    // see keptTexts
	recNote       = "note"    // for the model, with its next message
	recTold       = "told"    // that many notes are in the history now
	recStaged     = "staged"  // the turn's layer, as the proposal it would be; without a body: none
	recEnd        = "end"     // of a turn, with what a list of sessions shows
	recCheckpoint = "checkpoint"
	recChange     = "change" // of a file, by an edit
	recForked     = "forked" // what is before it was copied from another session
)

// record is a line of a session's file. What its fields mean is said by T.
type record struct {
	T  string    `json:"t"`
	At time.Time `json:"at,omitzero"`

	V        int      `json:"v,omitempty"`
	Session  string   `json:"session,omitempty"`
	Folders  []string `json:"folders,omitempty"`
	Mode     Mode     `json:"mode,omitempty"`
	Model    string   `json:"model,omitempty"`
	ReviewAt ReviewAt `json:"reviewAt,omitempty"`
	ForkOf   string   `json:"forkOf,omitempty"`

	Turn    string           `json:"turn,omitempty"`
	Turns   int              `json:"turns,omitempty"`
	Title   string           `json:"title,omitempty"`
	Message *Message         `json:"message,omitempty"`
	Usage   *Usage           `json:"usage,omitempty"`
	ByModel map[string]Usage `json:"byModel,omitempty"`

	Seq  int64           `json:"seq,omitempty"`
	Kind string          `json:"kind,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`

	// Of recHistory: so many messages of the one before stay, the last of them with
	// so many parts (0: all), and then come Add, of which the first joins the last one
	// that stays when Join is set.
	Keep int             `json:"keep,omitempty"`
	Join bool            `json:"join,omitempty"`
	Add  []model.Content `json:"add,omitempty"`

	Change *change `json:"change,omitempty"`
	Text   string  `json:"text,omitempty"`
	Told   int     `json:"told,omitempty"`

	Name int    `json:"name,omitempty"`
	Path string `json:"path,omitempty"`
	Of   int    `json:"of,omitempty"`
	Pre  int    `json:"pre,omitempty"`
	Suf  int    `json:"suf,omitempty"`
	Raw  []byte `json:"raw,omitempty"`
}

// keeper writes a session to disk as it happens. The zero value, and nil, keep
// nothing. A session that was never prompted leaves no file.
type keeper struct {
	store *journal.Store

	// mu is held while a line is handed to the system, which takes microseconds and
	// waits for no disk: lines must be in the order of what they tell, and an event
	// must be kept before a client can know of it.
	mu      sync.Mutex
	log     *journal.Log // nil before the first prompt
	pending []record     // from before that
	texts   *keptTexts
	failed  error
	said    bool // failed was told to the user

	history []model.Content // as it was written last, owned by the running turn
}

func newKeeper(store *journal.Store) *keeper {
	if store == nil {
		return nil
	}
	k := &keeper{store: store}
	k.texts = newKeptTexts(k.write)
	return k
}

// maxPending bounds what is remembered of a session without a prompt.
const maxPending = 1000

// write keeps r; k.mu is held.
func (k *keeper) write(r record) {
	switch {
	case k.failed != nil:
	case k.log == nil:
		if len(k.pending) == maxPending {
			k.failed = errors.New("too much happened before the first prompt")
			return
		}
		k.pending = append(k.pending, r)
	default:
		k.failed = k.log.Append(r)
	}
}

func (k *keeper) put(r record) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.write(r)
}

// event keeps an event.
func (k *keeper) event(ev Event) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed != nil {
		return
	}
	body, err := saveBody(ev.Body, k.texts)
	if err != nil {
		k.failed = err
		return
	}
	k.write(record{T: recEvent, Seq: ev.Seq, Turn: ev.TurnID, Kind: kindOf(ev.Body), Body: body})
}

// staged keeps what a turn's layer would propose; nil: nothing.
func (k *keeper) staged(turnID string, p *workspace.Proposal) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r := record{T: recStaged, Turn: turnID}
	if p != nil {
		var err error
		if r.Body, err = workspace.SaveProposal(p, k.texts); err != nil {
			k.failed = err
			return
		}
	}
	k.write(r)
}

// begin makes the session's file, unless it is there, with header as its first line.
func (k *keeper) begin(header record) {
	k.mu.Lock()
	open := k.log != nil || k.failed != nil
	k.mu.Unlock()
	if open {
		return
	}
	log, err := k.store.Create(header.Folders, header.Session)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.failed = err
		return
	}
	k.log = log
	before := k.pending
	k.pending = nil
	k.write(header)
	for _, r := range before {
		k.write(r)
	}
}

// sync returns when everything so far is on the disk, or cannot be brought there.
func (k *keeper) sync() {
	if k == nil {
		return
	}
	k.mu.Lock()
	log := k.log
	k.mu.Unlock()
	if log == nil {
		return
	}
	if err := log.Sync(); err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.failed == nil {
			k.failed = err
		}
	}
}

// complaint returns, once, why nothing is kept any more.
func (k *keeper) complaint() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed == nil || k.said {
		return nil
	}
	k.said = true
	return k.failed
}

func (k *keeper) close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	log := k.log
	k.log = nil
	if k.failed == nil {
		k.failed = ErrClosed
	}
	k.said = true
	k.mu.Unlock()
	if log != nil {
		_ = log.Close() // what was acknowledged is synced
	}
}

// changed keeps what is new in the history. It compares rather than being told: then
// no way of changing the history can be forgotten.
func (k *keeper) changed(now []model.Content) {
	if k == nil {
		return
	}
	n := 0
	for n < len(now) && n < len(k.history) && same(now[n], k.history[n]) {
		n++
	}
	if n == len(now) && n == len(k.history) {
		return
	}
	r := record{T: recHistory, Keep: n, Add: now[n:]}
	if n < len(now) && n < len(k.history) && now[n].Role == k.history[n].Role && n == len(k.history)-1 {
		// The last message has only grown.
		if old := len(k.history[n].Parts); old > 0 && old < len(now[n].Parts) && same(model.Content{Role: now[n].Role, Parts: now[n].Parts[:old]}, k.history[n]) {
			rest := model.Content{Role: now[n].Role, Parts: now[n].Parts[old:]}
			r.Keep, r.Join, r.Add = n+1, true, append([]model.Content{rest}, now[n+1:]...)
		}
	}
	k.history = slices.Clone(now)
	k.put(r)
}

// same reports whether two messages are sent with the same bytes.
func same(a, b model.Content) bool {
	if a.Role != b.Role || len(a.Parts) != len(b.Parts) {
		return false
	}
	for i := range a.Parts {
		x, errx := a.Parts[i].MarshalJSON()
		y, erry := b.Parts[i].MarshalJSON()
		if errx != nil || erry != nil || string(x) != string(y) {
			return false
		}
	}
	return true
}

// keepPrompt writes a prompt to disk before it is acknowledged.
func (s *Session) keepPrompt(turnID string, msg Message) {
	if s.kept == nil {
		return
	}
	s.mu.Lock()
	header := record{
		T: recSession, V: keepVersion, At: s.created, Session: s.id, Folders: s.opt.Workspace.Snapshot().Folders(),
		Mode: s.mode, Model: s.model, ReviewAt: s.at,
	}
	prompt := record{T: recPrompt, At: s.updated, Turn: turnID, Turns: s.turns, Title: s.title, Message: &msg}
	s.mu.Unlock()
	s.kept.begin(header)
	s.kept.put(prompt)
	s.kept.sync()
}

// keepHistory writes what is new in the history; the running turn calls it.
func (s *Session) keepHistory() { s.kept.changed(s.history.Contents()) }

// keepEnd writes the end of a turn to disk, and what lists of sessions show.
func (s *Session) keepEnd(turnID string) {
	if s.kept == nil {
		return
	}
	i := s.Info()
	s.emitMu.Lock()
	byModel := maps.Clone(s.byModel)
	s.emitMu.Unlock()
	s.kept.put(record{T: recEnd, ByModel: byModel, Turn: turnID, At: i.Updated, Turns: i.Turns, Title: i.Title, Seq: i.LastSeq, Usage: &i.Usage, Mode: i.Mode, Model: i.Model, ReviewAt: i.ReviewAt})
	s.kept.sync()
}

// Sync returns when what has happened so far is on the disk. Whoever acknowledges a
// decision of the user calls it before.
func (s *Session) Sync() { s.kept.sync() }

// complain tells the user, once, that the session is not kept any more; s.emitMu is
// held.
func (s *Session) complain(turnID string) {
	err := s.kept.complaint()
	if err == nil {
		return
	}
	s.seq++
	s.opt.Emit(Event{SessionID: s.id, Seq: s.seq, TurnID: turnID, Body: Notice{"warning", fmt.Sprintf("This session is not saved from here on: %v", err)}})
}

// keepStaged keeps what the turn's layer holds, which is nowhere else.
func (s *Session) keepStaged(t *turn) {
	if s.kept == nil || t.layer == nil {
		return
	}
	p := t.layer.view.Propose()
	if p != nil {
		p.SessionID, p.TurnID = s.id, t.id
		p.Title = proposalTitle(p, t.layer.view)
	}
	s.kept.staged(t.id, p)
}
