package geminitest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"redline/agent/geminitest"
)

func TestMain(m *testing.M) {
	// The SDK, which one test uses, starts a worker of opencensus for good.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

const (
	hello  = `{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}`
	stream = "/v1beta/models/gemini-test:streamGenerateContent?alt=sse"
	unary  = "/v1beta/models/gemini-test:generateContent"
)

// testContext ends before the test does, so that a hang fails with a line number.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// start serves script until the end of the test; what is left of it is no failure.
func start(t *testing.T, script geminitest.Script) *geminitest.Server {
	srv := geminitest.NewServer(script)
	t.Cleanup(srv.Close)
	return srv
}

// client is an HTTP client that leaves nothing behind.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// send sends a request with the right key and returns the answer's head.
func send(t *testing.T, ctx context.Context, method, url, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-goog-api-key", geminitest.DefaultKey)
	res, err := client(t).Do(req)
	if err == nil {
		t.Cleanup(func() { _ = res.Body.Close() })
	}
	return res, err
}

// exchange sends a request and returns the whole answer.
func exchange(t *testing.T, url, body string) (status int, header http.Header, answer string, err error) {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	res, err := send(t, testContext(t), method, url, body)
	if err != nil {
		return 0, nil, "", err
	}
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(b), err
}

// event is what tests look at of an event.
type event struct {
	Candidates []struct {
		Content struct {
			Role  string
			Parts []json.RawMessage
		}
		FinishReason, FinishMessage string
	}
	PromptFeedback struct{ BlockReason string }
	UsageMetadata  map[string]int
	Error          struct {
		Code            int
		Message, Status string
	}
}

// events takes apart a stream in the plain form.
func events(t *testing.T, s string) []event {
	t.Helper()
	var out []event
	for part := range strings.SplitSeq(strings.TrimSuffix(s, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(part, "data: ")
		var e event
		if err := json.Unmarshal([]byte(data), &e); !ok || err != nil {
			t.Fatalf("no event: %q (%v)", part, err)
		}
		out = append(out, e)
	}
	return out
}

// TestStreamContent checks what is in the events.
func TestStreamContent(t *testing.T) {
	for name, c := range map[string]struct {
		step   geminitest.Step
		parts  []string // of all events
		finish []string // per event
	}{
		"text": {
			geminitest.Say("a<b", " c"),
			[]string{`{"text":"a<b"}`, `{"text":" c"}`}, []string{"", "STOP"},
		},
		"calls in one event, numbers as written": {
			geminitest.Do(geminitest.Call{Name: "f", Args: json.RawMessage(`{"n": 9007199254740993, "x": 1.0}`)}, geminitest.Call{ID: "i", Name: "g", Signature: "c2ln"}),
			[]string{`{"functionCall":{"name":"f","args":{"n":9007199254740993,"x":1.0}}}`, `{"functionCall":{"id":"i","name":"g","args":{}},"thoughtSignature":"c2ln"}`}, []string{"STOP"},
		},
		"thought and text": {
			geminitest.Step{Chunks: []geminitest.Chunk{{Thought: "hm", Text: "so"}}, Finish: "MAX_TOKENS"},
			[]string{`{"text":"hm","thought":true}`, `{"text":"so"}`}, []string{"MAX_TOKENS"},
		},
		"signature with empty text": {
			geminitest.Step{Chunks: []geminitest.Chunk{{Text: "so"}, {Signature: "c2ln"}}},
			[]string{`{"text":"so"}`, `{"text":"","thoughtSignature":"c2ln"}`}, []string{"", "STOP"},
		},
		"raw part": {
			geminitest.Step{Chunks: []geminitest.Chunk{{Parts: []json.RawMessage{[]byte(`{"newKind":{"a":1}}`)}}}},
			[]string{`{"newKind":{"a":1}}`}, []string{"STOP"},
		},
		"raw event, then the finish apart": {
			geminitest.Step{Chunks: []geminitest.Chunk{{Event: []byte(`{"candidates":[]}`)}}, Finish: "SAFETY", FinishMessage: "no"},
			nil, []string{"", "SAFETY"},
		},
		"nothing but a finish": {
			geminitest.Step{Finish: "MALFORMED_FUNCTION_CALL"}, nil, []string{"MALFORMED_FUNCTION_CALL"},
		},
		"one huge chunk": {
			geminitest.Step{Chunks: []geminitest.Chunk{{Text: "0123456789", Repeat: 300_000}}},
			[]string{`{"text":"` + strings.Repeat("0123456789", 300_000) + `"}`}, []string{"STOP"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := geminitest.New(t, c.step)
			status, header, answer, err := exchange(t, srv.URL+stream, hello)
			if err != nil || status != http.StatusOK || header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("status %d, %v, error %v", status, header, err)
			}
			var parts, finish []string
			for _, e := range events(t, answer) {
				f := ""
				for _, cand := range e.Candidates {
					f = cand.FinishReason
					if cand.Content.Role != "model" {
						t.Errorf("role %q", cand.Content.Role)
					}
					for _, p := range cand.Content.Parts {
						parts = append(parts, string(p))
					}
				}
				finish = append(finish, f)
			}
			if got, want := strings.Join(parts, "\n"), strings.Join(c.parts, "\n"); got != want {
				t.Errorf("parts\n%.500s\nwant\n%.500s", got, want)
			}
			if got, want := strings.Join(finish, ","), strings.Join(c.finish, ","); got != want {
				t.Errorf("finish reasons %q, want %q", got, want)
			}
		})
	}
}

func TestBlockAndUsage(t *testing.T) {
	srv := geminitest.New(t,
		geminitest.Step{Block: "PROHIBITED_CONTENT"},
		geminitest.Step{Chunks: []geminitest.Chunk{{Text: "a"}, {Text: "b"}}, Usage: &geminitest.Usage{Prompt: 100, Candidates: 2, Thoughts: 3, Cached: 50}},
	)
	_, _, answer, err := exchange(t, srv.URL+stream, hello)
	if err != nil {
		t.Fatal(err)
	}
	if e := events(t, answer); len(e) != 1 || e[0].PromptFeedback.BlockReason != "PROHIBITED_CONTENT" || e[0].Candidates != nil {
		t.Errorf("blocked: %s", answer)
	}
	if _, _, answer, err = exchange(t, srv.URL+stream, hello); err != nil {
		t.Fatal(err)
	}
	e := events(t, answer)
	last := e[len(e)-1].UsageMetadata
	if len(e) != 2 || e[0].UsageMetadata["totalTokenCount"] != 100 || last["totalTokenCount"] != 105 || last["cachedContentTokenCount"] != 50 || last["thoughtsTokenCount"] != 3 {
		t.Errorf("usage: %s", answer)
	}
}

// TestWire checks the framing byte by byte.
func TestWire(t *testing.T) {
	chunks := []geminitest.Chunk{{Event: []byte(`{"a":1}`)}, {Event: []byte(`{"b":2}`)}}
	for name, c := range map[string]struct {
		wire geminitest.Wire
		want string
	}{
		"plain":      {geminitest.Wire{}, "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n"},
		"crlf":       {geminitest.Wire{CRLF: true}, "data: {\"a\":1}\r\n\r\ndata: {\"b\":2}\r\n\r\n"},
		"cr":         {geminitest.Wire{CR: true}, "data: {\"a\":1}\r\rdata: {\"b\":2}\r\r"},
		"comments":   {geminitest.Wire{Comments: true}, ": keep-alive\n\ndata: {\"a\":1}\n\n: keep-alive\n\ndata: {\"b\":2}\n\n"},
		"event line": {geminitest.Wire{EventLine: true}, "event: message\nid: 0\nretry: 1000\ndata: {\"a\":1}\n\nevent: message\nid: 1\nretry: 1000\ndata: {\"b\":2}\n\n"},
		"multi line": {geminitest.Wire{MultiLine: true}, "data: {\ndata:   \"a\": 1\ndata: }\n\ndata: {\ndata:   \"b\": 2\ndata: }\n\n"},
		"no space":   {geminitest.Wire{NoSpace: true}, "data:{\"a\":1}\n\ndata:{\"b\":2}\n\n"},
		"done":       {geminitest.Wire{Done: true}, "data: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: [DONE]\n\n"},
		"open end":   {geminitest.Wire{OpenEnd: true}, "data: {\"a\":1}\n\ndata: {\"b\":2}\n"},
		"join":       {geminitest.Wire{Join: true}, "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n"},
		"split":      {geminitest.Wire{SplitAt: 3}, "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			// The finish would come in an event of its own; the fault leaves it out.
			step := geminitest.Step{Chunks: chunks, Fault: geminitest.NoFinish, Wire: c.wire}
			want := c.want
			if c.wire.Done { // comes only at a proper end
				step.Chunks, step.Fault = nil, ""
				want = "data: [DONE]\n\n"
			}
			_, _, got, err := exchange(t, geminitest.New(t, step).URL+stream, hello)
			if c.wire.Done {
				if !strings.HasSuffix(got, "\n\n"+want) {
					t.Errorf("got %q", got)
				}
				return
			}
			if err != nil || got != want {
				t.Errorf("got  %q, error %v\nwant %q", got, err, want)
			}
		})
	}
}

