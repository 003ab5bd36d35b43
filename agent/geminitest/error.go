package geminitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Error is an error as Google's APIs answer it.
type Error struct {
	Status  int    `json:"status"`            // HTTP
	Code    string `json:"code,omitempty"`    // such as RESOURCE_EXHAUSTED; empty: the one that goes with Status
	Message string `json:"message,omitempty"` // empty: the HTTP status's text

	Reason     string `json:"reason,omitempty"`     // adds an ErrorInfo
	RetryDelay string `json:"retryDelay,omitempty"` // adds a RetryInfo, such as "7s" or "0.5s"
	QuotaID    string `json:"quotaId,omitempty"`    // adds a QuotaFailure
	// Details are added as they are.
	Details []json.RawMessage `json:"details,omitempty"`

	RetryAfter string `json:"retryAfter,omitempty"` // the header
	// Body, with ContentType, is answered in place of the error object: what a proxy
	// might say. Status may be 200 then.
	Body        string `json:"body,omitempty"`
	ContentType string `json:"contentType,omitempty"` // empty: text/html
}

// The codes of google.rpc.Code that HTTP statuses stand for.
var codes = map[int]string{
	http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusUnauthorized: "UNAUTHENTICATED",
	http.StatusForbidden: "PERMISSION_DENIED", http.StatusNotFound: "NOT_FOUND",
	http.StatusConflict: "ABORTED", http.StatusTooManyRequests: "RESOURCE_EXHAUSTED", 499: "CANCELLED",
	http.StatusInternalServerError: "INTERNAL", http.StatusNotImplemented: "UNIMPLEMENTED",
	http.StatusServiceUnavailable: "UNAVAILABLE", http.StatusGatewayTimeout: "DEADLINE_EXCEEDED",
}

func (e *Error) check() error {
	if e.Body == "" && (e.Status < 400 || e.Status > 599) || e.Body != "" && (e.Status < 200 || e.Status > 599) {
		return fmt.Errorf("the error's status is %d", e.Status)
	}
	if e.RetryDelay != "" {
		if d, err := time.ParseDuration(e.RetryDelay); err != nil || d < 0 || e.RetryDelay[len(e.RetryDelay)-1] != 's' {
			return fmt.Errorf("the error's retryDelay %q is not of the form 1.5s", e.RetryDelay)
		}
	}
	for _, d := range e.Details {
		if !isObject(d) {
			return fmt.Errorf("the error's detail is no JSON object: %.80s", d)
		}
	}
	return nil
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.code(), e.message()) }

func (e *Error) code() string {
	if e.Code != "" {
		return e.Code
	}
	if c, ok := codes[e.Status]; ok {
		return c
	}
	return "UNKNOWN"
}

func (e *Error) message() string {
	if e.Message != "" {
		return e.Message
	}
	return http.StatusText(e.Status)
}

// json returns Google's error object (google.rpc.Status in JSON, with the HTTP
// status as its code).
func (e *Error) json() json.RawMessage {
	const rpc = "type.googleapis.com/google.rpc."
	var details []any
	if e.QuotaID != "" {
		details = append(details, map[string]any{"@type": rpc + "QuotaFailure", "violations": []any{map[string]any{
			"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests", "quotaId": e.QuotaID,
		}}})
	}
	if e.Reason != "" {
		details = append(details, map[string]any{
			"@type": rpc + "ErrorInfo", "reason": e.Reason, "domain": "googleapis.com",
			"metadata": map[string]any{"service": "generativelanguage.googleapis.com"},
		})
	}
	if e.RetryDelay != "" {
		details = append(details, map[string]any{"@type": rpc + "RetryInfo", "retryDelay": e.RetryDelay})
	}
	for _, d := range e.Details {
		details = append(details, d)
	}
	object := map[string]any{"code": e.Status, "message": e.message(), "status": e.code()}
	if details != nil {
		object["details"] = details
	}
	return encode(map[string]any{"error": object})
}

// write answers the error.
func (e *Error) write(w http.ResponseWriter) {
	if e.RetryAfter != "" {
		w.Header().Set("Retry-After", e.RetryAfter)
	}
	if e.Body != "" {
		kind := e.ContentType
		if kind == "" {
			kind = "text/html; charset=UTF-8"
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(e.Status)
		_, _ = w.Write([]byte(e.Body)) // the client may be gone: then nobody is to be told
		return
	}
	writeJSON(w, e.Status, e.json())
}

func writeJSON(w http.ResponseWriter, status int, body json.RawMessage) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // as above
}

// invalid is a refusal of the request itself.
func invalid(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}
