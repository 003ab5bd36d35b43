// Package auth gets access tokens from Google: by a login in the browser that is kept
// ([Google], [Saved]), from the default credentials of gcloud, of a service account or
// of an external identity ([Default]), from the machine the program runs on ([Compute]),
// or as given ([Fixed]).
//
// All of them are a [gemini.TokenSource]. Every wait has a deadline and ends with the
// caller's context, and no error holds a token, a code or a secret.
package auth

import (
	"net/http"
	"strings"
	"time"

	"redline/agent/model"
)

// Scopes are what a token must be good for: Google Cloud, and the user's address for
// showing who is signed in.
var Scopes = []string{
	scopeCloud,
	"https://www.googleapis.com/auth/userinfo.email",
	"https://www.googleapis.com/auth/userinfo.profile",
}

const scopeCloud = "https://www.googleapis.com/auth/cloud-platform"

// How long things may take: one request to Google's token service, and one for what
// can be done without.
const (
	requestTimeout = 30 * time.Second
	asideTimeout   = 5 * time.Second
)

// early is how long before its end a token is replaced, so that it does not end on
// the way.
const early = time.Minute

// Endpoints are the addresses of an OAuth 2 server.
type Endpoints struct {
	Auth, Token, Revoke, UserInfo string
}

// GoogleEndpoints returns Google's, or those of a server at base that has them as
// /auth, /token, /revoke and /userinfo.
func GoogleEndpoints(base string) Endpoints {
	if base == "" {
		return Endpoints{
			Auth:     "https://accounts.google.com/o/oauth2/v2/auth",
			Token:    "https://oauth2.googleapis.com/token",
			Revoke:   "https://oauth2.googleapis.com/revoke",
			UserInfo: "https://www.googleapis.com/oauth2/v2/userinfo",
		}
	}
	base = strings.TrimSuffix(base, "/")
	return Endpoints{Auth: base + "/auth", Token: base + "/token", Revoke: base + "/revoke", UserInfo: base + "/userinfo"}
}

// HTTPClient returns a client for these requests that goes through over and says who
// asks.
func HTTPClient(over http.RoundTripper, userAgent string) *http.Client {
	return &http.Client{Transport: named{over, userAgent}, Timeout: requestTimeout, CheckRedirect: model.SameService}
}

// named is a transport that sets the User-Agent.
type named struct {
	over      http.RoundTripper
	userAgent string
}

// RoundTrip implements [http.RoundTripper].
func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", n.userAgent)
	return n.over.RoundTrip(req)
}
