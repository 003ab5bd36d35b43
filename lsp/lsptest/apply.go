package lsptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// applyResult is LSP's ApplyWorkspaceEditResult.
type applyResult struct {
	Applied       bool   `json:"applied"`
	FailureReason string `json:"failureReason,omitempty"`
	FailedChange  *int   `json:"failedChange,omitempty"`
}

// applyEdit is the handler of workspace/applyEdit.
func (e *Editor) applyEdit(ctx context.Context, raw json.RawMessage) (any, error) {
	var p struct {
		Label string        `json:"label"`
		Edit  workspaceEdit `json:"edit"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		e.violation("applyEdit: %v", err)
		return nil, &ResponseError{Code: -32602, Message: err.Error()}
	}
	var refused *applyResult
	e.lock(func() {
		e.checkEdit(raw, &p.Edit)
		if e.p.ChecksAllFirst {
			refused = e.checkVersions(p.Edit.operations())
		}
	})
	if refused != nil {
		return refused, nil
	}
	switch e.p.Fault {
	case Silent:
		return nil, ErrNoAnswer
	case Late:
		untilCancelled(ctx)
	}
	if e.modal() {
		e.dialog.Lock() // nobody types until the edit is done or not
		defer e.dialog.Unlock()
	}
	ops, done := e.confirm(p.Label, &p.Edit)
	if done != nil {
		return done, nil
	}
	if e.p.Fault == Half {
		all := p.Edit.entries()
		ops = only(ops, all[:len(all)/2])
	}
	var result *applyResult
	var err error
	e.lock(func() { result, err = e.perform(ops) })
	if err != nil {
		return nil, err
	}
	return result, nil
}

// modal reports whether the editor stands still while it asks about an edit.
func (e *Editor) modal() bool {
	return e.opt.Confirm != nil && (e.p.Confirmation == ConfirmsEach || e.p.Confirmation == ConfirmsAll)
}

// confirm lets the user decide; it returns what is to be done, or the answer
// when that is decided already.
func (e *Editor) confirm(label string, w *workspaceEdit) (ops []documentChange, done *applyResult) {
	ops = w.operations()
	entries := w.entries()
	needed := false
	for _, c := range entries {
		needed = needed || c.NeedsConfirmation
	}
	switch {
	case e.p.Confirmation == ConfirmsAll:
		if e.opt.Confirm != nil && !e.opt.Confirm(Change{Kind: "edit", Label: label}) {
			return nil, &applyResult{Applied: true} // as measured: it says so whatever happened
		}
	case e.p.Confirmation == ConfirmsEach && needed:
		var kept []Change
		for _, c := range entries {
			if !c.NeedsConfirmation || e.opt.Confirm == nil || e.opt.Confirm(c) {
				kept = append(kept, c)
			}
		}
		ops = only(ops, kept)
	case e.p.Confirmation == RefactorPreview && needed:
		kept, ok := e.preview(entries)
		if !ok || len(kept) == 0 {
			return nil, &applyResult{}
		}
		ops = only(ops, kept)
	}
	return ops, nil
}

// preview shows VS Code's Refactor Preview.
func (e *Editor) preview(entries []Change) (kept []Change, ok bool) {
	if e.opt.Preview == nil {
		for _, c := range entries {
			if c.Ticked {
				kept = append(kept, c)
			}
		}
		return kept, true
	}
	ticked, ok := e.opt.Preview(entries)
	on := map[int]bool{}
	for _, i := range ticked {
		if i < 0 || i >= len(entries) {
			e.t.Errorf("lsptest: Preview ticked entry %d of %d", i, len(entries))
		}
		on[i] = true
	}
	for i, c := range entries {
		if on[i] {
			kept = append(kept, c)
		}
	}
	return kept, ok
}

// checkVersions refuses an edit if the version of any open document is not the
// one asked for; mu is held.
func (e *Editor) checkVersions(ops []documentChange) *applyResult {
	for i := range ops {
		if ops[i].TextDocument == nil {
			continue
		}
		d, v := e.docs[ops[i].TextDocument.URI], ops[i].version()
		if d != nil && (v != nil && *v != d.version || v == nil && d.dirty && e.p.RefusesUnversioned) {
			return &applyResult{}
		}
	}
	return nil
}

// perform does the operations in order; mu is held, which includes the disk: the
// documents and the messages about them keep one order.
func (e *Editor) perform(ops []documentChange) (*applyResult, error) {
	if e.p.ChecksAllFirst { // again: the user may have typed during the preview
		if refused := e.checkVersions(ops); refused != nil {
			return refused, nil
		}
	}
	e.applying = map[*document]bool{}
	defer func() { e.applying = nil }()
	for i := range ops {
		verdict, why := e.performOne(&ops[i], i)
		if why == nil {
			continue
		}
		switch verdict {
		case Skips, Applies:
		case Refuses:
			r := &applyResult{}
			if e.p.NamesFailure {
				r.FailureReason = why.Error()
			}
			if e.p.NamesChange {
				r.FailedChange = &i
			}
			return r, nil
		case Fails:
			return nil, &ResponseError{Code: -32603, Message: why.Error()}
		}
	}
	if e.p.Fault == Formats {
		for d := range e.applying {
			text := d.text
			if e.opt.Format != nil {
				text = e.opt.Format(d.path, text)
			} else {
				text = strings.ReplaceAll(text, "\t", "    ")
			}
			if text != d.text {
				e.change(d, e.whole(d, text), true)
			}
		}
	}
	return &applyResult{Applied: true}, nil
}

// performOne does one operation. When something is not as the edit expects, it
// returns why, and how the editor takes it.
func (e *Editor) performOne(op *documentChange, index int) (Verdict, error) {
	if op.TextDocument != nil {
		return e.performEdits(op, e.p.ChecksAllFirst || index > 0 && e.p.ChecksFirstOnly)
	}
	err := e.performFile(op)
	if err != nil && op.Kind == "rename" && e.p.IgnoresBadRename {
		return Skips, nil
	}
	return e.p.Broken, err
}

func (e *Editor) performEdits(op *documentChange, anyVersion bool) (Verdict, error) {
	uri := op.TextDocument.URI
	d := e.docs[uri]
	if d == nil {
		path := PathOf(uri)
		if path == "" {
			return e.p.Broken, fmt.Errorf("cannot open %s", uri)
		}
		var err error
		if d, err = e.open(path); err != nil {
			return e.p.Broken, err
		}
	} else if v := op.version(); v != nil && *v != d.version && !anyVersion && !(*v == 0 && e.p.IgnoresVersion0) {
		verdict, why := e.p.Stale, fmt.Errorf("%s has version %d, not %d", uri, d.version, *v)
		if *v > d.version {
			verdict = e.p.Future
		}
		if verdict != Applies {
			return verdict, why
		}
	}
	if len(op.Edits) == 0 {
		return Skips, nil
	}
	list, _ := splices(d.text, op.Edits, e.Encoding)
	step := !e.applying[d]
	e.applying[d] = true
	e.change(d, list, step)
	return Applies, nil
}

// performFile creates, renames or deletes on the disk; documents follow.
func (e *Editor) performFile(op *documentChange) error {
	if !contains(e.p.ResourceOperations, op.Kind) {
		return fmt.Errorf("operation %q is not supported", op.Kind)
	}
	o := op.Options
	switch op.Kind {
	case "create":
		path := PathOf(op.URI)
		if exists(path) && !o.Overwrite {
			if o.IgnoreIfExists {
				return nil
			}
			if !e.p.CreateTruncates {
				return fmt.Errorf("%s exists", path)
			}
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
		if d := e.docs[op.URI]; d != nil { // overwritten under its editor
			e.change(d, e.whole(d, ""), true)
			d.dirty = false
		}
		e.fileEvent("Create", map[string]any{"uri": op.URI})
		e.watchEvent(1, op.URI)
	case "rename":
		return e.rename(op)
	case "delete":
		path := PathOf(op.URI)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && o.IgnoreIfNotExists:
			return nil
		case err != nil:
			return err
		case info.IsDir() && o.Recursive:
			err = os.RemoveAll(path)
		default:
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
		for _, d := range e.below(op.URI) {
			e.close(d)
		}
		e.fileEvent("Delete", map[string]any{"uri": op.URI})
		e.watchEvent(3, op.URI)
	}
	return nil
}

func (e *Editor) rename(op *documentChange) error {
	from, to := PathOf(op.OldURI), PathOf(op.NewURI)
	if !exists(from) && e.docs[op.OldURI] == nil {
		return fmt.Errorf("%s does not exist", from)
	}
	if exists(to) && !op.Options.Overwrite {
		if op.Options.IgnoreIfExists {
			return nil
		}
		return fmt.Errorf("%s exists", to)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if exists(from) {
		if err := os.Rename(from, to); err != nil {
			return err
		}
	}
	for _, d := range e.below(op.OldURI) {
		e.close(d)
		d.uri = op.NewURI + strings.TrimPrefix(d.uri, op.OldURI)
		d.path = PathOf(d.uri)
		d.version = e.p.FirstVersion
		d.history = map[int]string{}
		e.show(d)
	}
	e.fileEvent("Rename", map[string]any{"oldUri": op.OldURI, "newUri": op.NewURI})
	e.watchEvent(3, op.OldURI)
	e.watchEvent(1, op.NewURI)
	return nil
}

// below returns the open documents at or below a URI.
func (e *Editor) below(uri string) (out []*document) {
	for u, d := range e.docs {
		if u == uri || strings.HasPrefix(u, uri+"/") {
			out = append(out, d)
		}
	}
	return out
}

// fileEvent tells the server what was done with a file, if both sides do that.
func (e *Editor) fileEvent(what string, file map[string]any) {
	if _, wanted := e.server.Workspace.FileOperations["did"+what]; wanted && e.p.FileEvents {
		e.put(&message{Method: "workspace/did" + what + "Files", Params: mustJSON(map[string]any{"files": []any{file}})})
	}
}

// watchEvent sends didChangeWatchedFiles (1 created, 2 changed, 3 deleted) if the
// server registered for it.
func (e *Editor) watchEvent(typ int, uri string) {
	if e.watched {
		e.put(&message{Method: "workspace/didChangeWatchedFiles", Params: mustJSON(map[string]any{
			"changes": []any{map[string]any{"uri": uri, "type": typ}},
		})})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
