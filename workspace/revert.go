package workspace

import (
	"redline/workspace/diff"
)

// Standing reports whether h is in the document, as far as is known.
func (h *Hunk) Standing() bool { return h.Landed && (h.State == Accepted || h.State == Amended) }

// Standing reports whether anything of p is in the documents, as far as is known.
func (p *Proposal) Standing() bool {
	for h := range p.Hunks() {
		if h.Standing() {
			return true
		}
	}
	return false
}

// An Inverse is a proposal that takes back what stands of another.
type Inverse struct {
	*Proposal
	of map[*Hunk]*Hunk // hunk of the inverse → hunk of the original
	at map[*Hunk]Edit  // hunk of the inverse → what it does to the original's text
}

// Invert returns what takes back the standing hunks of p that pick names: three-way,
// line by line, so that lines which the user has changed since can be left. It is nil
// when nothing of them stands.
func (p *Proposal) Invert(pick func(*FileChange, *Hunk) bool) *Inverse {
	inv := &Inverse{
		Proposal: &Proposal{ID: p.ID, Rev: p.Rev, SessionID: p.SessionID, TurnID: p.TurnID, Title: "take back " + p.Title, State: Open},
		of:       map[*Hunk]*Hunk{}, at: map[*Hunk]Edit{},
	}
	for _, f := range p.Files {
		g := f.invert(inv, pick)
		if len(g.Hunks) > 0 {
			inv.Files = append(inv.Files, g)
		}
	}
	if len(inv.Files) == 0 {
		return nil
	}
	return inv
}

func (f *FileChange) invert(inv *Inverse, pick func(*FileChange, *Hunk) bool) *FileChange {
	g := &FileChange{ID: f.ID, Path: f.At(), Op: OpEdit, Base: f.Base, text: f.text, now: f.now, version: f.version}
	if g.Base == nil {
		g.Base = &File{Path: g.Path, Text: f.text}
	}
	add := func(of, h *Hunk) {
		h.ID = of.ID
		inv.of[h], inv.at[h] = of, Edit{h.from, h.to, h.New}
		g.Hunks = append(g.Hunks, h)
	}
	for _, h := range f.Hunks {
		if !h.Standing() || !pick(f, h) {
			continue
		}
		switch {
		case h.Whole && f.Op == OpCreate:
			g.Op = OpDelete
			add(h, &Hunk{End: len(f.text), Old: f.text, Whole: true, to: len(f.text)})
		case h.Whole && f.Op == OpDelete:
			if f.Base == nil {
				continue // it was no text; nobody has its bytes
			}
			g.Op, g.text = OpCreate, ""
			add(h, &Hunk{New: f.text, Whole: true})
		case h.Whole:
			g.Op, g.NewPath = OpRename, f.Path
			add(h, &Hunk{Whole: true})
		default:
			stands := f.text[h.from:h.to]
			for _, c := range diff.Lines(stands, h.Old) {
				from, to := h.from+c.AStart, h.from+c.AEnd
				add(h, &Hunk{Start: from, End: to, Old: stands[c.AStart:c.AEnd], New: h.Old[c.BStart:c.BEnd], from: from, to: to})
			}
		}
	}
	return g
}

// Record writes into the original proposal p what became of its inverse, which must
// be settled: hunks that are taken back are rejected, and what the user had changed
// since is amended. It returns how many hunks were taken back whole, and how many
// were left at least in part.
func (inv *Inverse) Record(p *Proposal) (taken, left int) {
	// From the end of each file, so that offsets stay good.
	for i := len(p.Files) - 1; i >= 0; i-- {
		f := p.Files[i]
		for j := len(f.Hunks) - 1; j >= 0; j-- {
			h := f.Hunks[j]
			var done []Edit
			all, some := true, false
			stands, reason := "", ""
			for _, g := range inv.Files {
				for _, x := range g.Hunks {
					if inv.of[x] != h {
						continue
					}
					some = true
					if x.State == Accepted {
						done = append(done, inv.at[x])
						continue
					}
					all, reason = false, x.Reason
					if x.Start >= 0 && x.Start <= x.End && x.End <= len(g.now) && !x.Whole {
						stands += g.now[x.Start:x.End]
					}
				}
			}
			switch {
			case !some:
			case all:
				f.unland(h, done)
				h.State, h.Final, h.Landed = Rejected, "", false
				h.Reason = "taken back by the user"
				taken++
			case h.Whole:
				h.Reason = "it could not be taken back: " + reason
				left++
			default:
				f.unland(h, done)
				h.State, h.Final = Amended, stands
				h.Reason = "the user changed these lines since; they were left as they are"
				left++
			}
		}
	}
	p.Rev++
	if taken+left > 0 {
		p.State = Reverted
		for h := range p.Hunks() {
			if h.State == Accepted && h.Landed {
				p.State = Settled
			}
		}
	}
	return taken, left
}

// unland makes edits of f.text, which lie in h.
func (f *FileChange) unland(h *Hunk, edits []Edit) {
	switch {
	case h.Whole && f.Op == OpRename:
		f.Moved = false
		return
	case h.Whole:
		return
	}
	t, err := Apply(f.text, edits)
	if err != nil {
		return // not in order: never, they were cut from h in order
	}
	delta, end := growth(edits), h.to
	f.text, f.moved = t, nil
	h.to += delta
	for _, o := range f.Hunks {
		if o != h && o.from >= end {
			o.from += delta
			o.to += delta
		}
	}
}

// Late finds hunks that were given up and are in the document now after all: an
// editor may apply an edit long after it was asked to, and a user may do by hand what
// was refused. Such hunks land. It reports whether there were any. now is the text of
// the file at this moment.
func (f *FileChange) Late(now string) (found bool) {
	if f.Op == OpCreate || f.Op == OpDelete || f.Base == nil {
		return false
	}
	moved := align(f.text, now)
	for _, h := range f.Hunks {
		if h.Landed || h.Whole || h.State != Conflicted || h.New == "" {
			continue
		}
		start, end, ok := moved.locate(h.from, h.to)
		if ok || !SameText(now[start:end], h.New) {
			continue
		}
		h.Reason = "it was applied later"
		f.Land(h, h.New)
		moved = align(f.text, now)
		found = true
	}
	return found
}
