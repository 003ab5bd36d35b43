package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"redline/agent/journal"
	"redline/agent/model"
	"redline/workspace"
)

// ErrInterrupted is how a turn ends whose process ended.
var ErrInterrupted = errors.New("the redline process ended in the middle of the turn")

// ErrNoTurn says that a session has no such turn.
var ErrNoTurn = errors.New("there is no such turn in the session")

// ErrOtherFolder says that a session is about folders that are not open.
var ErrOtherFolder = errors.New("the session belongs to another folder")

// anyCommon reports whether a session of the folders saved can go on in the folders
// here. One without folders can everywhere.
func anyCommon(here, saved []string) bool {
	for _, a := range saved {
		for _, b := range here {
			if workspace.Key(a) == workspace.Key(b) {
				return true
			}
		}
	}
	return len(saved) == 0
}

// interrupted is what the model is told of a call that was running when the process
// ended.
const interrupted = "Interrupted: the redline process ended while this was running. It may have taken effect, in part or as a whole: look before you repeat it."

// waiting is what the model is told of an edit that nobody decided on by then.
const waiting = "Interrupted: the redline process ended while this edit waited for the user's review. The user can still decide on it, and you are told when that happened. Until then it is not in the file, or not all of it."

// infoTail is how much of a file's end is read for a list, in bytes.
const infoTail = 64 << 10

// Saved returns the sessions in the store that began in one of the folders, newest
// first; of all folders when there are none. Files that cannot be read are left out.
func Saved(store *journal.Store, folders ...string) ([]Info, error) {
	files, err := store.List(folders...)
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, f := range files {
		first, last, err := journal.Ends(f.Path, infoTail)
		if err != nil {
			continue
		}
		i, ok := keptInfo(first, last)
		if !ok { // no turn has ended near the end of the file
			lines, err := store.Read(f.ID)
			if err != nil {
				continue
			}
			k, err := parseKept(lines)
			if err != nil {
				continue
			}
			i = k.info
		}
		out = append(out, i)
	}
	return out, nil
}

// SavedEvents returns what happened in a saved session, which may be in use.
func SavedEvents(store *journal.Store, id string) (Info, []Event, error) {
	lines, err := store.Read(id)
	if err != nil {
		return Info{}, nil, err
	}
	k, err := parseKept(lines)
	if err != nil {
		return Info{}, nil, err
	}
	return k.info, k.events, nil
}

// Resume returns the session with the given name as its file in opt.Journal says, and
// all its events. A turn that was running when its process ended has ended by then:
// each of its calls has a response, and the model and the user are told. Mode, model
// and time of review are the saved ones where opt has none. Open proposals wait for
// [Session.ReopenSaved].
func Resume(opt Options, id string) (*Session, []Event, error) {
	if opt.Journal == nil {
		return nil, nil, fmt.Errorf("%w: %q; sessions are not kept here", journal.ErrNotFound, id)
	}
	log, lines, err := opt.Journal.Load(id)
	if err != nil {
		return nil, nil, err
	}
	k, err := parseKept(lines)
	if err != nil {
		_ = log.Close() // nothing was written
		return nil, nil, err
	}
	if here := opt.Workspace.Snapshot().Folders(); !anyCommon(here, k.info.Folders) {
		_ = log.Close()
		return nil, nil, fmt.Errorf("%w: %s; open it to go on", ErrOtherFolder, strings.Join(k.info.Folders, ", "))
	}
	if opt.Mode == "" {
		opt.Mode = k.info.Mode
	}
	if opt.Model == "" {
		opt.Model = k.info.Model
	}
	if opt.ReviewAt == "" {
		opt.ReviewAt = k.info.ReviewAt
	}
	opt.ID = k.info.ID
	s := NewSession(opt)
	s.created, s.updated, s.title, s.turns = k.info.Created, k.info.Updated, k.info.Title, k.info.Turns
	s.seq, s.usage, s.byModel, s.notes, s.calls, s.props = k.info.LastSeq, k.info.Usage, k.byModel, k.notes, k.calls, k.props
	for _, c := range k.history {
		s.history.add(c)
	}
	s.kept.log, s.kept.texts = log, k.texts
	s.kept.texts.write = s.kept.write
	s.kept.history = slices.Clone(s.history.Contents())
	s.reopen = k.open()
	s.checkpoints, s.ckpts, s.changes = k.checkpoints, k.ckpts, k.changes
	s.landed = k.landed()

	emit := s.opt.Emit
	events := k.events
	s.opt.Emit = func(ev Event) { events = append(events, ev) }
	s.mend(k)
	s.opt.Emit = emit
	k.texts.loaded = nil // everything that refers to them is read
	s.kept.sync()
	return s, events, nil
}

