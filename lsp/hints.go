package lsp

import (
	"context"
	"fmt"
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
					Source: protocol.NewOptional(hintSource), Message: protocol.String(hintText(p, f, h)),
				})
			}
		}
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

// hintText says in a few lines what a hunk would do.
func hintText(p *workspace.Proposal, f *workspace.FileChange, h *workspace.Hunk) string {
	if h.Whole {
		switch f.Op {
		case workspace.OpDelete:
			return "Redline proposes to delete this file."
		case workspace.OpRename:
			return "Redline proposes to rename this file to " + f.NewPath + "."
		}
	}
	if h.New == "" {
		return "Redline proposes to remove this (" + p.Title + ")."
	}
	lines := strings.SplitAfterN(h.New, "\n", 6)
	if len(lines) == 6 {
		lines[5] = "…"
	}
	return "Redline proposes (" + p.Title + "):\n" + strings.TrimRight(strings.Join(lines, ""), "\r\n")
}
