package auth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"redline/agent/gemini/auth"
	"redline/agent/gemini/vault"
	"redline/agent/googletest"
	"redline/agent/model"
)

const userAgent = "Redline/test (linux; amd64)"

func client() *http.Client { return auth.HTTPClient(http.DefaultTransport, userAgent) }

func flow(srv *googletest.Server) *auth.Google {
	return &auth.Google{
		ClientID: googletest.ClientID, ClientSecret: googletest.ClientSecret,
		Endpoints: auth.GoogleEndpoints(srv.URL), HTTP: client(),
	}
}

// visit is a browser: it opens the link and follows where it is sent.
func visit(t *testing.T, link string) string {
	t.Helper()
	res, err := http.Get(link)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(page)
}

// end returns the address that the browser would be sent to, without going there.
func end(t *testing.T, link string) string {
	t.Helper()
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Get(link)
	if err != nil {
		t.Error(err)
		return ""
	}
	_ = res.Body.Close()
	return res.Header.Get("Location")
}

// noSecrets fails the test when a text holds anything that the service gave out.
func noSecrets(t *testing.T, srv *googletest.Server, texts ...string) {
	t.Helper()
	for _, secret := range srv.Secrets() {
		for _, text := range texts {
			if strings.Contains(text, secret) {
				t.Errorf("%q holds the secret %q", text, secret)
			}
		}
	}
}