func TestGates(t *testing.T) {
	srv := geminitest.New(t, geminitest.Step{
		Gate: "head", Chunks: []geminitest.Chunk{{Text: "one"}, {Text: "two", Gate: "second"}}, EndGate: "end",
		Wire: geminitest.Wire{Join: true, SplitAt: 7}, // a gate pushes out what is held back
	})
	ctx := testContext(t)
	type answered struct {
		res *http.Response
		err error
	}
	head := make(chan answered, 1)
	go func() {
		res, err := send(t, ctx, http.MethodPost, srv.URL+stream, hello)
		head <- answered{res, err}
	}()
	if _, err := srv.Await(ctx, 0); err != nil {
		t.Fatal(err)
	}
	select {
	case <-head:
		t.Fatal("answered before the gate")
	default:
	}
	srv.Release("head")
	a := <-head
	if a.err != nil {
		t.Fatal(a.err)
	}
	next := func() string {
		t.Helper()
		var b []byte
		one := make([]byte, 1)
		for !bytes.HasSuffix(b, []byte("\n\n")) {
			if _, err := io.ReadFull(a.res.Body, one); err != nil {
				t.Fatalf("after %q: %v", b, err)
			}
			b = append(b, one...)
		}
		return string(b)
	}
	if s := next(); !strings.Contains(s, "one") || strings.Contains(s, "two") {
		t.Errorf("first: %s", s)
	}
	// From outside, as the editors' tests do it.
	if status, _, body, err := exchange(t, srv.URL+"/fake/release?gate=second", "-"); err != nil || status != http.StatusNoContent {
		t.Fatalf("release: %d %s %v", status, body, err)
	}
	if s := next(); !strings.Contains(s, "two") || strings.Contains(s, "STOP") {
		t.Errorf("second: %s", s)
	}
	srv.Release("end")
	srv.Release("end") // again is no harm
	if s := next(); !strings.Contains(s, "STOP") {
		t.Errorf("end: %s", s)
	}
	if gone, err := srv.Ended(ctx, 0); gone || err != nil {
		t.Errorf("gone %v, %v", gone, err)
	}
}

