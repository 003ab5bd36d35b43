package agent

import (
	"encoding/json"
	"strings"

	"google.golang.org/genai"

	"redline/agent/model"
)

// History is the conversation. User and model turns alternate and every function
// call is answered, whatever happens: it can always be sent.
//
// What is sent is the curated history: without what the service refused, and with a
// summary in the place of what was compressed. The full one has everything.
type History struct {
	contents []model.Content
	full     []model.Content
}

// Contents returns what to send next.
func (h *History) Contents() []model.Content { return h.contents }

// Full returns everything that was said, in order. Roles need not alternate in it.
func (h *History) Full() []model.Content { return h.full }

// Replace puts other messages, which must be valid to send, in the place of those to
// send next.
func (h *History) Replace(contents []model.Content) { h.contents = contents }

// add appends a message of either role.
func (h *History) add(c model.Content) {
	if c.Role == model.RoleModel {
		h.AddModel(c.Parts)
	} else {
		h.AddUser(c.Parts...)
	}
}

// AddUser appends a user message; it joins one that the model has not answered.
func (h *History) AddUser(parts ...model.Part) {
	if len(parts) == 0 {
		return
	}
	h.full = append(h.full, model.Content{Role: model.RoleUser, Parts: parts})
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
	h.full = append(h.full, model.Content{Role: model.RoleModel, Parts: parts})
	h.contents = append(h.contents, model.Content{Role: model.RoleModel, Parts: parts})
}

// mark remembers where the history is now, for [History.dropSince].
func (h *History) mark() (m mark) {
	m.messages = len(h.contents)
	if m.messages > 0 {
		m.parts = len(h.contents[m.messages-1].Parts)
	}
	return m
}

// mark is a place in the history: a number of messages, and of parts of the last.
type mark struct{ messages, parts int }

// dropSince takes out what the user said after m and the model did not answer, so that
// it is not sent again: the service refused it. Responses to calls must stay; of them
// only the contents go.
func (h *History) dropSince(m mark) {
	n := len(h.contents)
	if n == 0 || h.contents[n-1].Role != model.RoleUser {
		return
	}
	last := h.contents[n-1]
	if hasResponses(last) {
		h.contents = append(h.contents[:n-1:n-1], withheld(last))
		return
	}
	keep := 0
	if m.messages == n {
		keep = min(m.parts, len(last.Parts))
	}
	if keep == 0 {
		h.contents = h.contents[: n-1 : n-1]
		return
	}
	last.Parts = last.Parts[:keep:keep]
	h.contents = append(h.contents[:n-1:n-1], last)
}

// withheld returns a message with responses to calls that says nothing of what they
// brought.
func withheld(c model.Content) model.Content {
	out := model.Content{Role: c.Role}
	for _, p := range c.Parts {
		r := p.Value().FunctionResponse
		if r == nil {
			continue
		}
		out.Parts = append(out.Parts, model.NewPart(&genai.Part{FunctionResponse: &genai.FunctionResponse{
			ID: r.ID, Name: r.Name, Response: map[string]any{"error": "What this brought is left out: the model's service refuses it."},
		}}))
	}
	return out
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

// cutTail takes n bytes off the end of the text that is growing.
func (a *answer) cutTail(n int) {
	text := a.text.String()
	a.text.Reset()
	a.text.WriteString(strings.ToValidUTF8(text[:max(0, len(text)-n)], ""))
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
	var out []model.Part
	says := false
	for _, p := range a.parts {
		_, isCall := p.FunctionCall()
		if isCall && !withCalls {
			continue
		}
		says = says || isCall || p.Value().Text != "" || !isText(p)
		out = append(out, p)
	}
	if !says { // a lone signature is no message
		return nil
	}
	return out
}

// isText reports whether a part is text, perhaps none of it, and nothing else but a
// signature.
func isText(p model.Part) bool {
	v := *p.Value()
	v.Text, v.ThoughtSignature = "", nil
	raw, err := json.Marshal(&v)
	var keys map[string]json.RawMessage
	return err == nil && string(raw) == "{}" && json.Unmarshal(p.Raw(), &keys) == nil && keys["text"] != nil
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
