package agent

import (
	"encoding/json"
	"strings"

	"redline/agent/model"
)

// History is the conversation. User and model turns alternate and every function
// call is answered, whatever happens: it can always be sent.
type History struct {
	contents []model.Content
}

// Contents returns what to send next.
func (h *History) Contents() []model.Content { return h.contents }

// AddUser appends a user message; it joins one that the model has not answered.
func (h *History) AddUser(parts ...model.Part) {
	if len(parts) == 0 {
		return
	}
	if n := len(h.contents); n > 0 && h.contents[n-1].Role == model.RoleUser {
		last := &h.contents[n-1]
		last.Parts = append(last.Parts[:len(last.Parts):len(last.Parts)], parts...)
		return
	}
	h.contents = append(h.contents, model.Content{Role: model.RoleUser, Parts: parts})
}

// AddModel appends the model's message. One with nothing in it is left out: the
// API refuses it, and the next user message then joins the one before.
func (h *History) AddModel(parts []model.Part) {
	if len(parts) == 0 {
		return
	}
	h.contents = append(h.contents, model.Content{Role: model.RoleModel, Parts: parts})
}

// endsWithModel reports whether the model spoke last.
func (h *History) endsWithModel() bool {
	n := len(h.contents)
	return n > 0 && h.contents[n-1].Role == model.RoleModel
}

// answer collects the parts of one model message as they stream in.
type answer struct {
	parts []model.Part
	text  strings.Builder // of the plain text part that is growing, not yet in parts
}

// add takes a part. Thoughts are not kept. Plain text is joined; a part that
// carries anything else, such as a thought signature, stays as it came.
func (a *answer) add(p model.Part) {
	v := p.Value()
	if v.Thought {
		return
	}
	if isPlainText(p) {
		a.text.WriteString(v.Text)
		return
	}
	a.flush()
	a.parts = append(a.parts, p)
}

func (a *answer) flush() {
	if a.text.Len() > 0 {
		a.parts = append(a.parts, model.Text(a.text.String()))
		a.text.Reset()
	}
}

// done returns the message; withCalls says whether its function calls are kept,
// which they must not be when nobody is going to answer them.
func (a *answer) done(withCalls bool) []model.Part {
	a.flush()
	if withCalls {
		return a.parts
	}
	var out []model.Part
	for _, p := range a.parts {
		if _, isCall := p.FunctionCall(); !isCall {
			out = append(out, p)
		}
	}
	return out
}

func isPlainText(p model.Part) bool {
	raw, err := p.MarshalJSON()
	if err != nil {
		return false
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return false
	}
	delete(keys, "text")
	if string(keys["thought"]) == "false" {
		delete(keys, "thought")
	}
	return len(keys) == 0
}
