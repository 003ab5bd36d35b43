package lsp

import (
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"redline/workspace"
)

// edit returns the hunks that keep allows as one versioned WorkspaceEdit: files to
// be created and texts first, then new names, then deletions. What the client cannot
// do to files is left out; the text of a file that it cannot rename goes to the new
// name (see [Server.operateOnFiles]).
func (e *encoder) edit(p *workspace.Proposal, keep func(*workspace.Hunk) bool) protocol.WorkspaceEdit {
	b := editBuilder{encoder: e, p: p, keep: keep, annotations: map[protocol.ChangeAnnotationIdentifier]protocol.ChangeAnnotation{}}
	w := protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{}}
	var last []protocol.DocumentChange
	for _, f := range p.Files {
		first, op := b.file(f)
		w.DocumentChanges = append(w.DocumentChanges, first...)
		last = append(last, op...)
	}
	w.DocumentChanges = append(w.DocumentChanges, last...)
	if len(b.annotations) > 0 {
		w.ChangeAnnotations = b.annotations
	}
	return w
}

// editBuilder makes the parts of one WorkspaceEdit.
type editBuilder struct {
	*encoder
	p           *workspace.Proposal
	keep        func(*workspace.Hunk) bool
	annotations map[protocol.ChangeAnnotationIdentifier]protocol.ChangeAnnotation
}

// file returns what is done with the text of a file, and what with the file itself
// afterwards.
func (b *editBuilder) file(f *workspace.FileChange) (first, last []protocol.DocumentChange) {
	now, version := f.Current()
	m := b.lines.mapper(now, b.encoding)
	u := b.uriOf(f.At())
	var edits []protocol.TextDocumentEditElement
	var texts []*workspace.Hunk
	var op *workspace.Hunk
	for _, h := range f.Hunks {
		switch {
		case !b.keep(h):
		case h.Whole && f.Op != workspace.OpCreate:
			op = h
		default:
			texts = append(texts, h)
			text := h.New
			if b.lineEnd && f.Op == workspace.OpCreate && version == nil {
				text = strings.TrimSuffix(text, "\n")
			}
			edits = append(edits, b.text(h, protocol.TextEdit{Range: m.rng(h.Start, h.End), NewText: text}))
		}
	}
	if op != nil && f.Op == workspace.OpRename && !b.rename {
		all, _, err := workspace.Splice(now, texts)
		if err != nil || f.Base == nil {
			return nil, nil // what is no text cannot go that way
		}
		u, version = b.uriOf(f.NewPath), nil
		edits = []protocol.TextDocumentEditElement{b.text(op, protocol.TextEdit{NewText: all})}
	}
	if op != nil && f.Op == workspace.OpDelete && !b.remove && version != nil && !onDisk(f.At()) {
		// A buffer that was never saved: empty, there is nothing of it left.
		edits = []protocol.TextDocumentEditElement{b.text(op, protocol.TextEdit{Range: m.rng(0, len(now))})}
	}
	if len(edits) > 0 {
		if f.Op == workspace.OpCreate && version == nil && b.create {
			c := &protocol.CreateFile{URI: u, Kind: "create"} // the package's own default would decode as a text edit
			c.ResourceOperation.Kind = c.Kind
			if b.encoder.keep {
				c.Options = &protocol.CreateFileOptions{IgnoreIfExists: &b.encoder.keep}
			}
			first = append(first, c)
		}
		doc := protocol.OptionalVersionedTextDocumentIdentifier{Version: version}
		doc.URI = u
		first = append(first, &protocol.TextDocumentEdit{TextDocument: doc, Edits: edits})
	}
	if op != nil {
		last = b.operation(f, op, u)
	}
	return first, last
}

// text returns an edit with its annotation, if the client is to get those.
func (b *editBuilder) text(h *workspace.Hunk, te protocol.TextEdit) protocol.TextDocumentEditElement {
	if !b.annotate {
		return &te
	}
	return &protocol.AnnotatedTextEdit{TextEdit: te, AnnotationID: b.annotation(h)}
}

func (b *editBuilder) annotation(h *workspace.Hunk) protocol.ChangeAnnotationIdentifier {
	id := protocol.ChangeAnnotationIdentifier(b.p.ID + "/" + h.ID)
	a := protocol.ChangeAnnotation{Label: "Redline: " + b.p.Title}
	if b.confirm {
		yes := true
		a.NeedsConfirmation = &yes
	}
	b.annotations[id] = a
	return id
}

// operation returns the renaming or deletion of a file, if the client can do it.
func (b *editBuilder) operation(f *workspace.FileChange, op *workspace.Hunk, u uri.URI) []protocol.DocumentChange {
	switch {
	case f.Op == workspace.OpRename && b.rename:
		c := &protocol.RenameFile{OldURI: u, NewURI: b.uriOf(f.NewPath), Kind: "rename"}
		c.ResourceOperation.Kind = c.Kind
		if b.annotate {
			c.AnnotationID = b.annotation(op)
		}
		return []protocol.DocumentChange{c}
	case f.Op == workspace.OpDelete && b.remove:
		c := &protocol.DeleteFile{URI: u, Kind: "delete"}
		c.ResourceOperation.Kind = c.Kind
		if b.annotate {
			c.AnnotationID = b.annotation(op)
		}
		return []protocol.DocumentChange{c}
	}
	return nil
}
