// Package rpc is the JSON-RPC 2.0 transport of the redline server: LSP base
// protocol over any byte stream (stdio, a socket, an in-memory pipe), on top of
// go.lsp.dev/jsonrpc2, which by itself drops the connection on the first
// malformed message, failing notification or panic.
//
// A [Conn] is one peer. What it receives passes three layers:
//
//   - the guard (frame.go, check.go) reads frames with bounds, answers what is
//     not JSON (-32700, id null) or not a request (-32600) and goes on;
//   - jsonrpc2 matches answers with calls and keeps the order of requests;
//   - the dispatcher (dispatch.go) applies the LSP lifecycle, finds the handler
//     in a [Router], decodes its parameters, and turns whatever happens, a panic
//     too, into an answer.
//
// What it sends goes through one bounded queue and one writing goroutine
// (outbox.go), so that no handler ever waits inside a write to a slow peer
// while the reader is held up.
//
// # Order
//
// Handlers run in the order of the wire. An [Inline] handler runs to its end
// before the next message is looked at: text synchronisation, configuration and
// lifecycle belong there. An [Async] handler leaves the queue at once: it starts
// after all earlier inline handlers have returned, and runs beside later ones.
// A handler that must read state as of its place in the order and then work for
// long is registered Inline and calls [Release] when it has what it needs.
//
// Only a handler that has left the queue may [Conn.Call] the peer: the answer is
// read by the very queue that an inline handler holds. Call reports that mistake
// as [ErrInline] at once instead of hanging.
//
// # Contexts
//
// A handler's context ends with the handler, with $/cancelRequest and with the
// connection. Work that outlives the handler takes [Detach] of it, which ends
// with the connection only; whoever starts such work waits for it.
package rpc
