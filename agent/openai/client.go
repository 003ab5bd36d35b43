package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"redline/agent/model"
)

// DefaultBaseURL is where Ollama listens.
const DefaultBaseURL = "http://localhost:11434/v1"

// AnyModel is a name for the only model that a server has.
const AnyModel = "any"

// maxError is how much of an error's body is read, in bytes.
const maxError = 1 << 20

// Options say how to reach a server.
type Options struct {
	// BaseURL is what stands before "/chat/completions"; without a path "/v1" is
	// added. Empty: DefaultBaseURL.
	BaseURL string
	// APIKey is sent as a bearer token; empty: none, as local servers want it.
	APIKey    string
	Proxy     string // URL of a proxy; empty: HTTPS_PROXY and NO_PROXY of the environment
	UserAgent string // "Redline/VERSION (os; arch)"
	// Transport is used instead of one made here, in tests.
	Transport http.RoundTripper
}

// Client is a [model.ContentGenerator] for one server. It is safe for concurrent use.
type Client struct {
	opt  Options
	base string // without a slash at its end
	http *http.Client

	mu   sync.Mutex
	only string // the model that AnyModel stands for, once known
}

// New returns a client. It does not touch the network.
func New(opt Options) (*Client, error) {
	base, err := baseURL(opt.BaseURL)
	if err != nil {
		return nil, err
	}
	rt := opt.Transport
	if rt == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout = 0 // a local model may read a long prompt for minutes; the user can cancel
		t.IdleConnTimeout = 90 * time.Second
		if opt.Proxy != "" {
			u, err := url.Parse(opt.Proxy)
			if err != nil || u.Host == "" {
				return nil, errors.New("the proxy of the settings is no URL such as http://host:port")
			}
			t.Proxy = func(r *http.Request) (*url.URL, error) {
				if isLoopback(r.URL.Hostname()) { // a proxy would look for it on itself
					return nil, nil
				}
				return u, nil
			}
		}
		rt = t
	}
	return &Client{opt: opt, base: base, http: &http.Client{Transport: rt, CheckRedirect: model.SameService}}, nil
}

func baseURL(s string) (string, error) {
	if s == "" {
		return DefaultBaseURL, nil
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", errors.New("the base URL is no http or https URL; write it like " + DefaultBaseURL)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the base URL must have neither a query nor a fragment; write it like " + DefaultBaseURL)
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions")
	if path == "" {
		path = "/v1"
	}
	u.Path, u.RawPath = path, ""
	return u.String(), nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Stream implements [model.ContentGenerator]. Tool calls come in the last chunk, as
// only the end tells that their arguments are whole.
func (c *Client) Stream(ctx context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		name, err := c.model(ctx, req.Model)
		if err != nil {
			yield(nil, err)
			return
		}
		body, err := encodeRequest(req, name)
		if err != nil {
			yield(nil, err)
			return
		}
		res, err := c.do(ctx, http.MethodPost, "/chat/completions", body)
		if err != nil {
			yield(nil, err)
			return
		}
		defer res.Body.Close()
		a := &answer{offered: offered(req)}
		if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/json" {
			err = a.whole(res.Body, yield) // it does not stream
		} else {
			err = a.stream(res.Body, yield)
		}
		switch {
		case errors.Is(err, errStopped):
		case ctx.Err() != nil:
			yield(nil, ctx.Err())
		case err != nil:
			yield(nil, c.failure(ctx, err))
		default:
			yield(a.last(), nil)
		}
	}
}

// ListModels implements [model.Lister].
func (c *Client) ListModels(ctx context.Context) ([]model.Info, error) {
	res, err := c.do(ctx, http.MethodGet, "/models", nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var list struct {
		Data []struct {
			ID          string `json:"id"`
			MaxModelLen int    `json:"max_model_len"` // vLLM
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 16<<20)).Decode(&list); err != nil {
		return nil, &model.Error{Kind: model.KindGarbage, Message: "the list of models could not be read; check redline.openai.baseUrl", Err: err}
	}
	out := make([]model.Info, 0, len(list.Data))
	for _, m := range list.Data {
		if m.ID != "" {
			out = append(out, model.Info{Name: m.ID, InputLimit: m.MaxModelLen})
		}
	}
	return out, nil
}

// model returns the name to send for name.
func (c *Client) model(ctx context.Context, name string) (string, error) {
	if name != AnyModel && name != "" {
		return name, nil
	}
	c.mu.Lock()
	only := c.only
	c.mu.Unlock()
	if only != "" {
		return only, nil
	}
	infos, err := c.ListModels(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, i := range infos {
		names = append(names, i.Name)
	}
	slices.Sort(names)
	switch len(names) {
	case 0:
		return "", &model.Error{Kind: model.KindBadRequest, Message: "the server at " + c.base + " has no model; load one (with Ollama: ollama pull NAME)"}
	case 1:
		c.mu.Lock()
		c.only = names[0]
		c.mu.Unlock()
		return names[0], nil
	}
	const most = 20
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	return "", &model.Error{Kind: model.KindBadRequest, Message: fmt.Sprintf("the server at %s has several models; choose one with redline.openai.model or --model: %s%s", c.base, strings.Join(names, ", "), more)}
}

// do sends a request; an answer that is no success is an error.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream, application/json")
	}
	if c.opt.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.opt.APIKey)
	}
	if c.opt.UserAgent != "" {
		req.Header.Set("User-Agent", c.opt.UserAgent)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.failure(ctx, err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // what there is of it will do
	out := judge(res.StatusCode, data)
	out.RetryAfter = model.RetryAfter(res.Header, time.Now())
	return nil, c.clean(out)
}

// failure turns whatever went wrong into an error of ours.
func (c *Client) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var own *model.Error
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &own):
	case errors.As(err, &dns):
		own = &model.Error{Kind: model.KindNetwork, Message: fmt.Sprintf("cannot find the host %s; check redline.openai.baseUrl, the network and the proxy", dns.Name), Err: err}
	case errors.As(err, &op) && op.Op == "dial":
		own = &model.Error{Kind: model.KindNetwork, Message: fmt.Sprintf("no server answers at %s (%s); start it (Ollama: ollama serve), or set redline.openai.baseUrl", c.base, root(err)), Err: err}
	default:
		own = &model.Error{Kind: model.KindNetwork, Message: "the connection to the model's server failed: " + root(err), Err: err}
	}
	return c.clean(own)
}

// clean takes the key out of an error's text.
func (c *Client) clean(e *model.Error) *model.Error {
	if len(c.opt.APIKey) >= 4 && strings.Contains(e.Message, c.opt.APIKey) {
		e.Message = strings.ReplaceAll(e.Message, c.opt.APIKey, "[key]")
	}
	return e
}

// root returns the innermost error's text, which says what happened without the
// request's URL.
func root(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