// TestChoice checks which step answers which request.
func TestChoice(t *testing.T) {
	srv := start(t, geminitest.Script{Steps: []geminitest.Step{
		{When: "alpha", Chunks: []geminitest.Chunk{{Text: "A"}}},
		{When: "result", Chunks: []geminitest.Chunk{{Text: "R"}}},
		{Model: "gemini-2.5-flash", Chunks: []geminitest.Chunk{{Text: "F"}}},
		{When: "twice", Times: 2, Chunks: []geminitest.Chunk{{Text: "T"}}},
		{When: "always", Times: -1, Chunks: []geminitest.Chunk{{Text: "*"}}},
		{Chunks: []geminitest.Chunk{{Text: "any"}}},
		{Optional: true, When: "never asked"},
	}})
	ask := func(text string) string {
		return string(must(json.Marshal(map[string]any{"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": text}}}}})))
	}
	answered := `{"contents":[{"role":"user","parts":[{"text":"alpha"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":{"deep":["the \"result\""]}}}}]}]}`
	if got := srv.Unused(); len(got) != 6 {
		t.Errorf("unused at first: %v", got)
	}
	for _, c := range []struct {
		model, body, want string
		step              int
	}{
		{"gemini-test", answered, "R", 1}, // alpha is not in the last content
		{"gemini-test", ask("say alpha"), "A", 0},
		{"gemini-2.5-flash", ask("alpha"), "F", 2}, // the first is used up
		{"gemini-test", ask("twice"), "T", 3},
		{"gemini-test", ask("twice"), "T", 3},
		{"gemini-test", ask("always"), "*", 4},
		{"gemini-test", ask("always"), "*", 4},
		{"gemini-test", ask("twice"), "any", 5},
		{"gemini-test", ask("twice"), "no step for this request", -1},
	} {
		n := len(srv.Requests())
		_, _, got, err := exchange(t, srv.URL+"/v1beta/models/"+c.model+":streamGenerateContent?alt=sse", c.body)
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, %v; want %s", c.model, c.body, got, err, c.want)
		}
		if r := srv.Requests()[n]; r.Step != c.step || r.Model != c.model || string(r.Raw) != c.body {
			t.Errorf("recorded %+v", r)
		}
	}
	if got := srv.Unused(); len(got) != 0 {
		t.Errorf("unused at the end: %v", got)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRecorded(t *testing.T) {
	srv := geminitest.New(t, geminitest.Say("ok"))
	body := `{"contents":[{"role":"user","parts":[{"text":"a"}]},` +
		`{"role":"model","parts":[{"text":"x","thought":true},{"text":"b"},{"functionCall":{"id":"1","name":"f","args":{"k":1}}},{"functionCall":{"id":"2","name":"g"}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f","response":{"output":"fine"}}},{"functionResponse":{"id":"2","name":"g","response":{"error":"bad"}}},{"text":"go on"}]}],` +
		`"tools":[{"functionDeclarations":[{"name":"f","description":"F"},{"name":"g","parametersJsonSchema":{"type":"object"}}]}]}`
	if _, _, _, err := exchange(t, srv.URL+stream, body); err != nil {
		t.Fatal(err)
	}
	r := srv.Requests()[0]
	if got := strings.Join(r.Functions(), ","); got != "f,g" {
		t.Errorf("functions %s", got)
	}
	if c := r.Body.Contents[1].Calls(); len(c) != 2 || c[0].ID != "1" || string(c[0].Args) != `{"k":1}` {
		t.Errorf("calls %+v", c)
	}
	if got := r.Body.Contents[1].Texts(); got != "b" {
		t.Errorf("text %q", got)
	}
	a := r.Last().Responses()
	if len(a) != 2 || r.Last().Texts() != "go on" {
		t.Fatalf("last %+v", r.Last())
	}
	if out, isErr := a[0].Output(); out != "fine" || isErr {
		t.Errorf("output %q %v", out, isErr)
	}
	if out, isErr := a[1].Output(); out != "bad" || !isErr {
		t.Errorf("error %q %v", out, isErr)
	}
	if r.Header.Get("x-goog-api-key") != geminitest.DefaultKey || r.Method != "streamGenerateContent" {
		t.Errorf("recorded %+v", r)
	}
}
