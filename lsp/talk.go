package lsp

import (
	"fmt"
	"strings"

	"redline/agent"
	"redline/workspace"
)

// talk is a conversation as the Markdown of a chat document, without its first and its
// last heading.
type talk struct {
	text   strings.Builder
	tail   string // its last two bytes at most
	inTurn bool   // a prompt of the running turn is in it
	open   map[string]bool
}

func (t *talk) String() string { return t.text.String() }

// add appends and returns what was appended: there is never more than one empty line
// where pieces meet.
func (t *talk) add(piece string) string {
	trimmed := strings.TrimLeft(piece, "\n")
	gap := len(piece) - len(trimmed)
	tail := len(t.tail) - len(strings.TrimRight(t.tail, "\n"))
	piece = piece[max(0, min(gap, gap+tail-2)):]
	t.text.WriteString(piece)
	t.tail += piece
	t.tail = t.tail[max(0, len(t.tail)-2):]
	return piece
}

// note appends a line that neither said.
func (t *talk) note(text string) string {
	return t.add("\n\n> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ") + "\n\n")
}

// said appends what an event means for the conversation, but for the pieces of the answer.
// It returns what a chat document that the answer goes to has not got of it.
func (t *talk) said(s *Server, ev agent.Body) string {
	switch b := ev.(type) {
	case agent.TurnStarted:
		t.inTurn = false
	case agent.UserMessage:
		if t.inTurn {
			return t.note("You: " + b.Text)
		}
		t.inTurn = true
		t.add(prompted(b.Text))
	case agent.ProposalUpdated:
		return t.proposed(s, b.Proposal)
	case agent.TurnEnded:
		switch {
		case b.Err != nil && b.Err.Error() == agent.ErrInterrupted.Error(): // as text, from the disk
			return t.add("\n\n*" + wasCutOff + "*\n\n")
		case b.Status == agent.Cancelled:
			return t.add("\n\n*Cancelled.*\n\n")
		case b.Err != nil:
			return t.add("\n\n*" + b.Err.Error() + "*\n\n")
		}
		return t.add("\n\n")
	}
	return ""
}

// prompted is a prompt and the heading of its answer.
func prompted(text string) string {
	text, _, _ = strings.Cut(text, commentNote) // the user wrote none of that
	return chatYou + "\n\n" + strings.TrimSpace(text) + "\n\n" + chatAnswer + "\n\n"
}

// proposed notes what is proposed, and what became of it.
func (t *talk) proposed(s *Server, p *workspace.Proposal) string {
	if t.open == nil {
		t.open = map[string]bool{}
	}
	switch {
	case p.State == workspace.Open && !t.open[p.ID] && p.Pending():
		t.open[p.ID] = true
		return t.note("Proposed:\n" + s.fileSummaries(p))
	case t.open[p.ID] && p.State != workspace.Open && p.State != workspace.Applying:
		delete(t.open, p.ID)
		return t.note(outcome(p))
	}
	return ""
}

// outcome says what became of a proposal.
func outcome(p *workspace.Proposal) string {
	in, all, lost := 0, 0, 0
	for h := range p.Hunks() {
		all++
		switch h.State {
		case workspace.Accepted, workspace.Amended:
			in++
		case workspace.Conflicted:
			lost++
		}
	}
	switch {
	case p.State == workspace.Withdrawn:
		return "Taken back by the end of the turn."
	case lost > 0:
		return counted(in, "change", "changes") + " applied, " + counted(lost, "conflict", "conflicts") + " with what you typed."
	case in == 0:
		return "Rejected."
	case in == all:
		return "Accepted."
	}
	return fmt.Sprintf("%s accepted, %d rejected.", counted(in, "change", "changes"), all-in)
}
