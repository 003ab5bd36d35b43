package auth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/agent/gemini"
	"redline/agent/gemini/auth"
	"redline/agent/gemini/vault"
	"redline/agent/googletest"
	"redline/agent/model"
)

// signedIn returns a vault with a login whose access token is over.
func signedIn(t *testing.T, srv *googletest.Server) (v *vault.Vault, dir string) {
	t.Helper()
	dir = t.TempDir()
	v = vault.New(dir)
	keep(t, v, &vault.Google{
		RefreshToken: srv.Grant(), AccessToken: "over", Expiry: time.Now().Add(-time.Hour),
		ClientID: googletest.ClientID, ClientSecret: googletest.ClientSecret, Email: googletest.Email,
	})
	return v, dir
}

func keep(t *testing.T, v *vault.Vault, g *vault.Google) {
	t.Helper()
	if err := v.Update(t.Context(), func(s *vault.Secrets) error { s.Google = g; return nil }); err != nil {
		t.Fatal(err)
	}
}

func saved(v *vault.Vault, srv *googletest.Server) *auth.Saved {
	return auth.NewSaved(v, auth.GoogleEndpoints(srv.URL), client())
}

func get(t *testing.T, s gemini.TokenSource, rejected string) string {
	t.Helper()
	tok, err := s.Token(t.Context(), rejected)
	if err != nil {
		t.Fatal(err)
	}
	return tok.Value
}

// Many who need a token at once, in one process and in two, make one refresh; the
// refresh token is good for one use.
func TestSavedRefreshesOnce(t *testing.T) {
	srv := googletest.New(t, nil)
	srv.Set(func(s *googletest.State) { s.Rotate = true })
	v, dir := signedIn(t, srv)
	sources := []*auth.Saved{saved(v, srv), saved(vault.New(dir), srv)}
	var wg sync.WaitGroup
	tokens := make([]string, 20)
	for i := range tokens {
		wg.Go(func() { tokens[i] = get(t, sources[i%2], "") })
	}
	wg.Wait()
	for _, tok := range tokens {
		if tok != tokens[0] {
			t.Errorf("different tokens")
		}
	}
	if n := len(srv.Seen("/token")); n != 1 {
		t.Errorf("%d refreshes", n)
	}
	// The service refuses the token before its time: one more refresh, for both.
	next := get(t, sources[0], tokens[0])
	if next == tokens[0] || get(t, sources[1], tokens[0]) != next || len(srv.Seen("/token")) != 2 {
		t.Errorf("after a refusal: %d refreshes", len(srv.Seen("/token")))
	}
	if s, err := vault.New(dir).Load(); err != nil || s.Google.AccessToken != next || s.Google.Email != googletest.Email {
		t.Errorf("kept %v", err)
	}
}

func TestSavedFails(t *testing.T) {
	for _, tt := range []struct {
		name      string
		set       func(*googletest.State)
		kind      model.Kind
		want      string
		signedOut bool
	}{
		{"invalid_grant", func(s *googletest.State) { s.RefreshCode = "invalid_grant" }, model.KindAuth, "You have been signed out", true},
		{"client deleted", func(s *googletest.State) { s.RefreshCode = "deleted_client" }, model.KindAuth, "OAuth client", false},
		{"service down", func(s *googletest.State) { s.TokenStatus = 500 }, model.KindServer, "has trouble", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := googletest.New(t, nil)
			srv.Set(tt.set)
			v, _ := signedIn(t, srv)
			s := saved(v, srv)
			_, err := s.Token(t.Context(), "")
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || !strings.Contains(e.Message, tt.want) {
				t.Errorf("got %v", err)
			}
			noSecrets(t, srv, err.Error())
			kept, err := v.Load()
			if err != nil || (kept.Google == nil) != tt.signedOut {
				t.Errorf("kept %v, %v", kept.Google != nil, err)
			}
			// A new sign-in counts at once.
			srv.Set(func(s *googletest.State) { s.RefreshCode, s.TokenStatus = "", 0 })
			keep(t, v, &vault.Google{RefreshToken: srv.Grant(), ClientID: googletest.ClientID, ClientSecret: googletest.ClientSecret})
			get(t, s, "")
		})
	}
	srv := googletest.New(t, nil)
	empty := saved(vault.New(t.TempDir()), srv)
	if _, err := empty.Token(t.Context(), ""); err == nil || err.Error() != auth.SignedOut {
		t.Errorf("nothing kept: %v", err)
	}
}

