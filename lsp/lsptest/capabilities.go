package lsptest

import "encoding/json"

// serverCapabilities are the ones the editor acts upon.
type serverCapabilities struct {
	PositionEncoding string          `json:"positionEncoding"`
	Sync             json.RawMessage `json:"textDocumentSync"`
	Workspace        struct {
		FileOperations map[string]json.RawMessage `json:"fileOperations"`
	} `json:"workspace"`
}

// syncKinds of LSP.
const (
	syncNone        = 0
	syncFull        = 1
	syncIncremental = 2
)

// sync returns how the server wants changes, and whether it wants saves with text.
func (s serverCapabilities) sync() (kind int, openClose, save, saveText bool) {
	if json.Unmarshal(s.Sync, &kind) == nil && len(s.Sync) > 0 {
		return kind, kind != syncNone, kind != syncNone, false
	}
	var o struct {
		OpenClose bool            `json:"openClose"`
		Change    int             `json:"change"`
		Save      json.RawMessage `json:"save"`
	}
	if json.Unmarshal(s.Sync, &o) != nil {
		return syncNone, false, false, false
	}
	var with struct {
		IncludeText bool `json:"includeText"`
	}
	if json.Unmarshal(o.Save, &save) != nil && len(o.Save) > 0 {
		save = json.Unmarshal(o.Save, &with) == nil
	}
	return o.Change, o.OpenClose, save, with.IncludeText
}

// RedlineCapabilities is capabilities.experimental.redline of a client that can
// do everything in WIRE.md §2.
func RedlineCapabilities() map[string]any {
	on := map[string]any{}
	return map[string]any{
		"version": 1, "proposals": on, "approve": on, "ask": on,
		"editor": map[string]any{
			"diagnostics": on, "definition": on, "references": on, "symbols": on, "hover": on,
			"rename": on, "openBuffers": on, "save": on, "format": on,
		},
	}
}

// capabilities are what the personality advertises.
func (e *Editor) capabilities() map[string]any {
	edit := map[string]any{"documentChanges": true}
	if len(e.p.ResourceOperations) > 0 {
		edit["resourceOperations"] = e.p.ResourceOperations
	}
	if e.p.Annotations {
		edit["changeAnnotationSupport"] = map[string]any{"groupsOnLabel": true}
	}
	caps := map[string]any{
		"workspace": map[string]any{
			"applyEdit": true, "workspaceEdit": edit, "configuration": true, "workspaceFolders": true,
			"didChangeConfiguration": map[string]any{"dynamicRegistration": true},
			"didChangeWatchedFiles":  map[string]any{"dynamicRegistration": true},
			"executeCommand":         map[string]any{},
		},
		"textDocument": map[string]any{
			"synchronization":    map[string]any{"didSave": true},
			"publishDiagnostics": map[string]any{"versionSupport": true},
			"codeAction": map[string]any{"codeActionLiteralSupport": map[string]any{
				"codeActionKind": map[string]any{"valueSet": []string{"", "quickfix", "refactor", "source"}},
			}},
		},
		"window": map[string]any{"workDoneProgress": true, "showDocument": map[string]any{"support": true}},
	}
	if e.p.Messages == MessageButtons || e.p.Messages == MessageQuit {
		caps["window"].(map[string]any)["showMessage"] = map[string]any{
			"messageActionItem": map[string]any{"additionalPropertiesSupport": true},
		}
	}
	if len(e.p.Encodings) > 0 {
		caps["general"] = map[string]any{"positionEncodings": e.p.Encodings}
	}
	if r := e.redline(); r != nil {
		caps["experimental"] = map[string]any{"redline": r}
	}
	merge(caps, e.opt.Capabilities)
	return caps
}

// redline returns the redline capabilities, nil for a plain client.
func (e *Editor) redline() map[string]any {
	switch {
	case e.opt.Plain || !e.p.Plugin:
		return nil
	case e.opt.Redline != nil:
		return e.opt.Redline
	}
	return RedlineCapabilities()
}

// offers reports whether the client declared a path of capabilities.
func (e *Editor) offers(path ...string) bool {
	var v any = e.caps
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		if v, ok = m[name]; !ok {
			return false
		}
	}
	return v != false
}

// merge lays src over dst, object by object.
func merge(dst, src map[string]any) {
	for k, v := range src {
		if v == nil {
			delete(dst, k)
			continue
		}
		d, ok1 := dst[k].(map[string]any)
		s, ok2 := v.(map[string]any)
		if ok1 && ok2 {
			merge(d, s)
		} else {
			dst[k] = v
		}
	}
}
