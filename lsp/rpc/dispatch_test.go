package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

type promptParams struct {
	SessionID string `json:"sessionId"`
	Context   []struct {
		Kind  string         `json:"kind"`
		Range protocol.Range `json:"range"`
	} `json:"context"`
}

func (p *promptParams) Validate() error {
	if p.SessionID == "" {
		return BadParams("sessionId", "is missing")
	}
	return nil
}

// TestAnswers checks what each way a handler can end looks like on the wire.
func TestAnswers(t *testing.T) {
	r := base()
	fail := func(method string, err error) {
		Handle(r, method, Inline, func(context.Context, *none) (none, error) { return none{}, err })
	}
	fail("plain", errors.New("disk full"))
	fail("cancelled", fmt.Errorf("wait: %w", context.Canceled))
	fail("own", Stale("rev %d is not %d", 3, 4))
	fail("wrapped", fmt.Errorf("resolve: %w", &Error{Code: -32802, Message: "busy", Data: ErrorData{Kind: KindOverloaded, RetryAfterMs: 50}}))
	fail("unmarshalable", &Error{Code: 5, Message: "m", Data: func() {}})
	Handle(r, "panic", Inline, func(context.Context, *none) (none, error) { panic("boom") })
	Handle(r, "panic/async", Async, func(context.Context, *none) (none, error) { panic("boom") })
	Handle(r, "null", Inline, func(context.Context, *none) (*promptParams, error) { return nil, nil })
	Handle(r, "nil/slice", Inline, func(context.Context, *none) ([]int, error) { return nil, nil })
	Handle(r, "bad/result", Inline, func(context.Context, *none) (func(), error) { return func() {}, nil })
	Handle(r, "prompt", Async, func(_ context.Context, p *promptParams) (string, error) { return p.SessionID, nil })
	Handle(r, "didOpen", Inline, func(_ context.Context, p *protocol.DidOpenTextDocumentParams) (string, error) {
		return string(p.TextDocument.URI) + p.TextDocument.Text, nil
	})
	HandleNotify(r, "note/panic", Inline, func(context.Context, *none) error { panic("boom") })
	HandleNotify(r, "note/error", Inline, func(context.Context, *none) error { return errors.New("x") })
	HandleNotify(r, "note/params", Inline, func(context.Context, *promptParams) error { return nil })

	core, logs := observer.New(zap.DebugLevel)
	_, p := connect(t, r, Options{Log: zap.New(core)})
	p.initialize()
	for _, tt := range []struct{ method, params, want string }{
		{"plain", `{}`, `"error":{"code":-32603,"data":{"kind":"internal"},"message":"disk full"}`},
		{"cancelled", `{}`, `"error":{"code":-32800,"data":{"kind":"cancelled"},"message":"cancelled"}`},
		{"own", `{}`, `"error":{"code":-32801,"data":{"kind":"stale"},"message":"rev 3 is not 4"}`},
		{"wrapped", `{}`, `"error":{"code":-32802,"data":{"kind":"overloaded","retryAfterMs":50},"message":"resolve: busy (-32802)"}`},
		{"unmarshalable", `{}`, `"error":{"code":5,"message":"m"}`},
		{"panic", `{}`, `"error":{"code":-32603,"data":{"kind":"internal"},"message":"panic crashed: boom"}`},
		{"panic/async", `{}`, `"error":{"code":-32603,"data":{"kind":"internal"},"message":"panic/async crashed: boom"}`},
		{"null", `{}`, `"result":null`},
		{"nil/slice", `{}`, `"result":[]`},
		{"bad/result", `{}`, `"error":{"code":-32603`},
		{"prompt", `{"sessionId":"s"}`, `"result":"s"`},
		{"prompt", `{"sessionId":"é\u00e9\ud83d\ude00"}`, `"result":"éé😀"`},
		{"prompt", ``, `"error":{"code":-32602,"data":{"field":"sessionId","kind":"badParams"},"message":"sessionId: is missing"}`},
		{"prompt", `{"sessionId":5}`, `"data":{"field":"sessionId","kind":"badParams"},"message":"sessionId: must be a string, not a number"`},
		{"prompt", `{"sessionId":"s","context":[{},{"kind":[]}]}`, `"data":{"field":"context[1].kind","kind":"badParams"},"message":"context[1].kind: must be a string, not an array"`},
		{"prompt", `{"sessionId":"s","context":[{"range":{"start":{"line":"x"}}}]}`, `"field":"context[0].range`},
		{"prompt", `[1]`, `"message":"parameters must be an object, not an array"`},
		{"prompt", `7`, `"error":{"code":-32602`},
		{"didOpen", `{"textDocument":{"uri":"file:///a","languageId":"go","version":1,"text":"t"}}`, `"result":"file:///at"`},
		{"didOpen", `{"textDocument":{"uri":"file:///a","languageId":"go","version":"1","text":"t"}}`, `"data":{"field":"textDocument.version","kind":"badParams"},"message":"textDocument.version: must be of JSON type number"`},
		{"didOpen", `{"textDocument":{"uri":7}}`, `"field":"textDocument.uri"`},
	} {
		msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, tt.method)
		if tt.params != "" {
			msg = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tt.method, tt.params)
		}
		if got := p.answer(msg); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s\n got %s\nwant %s", tt.method, tt.params, got, tt.want)
		}
	}
	for _, method := range []string{"note/panic", "note/error", "note/params", "note/unknown"} {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"sessionId":3}}`, method))
	}
	p.send(`{"jsonrpc":"2.0","method":"$/unknown"}`)
	if got := p.answer(`{"jsonrpc":"2.0","id":2,"method":"echo","params":{"a":1}}`); !strings.Contains(got, `"result":{"a":1}`) {
		t.Errorf("after bad notifications: %s", got)
	}
	if n := logs.FilterMessage("handler panicked").Len(); n != 3 {
		t.Errorf("%d panics logged, want 3", n)
	}
	for _, e := range logs.FilterMessage("handler panicked").All() {
		if stack, _ := e.ContextMap()["stack"].(string); !strings.Contains(stack, "dispatch_test.go") {
			t.Errorf("panic logged without the handler's stack: %v", e.ContextMap())
		}
	}
	if n := logs.FilterMessage("notification failed").Len(); n != 2 {
		t.Errorf("%d failed notifications logged, want 2", n)
	}
	if n := logs.FilterMessage("unknown notification ignored").Len(); n != 1 {
		t.Errorf("%d unknown notifications logged, want 1 ($/… is silent)", n)
	}
}

// TestOrder checks that inline handlers run in the order of the wire and that
// async ones see everything inline before them.
func TestOrder(t *testing.T) {
	r := base()
	version := 0
	HandleNotify(r, "change", Inline, func(_ context.Context, p *struct{ V int }) error {
		if p.V != version+1 {
			return fmt.Errorf("change %d after %d", p.V, version)
		}
		version = p.V
		return nil
	})
	// Reads the state in its place, then works beside later changes.
	Handle(r, "staged", Inline, func(ctx context.Context, p *struct{ V int }) (bool, error) {
		seen := version
		Release(ctx)
		Release(ctx) // harmless
		return seen == p.V, nil
	})
	core, logs := observer.New(zap.WarnLevel)
	_, p := connect(t, r, Options{Log: zap.New(core)})
	p.initialize()
	const n = 500
	var all strings.Builder
	for i := 1; i <= n; i++ {
		all.WriteString(frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"change","params":{"V":%d}}`, i)))
		all.WriteString(frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"staged","params":{"V":%d}}`, i, i)))
	}
	p.raw(all.String())
	for range n {
		if got := p.receive(); !strings.Contains(got, `"result":true`) {
			t.Fatalf("a request saw the state of another place in the order: %s", got)
		}
	}
	if logs.Len() > 0 {
		t.Errorf("changes out of order: %v", logs.All()[0].ContextMap())
	}
}

// TestAsyncLeavesQueue checks that a long request holds nothing up and that a
// reverse request from it is answered.
func TestAsyncLeavesQueue(t *testing.T) {
	r := base()
	Handle(r, "ask", Async, func(ctx context.Context, _ *none) (string, error) {
		var answer struct{ Text string }
		err := FromContext(ctx).Call(ctx, "client/ask", map[string]string{"q": "why"}, &answer)
		return answer.Text, err
	})
	Handle(r, "ask/inline", Inline, func(ctx context.Context, _ *none) (none, error) {
		err := FromContext(ctx).Call(ctx, "client/ask", nil, nil)
		if !errors.Is(err, ErrInline) {
			return none{}, fmt.Errorf("got %v, want ErrInline", err)
		}
		return none{}, nil
	})
	Handle(r, "ask/released", Inline, func(ctx context.Context, _ *none) (none, error) {
		Release(ctx)
		return none{}, FromContext(ctx).Call(ctx, "client/ask", nil, nil)
	})
	_, p := connect(t, r, Options{})
	p.initialize()
	if got := p.answer(`{"jsonrpc":"2.0","id":1,"method":"ask"}`); got != `{"id":1,"jsonrpc":"2.0","method":"client/ask","params":{"q":"why"}}` {
		t.Fatalf("reverse request: %s", got)
	}
	if got := p.answer(`{"jsonrpc":"2.0","id":2,"method":"echo","params":{}}`); !strings.Contains(got, `"id":2`) {
		t.Fatalf("held up: %s", got)
	}
	if got := p.answer(`{"jsonrpc":"2.0","id":1,"result":{"Text":"because"}}`); got != `{"id":1,"jsonrpc":"2.0","result":"because"}` {
		t.Fatalf("answer: %s", got)
	}
	if got := p.answer(`{"jsonrpc":"2.0","id":3,"method":"ask/inline"}`); !strings.Contains(got, `"result":{}`) {
		t.Errorf("inline call: %s", got)
	}
	if got := p.answer(`{"jsonrpc":"2.0","id":4,"method":"ask/released"}`); !strings.Contains(got, `"client/ask"`) {
		t.Fatalf("released call: %s", got)
	}
	// An error answer arrives as it was sent, with its data.
	if got := p.answer(`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no","data":{"a":1}}}`); got != `{"error":{"code":-32601,"data":{"a":1},"message":"no"},"id":4,"jsonrpc":"2.0"}` {
		t.Errorf("error answer passed on: %s", got)
	}
}

