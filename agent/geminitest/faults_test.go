package geminitest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"redline/agent/geminitest"
)

// TestFaults checks what a client sees of each fault that ends by itself.
func TestFaults(t *testing.T) {
	chunks := []geminitest.Chunk{{Text: "half"}}
	for name, c := range map[string]struct {
		step geminitest.Step
		head error // of the request
		body error // of reading
		want string
	}{
		"cut":              {geminitest.Step{Fault: geminitest.Cut, Chunks: chunks}, nil, io.ErrUnexpectedEOF, "half"},
		"cut, no chunks":   {geminitest.Step{Fault: geminitest.Cut}, nil, io.ErrUnexpectedEOF, ""},
		"cut, joined":      {geminitest.Step{Fault: geminitest.Cut, Chunks: chunks, Wire: geminitest.Wire{Join: true}}, nil, io.ErrUnexpectedEOF, "half"},
		"no finish":        {geminitest.Step{Fault: geminitest.NoFinish, Chunks: chunks}, nil, nil, "half"},
		"reset":            {geminitest.Step{Fault: geminitest.Reset}, syscall.ECONNRESET, nil, ""},
		"garbage":          {geminitest.Step{Fault: geminitest.Garbage, Chunks: chunks}, nil, nil, "data: {\"candidates\": [{\"content\": \x00\xff<<<\n\n"},
		"error mid-stream": {geminitest.Step{Error: &geminitest.Error{Status: 503, Message: "gone"}, Chunks: chunks}, nil, nil, `data: {"error":{"code":503,"message":"gone","status":"UNAVAILABLE"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			srv := geminitest.New(t, c.step)
			_, _, got, err := exchange(t, srv.URL+stream, hello)
			want := c.head
			if want == nil {
				want = c.body
			}
			if !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("error %v, want %v", err, want)
			}
			if !strings.Contains(got, c.want) || strings.Contains(got, "finishReason") {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
			if gone, err := srv.Ended(testContext(t), 0); gone || err != nil {
				t.Errorf("gone %v, %v", gone, err)
			}
		})
	}
}

func TestResetMidStream(t *testing.T) {
	srv := geminitest.New(t, geminitest.Step{Chunks: []geminitest.Chunk{{Text: "half"}}, EndGate: "end", Fault: geminitest.Reset})
	res, err := send(t, testContext(t), http.MethodPost, srv.URL+stream, hello)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	if n, err := res.Body.Read(b); err != nil || !strings.Contains(string(b[:n]), "half") {
		t.Fatalf("%q, %v", b[:n], err)
	}
	srv.Release("end")
	if _, err := io.ReadAll(res.Body); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("error %v", err)
	}
}

// TestHang checks that hanging answers end with the client and with the server.
func TestHang(t *testing.T) {
	steps := map[string]geminitest.Step{
		"before headers": {Fault: geminitest.HangBeforeHeaders},
		"mid-stream":     {Fault: geminitest.HangMidStream, Chunks: []geminitest.Chunk{{Text: "half"}}},
		"at a gate":      {Gate: "never"},
		"at the end":     {Chunks: []geminitest.Chunk{{Text: "half"}}, EndGate: "never"},
		"in a delay":     {Chunks: []geminitest.Chunk{{Text: "half", DelayMS: 3_600_000}}},
	}
	for name, step := range steps {
		for _, who := range []string{"client", "server"} {
			t.Run(name+", the "+who+" goes", func(t *testing.T) {
				srv := geminitest.New(t, step)
				ctx, cancel := context.WithCancel(testContext(t))
				defer cancel()
				done := make(chan error, 1)
				go func() {
					res, err := send(t, ctx, http.MethodPost, srv.URL+stream, hello)
					if err == nil {
						_, err = io.ReadAll(res.Body)
					}
					done <- err
				}()
				if _, err := srv.Await(testContext(t), 0); err != nil {
					t.Fatal(err)
				}
				if who == "client" {
					cancel()
				} else {
					srv.Close()
				}
				if err := <-done; err == nil {
					t.Error("the client saw no error")
				}
				gone, err := srv.Ended(testContext(t), 0)
				if err != nil || gone != (who == "client") {
					t.Errorf("client gone: %v, %v", gone, err)
				}
			})
		}
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err        geminitest.Error
		body       string
		retryAfter string
		kind       string
	}{
		"plain": {
			geminitest.Error{Status: 499, Message: "gone"}, `{"error":{"code":499,"message":"gone","status":"CANCELLED"}}`, "", "application/json; charset=UTF-8",
		},
		"details": {
			geminitest.Error{Status: 429, QuotaID: "GenerateRequestsPerDayPerProjectPerModel-FreeTier", RetryDelay: "7s", Reason: "RATE_LIMIT_EXCEEDED", RetryAfter: "8"},
			`{"error":{"code":429,"details":[` +
				`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests"}]},` +
				`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"googleapis.com","metadata":{"service":"generativelanguage.googleapis.com"},"reason":"RATE_LIMIT_EXCEEDED"},` +
				`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}],"message":"Too Many Requests","status":"RESOURCE_EXHAUSTED"}}`, "8", "application/json; charset=UTF-8",
		},
		"a proxy's page": {
			geminitest.Error{Status: 502, Body: "<html>bad gateway</html>"}, "<html>bad gateway</html>", "", "text/html; charset=UTF-8",
		},
		"a portal's page": {
			geminitest.Error{Status: 200, Body: "sign in", ContentType: "text/plain"}, "sign in", "", "text/plain",
		},
	} {
		for _, path := range []string{stream, unary} {
			t.Run(name+path[strings.IndexByte(path, ':'):], func(t *testing.T) {
				srv := geminitest.New(t, geminitest.Step{Error: &c.err})
				status, header, body, err := exchange(t, srv.URL+path, hello)
				if err != nil || status != c.err.Status || body != c.body || header.Get("Retry-After") != c.retryAfter || header.Get("Content-Type") != c.kind {
					t.Errorf("status %d, %v, error %v, body %s", status, header, err, body)
				}
			})
		}
	}
}
