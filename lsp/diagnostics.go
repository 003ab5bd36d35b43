package lsp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"

	"redline/workspace"
)

// DiagnosticsParams asks the editor what is wrong, in a document or in all of them.
type DiagnosticsParams struct {
	URI          uri.URI `json:"uri,omitempty"`
	AfterVersion *int32  `json:"afterVersion,omitempty"` // of the document, at least
	WaitMs       int     `json:"waitMs,omitempty"`       // for the language server to follow
}

// diagnosed is the answer to editor/diagnostics.
type diagnosed struct {
	Items []struct {
		URI         string `json:"uri"`
		Version     *int32 `json:"version"`
		Diagnostics []struct {
			Range    protocol.Range `json:"range"`
			Severity int            `json:"severity"` // 1 error, 2 warning
			Source   string         `json:"source"`
			Message  string         `json:"message"`
		} `json:"diagnostics"`
	} `json:"items"`
}

// How long language servers get to look at an edit, and how many problems the model
// is told at once.
const (
	firstWait   = time.Second
	furtherWait = 200 * time.Millisecond
	maxProblems = 20
)

// problems are what an editor found wrong before edits were applied, so that only
// what is new is told afterwards.
type problems struct {
	s      *Server
	asked  bool
	before map[string]int // how often a problem was there, by file, severity and words
	known  map[string]bool
}

// look notes the problems there are before anything is applied, once.
func (p *problems) look(ctx context.Context) {
	if p.s.client.editor.Diagnostics == nil || p.asked {
		return
	}
	p.asked = true
	d, err := p.s.diagnose(ctx, DiagnosticsParams{})
	if err != nil {
		p.s.log.Debug(methodDiagnostics, zap.Error(err))
		return
	}
	p.before, p.known = map[string]int{}, map[string]bool{}
	for _, it := range d.Items {
		for _, x := range it.Diagnostics {
			p.before[problemKey(it.URI, x.Severity, x.Message)]++
		}
	}
	for _, doc := range p.s.ws.Snapshot().Documents() {
		p.known[doc.URI] = true
	}
}

func problemKey(u string, severity int, message string) string {
	return fmt.Sprintf("%s\x00%d\x00%s", u, severity, message)
}

func (s *Server) diagnose(ctx context.Context, p DiagnosticsParams) (d diagnosed, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.WaitMs)*time.Millisecond+3*time.Second)
	defer cancel()
	return d, s.conn.Call(ctx, methodDiagnostics, &p, &d)
}

// news words for the model what is wrong since p was applied; empty when nothing is,
// or nobody knows. Of files that were not open before, whose older problems nobody
// had looked for, only those at the edits count.
func (p *problems) news(ctx context.Context, of *workspace.Proposal) string {
	if p.before == nil || !of.Standing() {
		return ""
	}
	s := p.s
	e := s.encoder()
	wait := firstWait
	edited := map[string][]protocol.Range{}
	for _, f := range of.Files {
		now, version := f.Current()
		m := e.lines.mapper(now, e.encoding)
		u := e.uriOf(f.At())
		for _, h := range f.Hunks {
			if h.Standing() && h.Start >= 0 && h.Start <= h.End {
				edited[string(u)] = append(edited[string(u)], m.rng(h.Start, h.End))
			}
		}
		if len(edited[string(u)]) == 0 {
			continue
		}
		if _, err := s.diagnose(ctx, DiagnosticsParams{URI: u, AfterVersion: version, WaitMs: int(wait.Milliseconds())}); err != nil {
			s.log.Debug(methodDiagnostics, zap.Error(err))
			return ""
		}
		wait = furtherWait
	}
	d, err := s.diagnose(ctx, DiagnosticsParams{})
	if err != nil {
		s.log.Debug(methodDiagnostics, zap.Error(err))
		return ""
	}
	var lines []string
	for _, it := range d.Items {
		path, ok := pathOf(it.URI)
		if !ok {
			continue
		}
		for _, x := range it.Diagnostics {
			key := problemKey(it.URI, x.Severity, x.Message)
			if x.Severity < 1 || x.Severity > 2 || x.Source == hintSource {
				continue
			}
			if p.before[key] > 0 {
				p.before[key]--
				continue
			}
			if !p.known[it.URI] && !near(edited[it.URI], x.Range) {
				continue
			}
			kind := "error"
			if x.Severity == 2 {
				kind = "warning"
			}
			line := fmt.Sprintf("%s:%d: %s: %s", e.snapshot.Rel(path), x.Range.Start.Line+1, kind, strings.TrimSpace(x.Message))
			if x.Source != "" {
				line += " [" + x.Source + "]"
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	if n := len(lines) - maxProblems; n > 0 {
		lines = append(lines[:maxProblems], fmt.Sprintf("[%d more]", n))
	}
	return "Since your edits were applied the editor reports new problems:\n" + strings.Join(lines, "\n")
}

// near reports whether r touches one of the ranges, or a line beside it.
func near(ranges []protocol.Range, r protocol.Range) bool {
	for _, x := range ranges {
		if r.Start.Line <= x.End.Line+1 && r.End.Line+1 >= x.Start.Line {
			return true
		}
	}
	return false
}
