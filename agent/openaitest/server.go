// Package openaitest is a fake server of OpenAI's chat completions for tests: real
// HTTP on loopback, answers from a script, in the manner of Ollama, llama.cpp or vLLM,
// with what each of them refuses.
//
//	srv := openaitest.New(t, openaitest.Script{Kind: openaitest.Ollama}, openaitest.Step{Text: []string{"Hello"}})
//	client, err := openai.New(openai.Options{BaseURL: srv.URL})
//
// What is refused by all kinds: a model that is not there; messages that do not begin
// with an optional system message, then alternate; a tool call without an answer right
// after it, or an answer without a call; arguments that are no JSON object in a string.
package openaitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Kind is the server that is imitated.
type Kind string

// The kinds.
const (
	Ollama   Kind = "ollama"
	LlamaCpp Kind = "llamacpp"
	VLLM     Kind = "vllm"
)

// Kinds are all of them.
var Kinds = []Kind{Ollama, LlamaCpp, VLLM}

// Script is what a server is like.
type Script struct {
	Kind   Kind     `json:"kind"`   // empty: Ollama
	Models []string `json:"models"` // empty: "local-model"
	APIKey string   `json:"apiKey"` // wanted as a bearer token; empty: none
	// NoTools makes the server one that cannot call tools: a model without them with
	// Ollama, no --jinja with llama.cpp, no tool parser with vLLM.
	NoTools bool   `json:"noTools"`
	Steps   []Step `json:"steps"`
}

// Step answers one request.
type Step struct {
	Thought string   `json:"thought,omitempty"`
	Text    []string `json:"text,omitempty"` // a chunk each
	Calls   []Call   `json:"calls,omitempty"`
	Finish  string   `json:"finish,omitempty"` // empty: as the kind does it
	// Status and Body are answered instead, if Status is set; with Header as
	// "Name: value".
	Status int    `json:"status,omitempty"`
	Body   string `json:"body,omitempty"`
	Header string `json:"header,omitempty"`
	// Raw is the body of the stream as it is.
	Raw string `json:"raw,omitempty"`
	// Plain answers at once, not streamed.
	Plain bool `json:"plain,omitempty"`
	// Cut breaks the connection off after the texts.
	Cut bool `json:"cut,omitempty"`
	// Hang keeps the connection open after the texts until the client goes.
	Hang bool `json:"hang,omitempty"`
}

// Call is a tool call. Args is sent as it is, JSON or not.
type Call struct {
	Name string `json:"name"`
	Args string `json:"args"`
}

// Server is a running fake.
type Server struct {
	URL string // the base URL, "…/v1"

	script Script
	http   *httptest.Server
	mu     sync.Mutex
	next   int
	seen   []Request
}

// Request is what came in.
type Request struct {
	Header  http.Header
	Body    Body
	Raw     []byte
	Refused string // why it was not answered from the script
}

// Body is a request for a completion.
type Body struct {
	Model         string    `json:"model"`
	Messages      []Message `json:"messages"`
	Tools         []Tool    `json:"tools"`
	ToolChoice    any       `json:"tool_choice"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ResponseFormat json.RawMessage `json:"response_format"`
}

// Tool is a function the model may call.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Message is one message.
type Message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// Text returns the content that is a string or has pieces of text.
func (m Message) Text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var list []struct{ Text string }
	_ = json.Unmarshal(m.Content, &list) // what is no list has no text
	for _, p := range list {
		s += p.Text
	}
	return s
}

// New starts a server for a test, which fails when steps are left over.
func New(t testing.TB, script Script, steps ...Step) *Server {
	t.Helper()
	script.Steps = append(script.Steps, steps...)
	s := NewServer(script)
	t.Cleanup(func() {
		s.Close()
		if s.next < len(s.script.Steps) {
			t.Errorf("step %d of the script was not asked for", s.next)
		}
	})
	return s
}

// NewServer starts a server that the caller closes.
func NewServer(script Script) *Server {
	if script.Kind == "" {
		script.Kind = Ollama
	}
	if len(script.Models) == 0 {
		script.Models = []string{"local-model"}
	}
	s := &Server{script: script}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /v1/models", s.models)
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL + "/v1"
	return s
}

// Close ends the server and its connections.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests returns the requests for completions so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

func (s *Server) allowed(w http.ResponseWriter, r *http.Request) bool {
	if s.script.APIKey == "" || r.Header.Get("Authorization") == "Bearer "+s.script.APIKey {
		return true
	}
	s.refuse(w, http.StatusUnauthorized, "authentication_error", "Invalid API Key")
	return false
}

// refuse answers an error in the kind's form.
func (s *Server) refuse(w http.ResponseWriter, status int, typ, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	var v any
	switch s.script.Kind {
	case LlamaCpp:
		v = map[string]any{"error": map[string]any{"code": status, "message": text, "type": typ}}
	case VLLM:
		v = map[string]any{"object": "error", "message": text, "type": typ, "param": nil, "code": status}
	default:
		v = map[string]any{"error": map[string]any{"message": text, "type": "api_error", "param": nil, "code": nil}}
	}
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	if !s.allowed(w, r) {
		return
	}
	data := []any{}
	for _, m := range s.script.Models {
		data = append(data, map[string]any{"id": m, "object": "model"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data})
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	if !s.allowed(w, r) {
		return
	}
	raw, _ := io.ReadAll(r.Body)
	req := Request{Header: r.Header.Clone(), Raw: raw}
	status, typ, problem := s.check(raw, &req.Body)
	req.Refused = problem
	s.mu.Lock()
	s.seen = append(s.seen, req)
	var step *Step
	if problem == "" {
		if s.next < len(s.script.Steps) {
			step = &s.script.Steps[s.next]
			s.next++
		} else {
			status, typ, problem = http.StatusInternalServerError, "server_error", "the script has no further step"
		}
	}
	s.mu.Unlock()
	if problem != "" {
		s.refuse(w, status, typ, problem)
		return
	}
	s.answer(w, r, req.Body, step)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, body Body, step *Step) {
	if step.Status != 0 {
		if name, value, ok := strings.Cut(step.Header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(step.Status)
		_, _ = io.WriteString(w, step.Body)
		return
	}
	if step.Plain {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.plain(body, step))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if step.Raw != "" {
		_, _ = io.WriteString(w, step.Raw)
		return
	}
	for _, ev := range s.events(body, step) {
		data, err := json.Marshal(ev)
		if err != nil {
			panic(err) // made of strings and numbers
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
	switch {
	case step.Cut:
		panic(http.ErrAbortHandler)
	case step.Hang:
		<-r.Context().Done()
		return
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}
