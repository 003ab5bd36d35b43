package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"

	"redline/agent"
	"redline/agent/model"
	"redline/lsp/rpc"
)

// The methods about signing in.
const (
	methodAuthStatus   = "agent/auth/status"
	methodAuthLogin    = "agent/auth/login"
	methodAuthComplete = "agent/auth/complete"
	methodAuthLogout   = "agent/auth/logout"
)

// AuthStatus says how the model is reached as things are. Nothing is tried for it:
// that the user is signed in says that the credentials are there, not that they are
// good.
type AuthStatus struct {
	SignedIn bool `json:"signedIn"`
	// Method is the way that counts: gemini-api-key, oauth-personal (Login with
	// Google), vertex-ai or cloud-shell. Methods are all there are.
	Method  string   `json:"method,omitempty"`
	Methods []string `json:"methods,omitempty"`
	// Source is where the credential is from: "environment", "saved" (by a sign-in),
	// "client" (handed over for this process), "default" (application default
	// credentials) or "machine".
	Source string `json:"source,omitempty"`
	// Account is the user's address, Tier their plan of Code Assist, Project and
	// Location are the Google Cloud project and place, each as far as they matter and
	// are known.
	Account  string `json:"account,omitempty"`
	Tier     string `json:"tier,omitempty"`
	Project  string `json:"project,omitempty"`
	Location string `json:"location,omitempty"`
	// Message says what to do when not signed in, and after a login what came of it.
	Message string `json:"message,omitempty"`
}

// AuthLoginParams signs the user in. The answer comes when that is done, which with
// Login with Google takes as long as the user needs in the browser, at most five
// minutes; the request can be cancelled, and a second one takes the place of the first.
type AuthLoginParams struct {
	// Method is one of AuthStatus.Methods; without one, the one that the settings name
	// or that fits what is given.
	Method string `json:"method,omitempty"`
	// APIKey is a key of the Gemini API, for gemini-api-key. Without one, the key of
	// the environment is tried.
	APIKey string `json:"apiKey,omitempty"`
	// Keep says what becomes of APIKey: KeepSaved, the default, or KeepMemory.
	Keep string `json:"keep,omitempty"`
	// NoBrowser says that the link is shown and not opened. Whether or not, the code can
	// be handed over with agent/auth/complete.
	NoBrowser bool `json:"noBrowser,omitempty"`
	// WorkDoneToken is the token that progress is reported with ($/progress); without
	// one, the server makes one where the client has window.workDoneProgress.
	WorkDoneToken json.RawMessage `json:"workDoneToken,omitempty"`
}

// What [AuthLoginParams].Keep can be.
const (
	KeepSaved  = "saved"  // encrypted on this machine, for later runs
	KeepMemory = "memory" // in this process only
)

// Validate reports what is wrong.
func (p *AuthLoginParams) Validate() error {
	switch p.Keep {
	case "", KeepSaved, KeepMemory:
		return nil
	}
	return rpc.BadParams("keep", "is %q; use %s or %s", p.Keep, KeepSaved, KeepMemory)
}

// AuthCompleteParams hands the code of a login over that the browser could not bring:
// the code, or the whole address that the browser ended at.
type AuthCompleteParams struct {
	Code string `json:"code"`
}

// Validate reports what is missing.
func (p *AuthCompleteParams) Validate() error { return need("code", p.Code) }

// Account signs the user in and out. Its errors say what to do.
type Account interface {
	// Status tells how the model is reached, without trying.
	Status(ctx context.Context) (AuthStatus, error)
	// Login signs the user in and waits until that is done.
	Login(ctx context.Context, p AuthLoginParams, talk AuthTalk) error
	// Logout forgets every sign-in that is kept. When Google could not be told, they
	// are forgotten all the same, and the error says so.
	Logout(ctx context.Context) error
}

// AuthTalk is how a login speaks with the user.
type AuthTalk struct {
	// Show shows the link to open; called at most once.
	Show func(ctx context.Context, link string) error
	// Codes brings what the user pastes, instead of or beside the browser's answer.
	Codes <-chan string
	// Progress tells what is going on.
	Progress func(text string)
}

// login is one that is waiting.
type login struct {
	token  string // of its progress, as JSON
	cancel context.CancelFunc
	codes  chan string // capacity 1
}

func (s *Server) authStatus(ctx context.Context, _ *Empty) (AuthStatus, error) {
	set, err := s.loadSettings()
	if err != nil {
		return AuthStatus{}, rpc.Failed("settings: %v", err)
	}
	if set.Account != nil {
		st, err := set.Account.Status(ctx)
		if err != nil {
			return AuthStatus{}, rpc.Failed("%v", err)
		}
		return st, nil
	}
	method, err := set.Auth()
	if err != nil {
		return AuthStatus{Method: method, Message: err.Error()}, nil
	}
	return AuthStatus{SignedIn: true, Method: method}, nil
}

