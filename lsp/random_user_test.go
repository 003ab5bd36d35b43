package lsp_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing/synctest"
	"time"

	"redline/lsp/lsptest"
)

// step is one act of the user or of the model.
func (w *world) step() {
	if w.asked != nil && w.chance(70) {
		w.answerModel()
		return
	}
	open := w.open()
	switch {
	case w.turn == "" && w.chance(60):
		w.prompt()
	case len(open) > 0 && w.chance(60):
		w.decide(open[w.rng.IntN(len(open))])
	case w.turn != "" && w.asked == nil && len(open) == 0:
		// Something is on its way: only what cannot change the truth of a report.
		if w.chance(50) {
			w.typeSomething()
		} else {
			time.Sleep(time.Duration(w.rng.IntN(3000)) * time.Millisecond) // of the bubble's clock
		}
	case w.turn != "" && w.chance(4):
		w.note("cancel")
		w.e.MustCall("agent/cancel", map[string]any{"sessionId": w.session}, nil)
	default:
		w.act()
	}
}

func (w *world) prompt() {
	if w.session == "" {
		if w.sc.plain {
			var info struct{ SessionID string }
			w.e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.newSession"}, &info)
			w.session = info.SessionID
		} else {
			mode := "default"
			if w.chance(15) {
				mode = "autoEdit"
			}
			at := "step"
			if w.chance(40) {
				at = "turn"
			}
			var info struct{ SessionID string }
			w.e.MustCall("agent/session/new", map[string]any{"mode": mode, "reviewAt": at}, &info)
			w.note("session in mode %s, reviewed at %s", mode, at)
			w.session = info.SessionID
		}
	}
	w.note("prompt")
	w.calls, w.staged = nil, nil
	if w.sc.plain {
		var res struct{ TurnID string }
		w.e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.ask", "arguments": []any{map[string]any{"text": "go"}}}, &res)
		w.turn = res.TurnID
		return
	}
	w.turn = prompt(w.e, w.session, "go")
}

// open returns the proposals that wait for the user, if the user decides by request.
func (w *world) open() (out []wireProposal) {
	if w.session == "" || w.decided != nil || w.sc.plain && w.sc.review != "codeAction" {
		return nil
	}
	for _, p := range w.proposals() {
		if p.State == "open" {
			out = append(out, p)
		}
	}
	return out
}

func (w *world) proposals() []wireProposal {
	var list struct{ Proposals []wireProposal }
	w.e.MustCall("agent/proposal/list", map[string]any{"sessionId": w.session}, &list)
	return list.Proposals
}

// decide resolves some of p's hunks and checks that the documents have changed by
// what the proposal says has landed, and by nothing else.
func (w *world) decide(p wireProposal) {
	before := map[string]string{}
	for _, f := range p.Files {
		before[f.URI] = w.textOf(f.URI)
	}
	var ds []map[string]any
	amended := map[string]string{}
	wanted := map[string]string{} // decision by hunk
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			if h.State != "pending" && h.State != "conflict" || w.chance(25) {
				continue
			}
			d := map[string]any{"target": map[string]any{"hunkId": h.HunkID}, "decision": "accept"}
			switch n := w.rng.IntN(10); {
			case n < 3:
				d["decision"], d["reason"] = "reject", "because"
			case n < 5 && f.Op == "edit" && h.State == "pending" && !w.sc.plain:
				text := h.NewText + "amended " + w.token("‹", "›") + "\n"
				if strings.Contains(before[f.URI], "\r\n") {
					text = h.NewText + "amended " + w.token("‹", "›") + "\r\n"
				}
				d["decision"], d["newText"] = "amend", text
				amended[h.HunkID] = text
			}
			wanted[h.HunkID] = d["decision"].(string)
			ds = append(ds, d)
		}
	}
	if len(ds) == 0 {
		return
	}
	if w.sc.plain {
		w.decidePlain(p, ds[0], before, wanted)
		return
	}
	rev := p.Rev
	stale := w.chance(5)
	if stale {
		rev += 1 + w.rng.IntN(2)
	}
	w.note("resolve %s rev %d: %s", p.ProposalID, rev, mustJSON(ds))
	call := w.e.Go("agent/proposal/resolve", map[string]any{"proposalId": p.ProposalID, "rev": rev, "decisions": ds})
	race := w.chance(25)
	if race {
		for range 1 + w.rng.IntN(3) {
			w.typeSomething()
		}
		if w.chance(50) {
			w.decided = call // and the user goes on
			return
		}
	}
	var after wireProposal
	err := call.Wait(&after)
	var e *lsptest.ResponseError
	switch {
	case stale && !race && (!errors.As(err, &e) || e.Code != -32801):
		w.t.Errorf("a decision on rev %d of %d was answered %v", rev, p.Rev, err)
	case stale || race && err != nil:
		return
	case errors.As(err, &e) && e.Code == -32801 && w.moved(p):
		return // another program changed a file, which nobody told the editor
	case err != nil:
		w.t.Errorf("resolve: %v", err)
		return
	}
	if !race {
		w.checkLanded(p, after, before, amended, wanted)
	}
}

