package googletest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// authorize is the page that asks the user for consent.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	redirect, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case err != nil || redirect.Scheme != "http" || redirect.Hostname() != "127.0.0.1":
		http.Error(w, "Error 400: redirect_uri_mismatch", http.StatusBadRequest)
		return
	case q.Get("client_id") != ClientID:
		http.Error(w, "Error 401: invalid_client", http.StatusUnauthorized)
		return
	case q.Get("response_type") != "code", q.Get("state") == "", q.Get("code_challenge_method") != "S256",
		q.Get("code_challenge") == "", q.Get("access_type") != "offline", !strings.Contains(q.Get("scope"), cloudScope):
		http.Error(w, "Error 400: invalid_request", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}}
	s.mu.Lock()
	if s.state.Deny {
		back.Set("error", "access_denied")
	} else {
		code := s.secret("4/code")
		s.codes[code] = grant{q.Get("code_challenge"), q.Get("redirect_uri"), q.Get("scope")}
		back.Set("code", code)
	}
	s.mu.Unlock()
	redirect.RawQuery = back.Encode()
	http.Redirect(w, r, redirect.String(), http.StatusFound)
}

func refuse(w http.ResponseWriter, status int, code, description string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": description})
}

// token is the token endpoint.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	state := s.now()
	if state.Hold != nil {
		select {
		case <-state.Hold:
		case <-r.Context().Done():
			return
		}
	}
	if state.TokenStatus != 0 {
		http.Error(w, "trouble", state.TokenStatus)
		return
	}
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	f := r.PostForm
	if f.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" && (f.Get("client_id") != ClientID || f.Get("client_secret") != ClientSecret) {
		refuse(w, http.StatusUnauthorized, "invalid_client", "The OAuth client was not found.")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]any{"token_type": "Bearer"}
	switch f.Get("grant_type") {
	case "authorization_code":
		g, ok := s.codes[f.Get("code")]
		delete(s.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if !ok || g.redirect != f.Get("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refuse(w, http.StatusBadRequest, "invalid_grant", "Malformed auth code.")
			return
		}
		if !s.state.NoRefresh {
			t := s.secret("1//refresh")
			s.refresh[t] = true
			out["refresh_token"] = t
		}
		out["scope"] = g.scope
		if s.state.Scope != "" {
			out["scope"] = s.state.Scope
		}
	case "refresh_token":
		t := f.Get("refresh_token")
		if s.state.RefreshCode != "" || !s.refresh[t] {
			code := s.state.RefreshCode
			if code == "" {
				code = "invalid_grant"
			}
			refuse(w, http.StatusBadRequest, code, "Token has been expired or revoked.")
			return
		}
		if s.state.Rotate {
			delete(s.refresh, t)
			next := s.secret("1//refresh")
			s.refresh[next] = true
			out["refresh_token"] = next
		}
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		if !signed(f.Get("assertion"), s.state.ServiceKey) {
			refuse(w, http.StatusBadRequest, "invalid_grant", "Invalid JWT Signature.")
			return
		}
	default:
		refuse(w, http.StatusBadRequest, "unsupported_grant_type", "")
		return
	}
	out["access_token"], out["expires_in"] = s.issue()
	answer(w, out)
}

// signed checks a service account's assertion (RS256).
func signed(assertion string, key *rsa.PublicKey) bool {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 || key == nil {
		return false
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], sig) != nil {
		return false
	}
	var claims struct {
		Issuer string `json:"iss"`
		Scope  string `json:"scope"`
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	return err == nil && json.Unmarshal(body, &claims) == nil && claims.Issuer != "" && strings.Contains(claims.Scope, cloudScope)
}

// exchange is the security token service, for external identities.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // a form that cannot be read has no token
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := r.PostForm.Get("subject_token"); t == "" || t != s.state.SubjectToken {
		refuse(w, http.StatusBadRequest, "invalid_grant", "The subject token is not valid.")
		return
	}
	token, seconds := s.issue()
	answer(w, map[string]any{"access_token": token, "expires_in": seconds, "token_type": "Bearer", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"})
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // a form that cannot be read has no token
	s.mu.Lock()
	defer s.mu.Unlock()
	t := r.PostForm.Get("token")
	if !s.refresh[t] {
		refuse(w, http.StatusBadRequest, "invalid_token", "")
		return
	}
	delete(s.refresh, t)
}

func (s *Server) userinfo(w http.ResponseWriter, r *http.Request) {
	if s.signedIn(w, r) {
		answer(w, map[string]any{"email": Email, "verified_email": true})
	}
}

// machine is the token of the metadata server.
func (s *Server) machine(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Metadata-Flavor") != "Google" {
		http.Error(w, "Missing Metadata-Flavor:Google header.", http.StatusForbidden)
		return
	}
	w.Header().Set("Metadata-Flavor", "Google")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.NoMachine {
		http.Error(w, "no account", http.StatusNotFound)
		return
	}
	token, seconds := s.issue()
	answer(w, map[string]any{"access_token": token, "expires_in": seconds, "token_type": "Bearer"})
}
