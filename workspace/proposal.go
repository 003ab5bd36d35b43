package workspace

import (
	"slices"
	"strings"

	"redline/workspace/diff"
)

// State is how far a proposal has come.
type State string

// The states of a proposal (WIRE.md, Proposal.state).
const (
	Open      State = "open"      // hunks wait for a decision
	Applying  State = "applying"  // accepted hunks are on their way into the documents
	Settled   State = "settled"   // every hunk is decided and accounted for
	Conflict  State = "conflict"  // settled, but some hunk could not be applied
	Withdrawn State = "withdrawn" // cancelled before it was decided
	Reverted  State = "reverted"  // settled, and nothing of it stands any more
)

// HunkState is what became of one hunk. The zero value is Pending, and a pending
// hunk changes nothing.
type HunkState int

// The states of a hunk.
const (
	Pending HunkState = iota
	Accepted
	Rejected
	Amended    // in the document, with a text that the user changed
	Conflicted // cannot be applied: the user's text stands where it would go
)

func (s HunkState) String() string {
	return [...]string{"pending", "accepted", "rejected", "amended", "conflict"}[s]
}

// A Proposal is a set of file changes the model wants, decided hunk by hunk.
// It is owned by one goroutine at a time; hand out copies (Clone).
type Proposal struct {
	ID        string
	Rev       int // grows with every change of the proposal; decisions name it
	SessionID string
	TurnID    string
	CallIDs   []string
	Title     string
	State     State
	Files     []*FileChange
	// Notes are what else the model is to know of it, in words: problems that an
	// editor found after it was applied.
	Notes []string
	// Auto says that it is applied without a question, as in mode autoEdit.
	Auto bool
}

// A FileChange is the part of a proposal that concerns one file.
type FileChange struct {
	ID      string
	Path    string
	NewPath string // of OpRename
	Op      Op
	Base    *File // what the change was made against; nil for OpCreate, and for what is no text
	// Moved is set once an OpRename is done: the file is at NewPath.
	Moved bool
	Hunks []*Hunk

	// now is the text that the hunks' Start and End refer to, and version that of the
	// open document it was, nil when it was the file on disk. They change together:
	// a place in one text under the version of another would overwrite what was typed.
	now     string
	version *int32
	moved   *alignment // of text and now; nil when it has to be made

	// text is the base with the accepted hunks in it: what the document would be
	// had the user typed nothing. Hunks keep their place in it (from, to), so that
	// a conflict heals when the user takes the typing back.
	text string
}

// A Hunk is one run of whole lines to be replaced.
type Hunk struct {
	ID         string
	Start, End int // bytes of the text that FileChange.Current returns
	Old, New   string
	State      HunkState
	Reason     string // why it is rejected or in conflict, in the user's or our words
	// Final is what stands in the document instead of New when amended.
	Final   string
	CallIDs []string
	// Closed keeps a conflict as it is: it was decided on, so that it does not heal.
	Closed bool
	// Whole says that the hunk is the operation on the file itself: its creation,
	// its deletion or its new name.
	Whole bool
	// Changed says that the user has changed the lines of a rejected hunk since, so
	// that not even Old stands there.
	Changed bool
	// Landed says that it was seen to come into the document.
	Landed bool

	from, to int // bytes of FileChange.text
}

// At returns where the file is now.
func (f *FileChange) At() string {
	if f.Moved {
		return f.NewPath
	}
	return f.Path
}

// Clone returns a deep copy. Base is shared: it never changes.
func (p *Proposal) Clone() *Proposal {
	c := *p
	c.CallIDs, c.Notes = slices.Clone(p.CallIDs), slices.Clone(p.Notes)
	c.Files = make([]*FileChange, len(p.Files))
	for i, f := range p.Files {
		fc := *f
		fc.Hunks = make([]*Hunk, len(f.Hunks))
		for j, h := range f.Hunks {
			hc := *h
			hc.CallIDs = slices.Clone(h.CallIDs)
			fc.Hunks[j] = &hc
		}
		c.Files[i] = &fc
	}
	return &c
}

// Note adds what else the model is to know of p, if it is anything.
func (p *Proposal) Note(text string) {
	if text != "" {
		p.Notes = append(p.Notes, text)
	}
}

