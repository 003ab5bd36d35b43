package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"redline/workspace"
)

// maxWatched is how many settled proposals of a session are compared with the
// documents before each message to the model.
const maxWatched = 8

// news tells what became of settled proposals since the model was told last: lines
// that a user, a formatter or a save hook has changed, and hunks that an editor
// applied after it had been given up on. Documents are compared, nothing is watched,
// so it costs nothing while nobody asks the model.
func (s *Server) news(_ context.Context, sessionID string) (out []string) {
	seen := map[string]bool{} // files in which a newer proposal stands: its places count
	for _, rv := range s.recent(sessionID) {
		rv.mu.Lock()
		busy, p := rv.busy, rv.last.Clone()
		rv.mu.Unlock()
		if busy {
			continue
		}
		if text := s.changedSince(p, seen); text != "" {
			out = append(out, text)
			p.Rev++
			s.announce(p)
		}
	}
	slices.Reverse(out)
	return out
}

// recent returns the last settled proposals of a session, newest first.
func (s *Server) recent(sessionID string) (out []*review) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Backward(s.settled) {
		rv := s.proposals[id]
		if rv == nil || rv.session != sessionID {
			continue
		}
		if out = append(out, rv); len(out) == maxWatched {
			break
		}
	}
	return out
}

// changedSince brings the hunks of p up to what the documents say and words what is
// new in that; empty when nothing is.
func (s *Server) changedSince(p *workspace.Proposal, seen map[string]bool) string {
	e := s.encoder()
	var b strings.Builder
	for _, f := range p.Files {
		key := workspace.Key(f.At())
		if seen[key] {
			continue
		}
		before := map[*workspace.Hunk]workspace.Hunk{}
		for _, h := range f.Hunks {
			seen[key] = seen[key] || h.Standing()
			before[h] = *h
		}
		now, version := e.live(f)
		if version == nil && missing(f) {
			if seen[key] {
				f.Lose()
				fmt.Fprintf(&b, "\n%s, which you had changed, was deleted or renamed since.", f.At())
			}
			continue
		}
		if f.Late(now) {
			seen[key] = true
		}
		f.Verify(now)
		f.Rebase(now, version)
		for _, h := range f.Hunks {
			was := before[h]
			switch {
			case h.State == was.State && h.Final == was.Final:
			case was.State == workspace.Conflicted:
				fmt.Fprintf(&b, "\nA change to %s that you were told was not applied is in the file after all:\n%s", f.At(), excerpt(h.New))
			case h.State == workspace.Rejected:
				fmt.Fprintf(&b, "\nIn %s lines of yours were taken back; there stands again:\n%s", f.At(), excerpt(h.Old))
			default:
				fmt.Fprintf(&b, "\nIn %s lines of yours were changed after they were applied, by the user or a formatter. There stands now:\n%s", f.At(), excerpt(h.Final))
			}
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}
