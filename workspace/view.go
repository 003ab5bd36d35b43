package workspace

import (
	"fmt"
	"maps"
	"slices"

	"redline/workspace/diff"
	"redline/workspace/text"
)

// Op is what a [FileChange] does to its file.
type Op string

// The operations a proposal can hold.
const (
	OpEdit   Op = "edit"
	OpCreate Op = "create"
)

// A View is a snapshot with edits staged on top: what the tools of one step read,
// so that a later call sees what an earlier one proposed. It is owned by one
// goroutine at a time.
type View struct {
	*Snapshot
	// Readable are further folders, outside of the workspace, whose files may be
	// read; see [View.ResolveRead].
	Readable []string

	staged map[string]*stagedFile // by key
	order  []string
}

// stagedFile is a file with edits that nobody has decided yet.
type stagedFile struct {
	path    string
	base    *File // nil for a file to be created
	text    string
	touched []touch
}

// touch is a range of the staged text that a call wrote.
type touch struct {
	callID     string
	start, end int
}

// NewView returns a view of s with nothing staged.
func NewView(s *Snapshot) *View {
	return &View{Snapshot: s, staged: map[string]*stagedFile{}}
}

// Read returns the text file at path with the staged edits in it.
func (v *View) Read(path string) (*File, error) {
	st := v.staged[Key(path)]
	if st == nil {
		return v.Snapshot.Read(path)
	}
	f := File{Path: path, Format: text.Plain}
	if st.base != nil {
		f = *st.base
	}
	f.Text, f.Hash = st.text, Hash(st.text)
	return &f, nil
}

// Exists reports whether a file is at path, staged creations included.
func (v *View) Exists(path string) bool {
	return v.staged[Key(path)] != nil || v.Snapshot.Exists(path)
}

// Overlay returns the texts that stand for files on disk, by absolute path: the
// open documents that are files, and the staged edits over them.
func (v *View) Overlay() map[string][]byte {
	out := make(map[string][]byte, len(v.docs)+len(v.staged))
	for _, d := range v.docs {
		if d.Path != "" {
			out[d.Path] = []byte(d.Text)
		}
	}
	for _, st := range v.staged {
		path := st.path
		if d, ok := v.Document(path); ok && d.Path != "" {
			path = d.Path
		}
		out[path] = []byte(st.text)
	}
	return out
}

// An Edit replaces the bytes [Start, End) of a text.
type Edit struct {
	Start, End int
	New        string
}

// Apply returns t with the edits made, which must be in order and not overlap.
func Apply(t string, edits []Edit) (string, error) {
	size, at := len(t), 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(t) {
			return "", fmt.Errorf("edit of bytes %d to %d is out of order or out of range", e.Start, e.End)
		}
		size += len(e.New) - (e.End - e.Start)
		at = e.End
	}
	out := make([]byte, 0, size)
	at = 0
	for _, e := range edits {
		out = append(append(out, t[at:e.Start]...), e.New...)
		at = e.End
	}
	return string(append(out, t[at:]...)), nil
}

// Stage adds edits of f, which must be what Read returned for its path, for the
// function call callID.
func (v *View) Stage(callID string, f *File, edits []Edit) error {
	key := Key(f.Path)
	st := v.staged[key]
	if st == nil {
		st = &stagedFile{path: f.Path, base: f, text: f.Text}
	}
	after, err := Apply(st.text, edits)
	if err != nil {
		return fmt.Errorf("stage an edit of %s: %w", f.Path, err)
	}
	if st.base != nil {
		if _, err := text.Encode(after, st.base.Format); err != nil {
			return err
		}
	}
	for i := range st.touched {
		st.touched[i].start = shift(edits, st.touched[i].start, false)
		st.touched[i].end = shift(edits, st.touched[i].end, true)
	}
	delta := 0
	for _, e := range edits {
		st.touched = append(st.touched, touch{callID, e.Start + delta, e.Start + delta + len(e.New)})
		delta += len(e.New) - (e.End - e.Start)
	}
	st.text = after
	v.put(key, st)
	return nil
}

