package lsp

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"redline/workspace"
)

// This file words what a client without a plugin shows. Helix has one line for a
// message, cut at the width of the window: what matters comes first there.

// summary says in a few lines what p would change.
func (s *Server) summary(p *workspace.Proposal) string {
	return "Redline proposes:\n" + s.fileSummaries(p)
}

// fileSummaries says in a line for each file what is proposed for it.
func (s *Server) fileSummaries(p *workspace.Proposal) string {
	snap := s.ws.Snapshot()
	lines := make([]string, len(p.Files))
	for i, f := range p.Files {
		lines[i] = fileSummary(snap, f)
	}
	return strings.Join(lines, "\n")
}

// fileSummary says in a line what is proposed for a file.
func fileSummary(snap *workspace.Snapshot, f *workspace.FileChange) string {
	added, removed := f.Stat()
	name := snap.Rel(f.Path)
	switch f.Op {
	case workspace.OpCreate:
		return fmt.Sprintf("new file %s +%d", name, added)
	case workspace.OpDelete:
		return "delete " + name
	case workspace.OpRename:
		name += " → " + snap.Rel(f.NewPath)
	}
	return fmt.Sprintf("%s +%d -%d", name, added, removed)
}

// counted says how many there are of a thing.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// changes counts what is undecided in p: "2 changes in main.go", "3 changes in 2 files".
func (s *Server) changes(p *workspace.Proposal) string {
	n, files := 0, []string{}
	snap := s.ws.Snapshot()
	for _, f := range p.Files {
		before := n
		for _, h := range f.Hunks {
			if h.State == workspace.Pending {
				n++
			}
		}
		if n > before {
			files = append(files, snap.Rel(f.At()))
		}
	}
	if len(files) == 1 {
		return counted(n, "change", "changes") + " in " + files[0]
	}
	return fmt.Sprintf("%s in %d files", counted(n, "change", "changes"), len(files))
}

// howToDecide tells the user how to decide on p without a message.
func (s *Server) howToDecide(p *workspace.Proposal) string {
	waiting := "Redline: " + s.changes(p)
	switch s.client.name {
	case editorHelix:
		return waiting + " · space a on a ● line · all: :lsp-workspace-command redline.accept"
	case editorEglot:
		return waiting + ": M-x eglot-code-actions on a marked line (M-x flymake-show-project-diagnostics lists them)"
	}
	return waiting + ": accept or reject with the code actions on the marked lines, or with the commands redline.accept and redline.reject."
}

// howToTell tells the user of vim-lsp which buffers it has not told of.
func (s *Server) howToTell(files []*sent) string {
	var names []string
	snap := s.ws.Snapshot()
	for _, x := range files {
		if after, seen := x.text(snap); !seen || !workspace.SameText(after, x.expected) {
			names = append(names, snap.Rel(x.file.At()))
		}
	}
	return "Redline: go to the buffer " + strings.Join(names, ", ") + ", so that vim-lsp tells of the change made there"
}

// maxLine is how many characters of an answer go into a message of one line.
const maxLine = 160

// answerText is an answer as a message.
func (s *Server) answerText(text string) string {
	if s.client.name != editorHelix {
		return text
	}
	line := strings.Join(strings.Fields(text), " ")
	if line == text && utf8.RuneCountInString(line) <= 80 {
		return line
	}
	return "(redline.openChat shows all) " + shortened(line, maxLine)
}

// shortened returns s, cut to at most n characters.
func shortened(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}

// howToAnswer puts a question to a client that shows no message with buttons.
func (s *Server) howToAnswer(a asking) string {
	how := "answer with a code action (" + strings.Join(a.options, ", ") + ") or with the command redline.answer"
	if s.client.name == editorHelix {
		how = "space a to answer"
	}
	return "Redline: " + a.brief + "? · " + how
}

// passedOn says what becomes of a prompt that came while a turn of x was running.
func (s *Server) passedOn(x *session) string {
	for _, p := range s.openProposals() {
		if p.SessionID == x.Info().ID && p.Pending() {
			return "Redline takes that along once you have decided on " + s.changes(p) + "."
		}
	}
	if len(s.openQuestions()) > 0 {
		return "Redline takes that along once you have answered its question."
	}
	return "Redline is at work and takes that along."
}
