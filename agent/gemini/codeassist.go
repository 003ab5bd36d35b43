package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"redline/agent/model"
)

// Code Assist, the service behind Login with Google, speaks the Gemini API in
// envelopes: the name of the model, the project and the conversation around the
// request, and an envelope around each answer.

// codeAssistURL is where Code Assist is; codeAssistVersion begins its paths.
const (
	codeAssistURL     = "https://cloudcode-pa.googleapis.com"
	codeAssistVersion = "v1internal"
)

// maxAnswer bounds an answer that is no stream, in bytes; images come as base64.
const maxAnswer = 200 << 20

// rewrite turns a request of the SDK (models/NAME:METHOD) into one for Code Assist.
// wrapped says whether the answer comes in an envelope.
func (a *assist) rewrite(req *http.Request, x *exchange, body []byte) (out []byte, wrapped bool, err error) {
	name, method, ok := strings.Cut(path.Base(req.URL.Path), ":")
	if !ok {
		return nil, false, fmt.Errorf("%s is nothing that Code Assist has", path.Base(req.URL.Path))
	}
	var envelope any
	switch method {
	case "countTokens":
		var inner struct {
			Contents json.RawMessage `json:"contents"`
		}
		if err := json.Unmarshal(body, &inner); err != nil {
			return nil, false, fmt.Errorf("the SDK's request is no JSON object: %w", err)
		}
		envelope = map[string]any{"request": map[string]any{"model": "models/" + name, "contents": inner.Contents}}
	default:
		account, err := a.account(req.Context(), nil)
		if err != nil {
			return nil, false, err
		}
		var inner map[string]json.RawMessage
		if err := json.Unmarshal(body, &inner); err != nil {
			return nil, false, fmt.Errorf("the SDK's request is no JSON object: %w", err)
		}
		if x.session != "" {
			inner["session_id"], _ = json.Marshal(x.session) // a string
		}
		envelope = struct {
			Model        string `json:"model"`
			Project      string `json:"project,omitempty"`
			UserPromptID string `json:"user_prompt_id,omitempty"`
			Request      any    `json:"request"`
		}{name, account.Project, x.promptID, inner}
		wrapped = true
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(envelope); err != nil {
		return nil, false, fmt.Errorf("encode the request: %w", err)
	}
	u, err := url.Parse(a.url(":" + method))
	if err != nil {
		return nil, false, fmt.Errorf("the address of Code Assist: %w", err)
	}
	u.RawQuery = req.URL.RawQuery
	req.URL, req.Host = u, ""
	req.Header.Set("Content-Type", "application/json")
	return b.Bytes(), wrapped, nil
}

// url returns the address of a method (":name") or of an operation ("/name").
func (a *assist) url(suffix string) string { return a.base + "/" + codeAssistVersion + suffix }

// unwrap takes the answer out of its envelope. What is no envelope stays as it is: an
// error, or what the caller will complain about.
func unwrap(data []byte) []byte {
	var envelope struct {
		Response json.RawMessage `json:"response"`
		Error    json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &envelope) != nil || envelope.Error != nil {
		return data
	}
	if envelope.Response == nil {
		return []byte("{}") // counts of credits and the like come alone
	}
	return envelope.Response
}

// unwrapBody does the same with an answer that is no stream.
func unwrapBody(res *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	_ = res.Body.Close()
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	res.Body = io.NopCloser(bytes.NewReader(unwrap(data)))
	return nil
}

// call asks Code Assist something outside of a conversation: a POST when there is a
// body, else a GET. An error of the service is a [*model.Error].
func (a *assist) call(ctx context.Context, suffix string, body, into any) error {
	all := ctx
	ctx, cancel := context.WithTimeout(all, callTimeout)
	defer cancel()
	method, data := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		var err error
		if data, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url(suffix), nil)
	if err != nil {
		return fmt.Errorf("the address of Code Assist: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := a.over.send(req, data)
	if err != nil {
		var own *model.Error
		switch {
		case all.Err() != nil:
			return all.Err()
		case errors.As(err, &own):
			return own
		}
		return Unreachable("Code Assist", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	if err != nil {
		return Unreachable("Code Assist", err)
	}
	if res.StatusCode != http.StatusOK {
		var wire struct {
			Error *apiError `json:"error"`
		}
		if json.Unmarshal(answer, &wire) != nil || wire.Error == nil {
			wire.Error = &apiError{Code: res.StatusCode, Message: fmt.Sprintf("Code Assist answered %d", res.StatusCode)}
		}
		return wire.Error.model(res.StatusCode)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return &model.Error{Kind: model.KindGarbage, Message: "the answer of Code Assist could not be read", Err: err}
	}
	return nil
}

// models returns the names of the models that the account has a quota for.
func (a *assist) models(ctx context.Context) ([]string, error) {
	account, err := a.account(ctx, nil)
	if err != nil {
		return nil, err
	}
	var quota struct {
		Buckets []struct {
			ModelID string `json:"modelId"`
		} `json:"buckets"`
	}
	if err := a.call(ctx, ":retrieveUserQuota", map[string]string{"project": account.Project}, &quota); err != nil {
		return nil, err
	}
	out := []string{}
	for _, b := range quota.Buckets {
		if b.ModelID != "" {
			out = append(out, b.ModelID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Prepare finds out which project and tier the account has with Code Assist, and has
// it admitted if it is new there, which can take a minute; progress, if not nil, is
// told what is being waited for. A request does the same when it is the first. For
// the other services there is nothing to prepare, and the answer is empty.
func (c *Client) Prepare(ctx context.Context, progress func(text string)) (Account, error) {
	if c.assist == nil {
		return Account{}, nil
	}
	account, err := c.assist.account(ctx, progress)
	if err != nil {
		return Account{}, c.failure(ctx, &exchange{}, err)
	}
	return account, nil
}
