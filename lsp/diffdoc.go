package lsp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.lsp.dev/protocol"

	"redline/workspace"
)

// diffDocument is a difference that the editor was shown. Its lines have the code
// actions of the hunks they stand for, so that a proposal can be decided where it is read.
type diffDocument struct {
	file     string // absolute
	proposal string
	text     string
	lines    []diffLine
}

// diffLine is what a line of a difference stands for.
type diffLine struct {
	file string   // ID of the file change
	ids  []string // of the hunks; none in the context around them
	head bool     // it is above the lines of a section
}

// newDiffDocument prints what is undecided in p.
func (e *encoder) newDiffDocument(p *workspace.Proposal) *diffDocument {
	d := &diffDocument{proposal: p.ID}
	pending := func(h *workspace.Hunk) bool { return h.State == workspace.Pending }
	for _, f := range p.Files {
		text := e.unified(&workspace.Proposal{Files: []*workspace.FileChange{f}}, pending)
		if text == "" {
			continue
		}
		d.text += text
		d.lines = append(d.lines, diffLines(f, text)...)
	}
	return d
}

// diffLines tells for each line of the unified difference of f which undecided hunks it
// stands for.
func diffLines(f *workspace.FileChange, text string) []diffLine {
	now, _ := f.Current()
	type span struct {
		id       string
		from, to int // 0-based lines of now that it replaces
	}
	var spans []span
	var whole []string
	for _, h := range f.Hunks {
		if h.State != workspace.Pending {
			continue
		}
		if h.Whole {
			whole = append(whole, h.ID)
		}
		if h.Whole && f.Op != workspace.OpCreate {
			continue
		}
		from := strings.Count(now[:h.Start], "\n")
		to := from + strings.Count(now[h.Start:h.End], "\n")
		if h.End > h.Start && now[h.End-1] != '\n' {
			to++
		}
		spans = append(spans, span{h.ID, from, to})
	}
	var out []diffLine
	at, old, neu := 0, 0, 0 // the line of now, and what is left of the section
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		l := diffLine{file: f.ID}
		switch {
		case old > 0 || neu > 0:
			for _, s := range spans {
				if strings.HasPrefix(line, "-") && s.from <= at && at < s.to || strings.HasPrefix(line, "+") && s.from <= at && at <= s.to {
					l.ids = append(l.ids, s.id)
					break
				}
			}
			switch line[:min(1, len(line))] {
			case "-":
				at, old = at+1, old-1
			case "+":
				neu--
			case " ", "":
				at, old, neu = at+1, old-1, neu-1
			}
		case strings.HasPrefix(line, "@@ "):
			at, old, neu = section(line)
			l.head = true
			for _, s := range spans {
				if s.from >= at && s.to <= at+old {
					l.ids = append(l.ids, s.id)
				}
			}
		default:
			l.ids, l.head = whole, true
		}
		out = append(out, l)
	}
	return out
}

// section reads the head of a section: its first line, 0-based, and how many lines the
// old and the new text have in it.
func section(head string) (at, old, neu int) {
	fields := strings.Fields(head)
	if len(fields) < 3 {
		return 0, 0, 0
	}
	read := func(s string) (line, n int) {
		first, count, ok := strings.Cut(s[1:], ",")
		line, _ = strconv.Atoi(first) // it is our own print
		n = 1
		if ok {
			n, _ = strconv.Atoi(count)
		}
		return line, n
	}
	at, old = read(fields[1])
	_, neu = read(fields[2])
	if old > 0 {
		at-- // with no lines it names the one before
	}
	return at, old, neu
}

// diffAt returns the difference that is shown as a document.
func (s *Server) diffAt(u string) *diffDocument {
	path, ok := pathOf(u)
	if !ok {
		return nil
	}
	s.docs.mu.Lock()
	defer s.docs.mu.Unlock()
	for _, d := range s.docs.diffs {
		if workspace.Key(d.file) == workspace.Key(path) {
			return d
		}
	}
	return nil
}

// diffHunks returns the undecided hunks of a difference where they stand in it.
func (s *Server) diffHunks(d *diffDocument) []placedHunk {
	var out []placedHunk
	for _, p := range s.openProposals() {
		if p.ID != d.proposal {
			continue
		}
		for _, f := range p.Files {
			for _, h := range f.Hunks {
				if h.State != workspace.Pending {
					continue
				}
				if r, ok := d.place(h.ID); ok {
					out = append(out, placedHunk{p.ID, f.ID, h.ID, r, h})
				}
			}
		}
	}
	return out
}

// place returns the lines of a hunk; the head above them when it has none.
func (d *diffDocument) place(id string) (protocol.Range, bool) {
	first, last := -1, -1
	for _, heads := range []bool{false, true} {
		for i, l := range d.lines {
			if l.head != heads || !slices.Contains(l.ids, id) {
				continue
			}
			if first < 0 {
				first = i
			}
			last = i
		}
		if first >= 0 {
			break
		}
	}
	if first < 0 {
		return protocol.Range{}, false
	}
	return protocol.Range{Start: protocol.Position{Line: uint32(first)}, End: protocol.Position{Line: uint32(last), Character: 1}}, true
}

// fileAt returns the ID of the file change that a line of the difference belongs to.
func (d *diffDocument) fileAt(line uint32) string {
	if int(line) < len(d.lines) {
		return d.lines[line].file
	}
	return ""
}

// headOf reports whether a line is the head of a section that has that hunk alone.
func (d *diffDocument) headOf(line uint32, id string) bool {
	return int(line) < len(d.lines) && slices.Equal(d.lines[line].ids, []string{id})
}

// diffName returns the name of the nth difference that is shown. Each has one of its
// own: an editor that has one open does not read it again.
func diffName(pid, n int) string { return fmt.Sprintf("changes-%d-%d.diff", pid, n) }
