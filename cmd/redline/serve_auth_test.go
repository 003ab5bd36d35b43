package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/agent/gemini/auth"
	"redline/agent/geminitest"
	"redline/agent/googletest"
	"redline/cmd/internal/signin"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// secretServer is a server whose every word is kept, for the search for secrets.
type secretServer struct {
	*lsptest.Editor
	t      *testing.T
	google *googletest.Server
	home   string
	trace  string

	mu     sync.Mutex
	stderr bytes.Buffer
}

// Write takes what the server says on stderr.
func (s *secretServer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.Write(p)
}

// serveGoogle starts the real server, with its trace and all of its log, and the fakes of
// Google's services for a user who has an OAuth client and no credentials.
func serveGoogle(t *testing.T, opt lsptest.Options, env ...string) *secretServer {
	t.Helper()
	model := geminitest.New(t, geminitest.Step{Chunks: []geminitest.Chunk{{Text: "Hello."}}, Times: -1, Optional: true})
	s := &secretServer{t: t, google: googletest.New(t, model), home: t.TempDir()}
	s.trace = filepath.Join(t.TempDir(), "trace")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "serve", "--model", "gemini-test", "--trace", s.trace, "--log-level", "debug")
	cmd.Args[0] = "redline" // what TestMain goes by
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "REDLINE_HOME=" + s.home, "CLOUDSDK_CONFIG=" + s.home,
		"GORACE=atexit_sleep_ms=0", "GOOGLE_GEMINI_BASE_URL=" + model.URL,
	}, env...)
	for k, v := range googleEnv(s.google) {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Stderr = s
	if opt.Handlers == nil {
		opt.Handlers = map[string]lsptest.Handler{}
	}
	if opt.Handlers["window/showDocument"] == nil {
		opt.Handlers["window/showDocument"] = openExternal(t)
	}
	s.Editor = lsptest.NewEditor(t, lsptest.Process(cmd), opt)
	return s
}

// openExternal is an editor that opens the link in a browser, where the user consents.
func openExternal(t *testing.T) lsptest.Handler {
	return func(_ context.Context, raw json.RawMessage) (any, error) {
		var p struct {
			URI      string `json:"uri"`
			External bool   `json:"external"`
		}
		if err := json.Unmarshal(raw, &p); err != nil || !p.External {
			t.Errorf("showDocument %s: %v", raw, err)
		}
		consent(t, p.URI)
		return map[string]bool{"success": true}, nil
	}
}

// consent opens the link as a browser does.
func consent(t *testing.T, link string) {
	res, err := http.Get(link)
	if err != nil {
		t.Error(err)
		return
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("the browser ended with %s", res.Status)
	}
}

func (s *secretServer) prompt(want, message string) {
	s.t.Helper()
	_, turn := ask(s.Editor, "hello")
	if status, got := end(s.t, s.Editor, turn); status != want || !strings.Contains(got, message) {
		s.t.Fatalf("turn %s: %q, want %s %q", status, got, want, message)
	}
}

func (s *secretServer) login(params map[string]any) (lsp.AuthStatus, error) {
	var st lsp.AuthStatus
	err := s.Call("agent/auth/login", params, &st)
	return st, err
}

// noSecrets ends the server and searches what it has written, except for the sealed file.
func (s *secretServer) noSecrets(more ...string) {
	s.t.Helper()
	if err := s.Shutdown(); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	texts := map[string]string{"stderr": s.stderr.String()}
	s.mu.Unlock()
	for _, dir := range []string{s.home, filepath.Dir(s.trace)} {
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			texts[path] = string(data)
			return err
		}); err != nil {
			s.t.Error(err)
		}
	}
	if !strings.Contains(texts[s.trace], "agent/auth/login") {
		s.t.Error("the trace has nothing of the sign-in")
	}
	for where, text := range texts {
		for _, secret := range append(s.google.Secrets(), more...) {
			if strings.Contains(text, secret) {
				s.t.Errorf("%s holds the secret %q", where, secret)
			}
		}
	}
}

