// Package googletest is a fake of what stands around the Gemini API at Google, for
// tests: the sign-in service (authorisation with PKCE, tokens, refresh, revocation), the
// metadata server of a machine, Code Assist with the admission of new accounts, and the
// paths of Vertex AI. It is real HTTP on loopback, and it refuses what the real services
// refuse. Conversations are answered by a [geminitest.Server] behind it. Nothing in
// production imports it.
//
//	model := geminitest.New(t, geminitest.Say("Hello."))
//	google := googletest.New(t, model)
//	google.Set(func(s *googletest.State) { s.Onboarding = 2 })
//
// The authorisation page is where a browser would show the consent: whoever fetches
// [Server.URL]/auth?… has consented (or declined, see State) and is sent on.
package googletest

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/agent/geminitest"
)

// The OAuth client and the user that the fake knows.
const (
	ClientID     = "client-1.apps.example.com"
	ClientSecret = "fake-client-secret-PLANTED"
	Email        = "ada@example.com"
	Project      = "ada-project"
)

// State is what a test can set; it says how the services behave from then on.
type State struct {
	// Of the sign-in service.
	Deny        bool          // the user declines
	NoRefresh   bool          // no refresh token is given
	Scope       string        // that the user allows; empty: what is asked for
	Lifetime    time.Duration // of an access token; 0: an hour
	Rotate      bool          // a refresh token is good for one use
	RefreshCode string        // error of each refresh, such as invalid_grant
	TokenStatus int           // HTTP status of every answer of /token, with no JSON in it
	Hold        chan struct{} // if not nil, /token answers once it is closed

	// Of the metadata server.
	NoMachine bool // there is no account on this machine

	// Of Code Assist.
	Tier       string // the account's; empty: it has to be admitted first
	Project    string // that Code Assist names for the account; empty: none
	Onboarding int    // how often an admission is not done yet when asked
	NoName     bool   // an admission has no name to ask by; it is asked for again
	Refusal    string // an error object that an admission ends in
	FreeTier   bool   // the default tier is the free one
	Ineligible string // ineligibleTiers, as JSON
	LoadError  string // the answer to loadCodeAssist, an error object with its code
	CallError  string // likewise to a conversation
	Models     []string

	// Of service accounts and external identities.
	ServiceKey   *rsa.PublicKey
	SubjectToken string
}

// Seen is a request as it came in.
type Seen struct {
	Method, Path, Query string
	Header              http.Header
	Body                string
}

// Server is the fake. Its methods are safe for concurrent use.
type Server struct {
	URL  string
	Host string // of URL, for GCE_METADATA_HOST

	model *geminitest.Server
	http  *http.Server
	done  chan struct{}

	mu       sync.Mutex
	state    State
	seen     []Seen
	changed  chan struct{}        // closed and replaced with each request
	codes    map[string]grant     // authorisation codes not used yet
	refresh  map[string]bool      // refresh tokens that are good
	access   map[string]time.Time // access tokens and their ends
	secrets  []string             // all that was ever given out
	left     int                  // polls until the admission is done
	admitted string               // the project of the admission
	n        int
}

// grant is what a code was given for.
type grant struct{ challenge, redirect, scope string }

// New serves until the end of the test; conversations go to model, which may be nil.
func New(t testing.TB, model *geminitest.Server) *Server {
	t.Helper()
	s := NewServer(model)
	t.Cleanup(s.Close)
	return s
}

// NewServer serves until Close. It panics if there is no port.
func NewServer(model *geminitest.Server) *Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("googletest: listen: %v", err))
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		URL: "http://" + l.Addr().String(), Host: l.Addr().String(), model: model, done: make(chan struct{}),
		state:   State{Tier: "standard-tier", Project: Project},
		changed: make(chan struct{}),
		codes:   map[string]grant{}, refresh: map[string]bool{}, access: map[string]time.Time{},
	}
	s.http = &http.Server{
		Handler: s.routes(), ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.http.RegisterOnShutdown(cancel)
	go func() {
		defer close(s.done)
		defer cancel()
		_ = s.http.Serve(l) // always ErrServerClosed after Close
	}()
	return s
}

// Close ends everything.
func (s *Server) Close() {
	_ = s.http.Close() // an error of the listener: it is gone either way
	<-s.done
}

// Set changes how the services behave.
func (s *Server) Set(change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
	s.left = s.state.Onboarding
}

func (s *Server) now() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Seen returns the requests so far whose path begins with prefix.
func (s *Server) Seen(prefix string) []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Seen
	for _, r := range s.seen {
		if strings.HasPrefix(r.Path, prefix) {
			out = append(out, r)
		}
	}
	return out
}

// Await waits until there have been n requests whose path begins with prefix.
func (s *Server) Await(ctx context.Context, prefix string, n int) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if len(s.Seen(prefix)) >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Secrets returns every code and token that was given out, and the client's secret: what
// must be in no log.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(slices.Clone(s.secrets), ClientSecret)
}

// Expire ends all access tokens, as the service sees it; the client does not know.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.access {
		s.access[t] = time.Time{}
	}
}

// Grant gives out a refresh token as if a user had signed in.
func (s *Server) Grant() (refreshToken string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.secret("1//refresh")
	s.refresh[t] = true
	return t
}

// Access gives out an access token.
func (s *Server) Access() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, _ := s.issue()
	return token
}

// secret makes a secret that is like no other. s.mu is held.
func (s *Server) secret(kind string) string {
	s.n++
	t := fmt.Sprintf("%s-PLANTED-%d-%d", kind, s.n, time.Now().UnixNano())
	s.secrets = append(s.secrets, t)
	return t
}

// issue makes an access token. s.mu is held.
func (s *Server) issue() (token string, seconds int) {
	life := s.state.Lifetime
	if life == 0 {
		life = time.Hour
	}
	token = s.secret("ya29.access")
	s.access[token] = time.Now().Add(life)
	return token, int(life.Seconds())
}

// bearer reports whether the request has an access token that is good.
func (s *Server) bearer(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	return ok && time.Now().Before(s.access[token])
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /auth", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /sts", s.exchange)
	mux.HandleFunc("POST /revoke", s.revoke)
	mux.HandleFunc("GET /userinfo", s.userinfo)
	mux.HandleFunc("GET /computeMetadata/v1/instance/service-accounts/default/token", s.machine)
	mux.HandleFunc("GET /v1internal/operations/{id}", s.operation)
	mux.HandleFunc("/", s.services)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
		if err != nil {
			return // the client broke off
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		s.mu.Lock()
		s.seen = append(s.seen, Seen{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), string(body)})
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

// services are those that want a token: Code Assist and Vertex AI.
func (s *Server) services(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1internal:"):
		if s.signedIn(w, r) {
			s.assist(w, r, strings.TrimPrefix(r.URL.Path, "/v1internal:"))
		}
	case strings.HasPrefix(r.URL.Path, "/v1beta1/"):
		s.vertex(w, r)
	default:
		http.NotFound(w, r)
	}
}

// signedIn answers 401 unless the token is good.
func (s *Server) signedIn(w http.ResponseWriter, r *http.Request) bool {
	if s.bearer(r) && r.Header.Get("X-Goog-Api-Key") == "" {
		return true
	}
	problem(w, http.StatusUnauthorized, `{"error":{"code":401,"message":"Request had invalid authentication credentials. Expected OAuth 2 access token.","status":"UNAUTHENTICATED"}}`)
	return false
}

func problem(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
