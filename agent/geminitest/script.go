package geminitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// DefaultKey is the API key of a [Script] that names none.
const DefaultKey = "test-key"

// DefaultModels are the models of a [Script] that names none.
var DefaultModels = []string{"gemini-2.5-pro", "gemini-2.5-flash", "gemini-test"}

// Script is what a [Server] knows and answers.
type Script struct {
	APIKey string   `json:"apiKey,omitempty"` // empty: DefaultKey
	Models []string `json:"models,omitempty"` // empty: DefaultModels
	Steps  []Step   `json:"steps"`
	// Log, if set, is called with each request for content or tokens when it has
	// been read and judged, before it is answered, one at a time.
	Log func(Request) `json:"-"`
}

// Step answers one request for content.
type Step struct {
	// When must occur in the last content of the request: in a text, or in the name
	// or a string of a function response. Empty fits every request.
	When string `json:"when,omitempty"`
	// Model restricts the step to requests to that model.
	Model string `json:"model,omitempty"`
	// Times is how many requests the step answers; 0 means one, -1 means all.
	Times int `json:"times,omitempty"`
	// Optional is for a step that may remain unused at the end of a test.
	Optional bool `json:"optional,omitempty"`

	// Gate names a gate to wait for before the answer begins, its headers included.
	Gate   string  `json:"gate,omitempty"`
	Chunks []Chunk `json:"chunks,omitempty"`
	// EndGate names a gate to wait for after the last chunk. The finish reason then
	// comes in an event of its own.
	EndGate string `json:"endGate,omitempty"`

	// Finish is the finish reason; empty: STOP.
	Finish        string `json:"finish,omitempty"`
	FinishMessage string `json:"finishMessage,omitempty"`
	// Block is the reason why the prompt is refused; there is no candidate then.
	Block string `json:"block,omitempty"`
	Usage *Usage `json:"usage,omitempty"` // nil: estimated

	// Error is answered instead of content; after chunks, as an event in the stream.
	Error *Error `json:"error,omitempty"`
	// Fault is what goes wrong after the chunks.
	Fault Fault `json:"fault,omitempty"`
	Wire  Wire  `json:"wire,omitzero"`
}

// Chunk is one event of a streamed answer.
type Chunk struct {
	Thought string `json:"thought,omitempty"`
	Text    string `json:"text,omitempty"`
	Repeat  int    `json:"repeat,omitempty"` // Text so many times in a row; 0 is once
	Call    *Call  `json:"call,omitempty"`
	Calls   []Call `json:"calls,omitempty"`
	// Signature is the thought signature, in base64, of the text part, which may be
	// empty.
	Signature string `json:"thoughtSignature,omitempty"`
	// Parts are further parts, sent as they are.
	Parts []json.RawMessage `json:"parts,omitempty"`
	// Event is the whole event, sent as it is, in place of all the above.
	Event json.RawMessage `json:"event,omitempty"`

	Gate    string `json:"gate,omitempty"`    // to wait for before the chunk
	DelayMS int    `json:"delayMs,omitempty"` // milliseconds to wait before the chunk
}

// Call is a function call of the model.
type Call struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Args is a JSON object, sent as it is but for white space; empty: {}.
	Args      json.RawMessage `json:"args,omitempty"`
	Signature string          `json:"thoughtSignature,omitempty"` // base64
}

// Usage counts tokens. A total of 0 is the sum of the others.
type Usage struct {
	Prompt     int `json:"promptTokenCount,omitempty"`
	Candidates int `json:"candidatesTokenCount,omitempty"`
	Thoughts   int `json:"thoughtsTokenCount,omitempty"`
	Cached     int `json:"cachedContentTokenCount,omitempty"` // part of Prompt
	Total      int `json:"totalTokenCount,omitempty"`
}

// Fault is a way for a connection to go wrong.
type Fault string

// The faults. All but the first come after the chunks of the step.
const (
	HangBeforeHeaders Fault = "hangBeforeHeaders" // until the client or the server goes
	HangMidStream     Fault = "hangMidStream"     // likewise, after headers and chunks
	Cut               Fault = "cut"               // connection closed in the middle of the body
	NoFinish          Fault = "noFinish"          // proper end of the body, no finish reason
	Reset             Fault = "reset"             // TCP reset; before the headers if there are no chunks
	Garbage           Fault = "garbage"           // an event that is no JSON, then a proper end
)

var faults = []Fault{"", HangBeforeHeaders, HangMidStream, Cut, NoFinish, Reset, Garbage}

// Wire says how events look on the wire. The zero value is "data: JSON\n\n" for
// each event, flushed; Google itself ends lines with "\r\n".
type Wire struct {
	Comments  bool `json:"comments,omitempty"`  // a keep-alive comment before each event
	EventLine bool `json:"eventLine,omitempty"` // "event:", "id:" and "retry:" lines in each event
	CRLF      bool `json:"crlf,omitempty"`      // lines end with "\r\n"
	CR        bool `json:"cr,omitempty"`        // lines end with "\r"
	MultiLine bool `json:"multiLine,omitempty"` // indented JSON, each line in a data line of its own
	NoSpace   bool `json:"noSpace,omitempty"`   // "data:JSON"
	Done      bool `json:"done,omitempty"`      // "data: [DONE]" at the end
	OpenEnd   bool `json:"openEnd,omitempty"`   // no blank line after the last event
	Join      bool `json:"join,omitempty"`      // no flush between events
	SplitAt   int  `json:"splitAt,omitempty"`   // flush every so many bytes, also inside an event
}