// moved reports whether a proposal is another than when it was looked at.
func (w *world) moved(p wireProposal) bool {
	var now wireProposal
	w.e.MustCall("agent/proposal/get", map[string]any{"proposalId": p.ProposalID}, &now)
	return now.Rev != p.Rev
}

// decidePlain decides one hunk, or everything, with a command.
func (w *world) decidePlain(p wireProposal, d map[string]any, before map[string]string, wanted map[string]string) {
	hunk := d["target"].(map[string]any)["hunkId"].(string)
	w.note("command %s %s", d["decision"], hunk)
	w.e.MustCall("workspace/executeCommand", map[string]any{"command": "redline." + d["decision"].(string), "arguments": []any{
		map[string]any{"proposalId": p.ProposalID, "target": d["target"], "reason": "because"},
	}}, nil)
	time.Sleep(time.Minute) // of the bubble's clock
	synctest.Wait()
	for _, after := range w.proposals() {
		if after.ProposalID == p.ProposalID {
			w.checkLanded(p, after, before, nil, map[string]string{hunk: wanted[hunk]})
		}
	}
}

// checkLanded compares the documents with what they were before a decision and
// with what the proposal says became of it.
func (w *world) checkLanded(p, after wireProposal, before, amended, wanted map[string]string) {
	faithful := w.sc.faithful && !w.interfered
	states := map[string]string{}
	for _, f := range after.Files {
		for _, h := range f.Hunks {
			states[h.HunkID] = h.State
		}
	}
	for _, f := range p.Files {
		var edits []lsptest.TextEdit
		for _, h := range f.Hunks {
			state, want := states[h.HunkID], wanted[h.HunkID]
			if h.State != "pending" {
				continue
			}
			switch {
			case want == "" && state != "pending" && (faithful || state != "conflict"):
				w.t.Errorf("hunk %s was not decided and is %s", h.HunkID, state)
			case want == "reject" && state != "rejected":
				w.t.Errorf("hunk %s was rejected and is %s", h.HunkID, state)
			case faithful && want == "accept" && state != "accepted":
				w.t.Errorf("hunk %s was accepted, nobody interfered, and it is %s", h.HunkID, state)
			case faithful && want == "amend" && state != "amended":
				w.t.Errorf("hunk %s was amended, nobody interfered, and it is %s", h.HunkID, state)
			}
			text := h.NewText
			if t, ok := amended[h.HunkID]; ok {
				text = t
			}
			if state == "accepted" || state == "amended" {
				edits = append(edits, lsptest.TextEdit{Range: h.Range, NewText: text})
			}
		}
		if w.sc.personality.Fault == lsptest.Formats || w.unseen(lsptest.PathOf(f.URI)) {
			continue // the text is the formatter's
		}
		want := lsptest.Apply(before[f.URI], edits, w.e.Encoding)
		got := w.textOf(f.URI)
		if w.sc.personality.LineEnds != lsptest.KeepsLineEnds {
			want, got = lf(want), lf(got)
		}
		if got != want {
			w.t.Errorf("%s after the decision:\n%q\nwant\n%q", f.URI, got, want)
		}
	}
}

// unseen reports whether nobody can see what a lying editor did to a file: its word is
// all there is when it has not opened it.
func (w *world) unseen(file string) bool {
	return w.sc.personality.Fault != lsptest.NoFault && !w.e.IsOpen(file)
}

func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// textOf returns the text of a document as the editor has it: without a BOM.
func (w *world) textOf(uri string) string {
	return strings.TrimPrefix(w.e.Text(lsptest.PathOf(uri)), "\ufeff")
}

// act is something the user does in the editor.
func (w *world) act() {
	var open, closed []string
	for _, f := range w.files {
		if w.e.IsOpen(f) {
			open = append(open, f)
		} else {
			closed = append(closed, f)
		}
	}
	pick := func(list []string) string { return list[w.rng.IntN(len(list))] }
	n := w.rng.IntN(108)
	switch {
	case n >= 100:
		w.revert()
	case n < 35 || len(open) == 0 && len(closed) == 0:
		w.typeSomething()
	case n < 50 && len(open) > 0:
		w.deleteLine(pick(open))
	case n < 62 && len(open) > 0:
		f := pick(open)
		w.note("undo %s", f)
		w.e.Undo(f)
		w.relive(f)
	case n < 70 && len(open) > 0:
		f := pick(open)
		w.note("save %s", f)
		w.e.Save(f)
	case n < 76 && len(open) > 0 && w.sc.personality.Fault == lsptest.NoFault:
		f := pick(open)
		if w.chance(70) {
			w.e.Save(f)
		}
		w.note("close %s", f)
		w.e.Close(f)
		if !w.exists(f) { // it was never saved
			w.e.WriteFile(f, "")
		}
		w.relive(f)
	case n < 88 && len(closed) > 0:
		f := pick(closed)
		w.note("open %s", f)
		w.e.Open(f)
	case n < 93 && len(closed) > 0:
		f := pick(closed)
		w.note("another program writes %s", f)
		w.interfered = true
		text, _ := w.e.Disk(f)
		w.e.WriteFile(f, text+"\nwritten by another program "+w.token("«", "»")+"\n")
		w.relive(f)
	case n < 96 && len(open) > 0:
		f := pick(open)
		text := w.e.Text(f)
		w.note("format %s", f)
		w.e.SetText(f, strings.ReplaceAll(text, "word  é", "word é"))
		w.relive(f)
	case len(closed) > 0:
		if f := pick(closed); w.exists(f) {
			w.rename(f)
		}
	}
}

