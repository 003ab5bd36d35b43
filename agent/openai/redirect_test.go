package openai

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redline/agent/model"
)

// The prompt goes to no other server than the user named.
func TestRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked elsewhere: %s %s", r.Method, r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(srv.Close)
	for _, err := range client(t, srv.URL).Stream(t.Context(), newRequest()) {
		var e *model.Error
		if !errors.As(err, &e) || e.Temporary() || !strings.Contains(e.Message, "not followed") {
			t.Errorf("%v", err)
		}
	}
}
