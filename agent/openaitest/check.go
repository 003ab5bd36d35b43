package openaitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// check judges a request as the kind does; problem is empty when it is right.
func (s *Server) check(raw []byte, body *Body) (status int, typ, problem string) {
	bad := func(format string, args ...any) (int, string, string) {
		return http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...)
	}
	if err := json.Unmarshal(raw, body); err != nil {
		return bad("invalid JSON: %v", err)
	}
	if s.script.Kind != LlamaCpp && !slices.Contains(s.script.Models, body.Model) { // llama.cpp has one model and takes any name
		if s.script.Kind == VLLM {
			return http.StatusNotFound, "NotFoundError", fmt.Sprintf("The model `%s` does not exist.", body.Model)
		}
		return http.StatusNotFound, "api_error", fmt.Sprintf("model %q not found, try pulling it first", body.Model)
	}
	if s.script.NoTools && len(body.Tools) > 0 {
		switch s.script.Kind {
		case LlamaCpp:
			return http.StatusInternalServerError, "server_error", "tools param requires --jinja flag"
		case VLLM:
			return http.StatusBadRequest, "BadRequestError", `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`
		}
		return http.StatusBadRequest, "api_error", fmt.Sprintf("registry.ollama.ai/library/%s:latest does not support tools", body.Model)
	}
	for _, t := range body.Tools {
		if err := s.checkTool(t); err != nil {
			return bad("%v", err)
		}
	}
	if err := checkMessages(body.Messages); err != nil {
		return bad("%v", err)
	}
	return 0, "", ""
}

// checkTool refuses schemas as the kind's decoder does.
func (s *Server) checkTool(t Tool) error {
	if t.Type != "function" || t.Function.Name == "" {
		return fmt.Errorf("a tool is no function with a name")
	}
	if s.script.Kind == Ollama {
		// Its own types; anything that does not fit them fails.
		var params struct {
			Type       string   `json:"type"`
			Required   []string `json:"required"`
			Properties map[string]struct {
				AnyOf       []json.RawMessage `json:"anyOf"`
				Type        any               `json:"type"`
				Description string            `json:"description"`
				Enum        []any             `json:"enum"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(t.Function.Parameters, &params); err != nil {
			return fmt.Errorf("json: cannot unmarshal tools: %w", err)
		}
	}
	var schema any
	if err := json.Unmarshal(t.Function.Parameters, &schema); err != nil {
		return err
	}
	if s.script.Kind == LlamaCpp {
		return checkGrammar(schema)
	}
	return nil
}

// checkGrammar refuses what llama.cpp cannot make a grammar of.
func checkGrammar(v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("JSON schema conversion failed: Unrecognized schema: %v", v)
	}
	for _, k := range []string{"not", "if", "patternProperties", "propertyNames", "dependencies", "contains", "$dynamicRef"} {
		if m[k] != nil {
			return fmt.Errorf("JSON schema conversion failed: Unrecognized schema: %s", k)
		}
	}
	if p, ok := m["pattern"].(string); ok && !(strings.HasPrefix(p, "^") && strings.HasSuffix(p, "$")) {
		return fmt.Errorf("JSON schema conversion failed: Pattern must start with '^' and end with '$'")
	}
	if props, ok := m["properties"].(map[string]any); ok {
		for _, p := range props {
			if err := checkGrammar(p); err != nil {
				return err
			}
		}
	}
	if items, ok := m["items"]; ok {
		return checkGrammar(items)
	}
	return nil
}

// checkMessages demands what strict chat templates demand.
func checkMessages(ms []Message) error {
	if len(ms) == 0 {
		return fmt.Errorf("messages is empty")
	}
	last := ""
	open := map[string]bool{} // calls not answered yet
	for i, m := range ms {
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Errorf("message %d: %d tool calls before it are not answered", i, len(open))
		}
		if len(m.Content) == 0 {
			return fmt.Errorf("message %d has no content", i)
		}
		switch m.Role {
		case "system":
			if i > 0 {
				return fmt.Errorf("Jinja Exception: System message must be at the beginning.")
			}
		case "user":
			if last == "user" {
				return fmt.Errorf("Jinja Exception: Conversation roles must alternate user/assistant")
			}
			if err := checkPieces(m.Content); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
		case "assistant":
			if last == "assistant" || last == "" || last == "system" {
				return fmt.Errorf("Jinja Exception: Conversation roles must alternate user/assistant")
			}
			for _, c := range m.ToolCalls {
				var args map[string]any
				if c.ID == "" || c.Type != "function" || c.Function.Name == "" || open[c.ID] || json.Unmarshal([]byte(c.Function.Arguments), &args) != nil {
					return fmt.Errorf("message %d: tool call %+v is wrong", i, c)
				}
				open[c.ID] = true
			}
		case "tool":
			if !open[m.ToolCallID] {
				return fmt.Errorf("message %d answers the tool call %q, which there is not", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		default:
			return fmt.Errorf("message %d has the role %q", i, m.Role)
		}
		last = m.Role
	}
	if last == "assistant" || len(open) > 0 {
		return fmt.Errorf("the last message must be of a user, or answer all tool calls")
	}
	return nil
}

// checkPieces accepts a string or pieces; images as data URLs only.
func checkPieces(content json.RawMessage) error {
	if bytes.HasPrefix(content, []byte(`"`)) {
		return nil
	}
	var list []struct {
		Type     string
		ImageURL struct{ URL string } `json:"image_url"`
	}
	if err := json.Unmarshal(content, &list); err != nil {
		return err
	}
	for _, p := range list {
		if p.Type == "image_url" && !strings.HasPrefix(p.ImageURL.URL, "data:image/") {
			return fmt.Errorf("invalid image input")
		}
	}
	return nil
}