// The whole way in an editor: not signed in, signed in while the server runs, a prompt,
// the sign-in revoked, signed in again, signed out.
func TestServeLogin(t *testing.T) {
	s := serveGoogle(t, lsptest.Options{}, "GOOGLE_GENAI_USE_GCA=true")
	s.prompt("failed", auth.SignedOut)
	var st lsp.AuthStatus
	s.MustCall("agent/auth/status", map[string]any{}, &st)
	if st.SignedIn || st.Method != signin.LoginOAuth || st.Message != auth.SignedOut || len(st.Methods) != 4 {
		t.Errorf("status %+v", st)
	}
	st, err := s.login(map[string]any{"method": "oauth-personal", "workDoneToken": "my-token"})
	if err != nil || !st.SignedIn || st.Account != googletest.Email || st.Source != "saved" || !strings.Contains(st.Message, googletest.Project) {
		t.Fatalf("login: %+v, %v", st, err)
	}
	for _, kind := range []string{"begin", "report", "end"} {
		s.WaitNotification("$/progress", func(raw json.RawMessage) bool {
			return strings.Contains(string(raw), `"my-token"`) && strings.Contains(string(raw), `"`+kind+`"`)
		})
	}
	s.prompt("completed", "")
	s.google.Expire()
	s.google.Set(func(g *googletest.State) { g.RefreshCode = "invalid_grant" })
	s.prompt("failed", "You have been signed out")
	s.google.Set(func(g *googletest.State) { g.RefreshCode = "" })
	if st, err := s.login(map[string]any{}); err != nil || !st.SignedIn {
		t.Fatalf("second login: %+v, %v", st, err)
	}
	s.prompt("completed", "")
	s.MustCall("agent/auth/logout", map[string]any{}, nil)
	if len(s.google.Seen("/revoke")) != 1 {
		t.Error("Google was not told")
	}
	s.prompt("failed", auth.SignedOut)
	if _, err := os.Stat(filepath.Join(s.home, "credentials")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	s.noSecrets()
}

// An editor that cannot open links shows it; the user pastes what the browser ends at.
func TestServeLoginPasted(t *testing.T) {
	s := serveGoogle(t, lsptest.Options{Capabilities: map[string]any{"window": map[string]any{"showDocument": nil}}})
	if err := s.Call("agent/auth/complete", map[string]any{"code": "x"}, nil); err == nil || !strings.Contains(err.Error(), "no sign-in is waiting") {
		t.Errorf("too early: %v", err)
	}
	type result struct {
		st  lsp.AuthStatus
		err error
	}
	done := make(chan result, 1)
	go func() {
		st, err := s.login(map[string]any{"method": "oauth-personal"})
		done <- result{st, err}
	}()
	var shown struct{ Message string }
	raw := s.WaitNotification("window/showMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "To sign in, open this link") })
	if err := json.Unmarshal(raw, &shown); err != nil {
		t.Fatal(err)
	}
	link := shown.Message[strings.Index(shown.Message, "http"):]
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	back, err := url.Parse(res.Header.Get("Location"))
	if err != nil || back.Query().Get("code") == "" {
		t.Fatalf("%v, %v", back, err)
	}
	s.MustCall("agent/auth/complete", map[string]any{"code": back.String()}, nil)
	if r := <-done; r.err != nil || !r.st.SignedIn || r.st.Account != googletest.Email {
		t.Fatalf("login: %+v, %v", r.st, r.err)
	}
	s.prompt("completed", "")
	s.noSecrets(back.Query().Get("state"))
}

// A sign-in that waits is called off by its progress, and by the next one.
func TestServeLoginCancelled(t *testing.T) {
	links := make(chan string, 3)
	s := serveGoogle(t, lsptest.Options{Handlers: map[string]lsptest.Handler{
		"window/showDocument": func(_ context.Context, raw json.RawMessage) (any, error) {
			var p struct{ URI string }
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, err
			}
			links <- p.URI
			return map[string]bool{"success": true}, nil
		},
	}})
	login := func(token string) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := s.login(map[string]any{"method": "oauth-personal", "workDoneToken": token})
			done <- err
		}()
		return done
	}
	cancelled := func(err error) {
		t.Helper()
		var e *lsptest.ResponseError
		if !errors.As(err, &e) || e.Code != -32800 {
			t.Errorf("got %v", err)
		}
	}
	first := login("one")
	<-links
	s.Notify("window/workDoneProgress/cancel", map[string]any{"token": "other"})
	s.Notify("window/workDoneProgress/cancel", map[string]any{"token": "one"})
	cancelled(<-first)
	second := login("two")
	<-links
	third := login("three")
	cancelled(<-second)
	consent(t, <-links)
	if err := <-third; err != nil {
		t.Error(err)
	}
	s.google.Set(func(g *googletest.State) { g.Deny = true })
	fourth := login("four")
	consent(t, <-links)
	var e *lsptest.ResponseError
	if err := <-fourth; !errors.As(err, &e) || e.Kind() != "auth" || !strings.Contains(e.Message, "declined") {
		t.Errorf("got %v", err)
	}
	s.noSecrets()
}