func TestCancelRequest(t *testing.T) {
	r := base()
	started := make(chan struct{})
	hold := make(chan struct{})
	Handle(r, "wait", Async, func(ctx context.Context, _ *none) (none, error) {
		started <- struct{}{}
		<-ctx.Done()
		return none{}, ctx.Err()
	})
	HandleNotify(r, "hold", Inline, func(context.Context, *none) error { <-hold; return nil })
	_, p := connect(t, r, Options{})
	p.initialize()
	for _, id := range []string{`7`, `"seven"`, `-1`} {
		p.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"wait"}`)
		<-started
		p.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`)
		if got := p.receive(); got != `{"error":{"code":-32800,"data":{"kind":"cancelled"},"message":"cancelled"},"id":`+id+`,"jsonrpc":"2.0"}` {
			t.Errorf("cancelled %s: %s", id, got)
		}
	}
	// The number 8 is not the string "8"; and the queue being held up does not
	// keep a cancellation waiting.
	p.send(`{"jsonrpc":"2.0","id":8,"method":"wait"}`)
	<-started
	p.send(`{"jsonrpc":"2.0","method":"hold"}`)
	p.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"8"}}`)
	p.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":8}}`)
	if got := p.receive(); !strings.Contains(got, `-32800`) {
		t.Errorf("cancelled: %s", got)
	}
	close(hold)
}

