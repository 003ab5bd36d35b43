package lsptest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// handler finds how a request of the server is answered.
func (e *Editor) handler(method string) Handler {
	if h := e.opt.Handlers[method]; h != nil {
		if e.custom(method) && !e.declared(method) {
			return e.unknown // nobody listens in such an editor
		}
		return e.faulty(method, h)
	}
	switch method {
	case "workspace/applyEdit":
		return e.applyEdit
	case "window/showMessageRequest":
		return e.faulty(method, e.showMessage)
	case "workspace/configuration":
		return e.configuration
	case "workspace/workspaceFolders":
		return func(context.Context, json.RawMessage) (any, error) {
			return []any{map[string]any{"uri": URI(e.root), "name": "root"}}, nil
		}
	case "client/registerCapability":
		return e.register
	case "window/workDoneProgress/create":
		return e.createProgress
	case "window/showDocument":
		return func(context.Context, json.RawMessage) (any, error) { return map[string]bool{"success": true}, nil }
	case "client/unregisterCapability", "workspace/codeLens/refresh", "workspace/diagnostic/refresh",
		"workspace/inlayHint/refresh", "workspace/semanticTokens/refresh":
		return func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	}
	if e.declared(method) {
		switch method {
		case "agent/approve":
			return e.faulty(method, reject)
		case "agent/ask":
			return e.faulty(method, func(context.Context, json.RawMessage) (any, error) { return map[string]string{"answer": ""}, nil })
		case "editor/openBuffers":
			return e.faulty(method, e.openBuffers)
		case "editor/save":
			return e.faulty(method, e.saveBuffers)
		}
	}
	return e.unknown
}

// custom reports whether a method is redline's own.
func (e *Editor) custom(method string) bool {
	return strings.HasPrefix(method, "agent/") || strings.HasPrefix(method, "editor/")
}

// declared reports whether the client declared a method of redline's own.
func (e *Editor) declared(method string) bool {
	group, name, _ := strings.Cut(method, "/")
	switch group {
	case "agent":
		return e.offers("experimental", "redline", name)
	case "editor":
		return e.offers("experimental", "redline", "editor", name)
	}
	return false
}

// interactive reports whether a request waits for the user, so that the editor
// goes on reading meanwhile.
func (e *Editor) interactive(method string) bool {
	if method == "workspace/applyEdit" && e.opt.Handlers[method] == nil {
		return e.p.Fault == Late || e.p.Confirmation == RefactorPreview && e.opt.Preview != nil ||
			(e.p.Confirmation == ConfirmsEach || e.p.Confirmation == ConfirmsAll) && e.opt.Confirm != nil
	}
	return e.opt.Handlers[method] != nil || method == "window/showMessageRequest" || e.custom(method)
}

// faulty wraps what the user answers with the personality's fault.
func (e *Editor) faulty(method string, h Handler) Handler {
	if method == "workspace/applyEdit" || !e.custom(method) && method != "window/showMessageRequest" {
		return h
	}
	switch e.p.Fault {
	case Silent:
		return func(context.Context, json.RawMessage) (any, error) { return nil, ErrNoAnswer }
	case Late:
		return func(ctx context.Context, params json.RawMessage) (any, error) {
			untilCancelled(ctx)
			return h(context.WithoutCancel(ctx), params)
		}
	}
	return h
}

func (e *Editor) unknown(ctx context.Context, _ json.RawMessage) (any, error) {
	if e.p.SilentForUnknown {
		untilCancelled(ctx)
	}
	if e.p.NullForUnknown {
		return nil, nil
	}
	return nil, &ResponseError{Code: -32601, Message: "method not found"}
}