// Create stages a new file at path.
func (v *View) Create(callID, path, content string) error {
	if v.Exists(path) {
		return fmt.Errorf("create %s: %w", path, ErrExists)
	}
	v.put(Key(path), &stagedFile{path: path, text: content, touched: []touch{{callID, 0, len(content)}}})
	return nil
}

// ErrExists says that a file to be created is already there.
var ErrExists = fmt.Errorf("file already exists")

func (v *View) put(key string, st *stagedFile) {
	if v.staged[key] == nil {
		v.order = append(v.order, key)
	}
	v.staged[key] = st
}

// shift moves a position over edits; a position inside an edited range goes to
// its start, or to the end of the new text when end is set.
func shift(edits []Edit, pos int, end bool) int {
	delta := 0
	for _, e := range edits {
		switch {
		case pos < e.Start || (pos == e.Start && !end && e.Start != e.End):
			return pos + delta
		case pos >= e.End && !(pos == e.Start && end && e.Start == e.End):
			delta += len(e.New) - (e.End - e.Start)
		default:
			if end {
				return e.Start + delta + len(e.New)
			}
			return e.Start + delta
		}
	}
	return pos + delta
}

// mergeGap is how many unchanged lines between two changes of the same calls are
// taken into one hunk: a lone line between two changes says nothing to a reader.
const mergeGap = 1

// Propose cuts what is staged into a proposal; nil when nothing would change.
func (v *View) Propose() *Proposal {
	p := &Proposal{State: Open, Rev: 1}
	hunks := 0
	for _, key := range v.order {
		st := v.staged[key]
		fc := &FileChange{ID: fmt.Sprintf("f%d", len(p.Files)+1), Path: st.path, Op: OpEdit, Base: st.base}
		var changes []diff.Change
		if st.base == nil {
			fc.Op = OpCreate
			changes = []diff.Change{{BEnd: len(st.text)}}
		} else {
			fc.text, fc.now = st.base.Text, st.base.Text
			changes = diff.Lines(st.base.Text, st.text)
		}
		for _, c := range changes {
			calls := st.callsIn(c.BStart, c.BEnd)
			h := &Hunk{
				Start: c.AStart, End: c.AEnd, Old: fc.text[c.AStart:c.AEnd], New: st.text[c.BStart:c.BEnd],
				State: Pending, CallIDs: calls, from: c.AStart, to: c.AEnd, newFrom: c.BStart, newTo: c.BEnd,
			}
			if n := len(fc.Hunks); n > 0 {
				last := fc.Hunks[n-1]
				between := fc.text[last.End:h.Start]
				if lineCount(between) <= mergeGap && slices.Equal(last.CallIDs, h.CallIDs) {
					last.End, last.to, last.newTo = h.End, h.to, h.newTo
					last.Old, last.New = fc.text[last.Start:last.End], st.text[last.newFrom:last.newTo]
					continue
				}
			}
			hunks++
			h.ID = fmt.Sprintf("h%d", hunks)
			fc.Hunks = append(fc.Hunks, h)
		}
		if len(fc.Hunks) > 0 {
			p.Files = append(p.Files, fc)
		}
	}
	if len(p.Files) == 0 {
		return nil
	}
	calls := map[string]bool{}
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			for _, c := range h.CallIDs {
				calls[c] = true
			}
		}
	}
	p.CallIDs = slices.Sorted(maps.Keys(calls))
	return p
}

// callsIn returns the calls that wrote into or deleted at the range of the staged
// text, in the order they came.
func (st *stagedFile) callsIn(start, end int) []string {
	var out []string
	for _, t := range st.touched {
		if t.start <= end && start <= t.end && !slices.Contains(out, t.callID) {
			out = append(out, t.callID)
		}
	}
	return out
}

func lineCount(s string) (n int) {
	for ; s != ""; n++ {
		s = s[diff.NextLine(s):]
	}
	return n
}
