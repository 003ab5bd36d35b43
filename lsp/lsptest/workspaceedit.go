package lsptest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// workspaceEdit is LSP's WorkspaceEdit as it came over the wire.
type workspaceEdit struct {
	Changes         map[string][]TextEdit `json:"changes"`
	DocumentChanges []documentChange      `json:"documentChanges"`
	Annotations     map[string]annotation `json:"changeAnnotations"`
}

type annotation struct {
	Label             string `json:"label"`
	NeedsConfirmation bool   `json:"needsConfirmation"`
	Description       string `json:"description"`
}

// documentChange is a TextDocumentEdit, or an operation on a file when kind is set.
type documentChange struct {
	TextDocument *struct {
		URI     string          `json:"uri"`
		Version json.RawMessage `json:"version"`
	} `json:"textDocument"`
	Edits []TextEdit `json:"edits"`

	Kind         string `json:"kind"`
	URI          string `json:"uri"`
	OldURI       string `json:"oldUri"`
	NewURI       string `json:"newUri"`
	AnnotationID string `json:"annotationId"`
	Options      struct {
		Overwrite         bool `json:"overwrite"`
		IgnoreIfExists    bool `json:"ignoreIfExists"`
		Recursive         bool `json:"recursive"`
		IgnoreIfNotExists bool `json:"ignoreIfNotExists"`
	} `json:"options"`
}

// version is the required version of a TextDocumentEdit, nil for any.
func (c *documentChange) version() *int {
	var v *int
	_ = json.Unmarshal(c.TextDocument.Version, &v) // checked by checkEdit
	return v
}

// Change is one entry of a preview: a text edit or an operation on a file.
type Change struct {
	Kind              string // "edit", "create", "rename", "delete"
	URI               string // of what is changed, the old one of a rename
	NewURI            string // of a rename
	Edit              TextEdit
	Label             string // of the annotation; of the whole edit for eglot
	Description       string
	NeedsConfirmation bool
	// Ticked is how the entry starts in VS Code's preview.
	Ticked bool

	change, edit int // where it stands in the workspace edit
}

// operations brings both forms of a workspace edit into one.
func (w *workspaceEdit) operations() []documentChange {
	if len(w.DocumentChanges) > 0 {
		return w.DocumentChanges
	}
	var out []documentChange
	for _, uri := range slices.Sorted(maps.Keys(w.Changes)) {
		c := documentChange{Edits: w.Changes[uri]}
		c.TextDocument = &struct {
			URI     string          `json:"uri"`
			Version json.RawMessage `json:"version"`
		}{URI: uri, Version: json.RawMessage("null")}
		out = append(out, c)
	}
	return out
}

// entries lists the changes as a preview shows them.
func (w *workspaceEdit) entries() []Change {
	var out []Change
	add := func(c Change, annotationID string) {
		a := w.Annotations[annotationID]
		c.Label, c.Description, c.NeedsConfirmation = a.Label, a.Description, a.NeedsConfirmation
		c.Ticked = !a.NeedsConfirmation
		out = append(out, c)
	}
	for i, op := range w.operations() {
		if op.TextDocument == nil {
			c := Change{Kind: op.Kind, URI: op.URI, NewURI: op.NewURI, change: i, edit: -1}
			if op.Kind == "rename" {
				c.URI = op.OldURI
			}
			add(c, op.AnnotationID)
			continue
		}
		for j, ed := range op.Edits {
			add(Change{Kind: "edit", URI: op.TextDocument.URI, Edit: ed, change: i, edit: j}, ed.AnnotationID)
		}
	}
	return out
}

// only returns the operations with nothing but the kept entries in them.
func only(ops []documentChange, kept []Change) []documentChange {
	var out []documentChange
	for i, op := range ops {
		picked := op
		picked.Edits = nil
		any := false
		for _, c := range kept {
			if c.change != i {
				continue
			}
			any = true
			if c.edit >= 0 {
				picked.Edits = append(picked.Edits, op.Edits[c.edit])
			}
		}
		if any {
			out = append(out, picked)
		}
	}
	return out
}

// checkEdit holds a workspace edit to the protocol; mu is held.
func (e *Editor) checkEdit(raw json.RawMessage, w *workspaceEdit) {
	bad := func(format string, args ...any) { e.violation("applyEdit: "+format, args...) }
	if len(w.Changes) > 0 {
		bad("changes although the client supports documentChanges")
	}
	if len(w.Changes) == 0 && len(w.DocumentChanges) == 0 {
		bad("nothing to apply: %.200s", raw)
	}
	used := map[string]bool{}
	annotated := func(id string) {
		if id == "" {
			return
		}
		used[id] = true
		if !e.p.Annotations {
			bad("annotation %q although the client does not support them", id)
		}
		if a, ok := w.Annotations[id]; !ok {
			bad("annotation %q is not among the changeAnnotations", id)
		} else if a.Label == "" {
			bad("annotation %q has no label", id)
		}
	}
	for i := range w.DocumentChanges {
		c := &w.DocumentChanges[i]
		if c.TextDocument == nil {
			e.checkOperation(c, bad)
			annotated(c.AnnotationID)
			continue
		}
		if c.Kind != "" {
			bad("a TextDocumentEdit with the kind %q", c.Kind)
		}
		e.checkTextEdits(c, bad)
		for _, ed := range c.Edits {
			annotated(ed.AnnotationID)
		}
	}
	for id := range w.Annotations {
		if !used[id] {
			bad("annotation %q is not used", id)
		}
	}
}

func (e *Editor) checkOperation(c *documentChange, bad func(string, ...any)) {
	switch c.Kind {
	case "create", "delete":
		if PathOf(c.URI) == "" {
			bad("%s of %q, which is no file", c.Kind, c.URI)
		}
	case "rename":
		if PathOf(c.OldURI) == "" || PathOf(c.NewURI) == "" {
			bad("rename of %q to %q, which are not both files", c.OldURI, c.NewURI)
		}
	default:
		bad("operation without a valid kind: %q", c.Kind)
		return
	}
	if !contains(e.p.ResourceOperations, c.Kind) {
		bad("operation %s although the client does not offer it", c.Kind)
	}
}

func (e *Editor) checkTextEdits(c *documentChange, bad func(string, ...any)) {
	uri := c.TextDocument.URI
	var v *int
	if err := json.Unmarshal(c.TextDocument.Version, &v); err != nil {
		bad("version of %s is %s, want an integer or null", uri, orMissing(c.TextDocument.Version))
	}
	d := e.docs[uri]
	if d == nil {
		if PathOf(uri) == "" {
			bad("edit of %q, which is neither open nor a file", uri)
		}
		return
	}
	if v == nil {
		if e.p.RefusesUnversioned {
			return // it may have been opened while the edit was on its way
		}
		bad("edit of the open document %s without a version", uri)
		return
	}
	text, known := d.history[*v]
	if !known {
		bad("edit of %s for version %d, which never was (now %d)", uri, *v, d.version)
		return
	}
	if _, problems := splices(text, c.Edits, e.Encoding); len(problems) > 0 {
		bad("%s version %d: %s", uri, *v, problems)
	}
}

func orMissing(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	return fmt.Sprintf("%.80s", raw)
}
