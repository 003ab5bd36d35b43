package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"redline/tools/web"
)

func TestPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "2606:4700::1111": true, "64:ff9b::808:808": true, "172.32.0.1": true,
		"127.0.0.1": false, "127.9.9.9": false, "0.0.0.0": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd12::1": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:db8::1": false,
	} {
		if got := web.Public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: public %v, want %v", addr, got, want)
		}
	}
	if web.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// A server on loopback is never reached, whatever it is called and whoever sends there.
func TestPrivateIsRefused(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") }))
	defer srv.Close()
	port := srv.URL[strings.LastIndexByte(srv.URL, ':'):]
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "0x7f.1", "2130706433", "127.1"} {
		_, err := web.Fetch(t.Context(), "http://"+host+port, web.Options{Timeout: 5 * time.Second})
		if err == nil {
			t.Errorf("%s: fetched", host)
		}
	}
	var private *web.PrivateError
	if _, err := web.Fetch(t.Context(), srv.URL, web.Options{}); !errors.As(err, &private) {
		t.Errorf("error %v", err)
	}
	for u, want := range map[string]bool{"http://localhost:1/": true, "http://10.0.0.1/": true, "https://example.com/": false, "ftp://x/": false} {
		if web.Local(u) != want {
			t.Errorf("%s: local %v", u, !want)
		}
	}
}

func TestFetch(t *testing.T) {
	mux := http.NewServeMux()
	serve := func(path, kind, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		})
	}
	serve("/page", "text/html; charset=utf-8", `<html><head><title>T</title><style>p{}</style></head><body><h1>Head</h1><p>See <a href="/other">this</a>
		and <a href="java&#10;script:alert(1)">that</a>.</p><script>evil()</script><ul><li>one</li></ul><!-- hidden --></body></html>`)
	serve("/latin1", "text/html; charset=iso-8859-1", "<p>caf\xe9</p>")
	serve("/meta", "text/html", `<meta charset="windows-1251"><p>`+"\xcf\xf0\xe8\xe2\xe5\xf2</p>")
	serve("/utf8", "text/html", "<p>caf\u00e9</p>")
	serve("/json", "application/json", `{"a":1}`)
	serve("/png", "image/png", "\x89PNG")
	serve("/liar", "text/plain", "a\x00b")
	serve("/deep", "text/html", strings.Repeat("<div>", 2000)+"at the bottom")
	serve("/long", "text/plain", strings.Repeat("x", 3000))
	serve("/none", "", "plain words")
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/json", http.StatusFound) })
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	stop := make(chan struct{})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("begun"))
		w.(http.Flusher).Flush()
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	defer close(stop)
	for _, c := range []struct{ path, text, err string }{
		{path: "/page", text: "# Head\n\nSee [this](" + srv.URL + "/other) and that.\n\n- one\n"},
		{path: "/latin1", text: "café\n"},
		{path: "/meta", text: "Привет\n"},
		{path: "/utf8", text: "café\n"},
		{path: "/json", text: `{"a":1}`},
		{path: "/none", text: "plain words"},
		{path: "/deep", text: "at the bottom\n"},
		{path: "/moved", text: `{"a":1}`},
		{path: "/long", text: strings.Repeat("x", 2000)},
		{path: "/png", err: "is image/png, not text"},
		{path: "/liar", err: "is binary"},
		{path: "/gone", err: "410 Gone"},
		{path: "/round", err: "too many redirects"},
		{path: "/file", err: "is no http or https URL"},
		{path: "/slow", err: "did not answer in time"},
	} {
		o := web.Options{AllowPrivate: true, MaxBytes: 2000, Timeout: 10 * time.Second}
		switch c.path {
		case "/slow":
			o.Timeout = 200 * time.Millisecond
		case "/deep":
			o.MaxBytes = 0
		}
		p, err := web.Fetch(t.Context(), srv.URL+c.path, o)
		switch {
		case (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err):
			t.Errorf("%s: error %v, want %q", c.path, err, c.err)
		case err == nil && p.Text != c.text:
			t.Errorf("%s: got %q, want %q", c.path, p.Text, c.text)
		case err == nil && p.Cut != (c.path == "/long"):
			t.Errorf("%s: cut %v", c.path, p.Cut)
		}
	}
	for _, bad := range []string{"ftp://x/y", "http://", "::", "http://u:p@example.com/", "file:///etc/passwd"} {
		if _, err := web.Fetch(t.Context(), bad, web.Options{}); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := web.Fetch(ctx, srv.URL+"/json", web.Options{AllowPrivate: true}); err == nil {
		t.Error("fetched after a cancel")
	}
}

// A page that shows a file is replaced by the file.
func TestRaw(t *testing.T) {
	for in, want := range map[string]string{
		"https://github.com/o/r/blob/main/a/b%20c.go": "https://raw.githubusercontent.com/o/r/main/a/b%20c.go",
		"https://github.com/o/r":                      "https://github.com/o/r",
		"https://github.com/o/r/tree/main/x":          "https://github.com/o/r/tree/main/x",
		"https://github.com.evil.com/o/r/blob/m/x":    "https://github.com.evil.com/o/r/blob/m/x",
	} {
		u, _ := url.Parse(in)
		if got := web.Raw(u).String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("<p>a<b>c</p>")
	f.Add(`<a href="javascript:x">y</a>`)
	f.Add("<table><tr><td>x")
	f.Fuzz(func(t *testing.T, s string) {
		if got := web.Markdown(s, nil); strings.Contains(strings.ToLower(got), "](javascript:") && !strings.Contains(s, "](") {
			t.Errorf("%q: a link that runs something: %q", s, got)
		}
	})
}