// A key that the editor hands over, for this process or to be kept.
func TestServeKey(t *testing.T) {
	s := serveGoogle(t, lsptest.Options{})
	s.prompt("failed", signin.NoKey)
	var e *lsptest.ResponseError
	if _, err := s.login(map[string]any{"method": "gemini-api-key", "apiKey": "wrong-PLANTED"}); !errors.As(err, &e) || e.Kind() != "auth" {
		t.Errorf("wrong key: %v", err)
	}
	if _, err := s.login(map[string]any{"apiKey": geminitest.DefaultKey, "keep": "somewhere"}); !errors.As(err, &e) || e.Code != -32602 {
		t.Errorf("wrong keep: %v", err)
	}
	if _, err := s.login(map[string]any{"method": "magic"}); !errors.As(err, &e) || !strings.Contains(e.Message, "Invalid auth method selected.") {
		t.Errorf("wrong method: %v", err)
	}
	if _, err := s.login(map[string]any{"method": "gemini-api-key"}); !errors.As(err, &e) || !strings.Contains(e.Message, signin.NoKey) {
		t.Errorf("no key: %v", err)
	}
	st, err := s.login(map[string]any{"apiKey": geminitest.DefaultKey, "keep": "memory"})
	if err != nil || st.Source != "client" || st.Method != signin.APIKey {
		t.Fatalf("login: %+v, %v", st, err)
	}
	if _, err := os.Stat(filepath.Join(s.home, "credentials")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key for this process is kept: %v", err)
	}
	s.prompt("completed", "")
	s.MustCall("agent/auth/logout", map[string]any{}, nil)
	s.prompt("failed", signin.NoKey)
	if st, err = s.login(map[string]any{"apiKey": geminitest.DefaultKey}); err != nil || st.Source != "saved" {
		t.Fatalf("login: %+v, %v", st, err)
	}
	s.prompt("completed", "")
	s.MustCall("agent/auth/logout", map[string]any{}, nil)
	// A .env file counts with the next prompt, as the message says.
	s.WriteFile(".env", "GEMINI_API_KEY="+geminitest.DefaultKey+"\n")
	s.prompt("completed", "")
	s.noSecrets("wrong-PLANTED", geminitest.DefaultKey)
}

// An editor without a plugin signs in with a command.
func TestServePlainLogin(t *testing.T) {
	s := serveGoogle(t, lsptest.Options{Plain: true})
	s.MustCall("workspace/executeCommand", map[string]any{"command": "redline.login", "arguments": []any{map[string]any{"text": "oauth-personal"}}}, nil)
	s.WaitNotification("window/showMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "you are signed in") })
	s.MustCall("workspace/executeCommand", map[string]any{"command": "redline.logout"}, nil)
	s.WaitNotification("window/showMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "you are signed out") })
}

// A sign-in service that hangs, and an admission that takes for ever, end with the turn.
func TestServeSignInHangs(t *testing.T) {
	s := serveGoogle(t, lsptest.Options{}, "GOOGLE_GENAI_USE_GCA=true")
	if _, err := s.login(map[string]any{}); err != nil {
		t.Fatal(err)
	}
	cancel := func(path string, n int) {
		t.Helper()
		session, turn := ask(s.Editor, "hello")
		if err := s.google.Await(t.Context(), path, n); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s.MustCall("agent/cancel", map[string]any{"sessionId": session}, nil)
		if status, message := end(t, s.Editor, turn); status != "cancelled" {
			t.Errorf("%s: turn %s: %s", path, status, message)
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("%s: cancelling took %v", path, d)
		}
	}
	hold := make(chan struct{})
	s.google.Set(func(g *googletest.State) { g.Hold = hold })
	s.google.Expire()
	cancel("/token", 2)
	close(hold)
	s.google.Set(func(g *googletest.State) { g.Hold = nil })
	s.prompt("completed", "")

	s.google.Set(func(g *googletest.State) { g.Tier, g.FreeTier, g.Onboarding = "", true, 1<<30 })
	login := make(chan error, 1)
	go func() {
		_, err := s.login(map[string]any{"workDoneToken": "w"})
		login <- err
	}()
	if err := s.google.Await(t.Context(), "/v1internal/operations/42", 1); err != nil {
		t.Fatal(err)
	}
	s.Notify("window/workDoneProgress/cancel", map[string]any{"token": "w"})
	var e *lsptest.ResponseError
	if err := <-login; !errors.As(err, &e) || e.Code != -32800 {
		t.Errorf("got %v", err)
	}
	cancel("/v1internal/operations/42", len(s.google.Seen("/v1internal/operations/42"))+1)
}

// A client that vanishes while a sign-in waits takes the server with it.
func TestServeLoginVanish(t *testing.T) {
	opened := make(chan struct{})
	s := serveGoogle(t, lsptest.Options{Handlers: map[string]lsptest.Handler{
		"window/showDocument": func(context.Context, json.RawMessage) (any, error) {
			close(opened)
			return map[string]bool{"success": true}, nil
		},
	}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.login(map[string]any{"method": "oauth-personal"}) // nobody answers it
	}()
	<-opened
	began := time.Now()
	s.Vanish()
	_ = s.WaitEnd()
	if d := time.Since(began); d > time.Second {
		t.Errorf("the process took %v to end", d)
	}
	<-done
}
