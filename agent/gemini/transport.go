package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"google.golang.org/genai"

	"redline/agent/model"
)

// exchange is one request and its answer, shared by the caller above the SDK and
// the transport below it.
type exchange struct {
	contents json.RawMessage // replaces the body's; nil: the body stays
	promptID string          // of the user's prompt, for Code Assist
	session  string          // likewise

	mu    sync.Mutex
	parts [][]json.RawMessage // of the events the SDK has not handed up yet
	// finishMessage is the candidate's, which the SDK loses.
	finishMessage string
	retryAfter    time.Duration
	status        int          // of HTTP; an error object need not have one
	streamErr     *model.Error // what the stream itself said before it ended
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func newExchange(req *model.Request) (*exchange, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(req.Contents); err != nil {
		return nil, fmt.Errorf("encode the conversation: %w", err)
	}
	return &exchange{contents: bytes.TrimSpace(b.Bytes()), promptID: req.PromptID, session: req.SessionID}, nil
}

// transport mends requests and answers on their way.
type transport struct {
	base      http.RoundTripper
	userAgent string
	tokens    TokenSource // nil: the SDK's key goes with the request
	assist    *assist     // nil unless the service is Code Assist
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, _ := req.Context().Value(exchangeKey{}).(*exchange)
	req = req.Clone(req.Context())
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		_ = req.Body.Close() // a buffer of the SDK's
		if err != nil {
			return nil, fmt.Errorf("read the request's body: %w", err)
		}
	}
	if x != nil && x.contents != nil && body != nil {
		var err error
		if body, err = replaceContents(body, x.contents); err != nil {
			return nil, err
		}
	}
	wrapped := false
	if t.assist != nil && x != nil {
		var err error
		if body, wrapped, err = t.assist.rewrite(req, x, body); err != nil {
			return nil, err
		}
	}
	res, err := t.send(req, body)
	if err != nil || x == nil {
		return res, err
	}
	x.mu.Lock()
	x.status = res.StatusCode
	if d := model.RetryAfter(res.Header, time.Now()); d > 0 {
		x.retryAfter = d
	}
	x.mu.Unlock()
	if res.StatusCode != http.StatusOK {
		return res, nil
	}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); {
	case kind == "text/event-stream":
		events := newEventReader(res.Body, x)
		events.wrapped = wrapped
		res.Body = events
	case wrapped:
		if err := unwrapBody(res); err != nil {
			return nil, err
		}
	default:
		return res, nil
	}
	res.ContentLength = -1
	res.Header.Del("Content-Length")
	return res, nil
}

// send sends req with body, and with an access token when there is a source of them. A
// token that the service refuses is replaced once: it may have been revoked, or the
// clocks differ.
func (t *transport) send(req *http.Request, body []byte) (*http.Response, error) {
	if t.userAgent != "" {
		req.Header.Set("User-Agent", t.userAgent)
	}
	rejected := ""
	for {
		if body != nil {
			req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		}
		if t.tokens == nil {
			return t.base.RoundTrip(req)
		}
		tok, err := t.tokens.Token(req.Context(), rejected)
		if err != nil {
			return nil, err
		}
		req.Header.Del("X-Goog-Api-Key")
		req.Header.Set("Authorization", "Bearer "+tok.Value)
		if tok.QuotaProject != "" {
			req.Header.Set("X-Goog-User-Project", tok.QuotaProject)
		}
		res, err := t.base.RoundTrip(req)
		if err != nil || res.StatusCode != http.StatusUnauthorized || rejected != "" {
			return res, err
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
		_ = res.Body.Close()
		rejected = tok.Value
	}
}

// replaceContents puts contents into the request. The members of the body come in
// alphabetical order, so that equal requests are equal bytes.
func replaceContents(body []byte, contents json.RawMessage) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, fmt.Errorf("the SDK's request is no JSON object: %w", err)
	}
	members["contents"] = contents
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(members); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return b.Bytes(), nil
}

// event takes note of an event on its way to the SDK; what is wrong with it, or what
// it says is wrong, is kept in streamErr.
func (x *exchange) event(data []byte) error {
	var wire struct {
		Candidates []struct {
			Content struct {
				Parts []json.RawMessage `json:"parts"`
			} `json:"content"`
			FinishMessage string `json:"finishMessage"`
		} `json:"candidates"`
		Error *apiError `json:"error"`
	}
	err := json.Unmarshal(data, &wire)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.streamErr = &model.Error{Kind: model.KindGarbage, Message: "the answer of the model's service could not be read", Err: fmt.Errorf("event %.80q: %w", data, err)}
		return x.streamErr
	}
	if wire.Error != nil {
		x.streamErr = wire.Error.model(0)
		return x.streamErr
	}
	var parts []json.RawMessage
	if len(wire.Candidates) > 0 {
		parts = wire.Candidates[0].Content.Parts
		if m := wire.Candidates[0].FinishMessage; m != "" {
			x.finishMessage = m
		}
	}
	x.parts = append(x.parts, parts)
	return nil
}

// chunk joins what the SDK made of an event with the event's own bytes.
func (x *exchange) chunk(res *genai.GenerateContentResponse) (*model.Chunk, error) {
	x.mu.Lock()
	var raw []json.RawMessage
	if len(x.parts) > 0 {
		raw, x.parts = x.parts[0], x.parts[1:]
	}
	finishMessage := x.finishMessage
	x.mu.Unlock()
	c := &model.Chunk{Usage: res.UsageMetadata, ModelVersion: res.ModelVersion}
	for _, r := range raw {
		p, err := model.RawPart(r)
		if err != nil {
			return nil, fmt.Errorf("part %.80q: %w", r, err)
		}
		c.Parts = append(c.Parts, p)
	}
	if res.PromptFeedback != nil {
		c.BlockReason = string(res.PromptFeedback.BlockReason)
	}
	if len(res.Candidates) > 0 {
		cand := res.Candidates[0]
		if c.FinishReason = cand.FinishReason; c.FinishReason != "" {
			c.FinishMessage = finishMessage
		}
		c.Grounding, c.URLContext = cand.GroundingMetadata, cand.URLContextMetadata
	}
	return c, nil
}