// TestCallDeadline checks that a call ends with its context, that the peer is
// told, and that the late answer disturbs nobody.
func TestCallDeadline(t *testing.T) {
	c, p := connect(t, base(), Options{})
	ctx, cancel := context.WithCancelCause(context.Background())
	failed := make(chan error, 1)
	go func() { failed <- c.Call(ctx, "slow", nil, nil) }()
	if got := p.receive(); got != `{"id":1,"jsonrpc":"2.0","method":"slow"}` {
		t.Fatalf("request: %s", got)
	}
	why := errors.New("tired of waiting")
	cancel(why)
	if err := <-failed; !errors.Is(err, why) || !strings.Contains(err.Error(), "slow") {
		t.Errorf("call: %v", err)
	}
	if got := p.receive(); got != `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}` {
		t.Errorf("cancellation: %s", got)
	}
	p.send(`{"jsonrpc":"2.0","id":1,"result":"late"}`)

	go func() {
		var s string
		err := c.Call(context.Background(), "fast", nil, &s)
		if err == nil && s != "now" {
			err = errors.New("got the answer " + s)
		}
		failed <- err
	}()
	p.receive()
	p.send(`{"jsonrpc":"2.0","id":2,"result":"now"}`)
	if err := <-failed; err != nil {
		t.Error(err)
	}
	// A context that has ended already sends nothing.
	if err := c.Call(ctx, "never", nil, nil); !errors.Is(err, why) {
		t.Errorf("call with an ended context: %v", err)
	}
	if got := p.answer(`{"jsonrpc":"2.0","id":9,"method":"x"}`); !strings.Contains(got, "-32002") {
		t.Errorf("sent: %s", got)
	}
}

