package gemini

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genai"

	"redline/agent/model"
)

// apiError is Google's error object.
type apiError struct {
	Code    int               `json:"code"`
	Message string            `json:"message"`
	Status  string            `json:"status"`
	Details []json.RawMessage `json:"details"`
}

// model sorts the error. fallback is the HTTP status when the object has none.
func (e *apiError) model(fallback int) *model.Error {
	out := &model.Error{Status: e.Code, Code: e.Status, Message: strings.TrimSpace(e.Message)}
	if out.Status == 0 {
		out.Status = fallback
	}
	if out.Message == "" {
		out.Message = "the model's service answered an error"
	}
	daily := false
	ds := details(e.Details)
	for _, d := range ds {
		if d.Reason != "" {
			out.Reason = d.Reason
		}
		if strings.HasSuffix(d.Type, "RetryInfo") {
			if delay, err := time.ParseDuration(d.RetryDelay); err == nil && delay > 0 {
				out.RetryAfter = delay
			}
		}
		for _, v := range d.Violations {
			daily = daily || strings.Contains(v.QuotaID, "PerDay") || strings.Contains(v.QuotaID, "Daily")
		}
	}
	daily = daily || out.Reason == reasonExhausted
	if hint := advice(ds); hint != "" {
		out.Message = sentence(out.Message) + " " + hint
	}
	switch {
	case out.Status == http.StatusUnauthorized, out.Status == http.StatusForbidden, out.Reason == "API_KEY_INVALID", out.Reason == "API_KEY_SERVICE_BLOCKED":
		out.Kind = model.KindAuth
	case out.Status == http.StatusTooManyRequests && daily:
		out.Kind = model.KindQuota
	case out.Status == http.StatusTooManyRequests:
		out.Kind = model.KindRate
	case out.Status == 499 || out.Status >= 500:
		out.Kind = model.KindServer
	default:
		out.Kind = model.KindBadRequest
	}
	return out
}

// failure turns an error of the SDK into one of ours.
func (c *Client) failure(ctx context.Context, x *exchange, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	x.mu.Lock()
	stream, after, status := x.streamErr, x.retryAfter, x.status
	x.mu.Unlock()
	var out, own *model.Error
	var api genai.APIError
	var op *net.OpError
	var dns *net.DNSError
	var through *url.Error
	switch {
	case stream != nil:
		out = stream
	case errors.As(err, &own): // of a token source, or of Code Assist
		out = own
	case errors.As(err, &api):
		e := apiError{Code: api.Code, Message: api.Message, Status: api.Status}
		for _, d := range api.Details {
			if raw, err := json.Marshal(d); err == nil {
				e.Details = append(e.Details, raw)
			}
		}
		if len(api.Details) == 0 && strings.HasPrefix(e.Status, strconv.Itoa(api.Code)) {
			e.Status = "" // the SDK puts the status line there when there is no error object
		}
		switch text := strings.TrimSpace(e.Message); {
		case strings.HasPrefix(text, "["): // some endpoints wrap the error object in an array
			var list []struct {
				Error apiError `json:"error"`
			}
			if json.Unmarshal([]byte(text), &list) == nil && len(list) > 0 && list[0].Error.Message != "" {
				e = list[0].Error
			}
		case text == "" || text == "{}" || text == "null":
			e.Message = strings.TrimSpace("the service answered "+strconv.Itoa(api.Code)+" "+http.StatusText(api.Code)) + " and did not say why"
		case strings.HasPrefix(text, "<"): // a proxy's HTML page
			e.Message = "the service answered " + strconv.Itoa(api.Code) + " with a web page; check the base URL and the proxy"
		}
		out = e.model(cmp.Or(api.Code, status))
	case errors.As(err, &dns), errors.As(err, &op), errors.As(err, &through), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		out = Unreachable("the model's service", err)
	default:
		out = &model.Error{Kind: model.KindGarbage, Message: "the answer of the model's service could not be read", Err: err}
	}
	if out.RetryAfter == 0 && after > 0 || out == own {
		copied := *out // it may be its maker's
		out = &copied
		out.RetryAfter = max(out.RetryAfter, after)
	}
	out.Message = redact(out.Message, c.opt.APIKey)
	return out
}

// Unreachable returns the error of a connection to a service that failed with err.
func Unreachable(service string, err error) *model.Error {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return &model.Error{Kind: model.KindNetwork, Message: fmt.Sprintf("cannot find the host %s; check the network and the proxy", dns.Name), Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &model.Error{Kind: model.KindNetwork, Message: "no answer of " + service + " in time; check the network and the proxy", Err: err}
	}
	return &model.Error{Kind: model.KindNetwork, Message: "the connection to " + service + " failed: " + root(err), Err: err}
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

// redact takes the key out of a text.
func redact(s, key string) string {
	if len(key) < 4 {
		return s
	}
	return string(bytes.ReplaceAll([]byte(s), []byte(key), []byte("[key]")))
}
