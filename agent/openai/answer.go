package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/agent/sse"
)

// errStopped says that the caller wants no more of an answer.
var errStopped = errors.New("stopped")

// event is a piece of an answer, or the whole of one that is not streamed.
type event struct {
	serverError
	Model   string `json:"model"`
	Choices []struct {
		Index        int    `json:"index"`
		Delta        delta  `json:"delta"`
		Message      delta  `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

type delta struct {
	Content   json.RawMessage `json:"content"` // a string, null, or pieces with text
	Refusal   string          `json:"refusal"`
	Reasoning json.RawMessage `json:"reasoning"` // newer vLLM, Ollama, OpenRouter
	Thinking  json.RawMessage `json:"reasoning_content"`
	ToolCalls []deltaCall     `json:"tool_calls"`
}

type deltaCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string; with some an object
	} `json:"function"`
}

type usage struct {
	Prompt     int32 `json:"prompt_tokens"`
	Completion int32 `json:"completion_tokens"`
	Total      int32 `json:"total_tokens"`
	PromptOf   *struct {
		Cached int32 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionOf *struct {
		Reasoning int32 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// answer is what has come of an answer so far.
type answer struct {
	offered map[string]bool // names of the tools that the model was offered
	think   thinker
	calls   []*growing
	finish  string
	usage   *usage
	model   string
}

// growing is a tool call that comes in fragments.
type growing struct {
	index    int
	id, name string
	args     strings.Builder
}

// offered returns the names of the functions that req declares.
func offered(req *model.Request) map[string]bool {
	out := map[string]bool{}
	if req.Config != nil {
		for _, t := range req.Config.Tools {
			for _, d := range t.FunctionDeclarations {
				out[d.Name] = true
			}
		}
	}
	return out
}

// stream reads server-sent events.
func (a *answer) stream(body io.Reader, yield func(*model.Chunk, error) bool) error {
	events := sse.NewReader(body)
	for {
		data, err := events.Next()
		if err != nil {
			return a.ended(events, err, yield)
		}
		if string(data) == "[DONE]" {
			return a.closed(yield)
		}
		var ev event
		if err := json.Unmarshal(data, &ev); err != nil {
			return garbage(data, err)
		}
		if ev.found() {
			return judge(0, data)
		}
		if err := a.take(&ev, yield); err != nil {
			return err
		}
	}
}

// ended judges the end of a stream without "[DONE]".
func (a *answer) ended(events *sse.Reader, err error, yield func(*model.Chunk, error) bool) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if bare := events.Bare(); len(bare) > 0 {
		bare = bytes.TrimSpace(bytes.TrimPrefix(bare, []byte("error:"))) // llama.cpp
		var obj serverError
		if json.Unmarshal(bare, &obj) != nil {
			return garbage(bare, errors.New("no event"))
		}
		if !obj.found() {
			bare, _ = json.Marshal(map[string]json.RawMessage{"error": bare})
		}
		return judge(0, bare)
	}
	return a.closed(yield)
}

// whole reads an answer of a server that does not stream.
func (a *answer) whole(body io.Reader, yield func(*model.Chunk, error) bool) error {
	data, err := io.ReadAll(io.LimitReader(body, sse.MaxEvent))
	if err != nil {
		return err
	}
	var ev event
	if err := json.Unmarshal(data, &ev); err != nil {
		return garbage(data, err)
	}
	if ev.found() {
		return judge(0, data)
	}
	for i := range ev.Choices {
		ev.Choices[i].Delta = ev.Choices[i].Message
	}
	if err := a.take(&ev, yield); err != nil {
		return err
	}
	return a.closed(yield)
}

// take adds an event.
func (a *answer) take(ev *event, yield func(*model.Chunk, error) bool) error {
	if ev.Usage != nil {
		a.usage = ev.Usage
	}
	if ev.Model != "" {
		a.model = ev.Model
	}
	for _, choice := range ev.Choices {
		if choice.Index != 0 {
			continue
		}
		d := choice.Delta
		for _, c := range d.ToolCalls {
			a.call(c)
		}
		thought := text(d.Thinking)
		if thought == "" {
			thought = text(d.Reasoning)
		}
		more, said := a.think.add(text(d.Content) + d.Refusal)
		if err := hand(thought+more, said, yield); err != nil {
			return err
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	return nil
}

// hand gives a thought and a text to the caller.
func hand(thought, said string, yield func(*model.Chunk, error) bool) error {
	var parts []model.Part
	if thought != "" {
		parts = append(parts, model.NewPart(&genai.Part{Text: thought, Thought: true}))
	}
	if said != "" {
		parts = append(parts, model.Text(said))
	}
	if len(parts) > 0 && !yield(&model.Chunk{Parts: parts}, nil) {
		return errStopped
	}
	return nil
}

// text returns a content that is a string or a list of pieces.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []piece
	_ = json.Unmarshal(raw, &list) // anything else has no text
	for _, p := range list {
		s += p.Text
	}
	return s
}

// call adds a fragment to the call it belongs to. A fragment with an ID or a name of
// its own under a number that is taken begins a new call: some versions of Ollama give
// all calls the number 0.
func (a *answer) call(d deltaCall) {
	var c *growing
	for _, x := range a.calls {
		if d.Index == nil || x.index == *d.Index {
			c = x // the last one with the number; without a number, the last one
		}
	}
	if c != nil && (d.ID != "" && c.id != "" && d.ID != c.id || d.ID == "" && d.Function.Name != "" && c.args.Len() > 0 && json.Valid([]byte(c.args.String()))) {
		c = nil
	}
	if c == nil {
		c = &growing{index: len(a.calls)}
		if d.Index != nil {
			c.index = *d.Index
		}
		a.calls = append(a.calls, c)
	}
	if d.ID != "" {
		c.id = d.ID
	}
	if n := d.Function.Name; n != "" && n != c.name {
		c.name += n // in fragments too, with some
		if a.offered[n] {
			c.name = n
		}
	}
	var s string
	if raw := d.Function.Arguments; len(raw) > 0 && string(raw) != "null" {
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw) // an object
		}
		c.args.WriteString(s)
	}
}

// closed is the proper end of an answer.
func (a *answer) closed(yield func(*model.Chunk, error) bool) error {
	if a.finish == "" {
		return &model.Error{Kind: model.KindCut, Message: "the answer broke off before its end"}
	}
	thought, said := a.think.end()
	return hand(thought, said, yield)
}

// last returns the chunk that ends the answer, with the calls.
func (a *answer) last() *model.Chunk {
	out := &model.Chunk{FinishReason: finishReason(a.finish), ModelVersion: a.model}
	if u := a.usage; u != nil {
		out.Usage = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: u.Prompt, CandidatesTokenCount: u.Completion, TotalTokenCount: u.Total}
		if u.PromptOf != nil {
			out.Usage.CachedContentTokenCount = u.PromptOf.Cached
		}
		if u.CompletionOf != nil {
			out.Usage.ThoughtsTokenCount = u.CompletionOf.Reasoning
			out.Usage.CandidatesTokenCount = max(0, u.Completion-u.CompletionOf.Reasoning)
		}
		if u.Total == 0 {
			out.Usage.TotalTokenCount = u.Prompt + u.Completion
		}
	}
	for _, c := range a.calls {
		args, ok := arguments(c.args.String(), a.finish == "length")
		part, err := c.part(args)
		if !ok || c.name == "" || err != nil {
			// One that cannot be read spoils them all: the model does not know which.
			out.Parts = nil
			if a.finish == "length" {
				return out // cut off; writing it again would be cut off again
			}
			out.FinishReason, out.FinishMessage = genai.FinishReasonMalformedFunctionCall, "the arguments of "+c.name+" are no JSON object"
			return out
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

// part returns the call as a part, the arguments as they came.
func (c *growing) part(args json.RawMessage) (model.Part, error) {
	if c.id == "" {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails (crypto/rand documents it)
		c.id = "call_" + hex.EncodeToString(b[:])
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]any{"functionCall": map[string]any{"id": c.id, "name": c.name, "args": args}}); err != nil {
		return model.Part{}, err
	}
	return model.RawPart(bytes.TrimSpace(b.Bytes()))
}

// finishReason translates why an answer ended. Words that are not known end it
// normally.
func finishReason(s string) genai.FinishReason {
	switch s {
	case "length", "max_tokens":
		return genai.FinishReasonMaxTokens
	case "content_filter":
		return genai.FinishReasonSafety
	}
	return genai.FinishReasonStop
}
