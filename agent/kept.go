package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"redline/agent/model"
	"redline/workspace"
)

// kept is what the file of a session says.
type kept struct {
	header  record
	info    Info // what lists show
	byModel map[string]Usage

	checkpoints []Checkpoint
	ckpts       int
	changes     []change
	tracked     []string // proposals and files of which something is in the changes

	texts   *keptTexts
	events  []Event
	history []model.Content
	notes   []string
	calls   int // the highest number of a call, and of a proposal
	props   int

	proposals map[string]*workspace.Proposal // the newest states
	order     []string
	copied    []string // proposals that were open when the session was forked
	turns     []keptTurn

	// Of a turn that has not ended.
	running   string
	message   *Message  // its prompt, until it is in the history
	steers    []Message // messages into the turn that the session had not taken
	taken     []Message // that it had, but are not in the history
	step      []string  // calls of the last step, in order
	last      map[string]ToolUpdated
	staged    *workspace.Proposal
	newerKind string // the first kind of event that this build does not know
}

// keptTurn is a prompt in the file.
type keptTurn struct {
	id    string
	line  int // of its first record
	ended bool
}

// parseKept reads the lines of a session's file. Lines that cannot be understood cost
// what they say and nothing else.
func parseKept(lines [][]byte) (*kept, error) {
	k := &kept{texts: newKeptTexts(func(record) {}), proposals: map[string]*workspace.Proposal{}, last: map[string]ToolUpdated{}}
	for i, line := range lines {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			continue
		}
		if r.T == recSession {
			if r.V > keepVersion {
				return nil, fmt.Errorf("the session was saved by a newer redline (format %d, this one reads up to %d); update redline to go on with it", r.V, keepVersion)
			}
			k.header = r
			k.info.ID, k.info.Created, k.info.Updated, k.info.Folders = r.Session, r.At, r.At, r.Folders
			k.info.Mode, k.info.Model, k.info.ReviewAt = r.Mode, r.Model, r.ReviewAt
			continue
		}
		k.take(i, r)
	}
	if k.header.Session == "" {
		return nil, fmt.Errorf("the file of the session is damaged: its first line is missing")
	}
	return k, nil
}

func (k *kept) take(line int, r record) {
	switch r.T {
	case recSet, recEnd:
		k.settings(r)
	case recPrompt:
		k.settings(r)
		k.running, k.message = r.Turn, r.Message
		k.steers, k.taken, k.step, k.staged = nil, nil, nil, nil
		clear(k.last)
		k.turns = append(k.turns, keptTurn{id: r.Turn, line: line})
	case recSteer:
		if r.Message == nil {
			r.Message = &Message{Text: r.Text}
		}
		k.steers = append(k.steers, *r.Message)
	case recEvent:
		k.event(r)
	case recHistory:
		k.said(r)
	case recText:
		k.texts.read(r)
	case recNote:
		k.notes = append(k.notes, r.Text)
	case recTold:
		k.notes = slices.Clone(k.notes[min(r.Told, len(k.notes)):])
	case recStaged:
		k.staged = nil
		if len(r.Body) > 0 {
			k.staged, _ = workspace.RestoreProposal(r.Body, k.texts) // nil when it is damaged
		}
	case recCheckpoint:
		k.ckpts = max(k.ckpts, number(r.Text, ".k"))
		k.checkpoints = append(k.checkpoints, Checkpoint{ID: r.Text, TurnID: r.Turn, Title: r.Title, Created: r.At, history: k.history, at: len(k.changes)})
	case recChange:
		if r.Change != nil {
			k.changes = append(k.changes, *r.Change)
			if r.Text != "" {
				k.tracked = append(k.tracked, r.Text)
			}
		}
	case recForked:
		k.copied = nil
		for _, id := range k.order {
			if isOpen(k.proposals[id]) {
				k.copied = append(k.copied, id)
			}
		}
	}
}

// settings takes in what a record says of the session as a whole.
func (k *kept) settings(r record) {
	set := func(dst *string, v string) {
		if v != "" {
			*dst = v
		}
	}
	set((*string)(&k.info.Mode), string(r.Mode))
	set((*string)(&k.info.ReviewAt), string(r.ReviewAt))
	set(&k.info.Model, r.Model)
	set(&k.info.Title, r.Title)
	k.info.Turns = max(k.info.Turns, r.Turns)
	if r.At.After(k.info.Updated) {
		k.info.Updated = r.At
	}
	if r.Usage != nil {
		k.info.Usage, k.byModel = *r.Usage, r.ByModel
	}
}

