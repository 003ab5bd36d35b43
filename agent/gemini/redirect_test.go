package gemini

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redline/agent/model"
)

// A redirection to another host is not followed: key, token and prompt stay with the service that the user named.
func TestRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("asked elsewhere: %s %s, key %q, token %q", r.Method, r.URL, r.Header.Get("X-Goog-Api-Key"), r.Header.Get("Authorization"))
		events("data: "+ev("evil", stop)+"\n\n")(w, r)
	}))
	t.Cleanup(elsewhere.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, status)
		})
		_, _, _, err := collect(c)
		var e *model.Error
		if !errors.As(err, &e) || e.Temporary() || !strings.Contains(e.Message, "not followed") || !strings.Contains(e.Message, elsewhere.URL) {
			t.Errorf("%d: %v", status, err)
		}
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		events("data: "+ev("here", stop)+"\n\n")(w, r)
	})
	if text, _, _, err := collect(c); text != "here" || err != nil {
		t.Errorf("within the service: %q, %v", text, err)
	}
	c = serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	})
	if _, _, _, err := collect(c); err == nil || !strings.Contains(err.Error(), "in a circle") {
		t.Errorf("a circle: %v", err)
	}
}

// What services and proxies send in place of an error object.
func TestErrorForms(t *testing.T) {
	for body, want := range map[string]string{
		`[{"error":{"code":500,"message":"inside an array","status":"INTERNAL"}}]`: "inside an array",
		`{"error":{"message":"without a code"}}`:                                   "without a code",
		`{}`:                                                                       "the service answered 500 Internal Server Error and did not say why",
		``:                                                                         "the service answered 500 Internal Server Error and did not say why",
		`<html>x`:                                                                  "with a web page",
		`[]`:                                                                       "",
		`[{"error":5`:                                                              "",
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(body))
		})
		_, _, _, err := collect(c)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindServer || !strings.Contains(e.Message, want) || strings.HasPrefix(e.Message, "{") {
			t.Errorf("%q: %v", body, err)
		}
	}
}
