package workspace

import (
	"strings"

	godiff "github.com/sourcegraph/go-diff/diff"
)

// contextLines is how many unchanged lines a unified diff shows around a change.
const contextLines = 3

// Unified returns the hunks of p that keep allows, on the files' current texts,
// as one unified diff. name gives what to call the file at a path, without a
// leading slash.
func (p *Proposal) Unified(name func(path string) string, keep func(*Hunk) bool) string {
	var files []*godiff.FileDiff
	for _, f := range p.Files {
		n := name(f.Path)
		d := &godiff.FileDiff{OrigName: "a/" + n, NewName: "b/" + n}
		for _, h := range f.Hunks {
			if !h.Whole || !keep(h) {
				continue
			}
			switch f.Op {
			case OpCreate:
				d.OrigName = "/dev/null"
			case OpDelete:
				d.NewName = "/dev/null"
				d.Extended = []string{"diff --git a/" + n + " b/" + n, "deleted file mode 100644"}
			case OpRename:
				to := name(f.NewPath)
				d.NewName = "b/" + to
				d.Extended = []string{"diff --git a/" + n + " b/" + to, "rename from " + n, "rename to " + to}
			}
		}
		isText := func(h *Hunk) bool { return keep(h) && h.Old != h.New }
		if d.Hunks = unifiedHunks(f.now, f.Hunks, isText); len(d.Hunks) == 0 && d.Extended == nil {
			continue
		}
		files = append(files, d)
	}
	out, err := godiff.PrintMultiFileDiff(files)
	if err != nil { // writes to memory only
		return ""
	}
	return string(out)
}

// unifiedHunks cuts t into the hunks of a unified diff. That format knows lines
// only by "\n", so a hunk that begins at a lone "\r" is widened to whole ones.
func unifiedHunks(t string, hunks []*Hunk, keep func(*Hunk) bool) []*godiff.Hunk {
	var out []*godiff.Hunk
	line, at := 0, 0 // at is the start of 0-based line
	newDelta := 0    // lines the hunks so far have added
	for i := 0; i < len(hunks); {
		if !keep(hunks[i]) || hunks[i].State == Conflicted {
			i++
			continue
		}
		// Widen by context, and take in the following hunks that touch it.
		start := lineStart(t, hunks[i].Start, contextLines)
		end := reach(t, hunks[i])
		var group []*Hunk
		for ; i < len(hunks); i++ {
			if !keep(hunks[i]) || hunks[i].State == Conflicted {
				continue
			}
			if len(group) > 0 && lineStart(t, hunks[i].Start, contextLines) > lineEnd(t, end, contextLines) {
				break
			}
			group, end = append(group, hunks[i]), max(end, reach(t, hunks[i]))
		}
		end = lineEnd(t, end, contextLines)
		line += strings.Count(t[at:start], "\n")
		at = start

		var b bodyWriter
		pos := start
		for j := 0; j < len(group); {
			// Hunks that share a "\n" line are printed as one.
			from := lineStart(t, group[j].Start, 0)
			b.context(t[pos:from])
			to, edits, neu := group[j].End, []Edit{}, ""
			for {
				for ; j < len(group) && (len(edits) == 0 || group[j].Start < to); j++ {
					h := group[j]
					edits = append(edits, Edit{h.Start - from, h.End - from, h.New})
					to = max(to, h.End)
					if h.End > h.Start || !startsLine(t, h.Start) {
						to = lineEnd(t, to, 0)
					}
				}
				var err error
				if neu, err = Apply(t[from:to], edits); err != nil {
					return nil // hunks that overlap: nothing sensible can be shown
				}
				if neu == "" || strings.HasSuffix(neu, "\n") || to == len(t) {
					break
				}
				to = lineEnd(t, to+1, 0) // what is left of a line goes on in the next
			}
			b.change(t[from:to], neu)
			pos = to
		}
		b.context(t[pos:end])
		h := &godiff.Hunk{
			OrigStartLine: int32(line + 1), OrigLines: b.old, NewStartLine: int32(line + 1 + newDelta), NewLines: b.new,
			Body: []byte(b.String()), OrigNoNewlineAt: b.oldNoNewline,
		}
		if b.old == 0 {
			h.OrigStartLine--
		}
		if b.new == 0 {
			h.NewStartLine--
		}
		newDelta += int(b.new - b.old)
		out = append(out, h)
	}
	return out
}

// reach returns the end of h or, when h leaves a line that goes on in the next "\n"
// line, the byte after the beginning of that one: it is printed as changed.
func reach(t string, h *Hunk) int {
	open := h.New != "" && !strings.HasSuffix(h.New, "\n") || h.New == "" && !startsLine(t, h.Start)
	if open && h.End < len(t) && startsLine(t, h.End) {
		return h.End + 1
	}
	return h.End
}

// bodyWriter collects the lines of a unified hunk.
type bodyWriter struct {
	strings.Builder
	old, new     int32 // lines
	oldNoNewline int32 // where the old text ends without newline; 0: it does not
}

func (b *bodyWriter) context(s string) {
	n := b.lines(' ', s)
	b.old += n
	b.new += n
}

func (b *bodyWriter) change(old, neu string) {
	b.old += b.lines('-', old)
	if old != "" && !strings.HasSuffix(old, "\n") {
		b.WriteByte('\n')
		b.oldNoNewline = int32(b.Len())
	}
	b.new += b.lines('+', neu)
}

func (b *bodyWriter) lines(mark byte, s string) (n int32) {
	for s != "" {
		i := strings.IndexByte(s, '\n') + 1
		if i == 0 {
			i = len(s)
		}
		b.WriteByte(mark)
		b.WriteString(s[:i])
		s = s[i:]
		n++
	}
	return n
}

func startsLine(t string, i int) bool { return i == 0 || t[i-1] == '\n' }

// lineStart returns the start of the "\n" line at i, or of the one n lines above.
func lineStart(t string, i, n int) int {
	i = strings.LastIndexByte(t[:i], '\n') + 1
	for ; n > 0 && i > 0; n-- {
		i = strings.LastIndexByte(t[:i-1], '\n') + 1
	}
	return i
}

// lineEnd returns i when a "\n" line ends there, else the end of its line; then n
// lines further.
func lineEnd(t string, i, n int) int {
	if !startsLine(t, i) {
		n++
	}
	for ; n > 0 && i < len(t); n-- {
		j := strings.IndexByte(t[i:], '\n')
		if j < 0 {
			return len(t)
		}
		i += j + 1
	}
	return i
}
