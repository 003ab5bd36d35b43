package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"redline/lsp/rpc"
	"redline/workspace"
)

// maxTries is how often an edit is sent again because the user typed in between.
const maxTries = 4

// apply brings the picked hunks of p into the documents with one versioned
// workspace/applyEdit and settles them by what the documents say afterwards. An
// edit that the editor refused because the user typed meanwhile is rebased and
// sent again. Picked hunks are never pending afterwards, unless ctx ended.
func (s *Server) apply(ctx context.Context, p *workspace.Proposal, picked []pick) error {
	reason := ""
	for range maxTries {
		s.rebase(p)
		s.conflictWithNewFiles(p)
		var left []pick
		for _, k := range picked {
			switch {
			case k.hunk.State == workspace.Pending:
				left = append(left, k)
			case k.hunk.State == workspace.Conflicted:
				k.hunk.Closed = true
			}
		}
		if len(left) == 0 {
			return nil
		}
		picked = left
		got, err := s.applyParts(ctx, p, picked, applyOptions{label: "Redline: " + p.Title, wait: s.timing.Apply, annotate: s.client.annotations})
		if err != nil {
			return err
		}
		if !got.moved {
			reason = got.why
			break
		}
	}
	for _, k := range picked {
		if k.hunk.State == workspace.Pending {
			k.hunk.State, k.hunk.Closed, k.hunk.Reason = workspace.Conflicted, true, reason
		}
	}
	s.rebase(p)
	return nil
}

// applyParts sends one edit for all of picked; or, to a client that would overwrite
// text typed in any but the first document of an edit, one for each file.
func (s *Server) applyParts(ctx context.Context, p *workspace.Proposal, picked []pick, o applyOptions) (applied, error) {
	if !s.client.oneFile || len(p.Files) == 1 {
		return s.applyOnce(ctx, p, picked, o)
	}
	var all applied
	for _, f := range p.Files {
		var part []pick
		for _, k := range picked {
			if slices.Contains(f.Hunks, k.hunk) {
				part = append(part, k)
			}
		}
		if len(part) == 0 {
			continue
		}
		got, err := s.applyOnce(ctx, p, part, o)
		if err != nil {
			return all, err
		}
		all.yes, all.moved, all.some = all.yes || got.yes, all.moved || got.moved, all.some || got.some
		if got.why != "" {
			all.why = got.why
		}
	}
	return all, nil
}

type applyOptions struct {
	label    string
	wait     time.Duration
	annotate bool
	confirm  bool // the editor asks the user itself
}

// sent is one file of an edit that was sent.
type sent struct {
	file     *workspace.FileChange
	op       *workspace.Hunk   // the deletion or renaming, if it was sent
	hunks    []*workspace.Hunk // copies, with the text that was sent
	orig     []*workspace.Hunk
	before   string
	open     bool
	unsaved  bool // it is open and not on the disk
	version  int32
	expected string

	// key is that of its document; empty for a file that gets a new name, whose text
	// goes through two documents.
	key    string
	mu     sync.Mutex
	states []string // what the document became since, one for each change
}

// saw records a state of the document.
func (x *sent) saw(d *workspace.Document) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.states = append(x.states, d.Text)
}

// begin records the state from before the edit went out, unless a later one is known.
func (x *sent) begin(d *workspace.Document) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.states) == 0 && d.Text != x.before {
		x.states = append(x.states, d.Text)
	}
}

// history returns the texts the document went through, from the one the edit was
// made for to after.
func (x *sent) history(after string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append(append([]string{x.before}, x.states...), after)
}

// applied is what came of one edit that was sent.
type applied struct {
	yes   bool   // what the editor answered; the documents decide
	why   string // why a hunk did not land, in words for the model
	moved bool   // some hunk did not land and its document changed meanwhile
	some  bool   // some hunk landed
}

// applyOnce sends one edit and settles it.
func (s *Server) applyOnce(ctx context.Context, p *workspace.Proposal, picked []pick, o applyOptions) (got applied, err error) {
	e := s.encoder()
	e.annotate, e.confirm = o.annotate, o.confirm
	chosen := map[*workspace.Hunk]string{}
	for _, k := range picked {
		chosen[k.hunk] = k.text
	}
	// Build the edit from copies, so that p keeps what the model proposed.
	out := p.Clone()
	var files []*sent
	keep := map[*workspace.Hunk]bool{}
	for i, f := range p.Files {
		x := &sent{file: f}
		if f.NewPath == "" {
			x.key = workspace.Key(f.Path)
		}
		for j, h := range f.Hunks {
			text, ok := chosen[h]
			if !ok {
				continue
			}
			c := out.Files[i].Hunks[j]
			c.New = text
			keep[c] = true
			if h.Whole && f.Op != workspace.OpCreate {
				x.op = h
				continue
			}
			x.hunks, x.orig = append(x.hunks, c), append(x.orig, h)
		}
		if len(x.hunks) == 0 && x.op == nil {
			continue
		}
		var version *int32
		x.before, version = f.Current()
		if version != nil {
			x.open, x.version = true, *version
			x.unsaved = !onDisk(f.At())
		}
		if x.expected, _, err = workspace.Splice(x.before, x.hunks); err != nil {
			return got, fmt.Errorf("apply the hunks of %s: %w", f.Path, err)
		}
		files = append(files, x)
	}
	params := protocol.ApplyWorkspaceEditParams{
		Label: &o.label,
		Edit:  e.edit(out, func(h *workspace.Hunk) bool { return keep[h] }),
	}
	got.yes = true
	if len(params.Edit.DocumentChanges) > 0 {
		got.yes, got.why = s.sendEdit(ctx, params, o.wait, files)
	}
	if why := s.operateOnFiles(ctx, files); why != "" {
		got.why = why
	}
	got.moved, got.some = s.settle(files, got.yes && ctx.Err() == nil)
	// After a cancel the edit may still land; what is in the documents now is told.
	return got, ctx.Err()
}

