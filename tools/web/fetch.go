package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Options bound a fetch; zero values are useful.
type Options struct {
	Timeout      time.Duration // for a page as a whole; 20 s
	MaxBytes     int64         // of a page as it comes; 5 MB
	AllowPrivate bool          // also addresses of this machine and private networks
	UserAgent    string
	// Proxy returns the proxy for a URL, nil for none; nil: there is none. A proxy
	// looks names up itself: then only literal addresses can be refused.
	Proxy func(*url.URL) (*url.URL, error)
}

const maxRedirects = 10

// Page is what was fetched.
type Page struct {
	URL     string // after redirects
	Text    string // Markdown of HTML, else as it is
	Cut     bool   // the page was longer than MaxBytes
	Charset string
}

// Fetch gets one page as text. A status that is not 2xx is an error, as is content
// that is no text.
func Fetch(ctx context.Context, raw string, o Options) (*Page, error) {
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 5 << 20
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%q is no URL", raw)
	}
	if err := allowed(u, o); err != nil {
		return nil, err
	}
	u = Raw(u)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", raw, err)
	}
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.5")
	if o.UserAgent != "" {
		req.Header.Set("User-Agent", o.UserAgent)
	}
	transport := o.transport()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return errors.New("too many redirects")
		}
		return allowed(next.URL, o)
	}}
	res, err := client.Do(req)
	if err != nil {
		return nil, fetchError(ctx, raw, err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, fmt.Errorf("%s answered %s", res.Request.URL, res.Status)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, o.MaxBytes+1))
	if err != nil {
		return nil, fetchError(ctx, raw, err)
	}
	p := &Page{URL: res.Request.URL.String()}
	if int64(len(data)) > o.MaxBytes {
		data, p.Cut = data[:o.MaxBytes], true
	}
	return p, p.decode(data, res.Header.Get("Content-Type"), res.Request.URL)
}

func fetchError(ctx context.Context, raw string, err error) error {
	var private *PrivateError
	switch {
	case errors.As(err, &private):
		return fmt.Errorf("%s: %w", raw, private)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer in time", raw)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the URL is said already
	}
	return fmt.Errorf("cannot fetch %s: %w", raw, err)
}

// allowed checks what can be told of a URL before anything is dialled.
func allowed(u *url.URL, o Options) error {
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("%q is no http or https URL", u.Redacted())
	}
	if u.User != nil {
		return fmt.Errorf("%q holds credentials; such URLs are not fetched", u.Redacted())
	}
	if o.AllowPrivate {
		return nil
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") {
		return &PrivateError{host}
	}
	if a, err := netip.ParseAddr(host); err == nil && !Public(a) {
		return &PrivateError{host}
	}
	return nil
}

// Local reports whether a URL can only be reached from this machine's networks, as
// far as its text tells.
func Local(raw string) bool {
	u, err := url.Parse(raw)
	var private *PrivateError
	return err == nil && errors.As(allowed(u, Options{}), &private)
}

func (o Options) transport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	t := &http.Transport{
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: o.Timeout, MaxResponseHeaderBytes: 256 << 10,
		DisableKeepAlives: true, ForceAttemptHTTP2: true,
	}
	if !o.AllowPrivate {
		dialer.Control = publicOnly
	}
	t.DialContext = dialer.DialContext
	if o.Proxy != nil {
		o.through(t, dialer)
	}
	return t
}

// through has t use the proxies of the options. They are the user's choice, and so
// may be anywhere.
func (o Options) through(t *http.Transport, direct *net.Dialer) {
	var mu sync.Mutex
	proxies := map[string]bool{}
	t.Proxy = func(req *http.Request) (*url.URL, error) {
		proxy, err := o.Proxy(req.URL)
		if err != nil || proxy == nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		proxies[address(proxy)] = true
		return proxy, nil
	}
	free := *direct
	free.Control = nil
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		mu.Lock()
		known := proxies[addr]
		mu.Unlock()
		if known {
			return free.DialContext(ctx, network, addr)
		}
		return direct.DialContext(ctx, network, addr)
	}
}

// address returns what is dialled for a proxy.
func address(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}

// Raw returns the URL of the file itself for a page of GitHub that shows one.
func Raw(u *url.URL) *url.URL {
	if !strings.EqualFold(u.Hostname(), "github.com") {
		return u
	}
	// /OWNER/REPO/blob/REF/PATH
	parts := strings.SplitN(strings.TrimPrefix(u.EscapedPath(), "/"), "/", 4)
	if len(parts) != 4 || parts[2] != "blob" {
		return u
	}
	raw, err := url.Parse("https://raw.githubusercontent.com/" + parts[0] + "/" + parts[1] + "/" + parts[3])
	if err != nil {
		return u
	}
	return raw
}

// decode turns the bytes of a page into text.
func (p *Page) decode(data []byte, contentType string, base *url.URL) error {
	kind, _, _ := mime.ParseMediaType(contentType)
	if kind == "" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(data))
	}
	html := kind == "text/html" || kind == "application/xhtml+xml"
	if !html && !isText(kind) {
		return fmt.Errorf("%s is %s, not text", p.URL, kind)
	}
	enc, name, certain := charset.DetermineEncoding(data, contentType)
	p.Charset = name
	s := string(data)
	// Without a word of the server's, valid UTF-8 is UTF-8.
	if (certain || !utf8.Valid(data)) && name != "utf-8" {
		if out, err := enc.NewDecoder().Bytes(data); err == nil {
			s = string(out)
		}
	} else {
		p.Charset = "utf-8"
	}
	s = strings.ToValidUTF8(strings.TrimPrefix(s, "\ufeff"), "\ufffd")
	if html {
		p.Text = Markdown(s, base)
		return nil
	}
	if strings.ContainsRune(s[:min(len(s), 8<<10)], 0) {
		return fmt.Errorf("%s is binary, not text", p.URL)
	}
	p.Text = s
	return nil
}

func isText(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/x-javascript", "application/x-yaml", "application/yaml", "application/toml", "application/x-sh", "application/x-ndjson":
		return true
	}
	return false
}
