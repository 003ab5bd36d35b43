package gemini

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"redline/agent/model"
)

const key = "secret-key-0123456789"

// serve returns a client of a server that answers with handler.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	c, err := New(context.Background(), Options{APIKey: key, BaseURL: srv.URL, UserAgent: "Redline/test (linux; amd64)"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func events(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

// collect runs a request and returns the text, the raw parts, the finish reason and
// the error.
func collect(c *Client, contents ...model.Content) (text string, parts []string, finish string, err error) {
	if len(contents) == 0 {
		contents = []model.Content{model.UserText("hello")}
	}
	for chunk, e := range c.Stream(context.Background(), &model.Request{Model: "gemini-test", Contents: contents}) {
		if e != nil {
			return text, parts, finish, e
		}
		for _, p := range chunk.Parts {
			raw, _ := p.MarshalJSON()
			parts = append(parts, string(raw))
			text += p.Value().Text
		}
		if chunk.FinishReason != "" {
			finish = string(chunk.FinishReason)
		}
	}
	return text, parts, finish, err
}

func ev(text, rest string) string {
	return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":%q}]}%s}]}`, text, rest)
}

const stop = `,"finishReason":"STOP"`

// Every form of event stream that servers and proxies send.
func TestEventForms(t *testing.T) {
	for name, body := range map[string]string{
		"plain":           "data: " + ev("a", "") + "\n\ndata: " + ev("b", stop) + "\n\n",
		"crlf":            "data: " + ev("a", "") + "\r\n\r\ndata: " + ev("b", stop) + "\r\n\r\n",
		"cr":              "data: " + ev("a", "") + "\r\rdata: " + ev("b", stop) + "\r\r",
		"mixed":           "data: " + ev("a", "") + "\r\n\ndata: " + ev("b", stop) + "\n\r\n",
		"no space":        "data:" + ev("a", "") + "\n\ndata:" + ev("b", stop) + "\n\n",
		"comments":        ": keep-alive\n\ndata: " + ev("a", "") + "\n\n:\n: ping\n\ndata: " + ev("b", stop) + "\n\n",
		"event and id":    "event: message\nid: 1\ndata: " + ev("a", "") + "\n\nretry: 5\ndata: " + ev("b", stop) + "\n\n",
		"done":            "data: " + ev("a", "") + "\n\ndata: " + ev("b", stop) + "\n\ndata: [DONE]\n\n",
		"many data lines": "data: " + strings.Replace(ev("a", ""), ",", ",\ndata: ", 1) + "\n\ndata: " + ev("b", stop) + "\n\n",
		"no last newline": "data: " + ev("a", "") + "\n\ndata: " + ev("b", stop),
	} {
		t.Run(name, func(t *testing.T) {
			text, _, finish, err := collect(serve(t, events(body)))
			if text != "ab" || finish != "STOP" || err != nil {
				t.Errorf("got %q, %q, %v", text, finish, err)
			}
		})
	}
}

// Parts come back with the bytes they had, and go out with them.
func TestPartsKeepTheirBytes(t *testing.T) {
	parts := []string{
		`{"text":"","thoughtSignature":"c2lnbmF0dXJl"}`,
		`{"functionCall":{"name":"f","args":{"n":9007199254740993,"z":1,"a":2}},"thoughtSignature":"eA=="}`,
		`{"kindOfTomorrow":{"x":1}}`,
	}
	var sent string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		sent = string(b)
		events(`data: {"candidates":[{"content":{"role":"model","parts":[`+strings.Join(parts, ",")+`]},"finishReason":"STOP"}]}`+"\n\n")(w, r)
	})
	_, got, _, err := collect(c)
	if err != nil || strings.Join(got, " ") != strings.Join(parts, " ") {
		t.Fatalf("received %q (%v)", got, err)
	}
	var answer model.Content
	answer.Role = model.RoleModel
	for _, g := range got {
		p, err := model.RawPart([]byte(g))
		if err != nil {
			t.Fatal(err)
		}
		answer.Parts = append(answer.Parts, p)
	}
	if _, _, _, err := collect(c, model.UserText("<a> & b"), answer, model.UserText("go on")); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(parts, `{"text":"<a> & b"}`) {
		if !strings.Contains(sent, p) {
			t.Errorf("the request lacks %s:\n%s", p, sent)
		}
	}
	if fc, ok := answer.Parts[1].FunctionCall(); !ok || string(fc.Args) != `{"n":9007199254740993,"z":1,"a":2}` {
		t.Errorf("arguments: %s", fc.Args)
	}
}

