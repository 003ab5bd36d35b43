package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"redline/workspace"
)

// actions collects code actions that run commands.
type actions struct {
	list []*protocol.CodeAction
	seen map[string]bool // by title: one for the file or for everything is enough
}

func (a *actions) add(title, command string, args map[string]any) {
	if a.seen[title] {
		return
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return // maps of strings
	}
	if a.seen == nil {
		a.seen = map[string]bool{}
	}
	a.seen[title] = true
	kind := protocol.CodeActionKindQuickFix
	a.list = append(a.list, &protocol.CodeAction{
		Title: title, Kind: &kind,
		Command: protocol.Command{Title: title, Command: command, Arguments: []protocol.LSPAny{protocol.LSPAny(raw)}},
	})
}

// codeAction offers to answer an open question; where a hunk of an open proposal stands,
// in its file or in the difference, to accept or reject it, and where one has landed, to
// take it back; to have diagnostics fixed; to run a comment that begins with "redline:" as
// a prompt; and to send what stands in the chat document. Clients with a plugin show hunks
// their own way.
func (s *Server) codeAction(ctx context.Context, p *protocol.CodeActionParams) ([]*protocol.CodeAction, error) {
	s.unanswered.note(ctx)
	u := string(p.TextDocument.URI)
	a := actions{list: []*protocol.CodeAction{}} // none, rather than null
	if !s.client.knowsUs {
		for _, q := range s.openQuestions() {
			for _, o := range q.options {
				a.add("Redline: "+o+" — "+shortened(q.brief, 60), "redline.answer", map[string]any{"questionId": q.id, "text": o})
			}
		}
	}
	if s.isChat(u) {
		a.add("Redline: Send", "redline.send", map[string]any{"uri": u})
		return a.list, nil
	}
	if id, ok := s.sessionAt(u, int(p.Range.Start.Line)); ok {
		a.add("Redline: go on with this conversation", "redline.resume", map[string]any{"sessionId": id})
		return a.list, nil
	}
	if !s.client.proposals {
		s.reviewActions(&a, u, p.Range)
	}
	var texts []string
	for _, d := range p.Context.Diagnostics {
		if source, _ := d.Source.Get(); source != hintSource {
			texts = append(texts, diagnosticText(d))
		}
	}
	if len(texts) > 0 {
		a.add("Redline: fix this", "redline.fix", map[string]any{"uri": u, "range": p.Range, "text": strings.Join(texts, "; ")})
	}
	if c, ok := commentAt(s.textOf(u), int(p.Range.Start.Line)); ok && s.diffAt(u) == nil {
		a.add("Redline: do what this comment says", "redline.ask", map[string]any{"text": c.prompt(), "uri": u, "range": c.around()})
	}
	return a.list, nil
}

// reviewActions adds what can be decided at r.
func (s *Server) reviewActions(a *actions, u string, r protocol.Range) {
	touches := func(x protocol.Range) bool {
		return x.End.Line >= r.Start.Line && x.Start.Line <= r.End.Line
	}
	diff := s.diffAt(u)
	here := s.hunksIn(u)
	if diff != nil {
		here = s.diffHunks(diff)
	}
	for _, p := range s.openProposals() {
		all, files := 0, map[string]int{}
		for _, f := range p.Files {
			for _, h := range f.Hunks {
				if h.State == workspace.Pending {
					all++
					files[f.ID]++
				}
			}
		}
		decide := func(what string, target any) {
			a.add("Redline: accept "+what, "redline.accept", map[string]any{"proposalId": p.ID, "target": target})
			a.add("Redline: reject "+what, "redline.reject", map[string]any{"proposalId": p.ID, "target": target})
		}
		file := ""
		if diff != nil && diff.proposal == p.ID {
			file = diff.fileAt(r.Start.Line)
		}
		for _, h := range here {
			if h.proposal == p.ID && (touches(h.rng) || diff != nil && diff.headOf(r.Start.Line, h.id)) {
				file = h.file
				decide("this hunk", map[string]string{"hunkId": h.id})
			}
		}
		if all == 0 || file == "" {
			continue
		}
		if files[file] > 1 && len(files) > 1 {
			decide(fmt.Sprintf("all of this file (%d)", files[file]), map[string]string{"fileId": file})
		}
		if all > 1 {
			decide("everything ("+s.changes(p)+")", "all")
		}
		if diff == nil {
			a.add("Redline: show the difference", "redline.showDiff", map[string]any{"proposalId": p.ID})
		}
	}
	for _, h := range s.landedIn(u) {
		if touches(h.rng) {
			a.add("Redline: take back this change", "redline.undo", map[string]any{"proposalId": h.proposal, "target": map[string]string{"hunkId": h.id}})
		}
	}
	if len(a.list) > 0 {
		return
	}
	for _, p := range s.openProposals() {
		if p.Pending() {
			a.add("Redline: show what is proposed ("+s.changes(p)+")", "redline.showDiff", map[string]any{"proposalId": p.ID})
		}
	}
}

