package googletest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"redline/agent/geminitest"
)

// assist answers a method of Code Assist.
func (s *Server) assist(w http.ResponseWriter, r *http.Request, method string) {
	switch method {
	case "loadCodeAssist":
		s.load(w, r)
	case "onboardUser":
		s.onboard(w, r)
	case "retrieveUserQuota":
		buckets := []map[string]string{}
		for _, m := range s.now().Models {
			buckets = append(buckets, map[string]string{"modelId": m, "tokenType": "REQUESTS"})
		}
		answer(w, map[string]any{"buckets": buckets})
	case "generateContent", "streamGenerateContent", "countTokens":
		s.talk(w, r, method)
	default:
		problem(w, http.StatusNotFound, `{"error":{"code":404,"message":"Method not found.","status":"NOT_FOUND"}}`)
	}
}

// about is the body of loadCodeAssist and onboardUser.
type about struct {
	TierID   string `json:"tierId"`
	Project  string `json:"cloudaicompanionProject"`
	Metadata *struct {
		PluginType string `json:"pluginType"`
	} `json:"metadata"`
}

func readAbout(w http.ResponseWriter, r *http.Request) (about, bool) {
	var a about
	dec := json.NewDecoder(r.Body)
	if err := dec.Decode(&a); err != nil || a.Metadata == nil || a.Metadata.PluginType != "GEMINI" {
		problem(w, http.StatusBadRequest, `{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}`)
		return a, false
	}
	return a, true
}

func (s *Server) load(w http.ResponseWriter, r *http.Request) {
	if _, ok := readAbout(w, r); !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	if st.LoadError != "" {
		problem(w, codeOf(st.LoadError), st.LoadError)
		return
	}
	out := map[string]any{}
	if st.Tier != "" {
		out["currentTier"] = map[string]any{"id": st.Tier, "name": "Tier " + st.Tier}
		if st.Project != "" {
			out["cloudaicompanionProject"] = st.Project
		}
	} else {
		std := map[string]any{"id": "standard-tier", "name": "Standard", "isDefault": !st.FreeTier, "userDefinedCloudaicompanionProject": true}
		free := map[string]any{"id": "free-tier", "name": "Free", "isDefault": st.FreeTier}
		out["allowedTiers"] = []any{std, free}
	}
	if st.Ineligible != "" {
		out["ineligibleTiers"] = json.RawMessage(st.Ineligible)
	}
	answer(w, out)
}

// onboard begins an admission: a long-running operation.
func (s *Server) onboard(w http.ResponseWriter, r *http.Request) {
	a, ok := readAbout(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a.TierID == "free-tier" && a.Project != "":
		problem(w, http.StatusBadRequest, `{"error":{"code":400,"message":"Precondition check failed.","status":"FAILED_PRECONDITION"}}`)
		return
	case a.TierID == "free-tier":
		s.admitted = "free-managed-project"
	default:
		s.admitted = a.Project
	}
	if !s.state.NoName {
		s.left = s.state.Onboarding
	}
	s.progress(w)
	s.left--
}

func (s *Server) operation(w http.ResponseWriter, r *http.Request) {
	if !s.signedIn(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress(w)
	s.left--
}

// progress answers how far the admission is. s.mu is held.
func (s *Server) progress(w http.ResponseWriter) {
	op := map[string]any{"done": s.left <= 0}
	if !s.state.NoName {
		op["name"] = "operations/42"
	}
	if s.left <= 0 {
		reply := map[string]any{}
		if s.admitted != "" {
			reply["cloudaicompanionProject"] = map[string]any{"id": s.admitted, "name": s.admitted}
		}
		op["response"] = reply
		if s.state.Refusal != "" {
			delete(op, "response")
			op["error"] = json.RawMessage(s.state.Refusal)
		}
	}
	answer(w, op)
}

// codeOf returns the status of an error object.
func codeOf(object string) int {
	var e struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(object), &e) != nil || e.Error.Code == 0 {
		panic("googletest: an error object without a code: " + object)
	}
	return e.Error.Code
}