func TestRequest(t *testing.T) {
	var got *http.Request
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		events("data: "+ev("", stop)+"\n\n")(w, r)
	})
	if _, _, _, err := collect(c); err != nil {
		t.Fatal(err)
	}
	if got.URL.Path != "/v1beta/models/gemini-test:streamGenerateContent" || got.URL.Query().Get("alt") != "sse" ||
		got.Header.Get("x-goog-api-key") != key || got.UserAgent() != "Redline/test (linux; amd64)" {
		t.Errorf("%s %v", got.URL, got.Header)
	}
}

// What goes wrong, sorted by what can be done about it.
func TestFaults(t *testing.T) {
	status := func(code int, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	google := func(code int, status, details string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":"because, says %s","status":%q,"details":[%s]}}`, code, key, status, details)
	}
	hijack := func(w http.ResponseWriter) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		kind    model.Kind
		after   time.Duration
	}{
		{"rate with RetryInfo", status(429, google(429, "RESOURCE_EXHAUSTED", `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}`)), model.KindRate, 1500 * time.Millisecond},
		{"rate with Retry-After", status(429, google(429, "RESOURCE_EXHAUSTED", ""), "Retry-After", "2.3"), model.KindRate, 2300 * time.Millisecond},
		{"daily quota", status(429, google(429, "RESOURCE_EXHAUSTED", `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}`)), model.KindQuota, 0},
		{"499", status(499, google(499, "CANCELLED", "")), model.KindServer, 0},
		{"503", status(503, google(503, "UNAVAILABLE", "")), model.KindServer, 0},
		{"500 as text", status(500, "oops"), model.KindServer, 0},
		{"502 as a page", status(502, "<html><h1>Bad Gateway</h1></html>"), model.KindServer, 0},
		{"400", status(400, google(400, "INVALID_ARGUMENT", "")), model.KindBadRequest, 0},
		{"404", status(404, google(404, "NOT_FOUND", "")), model.KindBadRequest, 0},
		{"wrong key", status(400, google(400, "INVALID_ARGUMENT", `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}`)), model.KindAuth, 0},
		{"403", status(403, google(403, "PERMISSION_DENIED", "")), model.KindAuth, 0},
		{"reset before headers", func(w http.ResponseWriter, _ *http.Request) { hijack(w) }, model.KindNetwork, 0},
		{"cut in the stream", func(w http.ResponseWriter, r *http.Request) {
			events("data: "+ev("half", "")+"\n\n")(w, r)
			_ = http.NewResponseController(w).Flush()
			hijack(w)
		}, model.KindNetwork, 0},
		{"clean end without finish", events("data: " + ev("half", "") + "\n\n"), model.KindCut, 0},
		{"nothing at all", events(""), model.KindCut, 0},
		{"garbage", events("data: {nonsense\n\n"), model.KindGarbage, 0},
		{"error as an event", events("data: " + ev("half", "") + "\n\ndata: " + google(503, "UNAVAILABLE", "") + "\n\n"), model.KindServer, 0},
		{"error as bare JSON", events("data: " + ev("half", "") + "\n\n" + google(429, "RESOURCE_EXHAUSTED", "")), model.KindRate, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, _, err := collect(serve(t, tt.handler))
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || e.RetryAfter != tt.after {
				t.Fatalf("got %#v, want %s after %v", err, tt.kind, tt.after)
			}
			if strings.Contains(err.Error(), key) || e.Message == "" {
				t.Errorf("text: %q", err)
			}
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	c, err := New(context.Background(), Options{APIKey: key, BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = collect(c)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindNetwork || !strings.Contains(e.Message, "refused") {
		t.Errorf("got %v", err)
	}
}

// Cancelling takes effect at once, before the headers and in the stream.
func TestCancel(t *testing.T) {
	for _, where := range []string{"before headers", "in the stream"} {
		t.Run(where, func(t *testing.T) {
			reached := make(chan struct{})
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if where == "in the stream" {
					events("data: "+ev("a", "")+"\n\n")(w, r)
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = io.Copy(io.Discard, r.Body)
				close(reached)
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() {
				var last error
				for _, err := range c.Stream(ctx, &model.Request{Model: "gemini-test", Contents: []model.Content{model.UserText("x")}}) {
					last = err
				}
				done <- last
			}()
			<-reached
			began := time.Now()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("ended with %v", err)
			}
			if d := time.Since(began); d > 100*time.Millisecond {
				t.Errorf("took %v", d)
			}
		})
	}
}

// A huge chunk comes through whole.
func TestHugeChunk(t *testing.T) {
	big := strings.Repeat("x", 30<<20)
	text, _, finish, err := collect(serve(t, events("data: "+ev(big, stop)+"\n\n")))
	if len(text) != len(big) || finish != "STOP" || err != nil {
		t.Errorf("%d bytes, %q, %v", len(text), finish, err)
	}
}

func TestUnusualEnds(t *testing.T) {
	for _, reason := range []genai.FinishReason{genai.FinishReasonSafety, genai.FinishReasonMaxTokens, genai.FinishReasonMalformedFunctionCall} {
		_, _, finish, err := collect(serve(t, events(`data: {"candidates":[{"finishReason":"`+string(reason)+`"}]}`+"\n\n")))
		if finish != string(reason) || err != nil {
			t.Errorf("%s came as %q, %v", reason, finish, err)
		}
	}
	c := serve(t, events(`data: {"promptFeedback":{"blockReason":"SAFETY"}}`+"\n\n"))
	for chunk, err := range c.Stream(context.Background(), &model.Request{Model: "m", Contents: []model.Content{model.UserText("x")}}) {
		if err != nil || chunk.BlockReason != "SAFETY" {
			t.Errorf("blocked prompt: %+v, %v", chunk, err)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{{}, {APIKey: key, BaseURL: "ftp://x"}, {APIKey: key, BaseURL: "nonsense"}, {APIKey: key, Proxy: "nonsense"}} {
		if _, err := New(context.Background(), o); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("New(%+v): %v", o, err)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("data: {}\n\n: c\r\n\r\ndata: {\"a\":\ndata: 1}\r\r")
	f.Add("{\"error\":{\"code\":500}}")
	f.Fuzz(func(t *testing.T, body string) {
		x := &exchange{}
		out, _ := io.ReadAll(newEventReader(io.NopCloser(strings.NewReader(body)), x))
		if n := strings.Count(string(out), "data: "); n < len(x.parts) {
			t.Errorf("%d events noted, %d passed on", len(x.parts), n)
		}
	})
}

// Each event is handed on when it has come, whatever ends its lines.
func TestEventsAreNotHeldBack(t *testing.T) {
	for name, eol := range map[string]string{"lf": "\n", "crlf": "\r\n", "cr": "\r"} {
		t.Run(name, func(t *testing.T) {
			seen := make(chan struct{})
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				events("data: "+ev("a", "")+eol+eol)(w, r)
				_ = http.NewResponseController(w).Flush()
				select {
				case <-seen:
					_, _ = io.WriteString(w, "data: "+ev("b", stop)+eol+eol)
				case <-r.Context().Done():
				}
			})
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			n := 0
			for _, err := range c.Stream(ctx, &model.Request{Model: "m", Contents: []model.Content{model.UserText("x")}}) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == 1 {
					close(seen)
				}
			}
			if n != 2 {
				t.Errorf("%d events", n)
			}
		})
	}
}