func (k *kept) event(r record) {
	body, err := loadBody(r.Kind, r.Body, k.texts)
	if err != nil {
		if k.newerKind == "" {
			k.newerKind = r.Kind
		}
		body = Notice{"info", "Something happened here that this version of redline cannot show."}
	}
	for k.info.LastSeq+1 < r.Seq { // lost to damage: the numbers have no gap
		k.info.LastSeq++
		k.events = append(k.events, Event{k.info.ID, k.info.LastSeq, r.Turn, Notice{"info", "What happened here is lost: the session's file is damaged."}})
	}
	if r.Seq <= k.info.LastSeq {
		return
	}
	k.info.LastSeq = r.Seq
	k.events = append(k.events, Event{k.info.ID, r.Seq, r.Turn, body})
	switch b := body.(type) {
	case TurnEnded:
		if r.Turn == k.running {
			k.running, k.message, k.steers, k.taken, k.staged = "", nil, nil, nil, nil
		}
		for i := range k.turns {
			if k.turns[i].id == r.Turn {
				k.turns[i].ended = true
			}
		}
	case UserMessage:
		i := slices.IndexFunc(k.steers, func(m Message) bool { return m.Text == b.Text })
		if i >= 0 && !strings.HasSuffix(b.MessageID, ".u") {
			k.taken = append(k.taken, k.steers[i])
			k.steers = slices.Delete(k.steers, i, i+1)
		}
	case UsageUpdated:
		k.info.Usage = b.Usage
	case ToolUpdated:
		if _, known := k.last[b.CallID]; !known {
			k.step = append(k.step, b.CallID)
		}
		k.last[b.CallID] = b
		k.calls = max(k.calls, number(b.CallID, ".c"))
	case ProposalUpdated:
		p := b.Proposal
		if _, known := k.proposals[p.ID]; !known {
			k.order = append(k.order, p.ID)
		}
		k.proposals[p.ID] = p
		k.props = max(k.props, number(p.ID, ".p"))
		if k.staged != nil && p.TurnID == k.staged.TurnID {
			k.staged = nil // it came to its review
		}
	}
}

// number returns n of a name like "s-1.c<n>".
func number(id, mark string) int {
	i := strings.LastIndex(id, mark)
	if i < 0 {
		return 0
	}
	n, err := strconv.Atoi(id[i+len(mark):])
	if err != nil {
		return 0
	}
	return n
}

// said takes in a change of the history.
func (k *kept) said(r record) {
	if r.Keep > len(k.history) || r.Keep < 0 {
		return
	}
	k.history = slices.Clone(k.history[:r.Keep])
	add := r.Add
	if r.Join && len(add) > 0 && r.Keep > 0 {
		last := &k.history[r.Keep-1]
		last.Parts = slices.Concat(last.Parts, add[0].Parts)
		add = add[1:]
	}
	k.history = append(k.history, add...)
	k.message, k.taken = nil, nil
	if len(add) > 0 && add[len(add)-1].Role == model.RoleModel {
		k.step = nil // what is called now is of this message
	}
}

func isOpen(p *workspace.Proposal) bool {
	return p != nil && (p.State == workspace.Open || p.State == workspace.Applying)
}

// open returns the proposals that still wait for a decision, oldest first.
func (k *kept) open() (out []*workspace.Proposal) {
	for _, id := range k.order {
		if p := k.proposals[id]; isOpen(p) && !slices.Contains(k.copied, id) {
			out = append(out, p)
		}
	}
	return out
}

// keptInfo reads what a list shows from the two ends of a file.
func keptInfo(first []byte, last [][]byte) (i Info, ok bool) {
	k := kept{}
	var r record
	if json.Unmarshal(first, &r) != nil || r.T != recSession {
		return i, false
	}
	k.header = r
	k.info = Info{ID: r.Session, Created: r.At, Updated: r.At, Folders: r.Folders, Mode: r.Mode, Model: r.Model, ReviewAt: r.ReviewAt}
	for _, line := range last {
		var r record
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		switch r.T {
		case recEnd:
			ok = true
			k.settings(r)
			k.info.LastSeq = max(k.info.LastSeq, r.Seq)
		case recPrompt, recSet:
			k.settings(r)
		case recEvent:
			k.info.LastSeq = max(k.info.LastSeq, r.Seq)
		}
	}
	return k.info, ok
}

// landed returns how much of each proposal's files is in the changes: what the newest
// state of the proposal says, as far as a change was written down at all.
func (k *kept) landed() map[string]landed {
	out := map[string]landed{}
	for _, p := range k.proposals {
		for _, f := range p.Files {
			key := p.ID + "/" + f.ID
			if !slices.Contains(k.tracked, key) {
				continue
			}
			out[key] = landedOf(f)
		}
	}
	return out
}