// TestAnswersOfPeers checks which answers a call understands.
func TestAnswersOfPeers(t *testing.T) {
	for _, tt := range []struct{ answer, want string }{
		{`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, `{"a":1}`},
		{`{"jsonrpc":"2.0","id":1,"result":null}`, `nothing`},
		{`{"jsonrpc":"2.0","id":1.0,"result":5}`, `5`},
		{`{"jsonrpc":"2.0","id":1,"result":5,"error":null}`, `5`},
		{`{"id":1,"result":5}`, `5`},
		{`{"jsonrpc":"2.0","id":1}`, `nothing`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, `no (-32601)`},
		{`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-3.0,"message":"no"}}`, `no (-3)`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":"E1","message":"no"}}`, `no (-32603)`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":9999999999,"message":"no"}}`, `no (-32603)`},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, ` (1)`},
		{`{"jsonrpc":"2.0","id":1,"error":"no"}`, `the peer answered a malformed error: "no" (-32603)`},
	} {
		c, p := connect(t, base(), Options{})
		got := make(chan string, 1)
		go func() {
			result := json.RawMessage("nothing")
			if err := c.Call(context.Background(), "m", nil, &result); err != nil {
				got <- err.Error()
				return
			}
			got <- string(result)
		}()
		p.receive()
		p.send(tt.answer)
		if g := <-got; g != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.answer, g, tt.want)
		}
	}
}

// TestDetach checks that detached work outlives its handler and ends with the connection.
func TestDetach(t *testing.T) {
	r := base()
	ended := make(chan error, 1)
	finished := make(chan struct{})
	Handle(r, "start", Inline, func(ctx context.Context, _ *none) (none, error) {
		work := Detach(ctx)
		go func() {
			<-ctx.Done() // the handler is over
			err := FromContext(work).Call(work, "client/register", nil, nil)
			if err == nil {
				<-work.Done()
				err = context.Cause(work)
			}
			ended <- err
			close(finished)
		}()
		return none{}, nil
	})
	c, p := connect(t, r, Options{})
	p.initialize()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"start"}`)
	for range 2 {
		if got := p.receive(); strings.Contains(got, "client/register") {
			p.send(`{"jsonrpc":"2.0","id":1,"result":null}`)
		}
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"echo"}`)
	p.receive()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	<-finished
	if err := <-ended; !errors.Is(err, ErrClosed) && !errors.Is(err, context.Canceled) {
		t.Errorf("detached work ended with %v", err)
	}
	if Detach(context.Background()) != context.Background() || FromContext(context.Background()) != nil {
		t.Error("a context from elsewhere is left alone")
	}
}

