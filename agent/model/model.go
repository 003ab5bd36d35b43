// Package model is the shape of a conversation with a generative model: what a
// session sends, what a backend streams back, and the errors both agree on.
//
// It exists so that the turn loop (package agent), the backends (agent/gemini)
// and what wraps them (retry, recording) share one vocabulary without knowing
// each other. The vocabulary is Gemini's own, because that is the wire.
package model

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"

	"google.golang.org/genai"
)

// Role says who speaks in a [Content].
type Role string

// The two roles of the Gemini API.
const (
	RoleUser  Role = "user"
	RoleModel Role = "model"
)

// Content is one message of the conversation.
type Content struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// UserText returns a user message with a single text part.
func UserText(text string) Content {
	return Content{Role: RoleUser, Parts: []Part{Text(text)}}
}

// Text returns the concatenated text parts of c, thoughts left out.
func (c Content) Text() string {
	var s string
	for _, p := range c.Parts {
		if v := p.Value(); v.Text != "" && !v.Thought {
			s += v.Text
		}
	}
	return s
}

// Request asks a model for the next message.
type Request struct {
	// Model is the name of the model without the "models/" prefix.
	Model string
	// Contents is the whole conversation, oldest first. It is sent byte for byte:
	// see [Part].
	Contents []Content
	// Config holds the system instruction, tools and generation parameters.
	Config *genai.GenerateContentConfig
	// PromptID names the user's prompt this request belongs to; it goes to
	// backends that want one (Code Assist) and to telemetry.
	PromptID string
	// SessionID names the conversation, for backends that want it (Code Assist).
	SessionID string
}

// Chunk is one streamed piece of an answer.
type Chunk struct {
	// Parts are the parts of the first candidate, as received.
	Parts []Part
	// FinishReason is set in the last chunk of an answer, else empty.
	FinishReason genai.FinishReason
	// FinishMessage is the API's explanation of an unusual FinishReason.
	FinishMessage string
	// BlockReason is set when the prompt itself was refused.
	BlockReason string
	// Usage is the running token count, nil when the chunk has none.
	Usage *genai.GenerateContentResponseUsageMetadata
	// Grounding holds search grounding, nil when the chunk has none.
	Grounding *genai.GroundingMetadata
	// URLContext holds what the url_context tool fetched, nil when absent.
	URLContext *genai.URLContextMetadata
	// ModelVersion is the concrete model that answered, when told.
	ModelVersion string
}

// ContentGenerator produces the model's next message.
//
// Stream ends after the chunk with a finish reason, or yields one error, as the
// last pair, that is an [*Error] or the context's error. A stream that ends with
// neither is itself reported as an [*Error] with Kind [KindCut].
type ContentGenerator interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[*Chunk, error]
}

// TokenCounter counts the tokens of a conversation; backends may offer it.
type TokenCounter interface {
	CountTokens(ctx context.Context, req *Request) (int, error)
}

// Lister lists the models the credentials may use; backends may offer it.
type Lister interface {
	ListModels(ctx context.Context) ([]Info, error)
}

// Info describes one model.
type Info struct {
	Name        string `json:"name"` // without "models/"
	DisplayName string `json:"displayName,omitempty"`
	InputLimit  int    `json:"inputTokenLimit,omitempty"`  // tokens
	OutputLimit int    `json:"outputTokenLimit,omitempty"` // tokens
	Thinking    bool   `json:"thinking,omitempty"`
}

// Part is one part of a message.
//
// A part that came from the API keeps its bytes and is sent back with them.
// Decoding and encoding again is not the same: it drops an empty text beside a
// thought signature (the API then refuses the history with 400), rounds integers
// above 2^53 and turns kinds of parts this build does not know into {}.
type Part struct {
	raw   json.RawMessage
	value *genai.Part
}

// NewPart returns a part made here, not received.
func NewPart(v *genai.Part) Part {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // code is full of <, > and &
	if err := enc.Encode(v); err != nil {
		// genai.Part holds nothing that cannot be encoded but maps of our own making.
		return Part{raw: json.RawMessage(`{}`), value: v}
	}
	return Part{raw: bytes.TrimSpace(b.Bytes()), value: v}
}

// Text returns a text part.
func Text(s string) Part { return NewPart(&genai.Part{Text: s}) }

// RawPart returns a part that keeps raw, which must be a JSON object.
func RawPart(raw json.RawMessage) (Part, error) {
	var p Part
	err := p.UnmarshalJSON(raw)
	return p, err
}

// Value returns the decoded part. It is never nil and must not be modified.
func (p Part) Value() *genai.Part {
	if p.value == nil {
		return &genai.Part{}
	}
	return p.value
}

// Raw returns the bytes as received, or as first encoded. They must not be modified.
func (p Part) Raw() json.RawMessage { return p.raw }

// Size returns the number of bytes of the part as JSON.
func (p Part) Size() int { return len(p.raw) }

// MarshalJSON returns the bytes as received, or as first encoded.
func (p Part) MarshalJSON() ([]byte, error) {
	if p.raw == nil {
		return []byte(`{}`), nil
	}
	return p.raw, nil
}

// UnmarshalJSON keeps a copy of data beside its decoded value.
func (p *Part) UnmarshalJSON(data []byte) error {
	var v genai.Part
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	p.raw, p.value = append(json.RawMessage(nil), data...), &v
	return nil
}

// FunctionCall returns the call in p, with its arguments as received, and
// whether p holds one.
func (p Part) FunctionCall() (FunctionCall, bool) {
	v := p.Value()
	if v.FunctionCall == nil {
		return FunctionCall{}, false
	}
	var wire struct {
		FunctionCall struct {
			ID   string          `json:"id"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"functionCall"`
	}
	if err := json.Unmarshal(p.raw, &wire); err != nil {
		return FunctionCall{}, false
	}
	c := FunctionCall(wire.FunctionCall)
	if len(c.Args) == 0 || string(c.Args) == "null" {
		c.Args = json.RawMessage(`{}`)
	}
	return c, true
}

// FunctionCall is the model's wish to have a function called.
type FunctionCall struct {
	ID   string // empty when the backend gives none
	Name string
	Args json.RawMessage // a JSON object; numbers as the model wrote them
}
