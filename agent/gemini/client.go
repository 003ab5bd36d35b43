// Package gemini talks to Gemini models through the Google Gen AI SDK.
//
// The SDK reads and writes the requests; a RoundTripper under it (transport.go)
// mends what the SDK gets wrong: it sends the conversation byte for byte, keeps
// the bytes of what comes back, understands every form of server-sent events, and
// keeps the server's word on when to try again.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
	"google.golang.org/genai"

	"redline/agent/model"
)

// Options say how to reach the API: with an API key, through Vertex AI (Vertex, and
// Tokens or an express key), or through Code Assist (CodeAssist and Tokens).
type Options struct {
	APIKey    string
	BaseURL   string // empty: Google's
	Proxy     string // URL of a proxy; empty: HTTPS_PROXY and NO_PROXY of the environment
	UserAgent string // "Redline/VERSION (os; arch)"
	// Tokens gives the access tokens that go with each request in place of an API key.
	Tokens TokenSource

	// Vertex says that the service is Vertex AI. Without an API key, Project and
	// Location name the resource.
	Vertex            bool
	Project, Location string

	// CodeAssist says that the service is Code Assist. Project is then the user's own
	// Google Cloud project, which some accounts must name; else empty.
	CodeAssist bool

	// Transport is used instead of one made here, in tests.
	Transport http.RoundTripper
}

// Token is an OAuth 2 access token.
type Token struct {
	Value string
	// QuotaProject is the Google Cloud project that requests count for, when the
	// credentials name one.
	QuotaProject string
}

// TokenSource gives access tokens. Its errors are a [*model.Error] that says what to
// do, or the context's.
type TokenSource interface {
	// Token returns a token that is valid now. rejected is one that the service has
	// refused although it looked valid, and is not to be given again; else empty.
	Token(ctx context.Context, rejected string) (Token, error)
}

// Client is a [model.ContentGenerator] for one set of credentials. It is safe for
// concurrent use. Making one costs nothing: the SDK's client comes with the first
// request.
type Client struct {
	opt    Options
	assist *assist // nil unless Options.CodeAssist
	sdk    func() (*genai.Client, error)
}

// New returns a client. It touches neither the network nor the credentials.
func New(_ context.Context, opt Options) (*Client, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	base := opt.Transport
	if base == nil {
		t, err := NewTransport(opt.Proxy)
		if err != nil {
			return nil, err
		}
		base = t
	}
	t := &transport{base: base, userAgent: opt.UserAgent, tokens: opt.Tokens}
	c := &Client{opt: opt}
	if opt.CodeAssist {
		c.assist = newAssist(opt.BaseURL, opt.Project, t)
		t.assist = c.assist
	}
	c.sdk = sync.OnceValues(func() (*genai.Client, error) {
		// Backend, key and URL are set here so that the SDK reads no environment. Its
		// own retries stay off: they know nothing of the user.
		cc := &genai.ClientConfig{
			APIKey: opt.APIKey, Backend: genai.BackendGeminiAPI,
			HTTPClient:  &http.Client{Transport: t, CheckRedirect: model.SameService},
			HTTPOptions: genai.HTTPOptions{BaseURL: opt.baseURL()},
		}
		switch {
		case opt.CodeAssist:
			cc.APIKey = "-" // the SDK asks for one; the transport takes it out again
		case opt.Vertex:
			cc.Backend = genai.BackendVertexAI
			if opt.APIKey == "" {
				cc.Project, cc.Location = opt.Project, opt.Location
			}
		}
		sdk, err := genai.NewClient(context.Background(), cc)
		if err != nil {
			// The SDK's text can hold the key.
			return nil, errors.New("the Gen AI SDK refused the configuration")
		}
		return sdk, nil
	})
	return c, nil
}

