package workspace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"redline/workspace/diff"
)

// mergeGap is how many unchanged lines between two changes of the same calls are
// taken into one hunk: a lone line between two changes says nothing to a reader.
const mergeGap = 1

// Propose cuts what is staged into a proposal; nil when nothing would change.
func (v *View) Propose() *Proposal {
	p := &Proposal{State: Open, Rev: 1}
	hunks := 0
	calls := map[string]bool{}
	for _, st := range v.order {
		fc := st.change()
		if len(fc.Hunks) == 0 {
			continue
		}
		fc.ID = fmt.Sprintf("f%d", len(p.Files)+1)
		p.Files = append(p.Files, fc)
		for _, h := range fc.Hunks {
			hunks++
			h.ID = fmt.Sprintf("h%d", hunks)
			for _, c := range h.CallIDs {
				calls[c] = true
			}
		}
	}
	if len(p.Files) == 0 {
		return nil
	}
	p.CallIDs = slices.Sorted(maps.Keys(calls))
	return p
}

// change cuts one file into hunks, in order, without their names.
func (st *stagedFile) change() *FileChange {
	after := st.current()
	fc := &FileChange{Path: st.path, NewPath: st.newPath, Op: st.op, Base: st.base}
	if st.base != nil {
		fc.text, fc.now = st.base.Text, st.base.Text
		if strings.IndexByte(fc.text, '\r') < 0 {
			same := unix{text: fc.text}
			fc.moved = &alignment{from: same, to: same}
		}
	}
	switch st.op {
	case OpCreate:
		if after == "" || len(st.settled) == 0 {
			fc.Hunks = append(fc.Hunks, &Hunk{New: after, Whole: true, CallIDs: st.callsIn(0, len(after))})
		}
		fc.Hunks = append(fc.Hunks, st.settled...)
		return fc
	case OpDelete:
		fc.Hunks = append(fc.Hunks, &Hunk{End: len(fc.text), Old: fc.text, Whole: true, CallIDs: st.calls, to: len(fc.text)})
		return fc
	case OpRename:
		fc.Hunks = append(fc.Hunks, &Hunk{Whole: true, CallIDs: st.calls})
	}
	var last *Hunk
	from := 0 // of last in the staged text
	for _, c := range lineChanges(fc.text, after, st.edits) {
		calls := st.callsIn(c.BStart, c.BEnd)
		if last != nil && lineCount(fc.text[last.End:c.AStart]) <= mergeGap && slices.Equal(last.CallIDs, calls) {
			last.End, last.to = c.AEnd, c.AEnd
			last.Old, last.New = fc.text[last.Start:last.End], after[from:c.BEnd]
			continue
		}
		last = &Hunk{
			Start: c.AStart, End: c.AEnd, Old: fc.text[c.AStart:c.AEnd], New: after[c.BStart:c.BEnd],
			CallIDs: calls, from: c.AStart, to: c.AEnd,
		}
		from = c.BStart
		fc.Hunks = append(fc.Hunks, last)
	}
	if len(st.settled) > 0 {
		fc.Hunks = append(fc.Hunks, st.settled...)
		slices.SortStableFunc(fc.Hunks, func(a, b *Hunk) int {
			if a.Whole != b.Whole {
				if a.Whole {
					return -1
				}
				return 1
			}
			return cmp.Compare(a.from, b.from)
		})
	}
	return fc
}

// Move puts v on a newer snapshot. What is staged moves along with what the user
// typed since; where the user typed in the same lines, the user's text stands and
// what was staged there becomes a closed conflict of the proposal.
func (v *View) Move(s *Snapshot) {
	v.Snapshot = s
	for _, st := range v.order {
		st.move(s)
	}
}

func (st *stagedFile) move(s *Snapshot) {
	if st.op == OpCreate {
		if _, open := s.Document(st.path); (open || s.Exists(st.path)) && len(st.settled) == 0 {
			f, err := s.Read(st.path)
			if err != nil {
				return
			}
			h := &Hunk{New: st.text, Whole: true, Closed: true, State: Conflicted, Reason: "a file with this name was created meanwhile", CallIDs: st.callsIn(0, len(st.text))}
			if f.Text == st.current() {
				h.State, h.Reason = Accepted, "the document already had this text"
			}
			st.op, st.base, st.text, st.touched, st.settled = OpEdit, f, f.Text, nil, []*Hunk{h}
		}
		return
	}
	if st.base == nil {
		return
	}
	f, err := s.Read(st.path)
	if err != nil {
		return // gone or unreadable: the review finds out
	}
	if f.Text == st.base.Text {
		st.base = f
		return
	}
	if st.op == OpDelete {
		return // the review finds that the file has changed
	}
	fc := st.change()
	fc.Rebase(f.Text, nil)
	st.base, st.edits, st.touched, st.settled = f, nil, nil, nil
	delta := 0
	for _, h := range fc.Hunks {
		switch {
		case h.Whole && h.State == Pending:
			continue // made again by change
		case h.State == Pending:
			st.edits = append(st.edits, Edit{h.Start, h.End, h.New})
			for _, c := range h.CallIDs {
				st.touched = append(st.touched, touch{c, h.Start + delta, h.Start + delta + len(h.New)})
			}
			delta += len(h.New) - (h.End - h.Start)
		default:
			h.Closed = true
			h.from, h.to = h.Start, h.End
			st.settled = append(st.settled, h)
		}
	}
	st.stale = true
}

func lineCount(s string) (n int) {
	for ; s != ""; n++ {
		s = s[diff.NextLine(s):]
	}
	return n
}