// sendEdit sends the edit and waits until the editor has answered and the documents
// had time to follow, or all of them are as expected.
func (s *Server) sendEdit(ctx context.Context, params protocol.ApplyWorkspaceEditParams, wait time.Duration, files []*sent) (applied bool, why string) {
	changed := make(chan struct{}, 1)
	stop := s.ws.Watch(func(_, now *workspace.Document) {
		for _, x := range files {
			if now != nil && now.Key == x.key {
				x.saw(now)
			}
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer stop()
	snap := s.ws.Snapshot()
	for _, x := range files {
		if d, ok := snap.DocumentByKey(x.key); ok {
			x.begin(d)
		}
	}

	type reply struct {
		res protocol.ApplyWorkspaceEditResult
		err error
	}
	answered := make(chan reply, 1)
	call, cancel := context.WithTimeout(ctx, wait)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		var r reply
		s.unanswered.wait(call)
		r.err = s.conn.Call(call, "workspace/applyEdit", &params, &r.res)
		answered <- r
	})

	told := -1                 // how many states there were when the user was told to show a document
	var grace <-chan time.Time // after the answer, or after the documents are right
	for {
		select {
		case r := <-answered:
			applied, why = r.res.Applied, "the editor did not apply the edit"
			var peer *rpc.Error
			switch {
			case errors.As(r.err, &peer):
				why += ": " + peer.Message
			case r.err != nil:
				why = "the editor did not answer"
				s.log.Warn("workspace/applyEdit", zap.Error(r.err))
			case r.res.FailureReason != nil && *r.res.FailureReason != "":
				why += ": " + *r.res.FailureReason
			}
			if s.asExpected(files) {
				return applied, why
			}
			d := s.timing.Refuse
			if applied {
				d = s.settleTime()
			}
			timer := time.NewTimer(d)
			defer timer.Stop()
			grace = timer.C
		case <-changed:
			if told >= 0 && statesOf(files) > told { // it has told now
				timer := time.NewTimer(s.timing.Settle)
				defer timer.Stop()
				grace = timer.C
			}
			if s.asExpected(files) && (grace != nil || len(answered) > 0) {
				return applied || len(answered) > 0, why
			}
			if s.asExpected(files) {
				// The documents are right; an editor that never answers is not waited for.
				timer := time.NewTimer(s.timing.Settle)
				defer timer.Stop()
				grace = timer.C
			}
		case <-grace:
			if applied && told < 0 && s.client.name == editorVimLSP {
				// It tells of a change in another buffer when the user goes there.
				told = statesOf(files)
				s.showMessage(ctx, protocol.MessageTypeWarning, s.howToTell(files))
				timer := time.NewTimer(s.timing.Review)
				defer timer.Stop()
				grace = timer.C
				continue
			}
			return applied, why
		case <-ctx.Done():
			return applied, "cancelled"
		}
	}
}

// statesOf counts what the documents of an edit have become since it was sent.
func statesOf(files []*sent) (n int) {
	for _, x := range files {
		x.mu.Lock()
		n += len(x.states)
		x.mu.Unlock()
	}
	return n
}

// settleTime is how long a document may take to follow a positive answer. Eglot tells of
// changes only when the user has not typed for half a second.
func (s *Server) settleTime() time.Duration {
	if s.client.name == editorEglot {
		return 5 * s.timing.Settle
	}
	return s.timing.Settle
}

// asExpected reports whether every file is exactly as the edit makes it.
func (s *Server) asExpected(files []*sent) bool {
	snap := s.ws.Snapshot()
	for _, x := range files {
		switch {
		case x.op == nil:
		case !s.can(x.file.Op):
			if x.file.Op == workspace.OpRename && !x.arrived(snap) || x.unsaved && !x.opDone(snap) {
				return false
			}
			continue // the rest comes afterwards
		case !x.opDone(snap):
			return false
		case len(x.hunks) == 0:
			continue
		}
		if after, seen := x.text(snap); !seen || !workspace.SameText(after, x.expected) {
			return false
		}
	}
	return true
}

// settle records in the files what the documents say of the hunks that were sent,
// and reports whether one did not land while its document changed, and whether
// one landed.
func (s *Server) settle(files []*sent, applied bool) (moved, some bool) {
	snap := s.ws.Snapshot()
	for _, x := range files {
		if x.op != nil && x.opDone(snap) {
			x.file.Land(x.op, "")
			some = true
		}
		if len(x.hunks) == 0 {
			continue
		}
		after, seen := x.text(snap)
		if !seen && applied && !x.open {
			// The editor says yes and shows nothing to the contrary: some apply to
			// a file that is not open without opening it for their servers.
			for i, h := range x.orig {
				x.file.Land(h, x.hunks[i].New)
				some = true
				h.Reason = "the editor reports it as applied; the file is not open, so the text could not be checked"
			}
			continue
		}
		missed := false
		for i, l := range workspace.Settle(x.history(after), x.hunks) {
			if l.Landed && (seen || x.before != x.expected) {
				x.file.LandAs(x.orig[i], x.hunks[i].New, l.Final)
				some = true
			} else {
				missed = true
			}
		}
		if missed && after != x.before {
			moved = true
		}
		var version *int32
		if d, ok := snap.Document(x.file.At()); ok {
			v := d.Version
			version = &v
		}
		x.file.Rebase(after, version)
	}
	return moved, some
}
