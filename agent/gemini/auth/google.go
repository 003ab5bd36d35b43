package auth

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"redline/agent/gemini"
	"redline/agent/gemini/vault"
	"redline/agent/model"
)

// LoginTimeout is how long a user has to sign in.
const LoginTimeout = 5 * time.Minute

// Google logs a user in with their Google account: the authorization code flow for
// installed programs (RFC 8252) with PKCE (RFC 7636). The answer comes to a port of
// this machine, or is pasted by the user.
type Google struct {
	// ClientID and ClientSecret are of the user's own OAuth client, of the type
	// "Desktop app".
	ClientID, ClientSecret string
	Endpoints              Endpoints
	HTTP                   *http.Client
	Port                   int           // for the answer; 0: any that is free
	Timeout                time.Duration // 0: LoginTimeout
}

// Talk is how a login speaks with the user.
type Talk struct {
	// Show shows the link to open. It is called once.
	Show func(ctx context.Context, link string) error
	// Codes brings what the user pastes: the code, or the whole address that the
	// browser was sent to. May be nil.
	Codes <-chan string
	// Say tells that something pasted was no use; the login goes on. May be nil if
	// Codes is.
	Say func(text string)
}

var errTooLate = errors.New("nobody signed in")

// Login has the user sign in and returns what to keep. It ends with ctx, and after
// Timeout.
func (g *Google) Login(ctx context.Context, talk Talk) (vault.Google, error) {
	timeout := g.Timeout
	if timeout == 0 {
		timeout = LoginTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTooLate)
	defer cancel()
	kept, err := g.login(ctx, talk)
	if err != nil && errors.Is(context.Cause(ctx), errTooLate) {
		return vault.Google{}, refused("Nobody signed in within %v. Start again; if the browser cannot reach this machine, paste the address that it ends at", timeout)
	}
	return kept, err
}

func (g *Google) login(ctx context.Context, talk Talk) (vault.Google, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(g.Port)))
	if err != nil {
		return vault.Google{}, fmt.Errorf("listen for the browser's answer: %w; OAUTH_CALLBACK_PORT names the port", err)
	}
	verifier, state := oauth2.GenerateVerifier(), rand.Text()
	config := g.config()
	config.RedirectURL = "http://" + listener.Addr().String() + callbackPath
	cb := &callback{host: listener.Addr().String(), state: state, results: make(chan result, 1)}
	cb.exchange = func(code string) (vault.Google, error) { return g.exchange(ctx, config, code, verifier) }
	served := cb.serve(listener)
	defer served()

	link := config.AuthCodeURL(state, oauth2.AccessTypeOffline, oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("prompt", "consent")) // else a second login gets no refresh token
	if err := talk.Show(ctx, link); err != nil {
		return vault.Google{}, err
	}
	for {
		select {
		case r := <-cb.results:
			return r.kept, r.err
		case text, ok := <-talk.Codes:
			if !ok {
				talk.Codes = nil // the browser may still answer
				continue
			}
			code, problem := pasted(text, state)
			if problem != "" {
				talk.Say(problem)
				continue
			}
			return cb.exchange(code)
		case <-ctx.Done():
			return vault.Google{}, ctx.Err()
		}
	}
}

func (g *Google) config() *oauth2.Config {
	return &oauth2.Config{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret, Scopes: Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: g.Endpoints.Auth, TokenURL: g.Endpoints.Token, AuthStyle: oauth2.AuthStyleInParams},
	}
}

// exchange turns the code into tokens.
func (g *Google) exchange(ctx context.Context, config *oauth2.Config, code, verifier string) (vault.Google, error) {
	tok, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, g.HTTP), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return vault.Google{}, tokenError(ctx, err)
	}
	if tok.RefreshToken == "" {
		return vault.Google{}, refused("Google gave no lasting sign-in (refresh token). Remove redline's access at https://myaccount.google.com/permissions and sign in again")
	}
	if scope, ok := tok.Extra("scope").(string); ok && scope != "" && !hasScope(scope, scopeCloud) {
		return vault.Google{}, refused("The access to Google Cloud was not ticked in the browser; without it the model cannot be used. Sign in again and allow it")
	}
	return vault.Google{
		RefreshToken: tok.RefreshToken, AccessToken: tok.AccessToken, Expiry: tok.Expiry,
		ClientID: g.ClientID, ClientSecret: g.ClientSecret, Email: g.email(ctx, tok.AccessToken),
	}, nil
}