func (w *world) exists(f string) bool {
	_, there := w.e.Disk(f)
	return there
}

func (w *world) rename(f string) {
	to := strings.TrimSuffix(f, ".txt") + "r.txt"
	w.note("rename %s to %s", f, to)
	w.interfered = true
	if err := os.Rename(w.e.Path(f), w.e.Path(to)); err != nil {
		w.t.Fatal(err)
	}
	for i := range w.files {
		if w.files[i] == f {
			w.files[i] = to
		}
	}
	for token, file := range w.live {
		if file == f {
			w.live[token] = to
		}
	}
}

// revert takes a proposal back, if there is one that is over.
func (w *world) revert() {
	if w.session == "" || w.decided != nil {
		return
	}
	done := []wireProposal{}
	for _, p := range w.proposals() {
		if p.State == "settled" || p.State == "conflict" {
			done = append(done, p)
		}
	}
	if len(done) == 0 {
		return
	}
	p := done[w.rng.IntN(len(done))]
	params := map[string]any{"proposalId": p.ProposalID}
	if w.chance(40) {
		f := p.Files[w.rng.IntN(len(p.Files))]
		params["targets"] = []any{map[string]any{"hunkId": f.Hunks[w.rng.IntN(len(f.Hunks))].HunkID}}
	}
	w.note("revert %s", mustJSON(params))
	var after wireProposal
	if err := w.e.Call("agent/proposal/revert", params, &after); err != nil {
		w.note("not reverted: %v", err)
		return
	}
	for i, f := range p.Files {
		text := w.textOf(f.URI)
		for j, h := range f.Hunks {
			if h.State != "accepted" || after.Files[i].Hunks[j].State != "rejected" {
				continue
			}
			for _, t := range anchors(h.NewText) {
				if !strings.Contains(h.OldText, t) && strings.Contains(text, t) {
					w.t.Errorf("%s of %s is taken back, but %s is in %s:\n%s", h.HunkID, p.ProposalID, t, f.URI, text)
				}
			}
		}
	}
}

// anchors returns the tokens that stand once in text; each names its place.
func anchors(text string) (out []string) {
	for _, m := range []struct{ open, close string }{{"⟦", "⟧"}, {"‹", "›"}, {"«", "»"}} {
		for rest := text; ; {
			_, after, ok := strings.Cut(rest, m.open)
			if !ok {
				break
			}
			id, tail, _ := strings.Cut(after, m.close)
			if t := m.open + id + m.close; strings.Count(text, t) == 1 {
				out = append(out, t)
			}
			rest = tail
		}
	}
	return out
}

// typeSomething inserts text at a random place of a random document. One is opened for
// it only in an editor with a plugin: of a document that is not open an edit can name
// no version, so an editor alone protects nothing that is typed in that moment.
func (w *world) typeSomething() {
	if f := w.files[w.rng.IntN(len(w.files))]; w.sc.personality.RefusesUnversioned && !w.e.IsOpen(f) && w.chance(30) {
		w.note("open %s", f)
		w.e.Open(f)
	}
	open := filter(w.files, func(f string) bool {
		// Neovim itself takes an edit for version 0 as one for any version.
		return w.e.IsOpen(f) && !(w.sc.personality.IgnoresVersion0 && w.e.Version(f) == 0)
	})
	if len(open) == 0 {
		return
	}
	f := open[w.rng.IntN(len(open))]
	token := w.token("«", "»")
	text := token
	if w.chance(50) {
		text = "typed " + token + "\n"
	}
	anywhere, place, which := w.chance(10), w.rng.IntN(4), w.rng.IntN(1000)
	w.note("type %q in %s", text, f)
	w.e.Insert(f, func(now string) int {
		list := anchors(now)
		if len(list) == 0 || anywhere {
			return 0
		}
		anchor := list[which%len(list)]
		at := strings.Index(now, anchor)
		switch place {
		case 0:
			return at
		case 1:
			return strings.LastIndexByte(now[:at], '\n') + 1 // a line above
		}
		return at + len(anchor)
	}, text)
	w.live[token] = f
}

func (w *world) deleteLine(f string) {
	list := anchors(w.e.Text(f))
	if len(list) == 0 {
		return
	}
	r := w.e.Find(f, list[w.rng.IntN(len(list))])
	r.Start.Character = 0
	w.note("delete line %d of %s from its start to %v", r.Start.Line, f, r.End)
	w.e.Edit(f, lsptest.TextEdit{Range: r})
	w.relive(f)
}