// Pending reports whether any hunk waits for a decision.
func (p *Proposal) Pending() bool {
	for h := range p.Hunks() {
		if h.State == Pending {
			return true
		}
	}
	return false
}

// Hunks yields the hunks of all files in order.
func (p *Proposal) Hunks() func(yield func(*Hunk) bool) {
	return func(yield func(*Hunk) bool) {
		for _, f := range p.Files {
			for _, h := range f.Hunks {
				if !yield(h) {
					return
				}
			}
		}
	}
}

// Finish sets the state that follows from the hunks when none is pending.
func (p *Proposal) Finish() {
	p.State = Settled
	for h := range p.Hunks() {
		if h.State == Conflicted {
			p.State = Conflict
		}
	}
}

// Stat returns the number of lines that the hunks of f add and remove.
func (f *FileChange) Stat() (added, removed int) {
	for _, h := range f.Hunks {
		added += lineCount(h.New)
		removed += lineCount(h.Old)
	}
	return added, removed
}

// Text returns what f's hunks refer to before any typing: base and accepted hunks.
func (f *FileChange) Text() string { return f.text }

// Current returns the text that the hunks' Start and End refer to, and the version
// of the open document it is; nil when it is the file on disk.
func (f *FileChange) Current() (now string, version *int32) { return f.now, f.version }

// Rebase moves the undecided hunks of f to their places in now, the text of the
// file at this moment, and the version of the document when it is open. A hunk whose
// lines the user changed becomes Conflicted; it becomes Pending again when they are
// as before. It reports whether a hunk moved or changed its state.
func (f *FileChange) Rebase(now string, version *int32) (changed bool) {
	moved := f.alignTo(now)
	f.now, f.version = now, version
	for _, h := range f.Hunks {
		start, end, ok := moved.locate(h.from, h.to)
		if h.Whole && f.Op != OpCreate {
			start, end, ok = 0, 0, f.Op == OpRename || len(moved.changes) == 0
			if f.Op == OpDelete {
				end = len(now)
			}
		}
		if h.Whole && f.Op == OpCreate && f.text == "" && version != nil && (now == "\n" || now == "\r\n") {
			// The new file is open before it is there, and the editor (Helix) has a line
			// end in what is empty.
			start, end, ok = 0, len(now), true
		}
		if (h.State != Pending && h.State != Conflicted) || h.Closed {
			h.Start, h.End = start, end
			continue
		}
		was, wasStart, wasEnd := h.State, h.Start, h.End
		h.Start, h.End = start, end
		switch {
		case ok:
			if h.State == Conflicted {
				h.State, h.Reason = Pending, ""
			}
		case h.New != "" && SameText(now[start:end], h.New):
			// The user typed what the hunk wanted.
			h.State, h.Reason = Accepted, "the document already had this text"
		default:
			h.State, h.Reason = Conflicted, "the user changed these lines meanwhile"
		}
		if h.State != was || h.Start != wasStart || h.End != wasEnd {
			changed = true
		}
	}
	return changed
}

// alignTo returns how f.text became now. Called with a text that is little different
// from the one before, as while the user types, it looks at the difference only.
func (f *FileChange) alignTo(now string) alignment {
	var a alignment
	switch {
	case f.moved == nil:
		a = align(f.text, now)
	case f.now == now:
		return *f.moved
	case f.moved.from.removed != nil || f.moved.to.removed != nil || strings.IndexByte(now, '\r') >= 0:
		a = align(f.text, now)
	default:
		a = f.moved.update(now)
	}
	f.moved = &a
	return a
}

// Vanish records that the file is not there any more: what is undecided cannot be
// applied, until the file is back and f is rebased on it. It reports whether a hunk
// changed.
func (f *FileChange) Vanish() (changed bool) {
	for _, h := range f.Hunks {
		if h.State != Pending {
			continue
		}
		changed = true
		h.State, h.Reason = Conflicted, "the file is not there any more"
		if h.Whole && f.Op == OpDelete {
			h.State, h.Reason = Accepted, "the file was gone already"
		}
	}
	return changed
}

// Lose records that the file of f is gone, with what had landed in it.
func (f *FileChange) Lose() {
	for _, h := range f.Hunks {
		h.Changed = true
		if (h.State == Accepted || h.State == Amended) && !(h.Whole && f.Op == OpDelete) {
			h.State, h.Final, h.Reason = Rejected, "", "accepted, and then the file was deleted or renamed"
		}
	}
}

