package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"redline/agent/model"
)

// The wire form of a request. Members that have no value are left out, since servers
// differ in what they accept.
type request struct {
	Model            string          `json:"model"`
	Messages         []message       `json:"messages"`
	Tools            []tool          `json:"tools,omitempty"`
	ToolChoice       string          `json:"tool_choice,omitempty"`
	Stream           bool            `json:"stream"`
	StreamOptions    *streamOptions  `json:"stream_options,omitempty"`
	Temperature      *float32        `json:"temperature,omitempty"`
	TopP             *float32        `json:"top_p,omitempty"`
	MaxTokens        int32           `json:"max_tokens,omitempty"`
	Stop             []string        `json:"stop,omitempty"`
	Seed             *int32          `json:"seed,omitempty"`
	PresencePenalty  *float32        `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float32        `json:"frequency_penalty,omitempty"`
	ResponseFormat   *responseFormat `json:"response_format,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema,omitempty"`
}

type jsonSchema struct {
	Name   string `json:"name"`
	Schema any    `json:"schema"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Parameters  any    `json:"parameters"`
}

type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // a string, or pieces
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Name       string     `json:"name,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function calledByName `json:"function"`
}

type calledByName struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON in a string
}

// piece is a part of a user's message that is not text alone.
type piece struct {
	Type     string      `json:"type"`
	Text     string      `json:"text,omitempty"`
	ImageURL *imageURL   `json:"image_url,omitempty"`
	Audio    *inputAudio `json:"input_audio,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type inputAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

// encodeRequest returns the body of a request. Equal conversations are equal bytes,
// so that the servers' caches of the prefix hit.
func encodeRequest(req *model.Request, name string) ([]byte, error) {
	out := request{Model: name, Stream: true, StreamOptions: &streamOptions{IncludeUsage: true}}
	if c := req.Config; c != nil {
		if err := configure(&out, c); err != nil {
			return nil, err
		}
		if s := c.SystemInstruction; s != nil {
			var texts []string
			for _, p := range s.Parts {
				if p != nil && p.Text != "" {
					texts = append(texts, p.Text)
				}
			}
			if len(texts) > 0 {
				out.Messages = append(out.Messages, message{Role: "system", Content: strings.Join(texts, "\n\n")})
			}
		}
	}
	conv := conversion{messages: out.Messages}
	for _, content := range req.Contents {
		if content.Role == model.RoleModel {
			conv.model(content)
		} else {
			conv.user(content)
		}
	}
	out.Messages = conv.messages
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return b.Bytes(), nil
}

// configure takes over the parameters.
func configure(out *request, c *genai.GenerateContentConfig) error {
	out.Temperature, out.TopP, out.MaxTokens, out.Stop = c.Temperature, c.TopP, c.MaxOutputTokens, c.StopSequences
	out.Seed, out.PresencePenalty, out.FrequencyPenalty = c.Seed, c.PresencePenalty, c.FrequencyPenalty
	if c.ResponseMIMEType == "application/json" {
		out.ResponseFormat = &responseFormat{Type: "json_object"}
		if c.ResponseJsonSchema != nil {
			out.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: &jsonSchema{Name: "answer", Schema: plainSchema(c.ResponseJsonSchema)}}
		}
	}
	for _, t := range c.Tools {
		if t == nil {
			continue
		}
		if t.GoogleSearch != nil || t.URLContext != nil || t.GoogleSearchRetrieval != nil || t.CodeExecution != nil {
			return &model.Error{Kind: model.KindBadRequest, Message: "the model's server has no web search and reads no pages by itself; only Gemini does"}
		}
		for _, d := range t.FunctionDeclarations {
			var params any = d.ParametersJsonSchema
			if params == nil && d.Parameters != nil {
				params = d.Parameters
			}
			out.Tools = append(out.Tools, tool{"function", function{d.Name, d.Description, plainSchema(params)}})
		}
	}
	if tc := c.ToolConfig; tc != nil && tc.FunctionCallingConfig != nil && len(out.Tools) > 0 {
		switch tc.FunctionCallingConfig.Mode {
		case genai.FunctionCallingConfigModeAny:
			out.ToolChoice = "required"
		case genai.FunctionCallingConfigModeNone:
			out.ToolChoice = "none"
		}
	}
	return nil
}

// conversion turns a conversation into messages. User and assistant alternate and
// each tool call has an ID that its answer repeats, also where the conversation has
// none, since it began with another service.
type conversion struct {
	messages []message
	calls    []toolCall // of the last assistant message that are not answered yet
	made     int        // IDs made so far
}