func TestOverload(t *testing.T) {
	r := base()
	Handle(r, "wait", Async, func(ctx context.Context, _ *none) (none, error) {
		<-ctx.Done()
		return none{}, nil
	})
	_, p := connect(t, r, Options{MaxInFlight: 2})
	p.initialize()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"wait"}`)
	got := p.answer(`{"jsonrpc":"2.0","id":3,"method":"echo"}`)
	if got != `{"error":{"code":-32802,"data":{"kind":"overloaded","retryAfterMs":200},"message":"more than 2 requests in progress"},"id":3,"jsonrpc":"2.0"}` {
		t.Errorf("third request: %s", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
	p.receive()
	if got := p.answer(`{"jsonrpc":"2.0","id":4,"method":"echo"}`); !strings.Contains(got, `"result"`) {
		t.Errorf("after one ended: %s", got)
	}
}

// TestInitializeFails checks that a failed or crashed initialize may be repeated.
func TestInitializeFails(t *testing.T) {
	r := NewRouter()
	n := 0
	Handle(r, "initialize", Inline, func(context.Context, *none) (none, error) {
		switch n++; n {
		case 1:
			return none{}, errors.New("no")
		case 2:
			panic("boom")
		}
		return none{}, nil
	})
	_, p := connect(t, r, Options{})
	for _, want := range []string{`"no"`, `crashed`, `"result"`, `only once`} {
		if got := p.answer(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestRegistrationMistakes(t *testing.T) {
	for name, f := range map[string]func(r *Router){
		"twice": func(r *Router) {
			Handle(r, "echo", Async, func(context.Context, *none) (none, error) { return none{}, nil })
		},
		"initialize async": func(r *Router) {
			Handle(NewRouter(), "initialize", Async, func(context.Context, *none) (none, error) { return none{}, nil })
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(base())
		}()
	}
	requests, notes := base().Methods()
	if fmt.Sprint(requests, notes) != "[echo initialize] []" {
		t.Errorf("methods: %v %v", requests, notes)
	}
}

func TestTap(t *testing.T) {
	type seen struct {
		dir  Direction
		body string
	}
	taps := make(chan seen, 16)
	for _, framing := range []Framing{Headers, Lines} {
		_, p := connect(t, base(), Options{Framing: framing, NoLifecycle: framing == Lines, Tap: func(d Direction, b []byte) { taps <- seen{d, string(b)} }})
		bodies := []string{`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `{"jsonrpc":"2.0","id":2,"method":"echo","params":{"s":"a\nb"}}`, `{bad`}
		for _, b := range bodies {
			if framing == Lines {
				p.raw(b + "\n\n")
			} else {
				p.send(b)
			}
			answer := p.receive()
			got := []seen{<-taps, <-taps}
			if got[0].dir == Sent { // each direction has its own goroutine
				got[0], got[1] = got[1], got[0]
			}
			if got[0] != (seen{Received, b}) || got[1].dir != Sent || normal(t, got[1].body) != answer {
				t.Errorf("tapped %v, want %s and %s", got, b, answer)
			}
		}
	}
}

var _ io.ReadWriteCloser = pair{}

// deadline fails the test when f takes longer than a connection may take to end.
func deadline(t *testing.T, what string, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if d := time.Since(start); d > time.Second {
		t.Errorf("%s took %v", what, d)
	}
}