// UnmarshalJSON also takes a string for a chunk of text.
func (c *Chunk) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) {
		*c = Chunk{}
		return json.Unmarshal(data, &c.Text)
	}
	type plain Chunk
	return decodeStrict(data, (*plain)(c))
}

// Load reads a script in JSON. ${ROOT} in strings becomes root.
func Load(r io.Reader, root string) (Script, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return Script{}, fmt.Errorf("read the script: %w", err)
	}
	quoted, err := json.Marshal(root)
	if err != nil {
		return Script{}, fmt.Errorf("encode the root: %w", err)
	}
	data = bytes.ReplaceAll(data, []byte("${ROOT}"), quoted[1:len(quoted)-1])
	var s Script
	if err := decodeStrict(data, &s); err != nil {
		return Script{}, fmt.Errorf("script: %w", err)
	}
	return s, s.Check()
}

// decodeStrict decodes exactly one value with no unknown members.
func decodeStrict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
			return fmt.Errorf("line %d: %w", line, err)
		}
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

// Check reports the first thing in s that cannot be served.
func (s Script) Check() error {
	for i, step := range s.Steps {
		if err := step.check(); err != nil {
			return fmt.Errorf("script: step %d: %w", i, err)
		}
	}
	return nil
}

func (s Step) check() error {
	if !slices.Contains(faults, s.Fault) {
		return fmt.Errorf("unknown fault %q; there are %q", s.Fault, faults[1:])
	}
	if s.Fault == HangBeforeHeaders && len(s.Chunks) > 0 {
		return fmt.Errorf("chunks cannot come before the fault %s", s.Fault)
	}
	if s.Fault != "" && (s.Error != nil || s.Block != "" || s.Finish != "") {
		return fmt.Errorf("the fault %s leaves no place for error, block or finish", s.Fault)
	}
	if s.Error != nil {
		if s.Block != "" || s.Finish != "" {
			return errors.New("an error leaves no place for block or finish")
		}
		if err := s.Error.check(); err != nil {
			return err
		}
	}
	if s.Times < -1 {
		return fmt.Errorf("times is %d", s.Times)
	}
	if s.Wire.OpenEnd && s.Wire.Done {
		return errors.New("an open end leaves no place for [DONE]")
	}
	if s.Wire.CR && s.Wire.CRLF {
		return errors.New("lines cannot end with both cr and crlf")
	}
	for i, c := range s.Chunks {
		if err := c.check(); err != nil {
			return fmt.Errorf("chunk %d: %w", i, err)
		}
	}
	return nil
}

func (c Chunk) check() error {
	if err := checkSignature(c.Signature); err != nil {
		return err
	}
	for _, call := range c.calls() {
		if call.Name == "" {
			return errors.New("a call has no name")
		}
		if len(call.Args) > 0 && !isObject(call.Args) {
			return fmt.Errorf("the arguments of %s are no JSON object: %.80s", call.Name, call.Args)
		}
		if err := checkSignature(call.Signature); err != nil {
			return err
		}
	}
	for _, p := range c.Parts {
		if !isObject(p) {
			return fmt.Errorf("the part is no JSON object: %.80s", p)
		}
	}
	if c.Event != nil && !isObject(c.Event) {
		return fmt.Errorf("the event is no JSON object: %.80s", c.Event)
	}
	return nil
}

func checkSignature(s string) error {
	if _, err := base64.StdEncoding.DecodeString(s); err != nil {
		return fmt.Errorf("the thought signature %q is not base64", s)
	}
	return nil
}

func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && strings.HasPrefix(strings.TrimSpace(string(raw)), "{")
}

// calls returns Call and Calls.
func (c Chunk) calls() []Call {
	if c.Call == nil {
		return c.Calls
	}
	return append([]Call{*c.Call}, c.Calls...)
}

// Say is a step that streams texts, a chunk each.
func Say(texts ...string) Step {
	var s Step
	for _, t := range texts {
		s.Chunks = append(s.Chunks, Chunk{Text: t})
	}
	return s
}

// Do is a step that calls functions, all in one chunk as the API does.
func Do(calls ...Call) Step { return Step{Chunks: []Chunk{{Calls: calls}}} }

// Fail is a step that answers an error; code may be empty.
func Fail(status int, code, message string) Step {
	return Step{Error: &Error{Status: status, Code: code, Message: message}}
}

// NewCall returns a call without an ID. It panics if args cannot be encoded.
func NewCall(name string, args any) Call {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(fmt.Sprintf("geminitest: arguments of %s: %v", name, err))
	}
	return Call{Name: name, Args: raw}
}
