package auth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"redline/agent/gemini"
	"redline/agent/gemini/vault"
	"redline/agent/model"
)

// SignedOut is what is said when there is no sign-in with Google, or none any more.
const (
	SignedOut  = "You are not signed in with Google. Run \"redline auth login\", or sign in from the editor."
	signedGone = "You have been signed out: Google no longer accepts the saved sign-in, which has expired or was revoked. Run \"redline auth login\", or sign in again from the editor."
)

// Saved gives the tokens of a login that is kept in a vault, and renews them. It sees
// a new login, and what another process has renewed, without being told.
type Saved struct {
	vault     *vault.Vault
	endpoints Endpoints
	http      *http.Client

	// busy holds one token: whoever has it may use the rest. It is a channel and not
	// a mutex so that waiting ends with the caller's context.
	busy  chan struct{}
	stamp string // of the vault when have was read
	have  *vault.Google
}

// NewSaved returns a source for the login in v. It reads nothing yet.
func NewSaved(v *vault.Vault, e Endpoints, client *http.Client) *Saved {
	return &Saved{vault: v, endpoints: e, http: client, busy: make(chan struct{}, 1)}
}

var _ gemini.TokenSource = (*Saved)(nil)

// Token implements [gemini.TokenSource].
func (s *Saved) Token(ctx context.Context, rejected string) (gemini.Token, error) {
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return gemini.Token{}, ctx.Err()
	}
	defer func() { <-s.busy }()
	if stamp := s.vault.Stamp(); stamp != s.stamp || s.have == nil {
		kept, err := s.vault.Load()
		if err != nil {
			return gemini.Token{}, refused("%v", err)
		}
		s.stamp, s.have = stamp, kept.Google
	}
	if s.have == nil {
		return gemini.Token{}, refused(SignedOut)
	}
	if !usable(s.have, rejected) {
		if err := s.renew(ctx, rejected); err != nil {
			return gemini.Token{}, err
		}
	}
	return gemini.Token{Value: s.have.AccessToken}, nil
}

// usable reports whether g's access token can be sent.
func usable(g *vault.Google, rejected string) bool {
	return g.AccessToken != "" && g.AccessToken != rejected && time.Until(g.Expiry) > early
}

// renew gets a new access token, or takes one that another process has got. The vault
// stays locked for as long as Google takes to answer, at most requestTimeout: a server
// may give a new refresh token each time and take the old one back, so that two
// renewals at once would lose the sign-in.
func (s *Saved) renew(ctx context.Context, rejected string) error {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var renewed *vault.Google
	gone := false
	err := s.vault.Update(limited, func(kept *vault.Secrets) error {
		if kept.Google == nil {
			gone = true
			return errors.New("signed out")
		}
		g := *kept.Google
		if usable(&g, rejected) {
			renewed = &g
			return nil
		}
		config := &oauth2.Config{
			ClientID: g.ClientID, ClientSecret: g.ClientSecret,
			Endpoint: oauth2.Endpoint{TokenURL: s.endpoints.Token, AuthStyle: oauth2.AuthStyleInParams},
		}
		tok, err := config.TokenSource(context.WithValue(limited, oauth2.HTTPClient, s.http), &oauth2.Token{RefreshToken: g.RefreshToken}).Token()
		var answer *oauth2.RetrieveError
		if errors.As(err, &answer) && answer.ErrorCode == "invalid_grant" {
			kept.Google, gone = nil, true // it will never work again
			return nil
		}
		if err != nil {
			return tokenError(limited, err)
		}
		g.AccessToken, g.Expiry = tok.AccessToken, tok.Expiry
		if tok.RefreshToken != "" {
			g.RefreshToken = tok.RefreshToken
		}
		kept.Google, renewed = &g, &g
		return nil
	})
	switch {
	case renewed != nil:
		// That it could not be written, if so, does not keep the user from working.
		s.have, s.stamp = renewed, s.vault.Stamp()
		return nil
	case gone:
		s.have = nil
		return refused(signedGone)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	var own *model.Error
	if errors.As(err, &own) {
		return own
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return gemini.Unreachable("Google's sign-in service", err)
	}
	return refused("the sign-in could not be renewed: %v", err)
}

// Fixed gives one access token that somebody else has got and that cannot be renewed.
type Fixed string

// Token implements [gemini.TokenSource].
func (f Fixed) Token(_ context.Context, rejected string) (gemini.Token, error) {
	if rejected == string(f) {
		return gemini.Token{}, refused("The access token in GOOGLE_CLOUD_ACCESS_TOKEN is not accepted; it has probably expired. Set a new one")
	}
	return gemini.Token{Value: string(f)}, nil
}