// reject answers agent/approve with the first option that rejects, which is also
// what the server must assume without an answer.
func reject(_ context.Context, params json.RawMessage) (any, error) {
	var p struct {
		Options []struct {
			OptionID string `json:"optionId"`
			Kind     string `json:"kind"`
		} `json:"options"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	for _, o := range p.Options {
		if o.Kind == "reject" {
			return map[string]string{"optionId": o.OptionID}, nil
		}
	}
	return nil, &ResponseError{Code: -32803, Message: "no option rejects"}
}

// Approve returns a handler of agent/approve that takes the first option of a
// kind: "once", "session", "always", "reject".
func Approve(kind string) Handler {
	return func(_ context.Context, params json.RawMessage) (any, error) {
		var p struct {
			Options []struct {
				OptionID string `json:"optionId"`
				Kind     string `json:"kind"`
			} `json:"options"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		for _, o := range p.Options {
			if o.Kind == kind {
				return map[string]string{"optionId": o.OptionID}, nil
			}
		}
		return nil, &ResponseError{Code: -32803, Message: "no option of kind " + kind}
	}
}

// showMessage is window/showMessageRequest.
func (e *Editor) showMessage(ctx context.Context, raw json.RawMessage) (any, error) {
	var p struct {
		Message string `json:"message"`
		Actions []struct {
			Title string `json:"title"`
		} `json:"actions"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	if e.p.Messages == MessageUnknown {
		return nil, &ResponseError{Code: -32601, Message: "method not found"}
	}
	var mine chan struct{}
	if e.p.Messages == MessageReplaced {
		mine = make(chan struct{})
		e.lock(func() {
			if e.replaced != nil {
				close(e.replaced)
			}
			e.replaced = mine
		})
	}
	title, ok := "", false
	if e.opt.Message != nil {
		var actions []string
		for _, a := range p.Actions {
			actions = append(actions, a.Title)
		}
		title, ok = e.opt.Message(ctx, p.Message, actions)
	}
	gone := false
	if mine != nil {
		e.lock(func() {
			select {
			case <-mine:
				gone = true
			default:
				e.replaced = nil
			}
		})
	}
	switch {
	case gone:
		return nil, ErrNoAnswer
	case ok:
		return map[string]string{"title": title}, nil
	case e.p.Messages == MessageQuit:
		return nil, ErrNoAnswer
	}
	return nil, nil
}

func (e *Editor) configuration(_ context.Context, raw json.RawMessage) (any, error) {
	var p struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	out := make([]any, len(p.Items))
	for i, it := range p.Items {
		out[i] = e.opt.Settings[it.Section]
	}
	return out, nil
}

func (e *Editor) register(_ context.Context, raw json.RawMessage) (any, error) {
	var p struct {
		Registrations []struct {
			ID     string `json:"id"`
			Method string `json:"method"`
		} `json:"registrations"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	e.lock(func() {
		for _, r := range p.Registrations {
			if r.ID == "" {
				e.violation("registration of %s without an id", r.Method)
			}
			e.watched = e.watched || r.Method == "workspace/didChangeWatchedFiles"
		}
	})
	return nil, nil
}

// openBuffers answers editor/openBuffers.
func (e *Editor) openBuffers(context.Context, json.RawMessage) (any, error) {
	buffers := []map[string]any{}
	e.lock(func() {
		for _, d := range e.docs {
			buffers = append(buffers, map[string]any{
				"uri": d.uri, "version": d.version, "languageId": languageID(d.path), "dirty": d.dirty,
			})
		}
	})
	slices.SortFunc(buffers, func(a, b map[string]any) int {
		return strings.Compare(a["uri"].(string), b["uri"].(string))
	})
	return map[string]any{"buffers": buffers}, nil
}

// saveBuffers answers editor/save.
func (e *Editor) saveBuffers(_ context.Context, raw json.RawMessage) (any, error) {
	var p struct {
		URIs []string `json:"uris"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	saved, failed := []string{}, []string{}
	e.lock(func() {
		for _, uri := range p.URIs {
			if d := e.docs[uri]; d != nil && d.path != "" && e.save(d) == nil {
				saved = append(saved, uri)
			} else {
				failed = append(failed, uri)
			}
		}
	})
	return map[string]any{"saved": saved, "failed": failed}, nil
}
