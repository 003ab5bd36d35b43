package model

import (
	"fmt"
	"time"
)

// Kind sorts the ways a request can fail by what can be done about it.
type Kind string

// The kinds of [Error].
const (
	KindAuth       Kind = "auth"       // no, wrong or expired credentials (401, 403, invalid key)
	KindBadRequest Kind = "badRequest" // the request itself is wrong (400, 404): never retried
	KindQuota      Kind = "quota"      // a daily or plan quota is used up: waiting seconds does not help
	KindRate       Kind = "rate"       // too many requests just now (429)
	KindServer     Kind = "server"     // 499, 5xx
	KindNetwork    Kind = "network"    // refused, reset, timed out, name not found
	KindCut        Kind = "cut"        // the stream ended without a finish reason
	KindGarbage    Kind = "garbage"    // bytes that are no answer of this API
)

// Error is a failed request. Its text never holds a credential.
type Error struct {
	Kind    Kind
	Status  int    // HTTP status, 0 when there was none
	Code    string // the API's own word, such as RESOURCE_EXHAUSTED; may be empty
	Reason  string // of google.rpc.ErrorInfo, such as SERVICE_DISABLED; may be empty
	Message string // the API's or the network's explanation, for the user
	// RetryAfter is how long the server asks to wait (Retry-After or RetryInfo);
	// 0 when it does not say.
	RetryAfter time.Duration
	Err        error // the cause; may be nil
}

func (e *Error) Error() string {
	switch {
	case e.Status != 0 && e.Code != "":
		return fmt.Sprintf("%s (HTTP %d %s)", e.Message, e.Status, e.Code)
	case e.Status != 0:
		return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Status)
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later by itself.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case KindRate, KindServer, KindNetwork, KindCut, KindGarbage:
		return true
	}
	return false
}
