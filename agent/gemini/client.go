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
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"

	"redline/agent/model"
)

// Options say how to reach the API.
type Options struct {
	APIKey    string
	BaseURL   string // empty: Google's
	Proxy     string // URL of a proxy; empty: HTTPS_PROXY and NO_PROXY of the environment
	UserAgent string // "Redline/VERSION (os; arch)"
	// Transport is used instead of one made here, in tests.
	Transport http.RoundTripper
}

// Client is a [model.ContentGenerator] for one set of credentials. It is safe for
// concurrent use. Making one costs nothing: the SDK's client comes with the first
// request.
type Client struct {
	opt Options
	sdk func() (*genai.Client, error)
}

// New returns a client. It touches neither the network nor the key.
func New(_ context.Context, opt Options) (*Client, error) {
	if opt.APIKey == "" {
		return nil, errors.New("no API key")
	}
	base := opt.Transport
	if base == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout = 0 // a thinking model may take minutes; the user can cancel
		t.IdleConnTimeout = 90 * time.Second
		if opt.Proxy != "" {
			u, err := url.Parse(opt.Proxy)
			if err != nil || u.Host == "" {
				return nil, fmt.Errorf("the proxy %q is no URL such as http://host:port", opt.Proxy)
			}
			t.Proxy = http.ProxyURL(u)
		}
		base = t
	}
	if opt.BaseURL != "" {
		u, err := url.Parse(opt.BaseURL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("the base URL %q is no http or https URL", opt.BaseURL)
		}
	}
	c := &Client{opt: opt}
	c.sdk = sync.OnceValues(func() (*genai.Client, error) {
		// Backend, key and URL are set here so that the SDK reads no environment. Its
		// own retries stay off: they know nothing of the user.
		sdk, err := genai.NewClient(context.Background(), &genai.ClientConfig{
			APIKey: opt.APIKey, Backend: genai.BackendGeminiAPI,
			HTTPClient:  &http.Client{Transport: &transport{base: base, userAgent: opt.UserAgent}},
			HTTPOptions: genai.HTTPOptions{BaseURL: baseURL(opt.BaseURL)},
		})
		if err != nil {
			// The SDK's text can hold the key.
			return nil, errors.New("the Gen AI SDK refused the configuration")
		}
		return sdk, nil
	})
	return c, nil
}

// baseURL ends u with a slash, as the SDK joins paths.
func baseURL(u string) string {
	if u == "" {
		return "https://generativelanguage.googleapis.com/"
	}
	return strings.TrimSuffix(u, "/") + "/"
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
		x, err := newExchange(req.Contents)
		if err != nil {
			yield(nil, err)
			return
		}
		var config genai.GenerateContentConfig
		if req.Config != nil {
			config = *req.Config // the SDK sets defaults in it
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
	x, err := newExchange(req.Contents)
	if err != nil {
		return 0, err
	}
	res, err := sdk.Models.CountTokens(withExchange(ctx, x), req.Model, placeholder, nil)
	if err != nil {
		return 0, c.failure(ctx, x, err)
	}
	return int(res.TotalTokens), nil
}

// ListModels implements [model.Lister]: the models that can hold a conversation.
func (c *Client) ListModels(ctx context.Context) ([]model.Info, error) {
	sdk, err := c.sdk()
	if err != nil {
		return nil, err
	}
	x := &exchange{}
	var out []model.Info
	for m, err := range sdk.Models.All(withExchange(ctx, x)) {
		if err != nil {
			return nil, c.failure(ctx, x, err)
		}
		for _, action := range m.SupportedActions {
			if action == "generateContent" {
				out = append(out, model.Info{
					Name: strings.TrimPrefix(m.Name, "models/"), DisplayName: m.DisplayName,
					InputLimit: int(m.InputTokenLimit), OutputLimit: int(m.OutputTokenLimit),
				})
			}
		}
	}
	return out, nil
}
