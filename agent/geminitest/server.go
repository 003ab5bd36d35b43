package geminitest

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// maxBody is how much of a request is read: the API's own limit is 20 MB.
const maxBody = 64 << 20

// Server is a fake Gemini API. Its methods are safe for concurrent use.
type Server struct {
	// URL is the base URL, such as http://127.0.0.1:40000.
	URL string

	script Script
	issued signatures
	http   *http.Server
	served chan struct{} // closed when http no longer serves
	stop   context.CancelFunc
	logMu  sync.Mutex

	mu        sync.Mutex
	closed    bool
	handlers  sync.WaitGroup
	changed   chan struct{} // closed and replaced when anything below changes
	used      []int         // per step: requests answered
	exchanges []*exchange
	counts    []Request
	gates     map[string]chan struct{}
}

// exchange is a request for content and its fate.
type exchange struct {
	request Request
	ended   bool
	gone    bool // the client went before the end
}

// NewServer serves script on a free port of 127.0.0.1 until Close. It panics if
// the script is wrong or there is no port.
func NewServer(script Script) *Server {
	if err := script.Check(); err != nil {
		panic("geminitest: " + err.Error())
	}
	if script.APIKey == "" {
		script.APIKey = DefaultKey
	}
	if len(script.Models) == 0 {
		script.Models = DefaultModels
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("geminitest: listen: %v", err))
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		URL:    "http://" + listener.Addr().String(),
		script: script, served: make(chan struct{}), stop: stop,
		changed: make(chan struct{}), used: make([]int, len(script.Steps)), gates: map[string]chan struct{}{},
	}
	s.http = &http.Server{
		Handler:     http.HandlerFunc(s.serve),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0), // what goes wrong here is scripted
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // always ErrServerClosed after Close
	}()
	return s
}

// New serves steps until the end of the test. The test fails if steps that are not
// optional are left, or if a request found no step; requests that were refused are
// logged.
func New(t testing.TB, steps ...Step) *Server {
	t.Helper()
	script := Script{Steps: steps}
	if err := script.Check(); err != nil {
		t.Fatal(err)
	}
	s := NewServer(script)
	t.Cleanup(func() {
		s.Close()
		for i, r := range s.Requests() {
			switch {
			case r.Refused != "":
				t.Logf("geminitest: request %d was refused: %s", i, r.Refused)
			case r.Step < 0:
				t.Errorf("geminitest: request %d found no step: %s", i, r.summary())
			}
		}
		for _, i := range s.Unused() {
			t.Errorf("geminitest: step %d was not used up", i)
		}
	})
	return s
}

// Close ends all answers, hanging ones too, and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	_ = s.http.Close() // an error of the listener: it is gone either way
	<-s.served
	s.handlers.Wait()
}

// Requests returns the requests for content so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.exchanges))
	for i, x := range s.exchanges {
		out[i] = x.request
	}
	return out
}

// TokenCounts returns the requests to countTokens so far.
func (s *Server) TokenCounts() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.counts)
}

// Unused returns the indices of the steps that are neither optional nor used as
// often as they should.
func (s *Server) Unused() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int
	for i, step := range s.script.Steps {
		if !step.Optional && s.used[i] < max(step.Times, 1) {
			out = append(out, i)
		}
	}
	return out
}

// Await waits for request i for content, counted from 0.
func (s *Server) Await(ctx context.Context, i int) (Request, error) {
	x, err := s.await(ctx, i, func(*exchange) bool { return true })
	return x.request, err
}

// Ended waits for the end of the answer to request i and reports whether the
// client went away before it. An answer that the fake itself breaks off has ended.
func (s *Server) Ended(ctx context.Context, i int) (clientGone bool, err error) {
	x, err := s.await(ctx, i, func(x *exchange) bool { return x.ended })
	return x.gone, err
}

func (s *Server) await(ctx context.Context, i int, ok func(*exchange) bool) (exchange, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		if i < len(s.exchanges) && ok(s.exchanges[i]) {
			x := *s.exchanges[i]
			s.mu.Unlock()
			return x, nil
		}
		n := len(s.exchanges)
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return exchange{}, fmt.Errorf("wait for request %d of %d so far: %w", i, n, ctx.Err())
		}
	}
}

// Release opens a gate for good. It may come before anything waits for the gate.
func (s *Server) Release(gate string) {
	c := s.gate(gate)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

func (s *Server) gate(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.gates[name]
	if !ok {
		c = make(chan struct{})
		s.gates[name] = c
	}
	return c
}

// note changes the state under the lock and wakes whoever waits.
func (s *Server) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// serve handles all requests.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.handlers.Add(1)
	s.mu.Unlock()
	defer s.handlers.Done()

	if r.URL.Path == "/fake/release" && r.Method == http.MethodPost {
		s.Release(r.URL.Query().Get("gate"))
		w.WriteHeader(http.StatusNoContent)
		return
	}
	name, method, ok := splitPath(r.URL.Path)
	switch {
	case !ok:
		(&Error{Status: http.StatusNotFound, Message: "The requested URL " + r.URL.Path + " was not found on this server."}).write(w)
	case r.Method == http.MethodGet && method == "":
		s.models(w, r, name)
	case r.Method == http.MethodPost && method != "" && name != "":
		s.post(w, r, name, method)
	default:
		(&Error{Status: http.StatusNotFound, Message: r.Method + " is nothing that " + r.URL.Path + " has."}).write(w)
	}
}

