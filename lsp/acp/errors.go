package acp

import (
	"context"
	"errors"

	"redline/agent"
	"redline/agent/journal"
	"redline/agent/slash"
	"redline/lsp/rpc"
)

// Error codes of the protocol beside JSON-RPC's own.
const (
	codeAuthRequired = -32000
	codeNotFound     = -32002 // of a resource: a session, a file
)

// errorData says more than a code does.
type errorData struct {
	Kind   string `json:"kind"`             // auth, quota, …: what redline calls it
	Status int    `json:"status,omitempty"` // HTTP, where it is the service's answer
}

func authRequired(err error) error {
	return &rpc.Error{Code: codeAuthRequired, Message: err.Error(), Data: errorData{Kind: "auth"}}
}

func notFound(format string, args ...any) error {
	return rpc.Errorf(codeNotFound, "notFound", format, args...)
}

func invalid(format string, args ...any) error {
	return rpc.Errorf(rpc.CodeInvalidRequest, rpc.KindInvalidRequest, format, args...)
}

func internal(format string, args ...any) error {
	return rpc.Errorf(rpc.CodeInternal, rpc.KindInternal, format, args...)
}

// promptError is the answer to a prompt that was not taken.
func promptError(err error) error {
	var unknown *slash.UnknownError
	switch {
	case errors.Is(err, agent.ErrEmpty), errors.As(err, &unknown):
		return rpc.BadParams("prompt", "%v", err)
	case errors.Is(err, agent.ErrBusy):
		return invalid("a prompt is at work in this session; wait for it, or cancel it")
	case errors.Is(err, agent.ErrClosed):
		return notFound("the session is closed")
	}
	return internal("%v", err)
}

// turnError is the answer to a prompt whose turn failed.
func turnError(end agent.TurnEnded) error {
	kind := end.Kind()
	if kind == "auth" || errors.Is(end.Err, agent.ErrCredentials) {
		return &rpc.Error{Code: codeAuthRequired, Message: end.Err.Error(), Data: errorData{"auth", end.HTTPStatus()}}
	}
	return &rpc.Error{Code: rpc.CodeInternal, Message: end.Err.Error(), Data: errorData{kind, end.HTTPStatus()}}
}

// savedError is the answer when a saved session cannot be opened.
func savedError(err error) error {
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return notFound("%v", err)
	case errors.Is(err, journal.ErrInUse):
		return invalid("%v", err)
	case errors.Is(err, agent.ErrOtherFolder):
		return rpc.BadParams("cwd", "%v", err)
	case errors.Is(err, context.Canceled):
		return err
	}
	return internal("%v", err)
}
