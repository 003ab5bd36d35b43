// Package record keeps exchanges with a model: it writes them down (the recording of
// --record, the lines of --trace, telemetry), and plays a recording in the model's
// place, strictly.
//
// A recording is a file of JSON lines: a header, then a request and its response
// each. Parts of messages keep the bytes they came with. Secrets are taken out;
// the folders of the workspace and of the user's settings stand as placeholders, so
// that a recording can be played in another place.
package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"google.golang.org/genai"

	"redline/agent/model"
)

// The kinds of [Line].
const (
	KindHeader   = "header"
	KindRequest  = "request"
	KindResponse = "response"
)

// The methods of a request.
const (
	MethodStream      = "stream"
	MethodCountTokens = "countTokens"
	MethodListModels  = "listModels"
)

// Line is one line of a recording.
type Line struct {
	Kind   string `json:"kind"`
	N      int    `json:"n,omitempty"`    // of the exchange, from 1
	Time   string `json:"time,omitempty"` // RFC 3339, UTC
	Method string `json:"method,omitempty"`

	Header *Header `json:"header,omitempty"`

	Request *Request `json:"request,omitempty"`

	// Of a response.
	DurationMS int64        `json:"durationMs,omitempty"`
	Chunks     []Chunk      `json:"chunks,omitempty"`
	Tokens     int          `json:"tokens,omitempty"`
	Models     []model.Info `json:"models,omitempty"`
	Error      *Error       `json:"error,omitempty"`
}

// Header tells what the recording was made with.
type Header struct {
	Version string `json:"version"` // of redline
	Counts  bool   `json:"countsTokens"`
	Lists   bool   `json:"listsModels"`
}

// Request is [model.Request].
type Request struct {
	Model    string                       `json:"model"`
	PromptID string                       `json:"promptId,omitempty"`
	Config   *genai.GenerateContentConfig `json:"config,omitempty"`
	Contents []model.Content              `json:"contents"`
}

// Chunk is [model.Chunk].
type Chunk struct {
	Parts         []model.Part                                `json:"parts,omitempty"`
	FinishReason  genai.FinishReason                          `json:"finishReason,omitempty"`
	FinishMessage string                                      `json:"finishMessage,omitempty"`
	BlockReason   string                                      `json:"blockReason,omitempty"`
	Usage         *genai.GenerateContentResponseUsageMetadata `json:"usage,omitempty"`
	Grounding     *genai.GroundingMetadata                    `json:"grounding,omitempty"`
	URLContext    *genai.URLContextMetadata                   `json:"urlContext,omitempty"`
	ModelVersion  string                                      `json:"modelVersion,omitempty"`
}

// Error is how an exchange failed. Kind is that of [model.Error]; "cancelled" when the
// caller wanted no more.
type Error struct {
	Kind         string `json:"kind"`
	Status       int    `json:"status,omitempty"`
	Code         string `json:"code,omitempty"`
	Reason       string `json:"reason,omitempty"`
	Message      string `json:"message"`
	RetryAfterMS int64  `json:"retryAfterMs,omitempty"`
}

const kindCancelled = "cancelled"

// A Sink takes lines; it may be called from several goroutines.
type Sink func(Line)

// Observe returns g with every exchange told to sink: the request before it is sent,
// the response when it has ended. It counts tokens and lists models if g does.
func Observe(g model.ContentGenerator, sink Sink) model.ContentGenerator {
	o := &observer{inner: g, sink: sink}
	return offering(o, o, o, g)
}

// offering returns a generator that counts and lists if like does.
func offering(g model.ContentGenerator, c model.TokenCounter, l model.Lister, like model.ContentGenerator) model.ContentGenerator {
	_, counts := like.(model.TokenCounter)
	_, lists := like.(model.Lister)
	return offer(g, c, l, counts, lists)
}

func offer(g model.ContentGenerator, c model.TokenCounter, l model.Lister, counts, lists bool) model.ContentGenerator {
	type stream struct{ model.ContentGenerator } // hides what g has besides
	switch {
	case counts && lists:
		return struct {
			stream
			model.TokenCounter
			model.Lister
		}{stream{g}, c, l}
	case counts:
		return struct {
			stream
			model.TokenCounter
		}{stream{g}, c}
	case lists:
		return struct {
			stream
			model.Lister
		}{stream{g}, l}
	}
	return stream{g}
}

// exchanges numbers the exchanges of a process.
var exchanges atomic.Int64

type observer struct {
	inner model.ContentGenerator
	sink  Sink
}

func stamp() string { return time.Now().UTC().Format(time.RFC3339Nano) }

func (o *observer) begin(method string, req *model.Request) (end func(Line)) {
	n, began := int(exchanges.Add(1)), time.Now()
	line := Line{Kind: KindRequest, N: n, Time: stamp(), Method: method}
	if req != nil {
		line.Request = &Request{req.Model, req.PromptID, req.Config, req.Contents}
	}
	o.sink(line)
	return func(res Line) {
		res.Kind, res.N, res.Method, res.Time = KindResponse, n, method, stamp()
		res.DurationMS = time.Since(began).Milliseconds()
		o.sink(res)
	}
}

// Stream implements [model.ContentGenerator].
func (o *observer) Stream(ctx context.Context, req *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		end := o.begin(MethodStream, req)
		res := Line{Error: &Error{Kind: kindCancelled, Message: "not read to its end"}}
		defer func() { end(res) }()
		for chunk, err := range o.inner.Stream(ctx, req) {
			if err != nil {
				res.Error = fromError(err)
				yield(nil, err)
				return
			}
			res.Chunks = append(res.Chunks, Chunk(*chunk))
			if !yield(chunk, nil) {
				return
			}
		}
		res.Error = nil
	}
}

// CountTokens implements [model.TokenCounter].
func (o *observer) CountTokens(ctx context.Context, req *model.Request) (int, error) {
	end := o.begin(MethodCountTokens, req)
	n, err := o.inner.(model.TokenCounter).CountTokens(ctx, req)
	end(Line{Tokens: n, Error: fromError(err)})
	return n, err
}

// ListModels implements [model.Lister].
func (o *observer) ListModels(ctx context.Context) ([]model.Info, error) {
	end := o.begin(MethodListModels, nil)
	infos, err := o.inner.(model.Lister).ListModels(ctx)
	end(Line{Models: infos, Error: fromError(err)})
	return infos, err
}

func fromError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *model.Error
	if errors.As(err, &e) {
		return &Error{string(e.Kind), e.Status, e.Code, e.Reason, e.Message, e.RetryAfter.Milliseconds()}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Kind: kindCancelled, Message: err.Error()}
	}
	return &Error{Kind: "failed", Message: err.Error()}
}

// err is the inverse of fromError.
func (e *Error) err() error {
	if e.Kind == kindCancelled {
		return &model.Error{Kind: model.KindBadRequest, Message: "the recording ends in this answer: it was cancelled here"}
	}
	return &model.Error{Kind: model.Kind(e.Kind), Status: e.Status, Code: e.Code, Reason: e.Reason, Message: e.Message, RetryAfter: time.Duration(e.RetryAfterMS) * time.Millisecond}
}

// Encode returns the line as JSON, on one line, without its end.
func (l Line) Encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // code is full of <, > and &
	if err := enc.Encode(l); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