func hasScope(list, scope string) bool {
	for _, s := range strings.Fields(list) {
		if s == scope {
			return true
		}
	}
	return false
}

// email returns the user's address, empty when it cannot be had: nothing depends on it.
func (g *Google) email(ctx context.Context, token string) string {
	ctx, cancel := context.WithTimeout(ctx, asideTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.Endpoints.UserInfo, nil)
	if err != nil {
		return ""
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := g.HTTP.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	var who struct {
		Email string `json:"email"`
	}
	if res.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&who) != nil {
		return ""
	}
	return who.Email
}

// Revoke tells Google to forget the sign-in. It gives up after a few seconds.
func (g *Google) Revoke(ctx context.Context, kept vault.Google) error {
	ctx, cancel := context.WithTimeout(ctx, asideTimeout)
	defer cancel()
	form := url.Values{"token": {kept.RefreshToken}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.Endpoints.Revoke, strings.NewReader(form))
	if err != nil {
		return errors.New("the address for revoking is no URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := g.HTTP.Do(req)
	if err != nil {
		return gemini.Unreachable("Google's sign-in service", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("Google answered %d", res.StatusCode)
	}
	return nil
}

// pasted takes the code out of what the user pasted: the code alone, or the address
// that the browser was sent to. problem says what is wrong with it.
func pasted(text, state string) (code, problem string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", "Nothing was pasted. Paste the address that the browser ended at, or the code in it."
	}
	if !strings.Contains(text, "://") && !strings.Contains(text, "code=") {
		code, _, _ = strings.Cut(text, "&") // what follows it in the address
		if plain, err := url.QueryUnescape(code); err == nil && strings.Contains(code, "%") {
			code = plain
		}
		if code == "" || strings.ContainsAny(code, " \t\r\n") {
			return "", "This is no code. Paste the address that the browser ended at, or the code in it."
		}
		return code, ""
	}
	_, query, _ := strings.Cut(text, "?")
	query, _, _ = strings.Cut(query, "#")
	values, err := url.ParseQuery(query)
	switch {
	case err != nil, values.Get("code") == "" && values.Get("error") == "":
		return "", "There is no code in this address. Sign in with the link first, then paste the address that the browser ended at."
	case values.Get("state") != state:
		return "", "This address is of another sign-in. Open the link above and paste the address that the browser ends at."
	case values.Get("error") != "":
		return "", "Google did not allow it: " + plain(values.Get("error")) + "."
	}
	return values.Get("code"), ""
}

// refused is an error that signing in again, or differently, can mend.
func refused(format string, args ...any) *model.Error {
	return &model.Error{Kind: model.KindAuth, Message: fmt.Sprintf(format, args...)}
}

// tokenError explains an error of the token service. The service's own words are used
// as far as they are the two members made for that; the rest of an answer could hold
// anything.
func tokenError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		var network net.Error
		if errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) {
			return gemini.Unreachable("Google's sign-in service", err)
		}
		return &model.Error{Kind: model.KindGarbage, Message: "the answer of Google's sign-in service could not be read"}
	}
	status := 0
	if answer.Response != nil {
		status = answer.Response.StatusCode
	}
	return explain(status, answer.ErrorCode, answer.ErrorDescription)
}

// explain says what an error of the token service means.
func explain(status int, code, description string) error {
	switch code {
	case "invalid_grant":
		return refused("Google did not accept the code; it may have been used or be too old. Sign in again")
	case "invalid_client", "unauthorized_client", "deleted_client":
		return refused("Google does not accept the OAuth client: check redline.auth.clientId and redline.auth.clientSecret (%s)", plain(code))
	case "redirect_uri_mismatch":
		return refused("Google does not let this OAuth client answer to this machine; make one of the type \"Desktop app\"")
	}
	said := plain(strings.TrimSpace(code + " " + description))
	if said != "" {
		said = ": " + said
	}
	if status >= 500 || status == http.StatusTooManyRequests {
		return &model.Error{Kind: model.KindServer, Status: status, Message: "Google's sign-in service has trouble" + said}
	}
	return &model.Error{Kind: model.KindAuth, Status: status, Message: "Google refused the sign-in" + said}
}

// plain makes a word of a foreign answer fit for showing.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}