// talk hands a conversation to the fake Gemini, out of its envelope, and puts the answer
// into one.
func (s *Server) talk(w http.ResponseWriter, r *http.Request, method string) {
	if e := s.now().CallError; e != "" {
		problem(w, codeOf(e), e)
		return
	}
	var envelope struct {
		Model   string                     `json:"model"`
		Project string                     `json:"project"`
		Prompt  string                     `json:"user_prompt_id"`
		Request map[string]json.RawMessage `json:"request"`
	}
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(&envelope)
	if method == "countTokens" {
		var name string
		_ = json.Unmarshal(envelope.Request["model"], &name) // checked below
		envelope.Model = strings.TrimPrefix(name, "models/")
		delete(envelope.Request, "model")
	}
	if err != nil || envelope.Model == "" || envelope.Request == nil {
		problem(w, http.StatusBadRequest, fmt.Sprintf(`{"error":{"code":400,"message":"Invalid JSON payload received. %v","status":"INVALID_ARGUMENT"}}`, strconv.Quote(fmt.Sprint(err))[1:]))
		return
	}
	delete(envelope.Request, "session_id")
	body, err := json.Marshal(envelope.Request)
	if err != nil {
		panic(err) // it has just been decoded
	}
	path := "/v1beta/models/" + envelope.Model + ":" + method
	s.forward(w, r, path, body, method != "countTokens")
}

// forward sends a request to the fake Gemini.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, path string, body []byte, wrap bool) {
	if s.model == nil {
		problem(w, http.StatusNotFound, `{"error":{"code":404,"message":"The fake has no model.","status":"NOT_FOUND"}}`)
		return
	}
	base, err := url.Parse(s.model.URL)
	if err != nil {
		panic(err) // a URL of a fake
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(base)
			p.Out.URL.Path, p.Out.URL.RawQuery = path, r.URL.RawQuery
			p.Out.Header.Del("Authorization")
			p.Out.Header.Set("X-Goog-Api-Key", geminitest.DefaultKey)
			p.Out.Body, p.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		},
		ModifyResponse: func(res *http.Response) error {
			if !wrap || res.StatusCode != http.StatusOK {
				return nil
			}
			res.Header.Del("Content-Length")
			res.ContentLength = -1
			if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
				res.Body = newWrapper(res.Body)
				return nil
			}
			data, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil {
				return err
			}
			res.Body = io.NopCloser(strings.NewReader(`{"response":` + string(data) + `,"traceId":"trace-1"}`))
			return nil
		},
	}
	proxy.ServeHTTP(w, r)
}

// wrapper puts each event of a stream into an envelope.
type wrapper struct {
	body io.ReadCloser
	in   *bufio.Reader
	out  []byte
	err  error
}

func newWrapper(body io.ReadCloser) *wrapper {
	return &wrapper{body: body, in: bufio.NewReader(body)}
}

// Close implements [io.Closer].
func (w *wrapper) Close() error { return w.body.Close() }

// Read implements [io.Reader].
func (w *wrapper) Read(p []byte) (int, error) {
	for len(w.out) == 0 {
		if w.err != nil {
			return 0, w.err
		}
		var line []byte
		line, w.err = w.in.ReadBytes('\n')
		rest, ok := bytes.CutPrefix(line, []byte("data:"))
		if text := bytes.TrimSpace(rest); ok && len(text) > 0 && text[0] == '{' {
			end := line[len(bytes.TrimRight(line, "\r\n")):]
			line = append([]byte(`data: {"response":`+string(text)+`,"traceId":"trace-1"}`), end...)
		}
		w.out = line
	}
	n := copy(p, w.out)
	w.out = w.out[n:]
	return n, nil
}

// vertex answers the paths of Vertex AI: with a project and a token, or with an express
// key and no project.
func (s *Server) vertex(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v1beta1/")
	if e := s.now().CallError; e != "" {
		problem(w, codeOf(e), e)
		return
	}
	if key := r.Header.Get("X-Goog-Api-Key"); key != "" {
		if key != geminitest.DefaultKey || strings.HasPrefix(path, "projects/") || r.Header.Get("Authorization") != "" {
			problem(w, http.StatusUnauthorized, `{"error":{"code":401,"message":"API keys are not supported by this API, or this one is not valid.","status":"UNAUTHENTICATED"}}`)
			return
		}
	} else if !s.signedIn(w, r) {
		return
	}
	if path == "publishers/google/models" {
		models := []any{}
		for _, m := range s.now().Models {
			models = append(models, map[string]any{"name": "publishers/google/models/" + m})
		}
		answer(w, map[string]any{"publisherModels": models})
		return
	}
	if scope, ok := strings.CutPrefix(path, "projects/"); ok {
		parts := strings.SplitN(scope, "/", 4) // PROJECT/locations/LOCATION/…
		if len(parts) != 4 || parts[1] != "locations" {
			http.NotFound(w, r)
			return
		}
		path = parts[3]
	}
	name, ok := strings.CutPrefix(path, "publishers/google/models/")
	if !ok {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client broke off
	}
	s.forward(w, r, "/v1beta/models/"+name, body, false)
}
