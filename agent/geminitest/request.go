package geminitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Request is a request as it came in.
type Request struct {
	Method string // streamGenerateContent, generateContent or countTokens
	Model  string // without "models/"
	Header http.Header
	Raw    json.RawMessage // the body
	// Body is the decoded body: as far as it could be, when it was refused.
	Body Body
	// Refused says why the request was refused before the script was asked; empty
	// when it was not. Step is the index of the step that answers, else -1.
	Refused string
	Step    int
}

// Body is what tests look at of a request for content.
type Body struct {
	Contents          []Content       `json:"contents"`
	SystemInstruction *Content        `json:"systemInstruction"`
	Tools             []Tool          `json:"tools"`
	ToolConfig        json.RawMessage `json:"toolConfig"`
	GenerationConfig  json.RawMessage `json:"generationConfig"`
	SafetySettings    json.RawMessage `json:"safetySettings"`
	CachedContent     string          `json:"cachedContent"`
}

// Content is one message.
type Content struct {
	Role  string `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one part of a message. Raw is all of it.
type Part struct {
	Raw              json.RawMessage   `json:"-"`
	Text             *string           `json:"text"`
	Thought          bool              `json:"thought"`
	Signature        string            `json:"thoughtSignature"`
	FunctionCall     *Call             `json:"functionCall"`
	FunctionResponse *FunctionResponse `json:"functionResponse"`
}

// FunctionResponse is the client's answer to a [Call].
type FunctionResponse struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
}

// Tool is one entry of a request's tools. Others than functions are in Raw.
type Tool struct {
	Raw       json.RawMessage       `json:"-"`
	Functions []FunctionDeclaration `json:"functionDeclarations"`
}

// FunctionDeclaration is a function the model may call.
type FunctionDeclaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
}

// UnmarshalJSON keeps the bytes.
func (p *Part) UnmarshalJSON(data []byte) error {
	type plain Part
	p.Raw = slices.Clone(data)
	return json.Unmarshal(data, (*plain)(p))
}

// UnmarshalJSON keeps the bytes.
func (t *Tool) UnmarshalJSON(data []byte) error {
	type plain Tool
	t.Raw = slices.Clone(data)
	return json.Unmarshal(data, (*plain)(t))
}

// Texts returns all text of the content, thoughts left out.
func (c Content) Texts() string {
	var b strings.Builder
	for _, p := range c.Parts {
		if p.Text != nil && !p.Thought {
			b.WriteString(*p.Text)
		}
	}
	return b.String()
}

// Responses returns the function responses of the content.
func (c Content) Responses() []FunctionResponse {
	var out []FunctionResponse
	for _, p := range c.Parts {
		if p.FunctionResponse != nil {
			out = append(out, *p.FunctionResponse)
		}
	}
	return out
}

// Calls returns the function calls of the content.
func (c Content) Calls() []Call {
	var out []Call
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			out = append(out, *p.FunctionCall)
		}
	}
	return out
}

// Output returns the member "output" of the response, or else "error" with
// isError set; both are strings in the API's convention.
func (r FunctionResponse) Output() (text string, isError bool) {
	var o struct{ Output, Error *string }
	if json.Unmarshal(r.Response, &o) != nil {
		return "", false
	}
	switch {
	case o.Output != nil:
		return *o.Output, false
	case o.Error != nil:
		return *o.Error, true
	}
	return "", false
}

// Last returns the last content; the zero Content if there is none.
func (r Request) Last() Content {
	if n := len(r.Body.Contents); n > 0 {
		return r.Body.Contents[n-1]
	}
	return Content{}
}

// Functions returns the names of the functions declared, in order.
func (r Request) Functions() []string {
	var out []string
	for _, t := range r.Body.Tools {
		for _, f := range t.Functions {
			out = append(out, f.Name)
		}
	}
	return out
}

// contains reports whether s occurs in a text, or in the name or a string of a
// function response, of c.
func (c Content) contains(s string) bool {
	for _, p := range c.Parts {
		if p.Text != nil && strings.Contains(*p.Text, s) {
			return true
		}
		if r := p.FunctionResponse; r != nil {
			var v any
			if strings.Contains(r.Name, s) || json.Unmarshal(r.Response, &v) == nil && hasString(v, s) {
				return true
			}
		}
	}
	return false
}

func hasString(v any, s string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, s)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return hasString(e, s) })
	case map[string]any:
		for _, e := range v {
			if hasString(e, s) {
				return true
			}
		}
	}
	return false
}

// tokens estimates the size of a request: four bytes of text are a token.
func (b Body) tokens() int {
	n := 0
	count := func(c Content) {
		for _, p := range c.Parts {
			switch {
			case p.Text != nil:
				n += len(*p.Text)
			default:
				n += len(p.Raw)
			}
		}
	}
	for _, c := range b.Contents {
		count(c)
	}
	if b.SystemInstruction != nil {
		count(*b.SystemInstruction)
	}
	for _, t := range b.Tools {
		n += len(t.Raw)
	}
	return (n + 3) / 4
}