func (c *conversion) model(content model.Content) {
	msg := message{Role: "assistant"}
	var text strings.Builder
	for _, p := range content.Parts {
		v := p.Value()
		if v.Thought {
			continue
		}
		if fc, ok := p.FunctionCall(); ok {
			if fc.ID == "" {
				c.made++
				fc.ID = fmt.Sprintf("call_%04d", c.made)
			}
			msg.ToolCalls = append(msg.ToolCalls, toolCall{fc.ID, "function", calledByName{fc.Name, string(fc.Args)}})
			continue
		}
		text.WriteString(v.Text)
	}
	if text.Len() == 0 && len(msg.ToolCalls) == 0 {
		return
	}
	msg.Content = text.String()
	c.calls = append([]toolCall(nil), msg.ToolCalls...)
	if n := len(c.messages); n > 0 && len(msg.ToolCalls) == 0 && c.messages[n-1].Role == "assistant" && len(c.messages[n-1].ToolCalls) == 0 {
		c.messages[n-1].Content = c.messages[n-1].Content.(string) + text.String()
		return
	}
	c.messages = append(c.messages, msg)
}

// user adds the answers of tools first, as they must follow the calls, then the rest
// as one message.
func (c *conversion) user(content model.Content) {
	var rest []piece
	for _, p := range content.Parts {
		v := p.Value()
		switch {
		case v.FunctionResponse != nil:
			c.messages = append(c.messages, c.answer(p))
		case v.InlineData != nil:
			rest = append(rest, attachment(v.InlineData))
		case v.FileData != nil:
			rest = append(rest, piece{Type: "text", Text: "[a file at " + v.FileData.FileURI + ", which cannot be sent to this model]"})
		case v.Text != "" && !v.Thought:
			rest = append(rest, piece{Type: "text", Text: v.Text})
		}
	}
	if len(rest) == 0 {
		return
	}
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == "user" {
		rest = append(pieces(c.messages[n-1].Content), rest...)
		c.messages = c.messages[:n-1]
	}
	c.messages = append(c.messages, message{Role: "user", Content: joined(rest)})
}

// joined returns a string where all pieces are text, which every server takes.
func joined(ps []piece) any {
	var texts []string
	for _, p := range ps {
		if p.Type != "text" {
			return ps
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}

func pieces(content any) []piece {
	if ps, ok := content.([]piece); ok {
		return ps
	}
	return []piece{{Type: "text", Text: content.(string)}}
}

// answer returns the message for a function response.
func (c *conversion) answer(p model.Part) message {
	r := p.Value().FunctionResponse
	id := r.ID
	// The call it belongs to: with the same ID, else the first of the same name.
	for i, call := range c.calls {
		if id == call.ID || id == "" && r.Name == call.Function.Name {
			id = call.ID
			c.calls = append(c.calls[:i], c.calls[i+1:]...)
			break
		}
	}
	text := ""
	if out, ok := r.Response["output"].(string); ok && len(r.Response) == 1 {
		text = out
	} else if failed, ok := r.Response["error"].(string); ok && len(r.Response) == 1 {
		text = "Error: " + failed
	} else {
		// The bytes as they are: decoding would round large numbers.
		var raw struct {
			FunctionResponse struct {
				Response json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		}
		if data, err := p.MarshalJSON(); err == nil && json.Unmarshal(data, &raw) == nil {
			text = string(raw.FunctionResponse.Response)
		}
	}
	return message{Role: "tool", Content: text, ToolCallID: id, Name: r.Name}
}

// attachment returns what carries b: images as data URLs; of what these servers do
// not take only a word that it was there.
func attachment(b *genai.Blob) piece {
	data := base64.StdEncoding.EncodeToString(b.Data)
	switch {
	case strings.HasPrefix(b.MIMEType, "image/"):
		return piece{Type: "image_url", ImageURL: &imageURL{"data:" + b.MIMEType + ";base64," + data}}
	case b.MIMEType == "audio/wav" || b.MIMEType == "audio/mp3" || b.MIMEType == "audio/mpeg":
		format := "wav"
		if b.MIMEType != "audio/wav" {
			format = "mp3"
		}
		return piece{Type: "input_audio", Audio: &inputAudio{data, format}}
	}
	return piece{Type: "text", Text: fmt.Sprintf("[an attachment of type %s, %d bytes, which cannot be sent to this model]", b.MIMEType, len(b.Data))}
}
