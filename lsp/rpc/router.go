package rpc

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Mode says how a handler relates to the messages after its own.
type Mode int

const (
	// Inline handlers hold the queue until they return or call [Release].
	Inline Mode = iota
	// Async handlers leave the queue at once.
	Async
)

// Router maps methods to handlers. Register everything before [Conn.Go]; after
// that a Router is read-only and may serve any number of connections.
type Router struct {
	requests map[string]route
	notices  map[string]route
}

type route struct {
	mode           Mode
	call           func(ctx context.Context, params []byte) (any, error)
	params, result reflect.Type // result is nil for a notification
}

// NewRouter returns an empty Router.
func NewRouter() *Router {
	return &Router{requests: map[string]route{}, notices: map[string]route{}}
}

// Validator is implemented by parameters that can check themselves after
// decoding. Its error becomes a -32602; let it be made by [BadParams] to name
// the field.
type Validator interface{ Validate() error }

// Handle registers the handler of a request. P is the type of its parameters
// (a struct; absent parameters decode as the empty object) and R its result: a
// nil pointer is answered as null, a nil slice as []. It panics when the method
// has a handler already, or when initialize is not Inline.
func Handle[P, R any](r *Router, method string, mode Mode, fn func(ctx context.Context, params *P) (R, error)) {
	if method == methodInitialize && mode != Inline {
		panic("rpc: initialize must be handled inline")
	}
	r.add(r.requests, method, route{mode: mode, params: reflect.TypeFor[P](), result: reflect.TypeFor[R](), call: func(ctx context.Context, raw []byte) (any, error) {
		p, err := decodeParams[P](raw)
		if err != nil {
			return nil, err
		}
		return fn(ctx, p)
	}})
}

// HandleNotify registers the handler of a notification. An error of the handler
// is logged; there is nobody to answer.
func HandleNotify[P any](r *Router, method string, mode Mode, fn func(ctx context.Context, params *P) error) {
	r.add(r.notices, method, route{mode: mode, params: reflect.TypeFor[P](), call: func(ctx context.Context, raw []byte) (any, error) {
		p, err := decodeParams[P](raw)
		if err != nil {
			return nil, err
		}
		return nil, fn(ctx, p)
	}})
}

func (r *Router) add(m map[string]route, method string, rt route) {
	if _, dup := m[method]; dup {
		panic(fmt.Sprintf("rpc: %s registered twice", method))
	}
	m[method] = rt
}

// Methods returns the registered requests and notifications, each sorted.
func (r *Router) Methods() (requests, notifications []string) {
	return slices.Sorted(maps.Keys(r.requests)), slices.Sorted(maps.Keys(r.notices))
}

// Types returns the types of a request's parameters and result, as they were given to
// [Handle]; nil for a method that is no request.
func (r *Router) Types(method string) (params, result reflect.Type) {
	rt := r.requests[method]
	return rt.params, rt.result
}