// names are what project and location may be made of: the location becomes part of a
// host's name, and a token must go to no other.
var names = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.:-]*$`)

// check says what is wrong with the options.
func (o *Options) check() error {
	switch {
	case o.Vertex && o.CodeAssist:
		return errors.New("both Vertex AI and Code Assist are chosen")
	case o.CodeAssist && o.Tokens == nil:
		return errors.New("no access tokens")
	case !o.CodeAssist && o.APIKey == "" && o.Tokens == nil:
		return errors.New("no API key")
	case o.APIKey != "" && o.Tokens != nil:
		return errors.New("both an API key and access tokens")
	case o.Tokens != nil && !o.Vertex && !o.CodeAssist:
		return errors.New("the Gemini API takes an API key, no access token")
	}
	if o.Vertex && o.Tokens != nil {
		if !names.MatchString(o.Location) || strings.ContainsAny(o.Location, ".:") {
			return fmt.Errorf("the location %q is no name such as us-central1; set GOOGLE_CLOUD_LOCATION to one", o.Location)
		}
		if !names.MatchString(o.Project) {
			return fmt.Errorf("the project %q is no project ID such as my-project-123; set GOOGLE_CLOUD_PROJECT to one", o.Project)
		}
	}
	return CheckBaseURL(o.BaseURL)
}

// CheckBaseURL says what is wrong with the address of a service; an empty one is
// Google's.
func CheckBaseURL(raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("the base URL %q is no http or https URL", raw)
	}
	return nil
}

// NewTransport returns a transport that goes through proxy, or through the proxy of
// the environment (HTTPS_PROXY) when that is empty. NO_PROXY counts for both, and this
// machine is never reached through a proxy.
func NewTransport(proxy string) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = 0 // a thinking model may take minutes; the user can cancel
	t.IdleConnTimeout = 90 * time.Second
	if proxy != "" {
		u, err := url.Parse(proxy)
		if err != nil || u.Host == "" {
			return nil, errors.New("the proxy is no URL such as http://host:port")
		}
		config := httpproxy.FromEnvironment()
		config.HTTPProxy, config.HTTPSProxy, config.CGI = proxy, proxy, false
		through := config.ProxyFunc()
		t.Proxy = func(r *http.Request) (*url.URL, error) { return through(r.URL) }
	}
	return t, nil
}

// baseURL returns the service's address with a slash at its end, as the SDK joins
// paths.
func (o *Options) baseURL() string {
	switch {
	case o.BaseURL != "":
		return strings.TrimSuffix(o.BaseURL, "/") + "/"
	case o.CodeAssist:
		return codeAssistURL + "/"
	case !o.Vertex:
		return "https://generativelanguage.googleapis.com/"
	case o.APIKey != "", o.Location == "global":
		return "https://aiplatform.googleapis.com/"
	case o.Location == "us", o.Location == "eu": // the multi-regions
		return "https://aiplatform." + o.Location + ".rep.googleapis.com/"
	}
	return "https://" + o.Location + "-aiplatform.googleapis.com/"
}

// placeholder stands for the conversation in what the SDK encodes; the transport
// puts the real one there.
var placeholder = []*genai.Content{{Role: "user", Parts: []*genai.Part{{Text: "-"}}}}

// Stream implements [model.ContentGenerator].
func (c *Client) Stream(ctx context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		sdk, err := c.sdk()
		if err != nil {
			yield(nil, err)
			return
		}
		x, err := newExchange(req)
		if err != nil {
			yield(nil, err)
			return
		}
		var config genai.GenerateContentConfig
		if req.Config != nil {
			config = *req.Config                         // the SDK sets defaults in it
			if c := config.SystemInstruction; c != nil { // and in this
				copied := *c
				config.SystemInstruction = &copied
			}
		}
		finished := false
		for res, err := range sdk.Models.GenerateContentStream(withExchange(ctx, x), req.Model, placeholder, &config) {
			if err != nil {
				yield(nil, c.failure(ctx, x, err))
				return
			}
			chunk, err := x.chunk(res)
			if err != nil {
				yield(nil, &model.Error{Kind: model.KindGarbage, Message: "the answer of the model's service could not be read", Err: err})
				return
			}
			finished = finished || chunk.FinishReason != "" || chunk.BlockReason != ""
			if !yield(chunk, nil) {
				return
			}
		}
		switch {
		case ctx.Err() != nil:
			yield(nil, ctx.Err())
		case !finished:
			yield(nil, &model.Error{Kind: model.KindCut, Message: "the answer broke off before its end"})
		}
	}
}

// CountTokens implements [model.TokenCounter].
func (c *Client) CountTokens(ctx context.Context, req *model.Request) (int, error) {
	sdk, err := c.sdk()
	if err != nil {
		return 0, err
	}
	x, err := newExchange(req)
	if err != nil {
		return 0, err
	}
	res, err := sdk.Models.CountTokens(withExchange(ctx, x), req.Model, placeholder, nil)
	if err != nil {
		return 0, c.failure(ctx, x, err)
	}
	return int(res.TotalTokens), nil
}

// ListModels implements [model.Lister]: the models that can hold a conversation. Code
// Assist has no list of its own; those that the user has a quota for are given.
func (c *Client) ListModels(ctx context.Context) ([]model.Info, error) {
	x := &exchange{}
	if c.assist != nil {
		names, err := c.assist.models(ctx)
		if err != nil {
			return nil, c.failure(ctx, x, err)
		}
		out := make([]model.Info, len(names))
		for i, n := range names {
			out[i].Name = n
		}
		return out, nil
	}
	sdk, err := c.sdk()
	if err != nil {
		return nil, err
	}
	var out []model.Info
	for m, err := range sdk.Models.All(withExchange(ctx, x)) {
		if err != nil {
			return nil, c.failure(ctx, x, err)
		}
		name := path.Base(m.Name) // models/NAME, or publishers/google/models/NAME
		talks := slices.Contains(m.SupportedActions, "generateContent")
		if c.opt.Vertex { // which does not say
			talks = strings.HasPrefix(name, "gemini-") && !strings.Contains(name, "embedding")
		}
		if talks {
			out = append(out, model.Info{
				Name: name, DisplayName: m.DisplayName,
				InputLimit: int(m.InputTokenLimit), OutputLimit: int(m.OutputTokenLimit), Thinking: m.Thinking,
			})
		}
	}
	return out, nil
}