// A service that does not answer holds nobody up who gives up.
func TestSavedEnds(t *testing.T) {
	srv := googletest.New(t, nil)
	hold := make(chan struct{})
	srv.Set(func(s *googletest.State) { s.Hold = hold })
	v, _ := signedIn(t, srv)
	s := saved(v, srv)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for range 2 { // one asks the service, one waits for the first
		go func() {
			_, err := s.Token(ctx, "")
			done <- err
		}()
	}
	if err := srv.Await(t.Context(), "/token", 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 2 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	close(hold)
	get(t, s, "")
}

func TestFixed(t *testing.T) {
	f := auth.Fixed("tok-PLANTED")
	if get(t, f, "") != "tok-PLANTED" {
		t.Error("another token")
	}
	if _, err := f.Token(t.Context(), "tok-PLANTED"); err == nil || strings.Contains(err.Error(), "PLANTED") {
		t.Errorf("refused: %v", err)
	}
}

func write(t *testing.T, v any) string {
	t.Helper()
	data, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		data = string(b)
	}
	file := filepath.Join(t.TempDir(), "creds.json")
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// noneElsewhere keeps the tests from the machine's own credentials.
func noneElsewhere(t *testing.T) {
	t.Helper()
	t.Setenv("CLOUDSDK_CONFIG", t.TempDir())
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
}

// Each kind of credentials file, through Google's own library.
func TestDefault(t *testing.T) {
	noneElsewhere(t)
	srv := googletest.New(t, nil)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	srv.Set(func(s *googletest.State) { s.ServiceKey, s.SubjectToken = &key.PublicKey, "subject-PLANTED" })
	service := map[string]string{
		"type": "service_account", "project_id": "p", "private_key_id": "1", "private_key": private,
		"client_email": "robot@p.iam.gserviceaccount.com", "token_uri": srv.URL + "/token",
	}
	user := map[string]string{
		"type": "authorized_user", "client_id": googletest.ClientID, "client_secret": googletest.ClientSecret,
		"refresh_token": srv.Grant(), "quota_project_id": "bill-me",
	}
	external := map[string]any{
		"type": "external_account", "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
		"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": srv.URL + "/sts",
		"credential_source": map[string]string{"file": write(t, "subject-PLANTED")},
	}
	source := func(file string, fromProject bool) *auth.Default {
		return auth.NewDefault(auth.Default{File: file, FromProject: fromProject, HTTP: client(), TokenURL: srv.URL + "/token"})
	}
	for name, tt := range map[string]struct {
		file  any
		quota string
	}{"service account": {service, ""}, "user": {user, "bill-me"}, "external account": {external, ""}} {
		t.Run(name, func(t *testing.T) {
			s := source(write(t, tt.file), false)
			tok, err := s.Token(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if tok.QuotaProject != tt.quota || get(t, s, "") != tok.Value {
				t.Errorf("got %+v", tok)
			}
			if next := get(t, s, tok.Value); next == tok.Value {
				t.Error("a token that was refused is given again")
			}
		})
	}
	t.Run("gcloud's own", func(t *testing.T) {
		data, err := os.ReadFile(write(t, user))
		if err != nil {
			t.Fatal(err)
		}
		noneElsewhere(t)
		if err := os.WriteFile(filepath.Join(os.Getenv("CLOUDSDK_CONFIG"), "application_default_credentials.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		get(t, source("", false), "")
	})
	wrongKey, revoked := map[string]string{}, map[string]string{}
	for k, v := range service {
		wrongKey[k] = v
	}
	wrongKey["private_key"] = "-----BEGIN PRIVATE KEY-----\nPLANTED\n-----END PRIVATE KEY-----\n"
	for k, v := range user {
		revoked[k] = v
	}
	revoked["refresh_token"] = "gone-PLANTED"
	for _, tt := range []struct {
		name        string
		file        any
		fromProject bool
		want        string
	}{
		{"revoked", revoked, false, "no longer accepts the default credentials"},
		{"broken key", wrongKey, false, ""},
		{"no JSON", "PLANTED", false, "is no file of Google credentials"},
		{"no type", `{"refresh_token":"PLANTED"}`, false, "is no file of Google credentials"},
		{"unknown type", `{"type":"magic","secret":"PLANTED"}`, false, "no usable file"},
		{"external of a project", external, true, "can have secrets of yours sent elsewhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := source(write(t, tt.file), tt.fromProject).Token(t.Context(), "")
			var e *model.Error
			if !errors.As(err, &e) || !strings.Contains(e.Message, tt.want) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error(), "PLANTED") {
				t.Errorf("the error shows a secret: %v", err)
			}
			noSecrets(t, srv, err.Error())
		})
	}
	get(t, source(write(t, service), true), "") // harmless: its secrets are its own
	if _, err := source("/nowhere/creds.json", false).Token(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "GOOGLE_APPLICATION_CREDENTIALS") {
		t.Errorf("a file that is not there: %v", err)
	}
	t.Setenv("GCE_METADATA_HOST", srv.Host)
	srv.Set(func(s *googletest.State) { s.NoMachine = true })
	if _, err := source("", false).Token(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "gcloud auth application-default login") {
		t.Errorf("nothing anywhere: %v", err)
	}
	srv.Set(func(s *googletest.State) { s.NoMachine = false })
	get(t, source("", false), "")
}

func TestCompute(t *testing.T) {
	srv := googletest.New(t, nil)
	t.Setenv("GCE_METADATA_HOST", srv.Host)
	c := auth.NewCompute("")
	first := get(t, c, "")
	if get(t, c, "") != first || len(srv.Seen("/computeMetadata")) != 1 {
		t.Error("the token is not kept")
	}
	if get(t, c, first) == first {
		t.Error("a token that was refused is given again")
	}
	srv.Set(func(s *googletest.State) { s.NoMachine = true })
	if _, err := auth.NewCompute("").Token(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "Could not authenticate with the credentials of this machine") {
		t.Errorf("no account: %v", err)
	}
	t.Setenv("GCE_METADATA_HOST", "127.0.0.1:1")
	if _, err := auth.NewCompute("").Token(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "metadata server") {
		t.Errorf("no server: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := auth.NewCompute("").Token(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Tokens are fetched through the proxy too, but for hosts that NO_PROXY names.
func TestProxy(t *testing.T) {
	through := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through <- r.URL.String()
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
	}))
	defer proxy.Close()
	srv := googletest.New(t, nil)
	v, _ := signedIn(t, srv)
	ask := func() error {
		over, err := gemini.NewTransport(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer over.CloseIdleConnections()
		_, err = auth.NewSaved(v, auth.GoogleEndpoints("http://google.invalid"), auth.HTTPClient(over, userAgent)).Token(t.Context(), "")
		return err
	}
	t.Setenv("NO_PROXY", "other.invalid,google.invalid")
	var e *model.Error
	if err := ask(); !errors.As(err, &e) || e.Kind != model.KindNetwork || len(through) > 0 {
		t.Errorf("past the proxy: %v, %d through it", err, len(through))
	}
	t.Setenv("NO_PROXY", "other.invalid")
	if err := ask(); err == nil {
		t.Error("the proxy was passed by")
	}
	if u := <-through; u != "http://google.invalid/token" {
		t.Errorf("the proxy got %v", u)
	}
}
