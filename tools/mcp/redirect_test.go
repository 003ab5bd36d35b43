package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// The headers of a server, which hold its token, go to no other host, whatever it answers.
func TestHeadersStay(t *testing.T) {
	seen := make(chan string, 100)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization") + r.Header.Get("X-Token")
		http.Error(w, "no", http.StatusBadRequest)
	}))
	t.Cleanup(elsewhere.Close)
	for _, key := range []string{"httpUrl", "url"} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Token") != "topsecret" {
				t.Errorf("the server itself got no token")
			}
			if key == "url" && r.Method == http.MethodGet { // SSE: the address for messages is somebody else's
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write([]byte("event: endpoint\ndata: " + elsewhere.URL + "/messages\n\n"))
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				return
			}
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}))
		t.Cleanup(srv.Close)
		servers, _ := start(t, map[string]any{
			"h": map[string]any{key: srv.URL, "headers": map[string]any{"Authorization": "Bearer topsecret", "X-Token": "topsecret"}, "timeout": 2000},
		}, nil)
		if err := servers.States()[0].Err; err == nil {
			t.Errorf("%s: it is taken for a server", key)
		}
	}
	close(seen)
	for got := range seen {
		if got != "" {
			t.Errorf("another host got %q", got)
		}
	}
}
