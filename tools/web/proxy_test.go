package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// What goes through a proxy reaches one on this machine, and nothing else does.
func TestFetchThroughProxy(t *testing.T) {
	proxied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("by proxy: " + r.URL.String()))
	}))
	defer proxied.Close()
	proxy, err := url.Parse(proxied.URL)
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Proxy: func(u *url.URL) (*url.URL, error) {
		switch u.Hostname() {
		case "broken.example":
			return nil, errors.New("no such proxy")
		}
		return proxy, nil
	}}
	for _, c := range []struct{ url, want, err string }{
		{"http://page.example/a", "by proxy: http://page.example/a", ""},
		{"http://127.0.0.1/a", "", "private network"},
		{"http://10.1.2.3/a", "", "private network"},
		{"http://localhost:1/a", "", "private network"},
		{"http://broken.example/", "", "no such proxy"},
		{proxied.URL, "", "private network"},
	} {
		p, err := Fetch(t.Context(), c.url, opt)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %+v, %v; want %s", c.url, p, err, c.err)
			}
		case err != nil || p.Text != c.want:
			t.Errorf("%s: %+v, %v; want %s", c.url, p, err, c.want)
		}
	}
}

func TestProxyAddress(t *testing.T) {
	for in, want := range map[string]string{
		"http://p": "p:80", "https://p": "p:443", "http://p:3128": "p:3128", "socks5://[::1]": "[::1]:1080",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := address(u); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
