package acp

import (
	"fmt"
	"slices"
	"strings"

	"redline/workspace"
)

// shownProposal is a proposal as the client knows it.
type shownProposal struct {
	*workspace.Proposal // the newest state
	calls               []string
	// diffs are as it was last seen before anything of it was decided.
	diffs []toolContent
	told  bool // the client knows it as a call of its own
}

// alone reports whether all of p is the work of one call, by which the client knows it.
func (p *shownProposal) alone() bool { return len(p.calls) == 1 }

// toolCallID is the call by which the client knows p.
func (p *shownProposal) toolCallID() string {
	if p.alone() {
		return p.calls[0]
	}
	return p.ID
}

// note takes in the newest state of a proposal.
func (v *presenter) note(p *workspace.Proposal) *shownProposal {
	sp := v.proposals[p.ID]
	if sp == nil {
		sp = &shownProposal{}
		v.proposals[p.ID] = sp
		for h := range p.Hunks() {
			for _, id := range h.CallIDs {
				if !slices.Contains(sp.calls, id) {
					sp.calls = append(sp.calls, id)
					v.of[id] = sp
				}
			}
		}
	}
	sp.Proposal = p
	undecided := true
	for h := range p.Hunks() {
		undecided = undecided && (h.State == workspace.Pending || h.State == workspace.Conflicted && !h.Closed)
	}
	if undecided {
		sp.diffs = v.diffs(p)
	}
	return sp
}

// proposal shows a proposal that has changed: with its call, or when several calls made
// it, as a call of its own beside them.
func (v *presenter) proposal(p *workspace.Proposal) {
	sp := v.note(p)
	if sp.alone() {
		if c := v.calls[sp.calls[0]]; c != nil && c.sent {
			v.sendCall(toolUpdate{"tool_call_update", toolCall{ToolCallID: sp.calls[0], Content: v.contentOf(c)}})
		}
		return
	}
	u := toolUpdate{"tool_call_update", sp.call()}
	if !sp.told {
		sp.told = true
		u.SessionUpdate = "tool_call"
	}
	v.sendCall(u)
}

// call is a proposal of several calls as the client sees it.
func (p *shownProposal) call() toolCall {
	c := toolCall{ToolCallID: p.ID, Title: p.Title, Kind: "edit", Status: "pending", Content: slices.Clone(p.diffs)}
	for _, f := range p.Files {
		c.Locations = append(c.Locations, toolLocation{Path: f.At()})
	}
	switch p.State {
	case workspace.Applying:
		c.Status = "in_progress"
	case workspace.Settled, workspace.Conflict, workspace.Reverted, workspace.Withdrawn:
		c.Status = "failed"
		if p.Standing() {
			c.Status = "completed"
		}
		if text := tally(p.Proposal); text != "" {
			c.Content = append(c.Content, textItem(text))
		}
	}
	return c
}

// tally says what became of the hunks of a proposal; nothing when all were accepted.
func tally(p *workspace.Proposal) string {
	count := map[workspace.HunkState]int{}
	for h := range p.Hunks() {
		count[h.State]++
	}
	if len(count) == 1 && count[workspace.Accepted] > 0 {
		return ""
	}
	var out []string
	for _, st := range []workspace.HunkState{workspace.Accepted, workspace.Rejected, workspace.Amended, workspace.Conflicted} {
		if n := count[st]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, st))
		}
	}
	return strings.Join(out, ", ")
}

// maxWhole is the size of a file up to which a diff shows all of it, in bytes; of a
// larger one it shows each hunk with nearLines lines around it.
const (
	maxWhole  = 128 << 10
	nearLines = 3
)

// diffs shows the hunks of p that can be applied, each file as it is now and with them.
func (v *presenter) diffs(p *workspace.Proposal) []toolContent {
	var out []toolContent
	for _, f := range p.Files {
		hunks := slices.DeleteFunc(slices.Clone(f.Hunks), func(h *workspace.Hunk) bool {
			return h.State != workspace.Pending
		})
		whole := slices.IndexFunc(hunks, func(h *workspace.Hunk) bool { return h.Whole })
		now, _ := f.Current()
		switch {
		case len(hunks) == 0:
			continue
		case f.Op == workspace.OpCreate:
			out = append(out, diffItem(f.Path, nil, hunks[0].New))
			continue
		case whole >= 0 && f.Op == workspace.OpDelete && f.Base != nil && len(now) <= maxWhole:
			out = append(out, diffItem(f.Path, &now, ""))
			continue
		case whole >= 0 && f.Op == workspace.OpDelete:
			out = append(out, textItem("Delete "+f.Path))
			continue
		case whole >= 0:
			out = append(out, textItem(fmt.Sprintf("Rename %s to %s", f.Path, f.NewPath)))
			hunks = slices.Delete(hunks, whole, whole+1)
		}
		limit := maxWhole
		if v.x.s.quirks.oneDiff {
			limit = len(now)
		}
		out = append(out, changes(f.Path, now, hunks, limit)...)
	}
	return out
}

// changes shows edits of a file whose text is now: as a whole when it has at most limit
// bytes, else by hunks.
func changes(path, now string, hunks []*workspace.Hunk, limit int) []toolContent {
	if len(hunks) == 0 {
		return nil
	}
	if len(now) <= limit {
		if after, _, err := workspace.Splice(now, hunks); err == nil {
			return []toolContent{diffItem(path, &now, after)}
		}
	}
	var out []toolContent
	for _, h := range hunks {
		before, behind := lastLines(now[:h.Start], nearLines), firstLines(now[h.End:], nearLines)
		old := before + h.Old + behind
		out = append(out, diffItem(path, &old, before+h.New+behind))
	}
	return out
}

func lastLines(s string, n int) string {
	at := len(s)
	for range n {
		i := strings.LastIndexByte(strings.TrimSuffix(s[:at], "\n"), '\n')
		if at = i + 1; i < 0 {
			return s
		}
	}
	return s[at:]
}

func firstLines(s string, n int) string {
	at := 0
	for range n {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return s
		}
		at += i + 1
	}
	return s[:at]
}