// textOf returns the text of an open document; empty when it is not open.
func (s *Server) textOf(u string) string {
	key, _ := keyOf(u)
	if d, ok := s.ws.Snapshot().DocumentByKey(key); ok {
		return d.Text
	}
	return ""
}

// codeLens shows the pending hunks of a document to clients without a plugin.
func (s *Server) codeLens(_ context.Context, p *protocol.CodeLensParams) ([]*protocol.CodeLens, error) {
	out := []*protocol.CodeLens{}
	if s.client.proposals {
		return out, nil
	}
	for _, h := range s.hunksIn(string(p.TextDocument.URI)) {
		for _, c := range []struct{ title, command string }{{"✓ Accept", "redline.accept"}, {"✗ Reject", "redline.reject"}, {"± Show", "redline.showDiff"}} {
			args := map[string]any{"proposalId": h.proposal}
			if c.command != "redline.showDiff" {
				args["target"] = map[string]string{"hunkId": h.id}
			}
			raw, err := json.Marshal(args)
			if err != nil {
				return nil, err
			}
			out = append(out, &protocol.CodeLens{
				Range:   protocol.Range{Start: h.rng.Start, End: h.rng.Start},
				Command: protocol.Command{Title: c.title, Command: c.command, Arguments: []protocol.LSPAny{protocol.LSPAny(raw)}},
			})
		}
	}
	return out, nil
}

// landedIn returns the hunks in a document that came into it and can be taken back.
func (s *Server) landedIn(u string) []placedHunk {
	key, _ := keyOf(u)
	snap := s.ws.Snapshot()
	d, ok := snap.DocumentByKey(key)
	if !ok {
		return nil
	}
	s.mu.Lock()
	ids := slices.Clone(s.settled[max(0, len(s.settled)-maxWatched):])
	s.mu.Unlock()
	for _, id := range slices.Backward(ids) {
		rv, err := s.review(id)
		if err != nil {
			continue
		}
		p := rv.current().Clone()
		var out []placedHunk
		for _, f := range p.Files {
			if workspace.Key(f.At()) != key {
				continue
			}
			version := d.Version
			f.Rebase(d.Text, &version)
			m := s.lines.mapper(d.Text, s.client.encoding)
			for _, h := range f.Hunks {
				if h.Standing() && h.Start >= 0 && h.Start <= h.End {
					out = append(out, placedHunk{p.ID, f.ID, h.ID, m.rng(h.Start, h.End), h})
				}
			}
		}
		if out != nil {
			return out // older ones may lie under it
		}
	}
	return nil
}

// placedHunk is a pending hunk and where it stands.
type placedHunk struct {
	proposal, file, id string
	rng                protocol.Range
	hunk               *workspace.Hunk
}

// hunksIn returns the pending hunks in a document.
func (s *Server) hunksIn(u string) []placedHunk {
	key, _ := keyOf(u)
	e := s.encoder()
	var out []placedHunk
	for _, p := range s.openProposals() {
		for _, f := range p.Files {
			if workspace.Key(f.Path) != key {
				continue
			}
			now, _ := f.Current()
			m := e.lines.mapper(now, e.encoding)
			for _, h := range f.Hunks {
				if h.State == workspace.Pending {
					out = append(out, placedHunk{p.ID, f.ID, h.ID, m.rng(h.Start, h.End), h})
				}
			}
		}
	}
	return out
}

func diagnosticText(d protocol.Diagnostic) string {
	raw, err := json.Marshal(d.Message)
	if err != nil {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}