func TestLogin(t *testing.T) {
	srv := googletest.New(t, nil)
	var page string
	pages := make(chan string, 1)
	kept, err := flow(srv).Login(t.Context(), auth.Talk{Show: func(_ context.Context, link string) error {
		go func() { pages <- visit(t, link) }()
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	page = <-pages
	if !strings.Contains(page, "You are signed in") || strings.Contains(page, "http://") || strings.Contains(page, "<script") {
		t.Errorf("page: %s", page)
	}
	if kept.Email != googletest.Email || kept.RefreshToken == "" || kept.AccessToken == "" || kept.ClientID != googletest.ClientID {
		t.Errorf("kept %+v", kept)
	}
	if d := time.Until(kept.Expiry); d < 50*time.Minute || d > time.Hour {
		t.Errorf("expires in %v", d)
	}
	for _, r := range srv.Seen("/") {
		if r.Path != "/auth" && r.Header.Get("User-Agent") != userAgent {
			t.Errorf("%s came with User-Agent %q", r.Path, r.Header.Get("User-Agent"))
		}
	}
	link, err := url.ParseQuery(srv.Seen("/auth")[0].Query)
	if err != nil || link.Get("prompt") != "consent" || len(link.Get("state")) < 20 {
		t.Errorf("the link asks for %v, %v", link, err)
	}
	noSecrets(t, srv, page)
}

// What goes wrong in the browser or at Google, in words, in time, and without secrets.
func TestLoginFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*googletest.State)
		flow func(*auth.Google)
		want string
	}{
		{name: "declined", set: func(s *googletest.State) { s.Deny = true }, want: "declined"},
		{name: "no refresh token", set: func(s *googletest.State) { s.NoRefresh = true }, want: "no lasting sign-in"},
		{name: "scope not ticked", set: func(s *googletest.State) { s.Scope = "https://www.googleapis.com/auth/userinfo.email" }, want: "was not ticked"},
		{name: "wrong secret", flow: func(g *auth.Google) { g.ClientSecret = "wrong-PLANTED" }, want: "does not accept the OAuth client"},
		{name: "token service down", set: func(s *googletest.State) { s.TokenStatus = 503 }, want: "has trouble"},
		{name: "token service refuses", set: func(s *googletest.State) { s.TokenStatus = 418 }, want: "refused the sign-in"},
		{name: "unreachable", flow: func(g *auth.Google) { g.Endpoints.Token = "http://127.0.0.1:1/token" }, want: "refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := googletest.New(t, nil)
			if tt.set != nil {
				srv.Set(tt.set)
			}
			g := flow(srv)
			if tt.flow != nil {
				tt.flow(g)
			}
			pages := make(chan string, 1)
			_, err := g.Login(t.Context(), auth.Talk{Show: func(_ context.Context, link string) error {
				go func() { pages <- visit(t, link) }()
				return nil
			}})
			page := <-pages
			var e *model.Error
			if !errors.As(err, &e) || !strings.Contains(e.Message, tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
				return
			}
			if !strings.Contains(page, "You are not signed in") {
				t.Errorf("page: %s", page)
			}
			noSecrets(t, srv, err.Error(), page)
			if strings.Contains(err.Error(), "PLANTED") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

// What is not the answer to this login is turned away, and the login goes on.
func TestLoginStrangers(t *testing.T) {
	srv := googletest.New(t, nil)
	_, err := flow(srv).Login(t.Context(), auth.Talk{Show: func(_ context.Context, link string) error {
		go func() {
			back := end(t, link)
			u, err := url.Parse(back)
			if err != nil {
				t.Error(err)
				return
			}
			base := "http://" + u.Host
			for path, want := range map[string]int{
				"/": 404, "/favicon.ico": 404, "/oauth2callback": 400, "/oauth2callback?code=x&state=guess": 400,
				"/oauth2callback?error=access_denied&state=guess": 400, "/oauth2callback?state=" + u.Query().Get("state"): 400,
			} {
				res, err := http.Get(base + path)
				if err != nil {
					t.Error(err)
					continue
				}
				_ = res.Body.Close()
				if res.StatusCode != want {
					t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
				}
			}
			// A page that reaches the port by another name, with everything else right.
			req, err := http.NewRequest(http.MethodGet, back, nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Host = "evil.example.com"
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusNotFound {
				t.Errorf("another host's name: %d", res.StatusCode)
			}
			visit(t, back)
		}()
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// Without a browser on this machine, the code is pasted.
func TestLoginPasted(t *testing.T) {
	srv := googletest.New(t, nil)
	for name, tt := range map[string]struct {
		lines func(back *url.URL) []string
		said  []string
	}{
		"the address": {lines: func(u *url.URL) []string { return []string{"  " + u.String() + "\n"} }},
		"the code":    {lines: func(u *url.URL) []string { return []string{u.Query().Get("code")} }},
		"after mistakes": {
			lines: func(u *url.URL) []string {
				other := *u
				q := u.Query()
				q.Set("state", "other")
				other.RawQuery = q.Encode()
				return []string{"", "what is this", "https://example.com/", other.String(), u.String()}
			},
			said: []string{"Nothing was pasted", "This is no code", "no code in this address", "another sign-in"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			codes := make(chan string)
			var said []string
			kept, err := flow(srv).Login(t.Context(), auth.Talk{
				Codes: codes,
				Say:   func(text string) { said = append(said, text) },
				Show: func(_ context.Context, link string) error {
					u, err := url.Parse(end(t, link))
					if err != nil {
						return err
					}
					go func() {
						defer close(codes)
						for _, l := range tt.lines(u) {
							codes <- l
						}
					}()
					return nil
				},
			})
			if err != nil || kept.RefreshToken == "" {
				t.Fatalf("got %+v, %v", kept, err)
			}
			if len(said) != len(tt.said) {
				t.Fatalf("said %q", said)
			}
			for i := range said {
				if !strings.Contains(said[i], tt.said[i]) {
					t.Errorf("said %q, want %q", said[i], tt.said[i])
				}
			}
		})
	}
}

// Nobody has to wait: the user cancels, or does nothing.
func TestLoginEnds(t *testing.T) {
	srv := googletest.New(t, nil)
	g := flow(srv)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := g.Login(ctx, auth.Talk{Show: func(context.Context, string) error { cancel(); return nil }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	g.Timeout = time.Millisecond
	_, err = g.Login(t.Context(), auth.Talk{Show: func(context.Context, string) error { return nil }})
	if err == nil || !strings.Contains(err.Error(), "Nobody signed in within 1ms") {
		t.Errorf("timed out: %v", err)
	}
	// The token service hangs while the user cancels.
	g.Timeout = 0
	hold := make(chan struct{})
	defer close(hold)
	srv.Set(func(s *googletest.State) { s.Hold = hold })
	ctx, cancel = context.WithCancel(t.Context())
	_, err = g.Login(ctx, auth.Talk{Show: func(_ context.Context, link string) error {
		go func() {
			res, err := http.Get(link)
			if err == nil {
				_ = res.Body.Close()
			}
		}()
		defer cancel()
		return srv.Await(ctx, "/token", 1)
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while the service hangs: %v", err)
	}
}

func TestRevoke(t *testing.T) {
	srv := googletest.New(t, nil)
	g := flow(srv)
	kept := vault.Google{RefreshToken: srv.Grant()}
	if err := g.Revoke(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	if err := g.Revoke(t.Context(), kept); err == nil {
		t.Error("revoked twice")
	} else {
		noSecrets(t, srv, err.Error())
	}
	g.Endpoints.Revoke = "http://127.0.0.1:1/"
	if err := g.Revoke(t.Context(), kept); err == nil {
		t.Error("revoked at nobody's")
	} else {
		noSecrets(t, srv, err.Error())
	}
}