// takenBack is the reason of a hunk that was accepted and does not stand any more.
const takenBack = "accepted, and then taken back by the user"

// Verify compares the decided hunks with now, the text of the file at this
// moment, and records what the user has made of them since: one whose old lines
// stand again is rejected, one that reads differently is amended. It reports whether
// a hunk changed. Call it when the last hunk is decided, so that what the model is
// told is what the file says.
func (f *FileChange) Verify(now string) (changed bool) {
	moved := align(f.text, now)
	for _, h := range f.Hunks {
		if h.State == Pending || h.State == Conflicted || (h.Whole && f.Op != OpCreate) || h.Closed && h.State != Rejected {
			continue
		}
		start, end, ok := moved.locate(h.from, h.to)
		if h.from == h.to {
			// Of deleted lines nothing shows where they would be; see whether they are back.
			around := now[start:end] + "\n" + moved.beside(h.from)
			if !alike(h.Old, around) {
				continue
			}
			changed = true
			h.Changed = !strings.Contains(toUnix(around).text, toUnix(h.Old).text)
			h.State, h.Final, h.Reason = Rejected, "", takenBack
			continue
		} else if ok {
			continue
		}
		changed = true
		if h.State == Rejected {
			h.Changed = true
			continue
		}
		if got := now[start:end]; SameText(got, h.Old) {
			h.State, h.Final, h.Reason = Rejected, "", takenBack
		} else {
			h.State, h.Final, h.Reason = Amended, got, "changed by the user after it was accepted"
		}
	}
	return changed
}

// locate maps the range [from, to) of a text over the changes made to it. ok is
// false when a change overlaps the range, or when text was inserted exactly where
// the range, being empty, would insert: nobody can know which goes first. The
// result is then the region of the new text that stands for the range.
func locate(changes []diff.Change, from, to int) (start, end int, ok bool) {
	ok = true
	before := 0 // growth of the text in front of the range
	inside := 0 // growth from there to its end
	start, end = -1, -1
	for _, c := range changes {
		grow := (c.BEnd - c.BStart) - (c.AEnd - c.AStart)
		isBefore, isAfter := c.AEnd <= from, c.AStart >= to
		if from == to && c.AStart == c.AEnd {
			isBefore, isAfter = c.AStart < from, c.AStart > to
		}
		switch {
		case isBefore:
			before += grow
			continue
		case isAfter:
		default:
			if ok {
				start = min(from+before, c.BStart)
			}
			ok = false
			inside += grow
			end = max(to+before+inside, c.BEnd)
			continue
		}
		break
	}
	if ok {
		return from + before, to + before, true
	}
	return start, end, false
}

// Splice returns now with the given hunks of f in it, whose Start and End must
// refer to now, and the edits that do it.
func Splice(now string, hunks []*Hunk) (string, []Edit, error) {
	edits := make([]Edit, len(hunks))
	for i, h := range hunks {
		edits[i] = Edit{h.Start, h.End, h.New}
	}
	after, err := Apply(now, edits)
	return after, edits, err
}

// Land records that h is in the document with the text final, which is h.New
// unless the user amended it.
func (f *FileChange) Land(h *Hunk, final string) { f.LandAs(h, final, final) }

// LandAs is Land for a hunk that was sent with one text and stands with another one,
// because of what the user or a formatter did meanwhile. That counts as done since:
// taking the hunk back leaves it alone.
func (f *FileChange) LandAs(h *Hunk, sent, final string) {
	h.State, h.Landed = Accepted, true
	if h.Whole && f.Op == OpRename {
		f.Moved = true
		return
	}
	if h.Whole && f.Op == OpDelete {
		return // the text stays known, for the day it is taken back
	}
	if final != h.New {
		h.State, h.Final = Amended, final
	}
	var b strings.Builder
	b.WriteString(f.text[:h.from])
	b.WriteString(sent)
	b.WriteString(f.text[h.to:])
	delta := len(sent) - (h.to - h.from)
	for _, o := range f.Hunks {
		if o != h && o.from >= h.to {
			o.from += delta
			o.to += delta
		}
	}
	h.to = h.from + len(sent)
	f.text, f.moved = b.String(), nil
}
