package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"redline/agent/model"
)

// serverError is an error object in the forms that servers have for it:
// {"error": {…}}, {"error": "…"}, {"object": "error", "message": …},
// {"detail": "…"} and {"detail": [{"msg": …}]}.
type serverError struct {
	Object  string          `json:"object"`
	Error   json.RawMessage `json:"error"`
	Detail  json.RawMessage `json:"detail"`
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"` // a number or a word
}

// found reports whether the object says that something went wrong.
func (e *serverError) found() bool {
	return len(e.Error) > 0 && string(e.Error) != "null" || e.Object == "error" || len(e.Detail) > 0
}

// flat returns the message, the type, and the code as a word and a number.
func (e *serverError) flat() (message, kind, word string, status int) {
	in := *e
	if len(e.Error) > 0 && string(e.Error) != "null" {
		var nested serverError
		if json.Unmarshal(e.Error, &nested) == nil {
			in = nested
		} else if json.Unmarshal(e.Error, &in.Message) != nil {
			in.Message = string(e.Error)
		}
	}
	if in.Message == "" && len(e.Detail) > 0 {
		var list []struct {
			Msg string          `json:"msg"`
			Loc json.RawMessage `json:"loc"`
		}
		if json.Unmarshal(e.Detail, &in.Message) != nil && json.Unmarshal(e.Detail, &list) == nil {
			for _, d := range list {
				in.Message = strings.TrimPrefix(in.Message+"; "+d.Msg+" "+string(d.Loc), "; ")
			}
		}
	}
	if json.Unmarshal(in.Code, &status) != nil {
		_ = json.Unmarshal(in.Code, &word) // null stays empty
		status, _ = strconv.Atoi(word)
	}
	return strings.TrimSpace(in.Message), in.Type, word, status
}

// judge sorts an error by what can be done about it. status is that of HTTP, 0 when
// the error came in a stream.
func judge(status int, body []byte) *model.Error {
	var obj serverError
	var message, kind, word string
	var code int
	if json.Unmarshal(body, &obj) == nil {
		message, kind, word, code = obj.flat()
	} else if text := strings.TrimSpace(string(body)); text != "" && !strings.HasPrefix(text, "<") {
		message = cut(text, 500)
	}
	if status == 0 {
		status = code
	}
	e := &model.Error{Status: status, Code: word, Message: message}
	if e.Code == "" {
		e.Code = kind
	}
	if e.Message == "" {
		e.Message = "the model's server answered an error"
		if strings.HasPrefix(strings.TrimSpace(string(body)), "<") {
			e.Message = "the server answered with a web page; check redline.openai.baseUrl and the proxy"
		}
	}
	low := strings.ToLower(e.Message)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(low, w) {
				return true
			}
		}
		return false
	}
	// What the text says goes before the status: llama.cpp answers 500 to requests
	// that no repetition makes right.
	switch {
	case has("does not support tools", "tool use is not supported", "does not support function"):
		e.Kind = model.KindBadRequest
		e.Message += ". Redline needs a model that can call tools: choose another one with redline.openai.model"
	case has("requires --jinja"):
		e.Kind = model.KindBadRequest
		e.Message += ". Start llama-server with --jinja, so that the model can call tools"
	case has("--enable-auto-tool-choice", "--tool-call-parser"):
		e.Kind = model.KindBadRequest
		e.Message += ". Start vLLM with --enable-auto-tool-choice and the --tool-call-parser of the model, so that it can call tools"
	case has("loading model") || kind == "unavailable_error":
		e.Kind = model.KindServer
	case kind == "exceed_context_size_error", word == "context_length_exceeded", has("maximum context length", "context size", "context window", "context length"):
		e.Kind = model.KindBadRequest
		e.Message += ". The conversation is longer than the server's context: start a new session, or start the server with a larger one (Ollama: OLLAMA_CONTEXT_LENGTH, llama.cpp: -c, vLLM: --max-model-len)"
	case status == http.StatusUnauthorized || status == http.StatusForbidden || word == "invalid_api_key" || kind == "authentication_error":
		e.Kind = model.KindAuth
		e.Message += ". Put the server's key into an environment variable and its name into redline.openai.apiKeyEnv"
	case word == "insufficient_quota" || kind == "insufficient_quota":
		e.Kind = model.KindQuota
	case status == http.StatusTooManyRequests:
		e.Kind = model.KindRate
	case has("not found") && has("model"), status == http.StatusNotFound && has("does not exist"):
		e.Kind = model.KindBadRequest
		e.Message += ". Choose a model that the server has with redline.openai.model (Ollama: ollama list, ollama pull NAME)"
	case status == http.StatusNotFound:
		e.Kind = model.KindBadRequest
		e.Message += ". Check redline.openai.baseUrl; it mostly ends in /v1"
	case has("jinja exception", "conversation roles must", "template"), status == http.StatusNotImplemented:
		e.Kind = model.KindBadRequest
	case status == http.StatusRequestTimeout || status == 499 || status >= 500 || status == 0:
		e.Kind = model.KindServer
	default:
		e.Kind = model.KindBadRequest
	}
	return e
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func garbage(data []byte, err error) *model.Error {
	return &model.Error{Kind: model.KindGarbage, Message: "the answer of the model's server could not be read; check redline.openai.baseUrl", Err: fmt.Errorf("%.80q: %w", data, err)}
}