func (s *Server) account() (Account, error) {
	set, err := s.loadSettings()
	if err != nil {
		return nil, rpc.Failed("settings: %v", err)
	}
	if set.Account == nil {
		return nil, rpc.Failed("there is nothing to sign in to")
	}
	return set.Account, nil
}

func (s *Server) authLogin(ctx context.Context, p *AuthLoginParams) (AuthStatus, error) {
	account, err := s.account()
	if err != nil {
		return AuthStatus{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &login{token: string(p.WorkDoneToken), cancel: cancel, codes: make(chan string, 1)}
	made := l.token == "" && s.client.progress
	s.mu.Lock()
	before := s.login
	s.login = l
	s.logins++
	if made {
		l.token = fmt.Sprintf(`"redline.login.%d"`, s.logins)
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.login == l {
			s.login = nil
		}
	}()
	if before != nil {
		before.cancel() // the user has begun anew
	}
	said, show := "", func(string) {}
	if l.token != "" {
		bar := s.startProgress(json.RawMessage(l.token), "Signing in", made)
		defer bar.end()
		show = bar.report
	}
	talk := AuthTalk{Codes: l.codes, Progress: func(text string) {
		said = text
		show(text)
	}}
	talk.Show = func(ctx context.Context, link string) error { return s.showLink(ctx, link, !p.NoBrowser) }
	if err := account.Login(ctx, *p, talk); err != nil {
		if ctx.Err() != nil {
			return AuthStatus{}, context.Canceled
		}
		return AuthStatus{}, signInError(err)
	}
	st, err := account.Status(ctx)
	if err != nil {
		return AuthStatus{}, rpc.Failed("%v", err)
	}
	if st.SignedIn {
		st.Message = said
	}
	return st, nil
}

// signInError is the answer to a sign-in that failed; credentials that are missing or no
// good have the kind auth, as the end of a turn has.
func signInError(err error) error {
	kind := agent.TurnEnded{Status: agent.Failed, Err: err}
	return rpc.Errorf(rpc.CodeRequestFailed, ErrorKind(kind), "%s", plainReason(err))
}

// plainReason returns an error's text without the status of the service's answer.
func plainReason(err error) string {
	var e *model.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// showLink has the editor open a link, or shows it as a message where the editor
// cannot.
func (s *Server) showLink(ctx context.Context, link string, open bool) error {
	if u, err := url.Parse(link); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("the link to sign in is no web address; check REDLINE_OAUTH_ENDPOINT")
	}
	if open && s.client.showDoc {
		wait, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		yes := true
		var res protocol.ShowDocumentResult
		err := s.conn.Call(wait, "window/showDocument", &protocol.ShowDocumentParams{URI: uri.URI(link), External: &yes}, &res)
		if err == nil && res.Success {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.log.Debug("the editor did not open the link to sign in", zap.Error(err))
		}
	}
	s.showMessage(ctx, protocol.MessageTypeInfo, "To sign in, open this link in a browser: "+link)
	return nil
}

func (s *Server) authComplete(_ context.Context, p *AuthCompleteParams) (Empty, error) {
	s.mu.Lock()
	l := s.login
	s.mu.Unlock()
	if l == nil {
		return Empty{}, rpc.Failed("no sign-in is waiting; begin one with %s", methodAuthLogin)
	}
	select {
	case l.codes <- strings.Clone(p.Code):
		return Empty{}, nil
	default:
		return Empty{}, rpc.Failed("a code is being tried already")
	}
}

// cancelLogin cancels the login whose progress has the given token, as JSON.
func (s *Server) cancelLogin(token string) {
	s.mu.Lock()
	l := s.login
	s.mu.Unlock()
	if l != nil && token != "" && l.token == token {
		l.cancel()
	}
}

func (s *Server) authLogout(ctx context.Context, _ *Empty) (Empty, error) {
	account, err := s.account()
	if err != nil {
		return Empty{}, err
	}
	if err := account.Logout(ctx); err != nil {
		return Empty{}, rpc.Failed("%v", err)
	}
	return Empty{}, nil
}

// commandLogin is for editors without a plugin: it signs in and says how that went.
func (s *Server) commandLogin(ctx context.Context, a commandArgs) (any, error) {
	st, err := s.authLogin(ctx, &AuthLoginParams{Method: a.Text})
	if err != nil {
		s.showMessage(ctx, protocol.MessageTypeError, "Redline: "+err.Error())
		return nil, err
	}
	s.showMessage(ctx, protocol.MessageTypeInfo, "Redline: you are signed in ("+st.Method+").")
	return st, nil
}

func (s *Server) commandLogout(ctx context.Context, _ commandArgs) (any, error) {
	_, err := s.authLogout(ctx, nil)
	if err != nil {
		s.showMessage(ctx, protocol.MessageTypeWarning, "Redline: "+err.Error())
		return nil, err
	}
	s.showMessage(ctx, protocol.MessageTypeInfo, "Redline: you are signed out.")
	return nil, nil
}
