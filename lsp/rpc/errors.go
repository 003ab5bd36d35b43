package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// Error codes of JSON-RPC 2.0 and LSP 3.18 that redline uses.
const (
	CodeParse          = -32700 // not JSON
	CodeInvalidRequest = -32600 // JSON, but not a request; or not allowed in this state
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeNotInitialized = -32002 // before initialize
	CodeCancelled      = -32800
	CodeStale          = -32801 // content modified: a revision or version moved on
	CodeOverloaded     = -32802 // server cancelled: try again later
	CodeRequestFailed  = -32803
)

// Values of the member "kind" in [Error].Data.
const (
	KindInvalidRequest = "invalidRequest"
	KindMethodNotFound = "methodNotFound"
	KindBadParams      = "badParams"
	KindInternal       = "internal"
	KindNotInitialized = "notInitialized"
	KindCancelled      = "cancelled"
	KindStale          = "stale"
	KindOverloaded     = "overloaded"
	KindFailed         = "failed"
)

var (
	// ErrClosed is wrapped by what Call, Notify and Wait report once the
	// connection has ended or is ending.
	ErrClosed = errors.New("connection closed")
	// ErrInline is wrapped by what Call reports when an inline handler calls
	// the peer before it has called [Release]: the answer could never be read.
	ErrInline = errors.New("call from an inline handler would deadlock (rpc.Release first)")
)

// Error is a JSON-RPC error answer, in either direction. A handler returns one
// to choose code and data; Call returns one when the peer answers an error.
type Error struct {
	Code    int
	Message string
	// Data is marshalled as the member "data" and omitted when nil. In an error
	// that came from the peer it is a json.RawMessage.
	Data any
}

// ErrorData is the shape of the "data" member of the errors that redline makes.
type ErrorData struct {
	Kind string `json:"kind"`
	// Field is the offending parameter as a dotted path with indices, such as
	// "context[1].range.start.line".
	Field string `json:"field,omitzero"`
	// RetryAfterMs is how long to wait, in milliseconds, before trying again.
	RetryAfterMs int `json:"retryAfterMs,omitzero"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// DecodeData decodes the data of an error that came from the peer into v.
func (e *Error) DecodeData(v any) error {
	raw, ok := e.Data.(json.RawMessage)
	if !ok {
		return fmt.Errorf("error %d carries no data", e.Code)
	}
	return json.Unmarshal(raw, v)
}

// Errorf makes an error with a code, the kind that clients match on and a message.
func Errorf(code int, kind, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Data: ErrorData{Kind: kind}}
}

// BadParams makes the -32602 error that names the offending field (a dotted
// path; empty when it is the parameters as a whole).
func BadParams(field, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	if field != "" {
		msg = field + ": " + msg
	}
	return &Error{Code: CodeInvalidParams, Message: msg, Data: ErrorData{Kind: KindBadParams, Field: field}}
}

// Stale makes the -32801 error: what the request refers to has moved on.
func Stale(format string, args ...any) *Error {
	return Errorf(CodeStale, KindStale, format, args...)
}

// Failed makes the -32803 error: the request was fine, yet could not be done.
func Failed(format string, args ...any) *Error {
	return Errorf(CodeRequestFailed, KindFailed, format, args...)
}

// toWire turns a handler's error into what goes over the wire.
func toWire(err error) *jsonrpc2.Error {
	var own *Error
	var foreign *jsonrpc2.Error
	switch {
	case errors.As(err, &own):
		msg := own.Message
		if _, direct := err.(*Error); !direct { //nolint:errorlint // wrapped: the outer text says more
			msg = err.Error()
		}
		return wireError(own.Code, msg, own.Data)
	case errors.As(err, &foreign):
		return &jsonrpc2.Error{Code: foreign.Code, Message: err.Error(), Data: foreign.Data}
	case errors.Is(err, context.Canceled):
		return wireError(CodeCancelled, "cancelled", ErrorData{Kind: KindCancelled})
	default:
		return wireError(CodeInternal, err.Error(), ErrorData{Kind: KindInternal})
	}
}

func wireError(code int, msg string, data any) *jsonrpc2.Error {
	e := &jsonrpc2.Error{Code: jsonrpc2.Code(code), Message: msg}
	if data != nil {
		// Data that cannot be marshalled must not cost the peer its answer.
		if raw, err := protocol.Marshal(data); err == nil {
			e.Data = raw
		}
	}
	return e
}

// fromWire turns what jsonrpc2's Call reports into this package's errors.
func fromWire(err error) error {
	var e *jsonrpc2.Error
	if errors.As(err, &e) {
		own := &Error{Code: int(e.Code), Message: e.Message}
		if len(e.Data) > 0 {
			own.Data = json.RawMessage(e.Data)
		}
		return own
	}
	return err
}
