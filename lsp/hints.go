package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"

	"redline/workspace"
)

// hintSource is the source of the diagnostics that mark open hunks.
const hintSource = "redline"

// hints are the diagnostics that show a client without a plugin where hunks wait.
type hints struct {
	mu    sync.Mutex
	shown map[uri.URI]string // what was published last, to publish nothing twice
}

// hint publishes one Hint for each pending hunk and takes back those of hunks that
// are decided. It is called after each change of a proposal.
func (s *Server) hint() {
	if s.client.proposals {
		return
	}
	s.hints.mu.Lock()
	defer s.hints.mu.Unlock()
	e := s.encoder()
	now := map[uri.URI]*protocol.PublishDiagnosticsParams{}
	for _, p := range s.openProposals() {
		for _, f := range p.Files {
			text, version := f.Current()
			m := e.lines.mapper(text, e.encoding)
			u := e.uriOf(f.At())
			for _, h := range f.Hunks {
				if h.State != workspace.Pending {
					continue
				}
				d := now[u]
				if d == nil {
					d = &protocol.PublishDiagnosticsParams{URI: u}
					now[u] = d
				}
				if version != nil {
					d.Version = protocol.NewOptional(*version)
				}
				d.Diagnostics = append(d.Diagnostics, protocol.Diagnostic{
					Range: m.rng(h.Start, h.End), Severity: protocol.DiagnosticSeverityHint,
					Source: protocol.NewOptional(hintSource), Message: protocol.String(hintText(e.snapshot.Rel, f, h)),
				})
			}
		}
	}
	for u, d := range s.diffHints() {
		now[u] = d
	}
	for u := range s.hints.shown {
		if now[u] == nil {
			now[u] = &protocol.PublishDiagnosticsParams{URI: u, Diagnostics: []protocol.Diagnostic{}}
		}
	}
	changed := false
	for u, d := range now {
		key := fmt.Sprintf("%v %+v", d.Version, d.Diagnostics)
		if s.hints.shown[u] == key {
			continue
		}
		changed = true
		if err := s.conn.Notify(s.root, "textDocument/publishDiagnostics", d); err != nil {
			s.log.Debug("hints", zap.Error(err))
		}
		if s.hints.shown == nil {
			s.hints.shown = map[uri.URI]string{}
		}
		s.hints.shown[u] = key
		if len(d.Diagnostics) == 0 {
			delete(s.hints.shown, u)
		}
	}
	if changed && s.client.lensRefresh {
		s.background(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			if err := s.conn.Call(ctx, "workspace/codeLens/refresh", nil, nil); err != nil {
				s.log.Debug("code lenses", zap.Error(err))
			}
		})
	}
}

// diffHints marks what is undecided in the differences that are open in the editor.
func (s *Server) diffHints() map[uri.URI]*protocol.PublishDiagnosticsParams {
	s.docs.mu.Lock()
	diffs := slices.Clone(s.docs.diffs)
	s.docs.mu.Unlock()
	out := map[uri.URI]*protocol.PublishDiagnosticsParams{}
	snap := s.ws.Snapshot()
	for _, d := range diffs {
		doc, open := snap.DocumentByKey(workspace.Key(d.file))
		if !open {
			continue
		}
		params := &protocol.PublishDiagnosticsParams{URI: uri.URI(doc.URI), Version: protocol.NewOptional(doc.Version)}
		for _, h := range s.diffHunks(d) {
			params.Diagnostics = append(params.Diagnostics, protocol.Diagnostic{
				Range: h.rng, Severity: protocol.DiagnosticSeverityHint,
				Source: protocol.NewOptional(hintSource), Message: protocol.String("undecided"),
			})
		}
		if len(params.Diagnostics) > 0 {
			out[params.URI] = params
		}
	}
	return out
}

// hintText says what a hunk would do: on its first line if that is enough, because that
// is all that many editors show.
func hintText(rel func(string) string, f *workspace.FileChange, h *workspace.Hunk) string {
	if h.Whole {
		switch f.Op {
		case workspace.OpDelete:
			return "Redline proposes to delete this file."
		case workspace.OpRename:
			return "Redline proposes to rename this file to " + rel(f.NewPath) + "."
		case workspace.OpCreate:
			return "Redline proposes this new file:\n" + firstLines(h.New)
		}
	}
	if h.New == "" {
		return "Redline proposes to remove " + these(h.Old) + "."
	}
	text := firstLines(h.New)
	if !strings.Contains(text, "\n") {
		text = strings.TrimSpace(text)
		if h.Old == "" {
			return "Redline proposes to insert: " + text
		}
		return "Redline proposes: " + text
	}
	if h.Old == "" {
		return "Redline proposes to insert:\n" + text
	}
	return "Redline proposes:\n" + text
}

func these(lines string) string {
	if n := strings.Count(strings.TrimSuffix(lines, "\n"), "\n") + 1; n > 1 {
		return fmt.Sprintf("these %d lines", n)
	}
	return "this line"
}

// firstLines returns the first lines of a text, without the indentation they share.
func firstLines(text string) string {
	lines := strings.SplitAfterN(text, "\n", 6)
	if len(lines) == 6 {
		lines[5] = "…"
	}
	indent := ""
	for i, l := range lines {
		if l == "…" || strings.TrimSpace(l) == "" {
			continue
		}
		own := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		for i > 0 && !strings.HasPrefix(own, indent) {
			indent = indent[:len(indent)-1]
		}
		if i == 0 {
			indent = own
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, indent)
	}
	return strings.TrimRight(strings.Join(lines, ""), "\r\n")
}