// mend brings a session whose process ended in the middle into a state that one can
// go on from.
func (s *Session) mend(k *kept) {
	for _, id := range k.copied {
		p := k.proposals[id].Clone()
		if !isOpen(p) {
			continue
		}
		for h := range p.Hunks() {
			if h.State == workspace.Pending {
				h.State, h.Reason = workspace.Rejected, "left to the session that this one was forked from"
			}
		}
		p.State = workspace.Withdrawn
		p.Rev++
		s.emit(p.TurnID, ProposalUpdated{p})
	}
	if k.running == "" {
		return
	}
	if k.message != nil && !k.message.isCompress() {
		// The prompt was acknowledged; the model has not seen it.
		s.history.AddUser(k.message.parts(s.opt.Workspace.Snapshot())...)
	}
	if k.staged != nil && !slices.ContainsFunc(s.reopen, func(p *workspace.Proposal) bool { return p.TurnID == k.staged.TurnID }) {
		// What was staged for the end of the turn is opened for review.
		p := k.staged
		s.props++
		p.ID = fmt.Sprintf("%s.p%d", s.id, s.props)
		s.reopen = append(s.reopen, p)
		s.Note(stillOpen(p))
	}
	s.answerAll(k)
	for _, msg := range slices.Concat(k.taken, k.steers) {
		s.history.AddUser(msg.parts(s.opt.Workspace.Snapshot())...)
	}
	s.keepHistory()
	for _, id := range k.step {
		u := k.last[id]
		switch u.Status {
		case CallPending, CallConfirming, CallRunning:
			u.Status = CallCancelled
			if u.Output == "" {
				u.Output = interrupted
			}
			s.emit(k.running, u)
		}
	}
	s.emit(k.running, TurnEnded{Status: Cancelled, Err: ErrInterrupted})
	s.keepEnd(k.running)
}

// answerAll gives the calls that the last message of the model makes, and nobody has
// answered, their responses.
func (s *Session) answerAll(k *kept) {
	contents := s.history.Contents()
	at := len(contents) - 1
	for at >= 0 && contents[at].Role != model.RoleModel {
		at--
	}
	if at < 0 {
		return
	}
	answered := at+1 < len(contents) && slices.ContainsFunc(contents[at+1].Parts, func(p model.Part) bool { return p.Value().FunctionResponse != nil })
	var calls []model.FunctionCall
	for _, p := range contents[at].Parts {
		if c, ok := p.FunctionCall(); ok {
			calls = append(calls, c)
		}
	}
	if answered || len(calls) == 0 {
		return
	}
	var parts []model.Part
	for i, c := range calls {
		body := map[string]any{"error": "Interrupted: the redline process ended before this was run."}
		if i < len(k.step) {
			body = s.verdictOf(k, k.step[i])
		}
		parts = append(parts, model.NewPart(&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: c.ID, Name: c.Name, Response: body}}))
	}
	if at+1 == len(contents) {
		s.history.AddUser(parts...)
		return
	}
	// Something was said after the calls: the responses belong before it.
	fixed := slices.Clone(contents)
	fixed[at+1].Parts = slices.Concat(parts, fixed[at+1].Parts)
	s.history = History{}
	for _, c := range fixed {
		s.history.add(c)
	}
}