// splitPath takes PREFIX/models[/NAME[:METHOD]] apart.
func splitPath(path string) (model, method string, ok bool) {
	i := strings.LastIndex(path, "/models")
	if i < 0 {
		return "", "", false
	}
	rest := path[i+len("/models"):]
	if rest == "" {
		return "", "", true
	}
	if rest[0] != '/' {
		return "", "", false
	}
	model, method, _ = strings.Cut(rest[1:], ":")
	return model, method, true
}

// authorize checks the key.
func (s *Server) authorize(r *http.Request) *Error {
	key := r.Header.Get("x-goog-api-key")
	if key == "" {
		key = r.URL.Query().Get("key")
	}
	if key == "" && strings.Contains(r.URL.Path, "/projects/") { // Vertex AI
		key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	switch key {
	case s.script.APIKey:
		return nil
	case "":
		return &Error{Status: http.StatusBadRequest, Message: "API Key not found. Please pass a valid API key.", Reason: "API_KEY_INVALID"}
	}
	return &Error{Status: http.StatusBadRequest, Message: "API key not valid. Please pass a valid API key.", Reason: "API_KEY_INVALID"}
}

// post answers a request with a body.
func (s *Server) post(w http.ResponseWriter, r *http.Request, model, method string) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // the client broke off while sending, or sent too much, which ends the connection
	}
	req := Request{Method: method, Model: model, Header: r.Header.Clone(), Raw: raw, Step: -1}
	refusal := s.judge(r, &req)
	if refusal != nil {
		req.Refused = refusal.Message
	}
	if method == "countTokens" {
		s.note(func() { s.counts = append(s.counts, req) })
		s.log(req)
		if refusal != nil {
			refusal.write(w)
			return
		}
		n := req.Body.tokens()
		writeJSON(w, http.StatusOK, encode(map[string]any{
			"totalTokens": n, "promptTokensDetails": []any{map[string]any{"modality": "TEXT", "tokenCount": n}},
		}))
		return
	}
	x := &exchange{}
	n := 0
	s.note(func() {
		if refusal == nil {
			req.Step = s.take(&req)
		}
		x.request, n = req, len(s.exchanges)
		s.exchanges = append(s.exchanges, x)
	})
	a := &answer{server: s, req: &req, id: fmt.Sprintf("fake-%d", n), w: w}
	defer func() {
		// The context of the request also ends with the server's own.
		gone := r.Context().Err() != nil && !a.complete
		s.note(func() { x.ended, x.gone = true, gone && !s.closed })
	}()
	s.log(req)
	switch {
	case refusal != nil:
		a.complete = true
		refusal.write(w)
	case req.Step < 0:
		a.complete = true
		invalid("The script of the fake has no step for this request: %s", req.summary()).write(w)
	default:
		a.step = s.script.Steps[req.Step]
		if method == "generateContent" {
			a.unary(r.Context())
		} else {
			a.stream(r.Context())
		}
	}
}

// judge decodes the request and says why it is refused, if it is.
func (s *Server) judge(r *http.Request, req *Request) *Error {
	if err := s.authorize(r); err != nil {
		return err
	}
	known := []string{"streamGenerateContent", "generateContent", "countTokens"}
	if !slices.Contains(known, req.Method) || !slices.Contains(s.script.Models, req.Model) {
		return &Error{Status: http.StatusNotFound, Message: fmt.Sprintf(
			"models/%s is not found for API version %s, or is not supported for %s. Call ListModels to see the list of available models and their supported methods.",
			req.Model, version(r.URL.Path), req.Method)}
	}
	if req.Method == "streamGenerateContent" && r.URL.Query().Get("alt") != "sse" {
		return invalid("The fake streams with alt=sse only.")
	}
	var err *Error
	if req.Body, err = decode(req.Method, req.Raw); err != nil {
		return err
	}
	return req.Body.validate(&s.issued)
}

// take finds the step for req and uses it; -1 if there is none. s.mu is held.
func (s *Server) take(req *Request) int {
	for i, step := range s.script.Steps {
		if step.Times >= 0 && s.used[i] >= max(step.Times, 1) {
			continue
		}
		if step.Model != "" && step.Model != req.Model || step.When != "" && !req.Last().contains(step.When) {
			continue
		}
		s.used[i]++
		return i
	}
	return -1
}

func (s *Server) log(req Request) {
	if s.script.Log == nil {
		return
	}
	s.logMu.Lock()
	defer s.logMu.Unlock()
	s.script.Log(req)
}

// summary says in a line what the request asks.
func (r Request) summary() string {
	last := r.Last()
	text := last.Texts()
	for _, a := range last.Responses() {
		text += fmt.Sprintf(" %s → %s", a.Name, a.Response)
	}
	return fmt.Sprintf("%s, %d contents, the last: %.300q", r.Model, len(r.Body.Contents), text)
}

// version returns the API version that path begins with.
func version(path string) string {
	v, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return v
}
