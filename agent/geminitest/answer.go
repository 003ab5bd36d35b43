package geminitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// encode returns v as JSON with "<", ">" and "&" as they are, as Google sends it.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("geminitest: encode an answer: %v", err)) // the script has been checked
	}
	return bytes.TrimSpace(b.Bytes())
}

// The messages of an answer, in the order of members that the API has.
type (
	wireEvent struct {
		Candidates     []wireCandidate `json:"candidates,omitempty"`
		PromptFeedback *wireFeedback   `json:"promptFeedback,omitempty"`
		Usage          *Usage          `json:"usageMetadata,omitempty"`
		ModelVersion   string          `json:"modelVersion"`
		ResponseID     string          `json:"responseId"`
	}
	wireCandidate struct {
		Content       wireContent `json:"content"`
		FinishReason  string      `json:"finishReason,omitempty"`
		FinishMessage string      `json:"finishMessage,omitempty"`
		Index         int         `json:"index"`
	}
	wireContent struct {
		Parts []json.RawMessage `json:"parts,omitempty"`
		Role  string            `json:"role,omitempty"`
	}
	wireFeedback struct {
		BlockReason string `json:"blockReason"`
	}
	wirePart struct {
		Text      *string   `json:"text,omitempty"`
		Call      *wireCall `json:"functionCall,omitempty"`
		Thought   bool      `json:"thought,omitempty"`
		Signature string    `json:"thoughtSignature,omitempty"`
	}
	wireCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
)

// event is one event with what to wait for before it.
type event struct {
	gate    string
	delayMS int
	data    json.RawMessage
}

// parts returns the chunk's parts.
func (c Chunk) parts() []json.RawMessage {
	var out []json.RawMessage
	if c.Thought != "" {
		out = append(out, encode(wirePart{Text: &c.Thought, Thought: true}))
	}
	if text := strings.Repeat(c.Text, max(c.Repeat, 1)); text != "" || c.Signature != "" {
		out = append(out, encode(wirePart{Text: &text, Signature: c.Signature}))
	}
	for _, call := range c.calls() {
		args := call.Args
		if len(args) == 0 {
			args = json.RawMessage(`{}`)
		}
		out = append(out, encode(wirePart{Call: &wireCall{ID: call.ID, Name: call.Name, Args: args}, Signature: call.Signature}))
	}
	return append(out, c.Parts...)
}

// finish returns the finish reason, empty where there is none.
func (s Step) finish() string {
	switch {
	case s.Fault != "" || s.Error != nil || s.Block != "":
		return ""
	case s.Finish == "":
		return "STOP"
	}
	return s.Finish
}

// usage returns the counts of the whole answer to req.
func (s Step) usage(req *Request) Usage {
	var u Usage
	if s.Usage != nil {
		u = *s.Usage
	} else {
		u.Prompt = req.Body.tokens()
		for _, c := range s.Chunks {
			u.Thoughts += (len(c.Thought) + 3) / 4
			u.Candidates += (len(c.Text)*max(c.Repeat, 1) + 3) / 4
			for _, call := range c.calls() {
				u.Candidates += (len(call.Name) + len(call.Args) + 3) / 4
			}
		}
	}
	if u.Total == 0 {
		u.Total = u.Prompt + u.Candidates + u.Thoughts
	}
	return u
}

// events returns what the step streams; end is the event after the end gate, if
// any. The faults and the error are not part of it.
func (s Step) events(req *Request, id string) (events []event, end json.RawMessage) {
	full := s.usage(req)
	early := Usage{Prompt: full.Prompt, Cached: full.Cached, Total: full.Prompt}
	finish := s.finish()
	for i, c := range s.Chunks {
		e := event{gate: c.Gate, delayMS: c.DelayMS, data: c.Event}
		if c.Event == nil {
			w := wireEvent{
				Candidates: []wireCandidate{{Content: wireContent{Parts: c.parts(), Role: "model"}}},
				Usage:      &early, ModelVersion: req.Model, ResponseID: id,
			}
			if i == len(s.Chunks)-1 && finish != "" && s.EndGate == "" {
				w.Candidates[0].FinishReason, w.Candidates[0].FinishMessage = finish, s.FinishMessage
				w.Usage, finish = &full, ""
			}
			e.data = encode(w)
		}
		events = append(events, e)
	}
	last := wireEvent{Usage: &full, ModelVersion: req.Model, ResponseID: id}
	switch {
	case s.Block != "":
		last.PromptFeedback = &wireFeedback{BlockReason: s.Block}
		return events, encode(last)
	case finish != "":
		last.Candidates = []wireCandidate{{Content: wireContent{Role: "model"}, FinishReason: finish, FinishMessage: s.FinishMessage}}
		return events, encode(last)
	}
	return events, nil
}

// whole returns the answer of the step as one message.
func (s Step) whole(req *Request, id string) json.RawMessage {
	full := s.usage(req)
	w := wireEvent{Usage: &full, ModelVersion: req.Model, ResponseID: id}
	if s.Block != "" {
		w.PromptFeedback = &wireFeedback{BlockReason: s.Block}
		return encode(w)
	}
	var parts []json.RawMessage
	text := ""
	flush := func() {
		if text != "" {
			parts = append(parts, encode(wirePart{Text: &text}))
			text = ""
		}
	}
	for _, c := range s.Chunks {
		if c.Event != nil {
			return c.Event // the author of the step knows what it answers
		}
		if c.Signature == "" && c.Thought == "" {
			text += strings.Repeat(c.Text, max(c.Repeat, 1))
			c.Text = ""
		}
		if more := c.parts(); len(more) > 0 {
			flush()
			parts = append(parts, more...)
		}
	}
	flush()
	w.Candidates = []wireCandidate{{
		Content: wireContent{Parts: parts, Role: "model"}, FinishReason: s.finish(), FinishMessage: s.FinishMessage,
	}}
	return encode(w)
}