// verdictOf returns the response to a call of an interrupted turn: what is known of it.
func (s *Session) verdictOf(k *kept, callID string) map[string]any {
	u := k.last[callID]
	switch u.Status {
	case CallCompleted:
		return map[string]any{"output": u.Output}
	case CallFailed, CallRejected, CallCancelled:
		return map[string]any{"error": u.Output}
	}
	c := &call{id: callID}
	for _, id := range slices.Backward(k.order) {
		p := k.proposals[id]
		mine := c.hunks(p)
		if len(mine) == 0 {
			continue
		}
		if isOpen(p) {
			return map[string]any{"error": waiting}
		}
		out, _, err := account(mine, "All of it is in the files now.")
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return map[string]any{"output": out}
	}
	return map[string]any{"error": interrupted}
}

// suspend leaves a proposal open that the end of the session, and not the user, cut
// off: it waits for the session to be resumed.
func (s *Session) suspend(t *turn, p *workspace.Proposal, editing []*call, updated func()) {
	if p.State != workspace.Open {
		p.State = workspace.Open
		p.Rev++
		updated()
	}
	for _, c := range editing {
		c.status = CallCancelled
		s.settle(t, c, "", errors.New(waiting))
	}
}

// ReopenSaved has the proposals that were open when the session's process ended
// reviewed, beside the turns. The model is told the outcome with the next prompt. It
// returns at once; the reviews last as long as the session.
func (s *Session) ReopenSaved(ctx context.Context) {
	s.mu.Lock()
	open := s.reopen
	s.reopen = nil
	s.mu.Unlock()
	for _, p := range open {
		p = p.Clone()
		p.State = workspace.Open
		p.Rev++
		s.Reopen(ctx, p)
	}
}

// Fork copies a saved session up to a turn, or as far as its turns have ended, into a
// new one, and returns the new one's name. What was open in it stays with the old one.
func Fork(store *journal.Store, id, beforeTurn string) (string, error) {
	lines, err := store.Read(id)
	if err != nil {
		return "", err
	}
	k, err := parseKept(lines)
	if err != nil {
		return "", err
	}
	end := len(lines)
	if n := len(k.turns); n > 0 && !k.turns[n-1].ended {
		end = k.turns[n-1].line
	}
	if beforeTurn != "" {
		i := slices.IndexFunc(k.turns, func(t keptTurn) bool { return t.id == beforeTurn })
		if i < 0 {
			return "", fmt.Errorf("%w: %q", ErrNoTurn, beforeTurn)
		}
		end = k.turns[i].line
	}
	newID := NewID("s")
	log, err := store.Create(k.header.Folders, newID)
	if err != nil {
		return "", err
	}
	header := k.header
	header.Session, header.ForkOf, header.At = newID, id, time.Now()
	err = log.Append(header)
	for _, line := range lines[:end] {
		var r record
		if uerr := json.Unmarshal(line, &r); uerr != nil || r.T == recSession {
			continue
		}
		// The names of turns, calls and proposals contain the session's. Texts and what
		// was said are copied as they are.
		if r.T != recText && r.T != recHistory {
			line = renamed(line, id, newID)
		}
		err = errors.Join(err, log.Append(json.RawMessage(line)))
	}
	title := k.info.Title
	if !strings.HasPrefix(title, "Fork of ") {
		title = "Fork of " + title
	}
	turns := 0
	for _, t := range k.turns {
		if t.line < end {
			turns++
		}
	}
	last := int64(0)
	if short, perr := parseKept(lines[:end]); perr == nil {
		last = short.info.LastSeq
	}
	err = errors.Join(err, log.Append(record{T: recForked}), log.Append(record{T: recEnd, At: header.At, Turns: turns, Title: title, Seq: last}), log.Sync(), log.Close())
	if err != nil {
		return "", fmt.Errorf("fork the session: %w", err)
	}
	return newID, nil
}
