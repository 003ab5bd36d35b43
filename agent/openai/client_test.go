package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/agent/openaitest"
)

// got is a whole answer.
type got struct {
	text, thoughts string
	calls          []model.FunctionCall
	finish         genai.FinishReason
	usage          *genai.GenerateContentResponseUsageMetadata
	raw            []model.Part
	err            error
}

func collect(ctx context.Context, c *Client, req *model.Request) (g got) {
	for chunk, err := range c.Stream(ctx, req) {
		if err != nil {
			g.err = err
			return g
		}
		for _, p := range chunk.Parts {
			g.raw = append(g.raw, p)
			if fc, ok := p.FunctionCall(); ok {
				g.calls = append(g.calls, fc)
			} else if p.Value().Thought {
				g.thoughts += p.Value().Text
			} else {
				g.text += p.Value().Text
			}
		}
		if chunk.FinishReason != "" {
			g.finish = chunk.FinishReason
		}
		if chunk.Usage != nil {
			g.usage = chunk.Usage
		}
	}
	return g
}

func client(t *testing.T, url string) *Client {
	t.Helper()
	c, err := New(Options{BaseURL: url, UserAgent: "Redline/test (linux; amd64)"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newRequest(contents ...model.Content) *model.Request {
	if len(contents) == 0 {
		contents = []model.Content{model.UserText("hello")}
	}
	return &model.Request{Model: "local-model", Contents: contents, Config: &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be brief."}}},
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
			Name: "read_file", Description: "reads", ParametersJsonSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","minLength":1,"pattern":"x"},"any":true,"deep":{"oneOf":[{"const":1},{"not":{}}]}},"required":["path"],"if":{},"$schema":"x"}`),
		}}}},
	}}
}

// The same conversation with each kind of server: thoughts, text, two calls at once,
// their answers, and on.
func TestConversation(t *testing.T) {
	for _, kind := range openaitest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			srv := openaitest.New(t, openaitest.Script{Kind: kind},
				openaitest.Step{Thought: "Hm.", Text: []string{"I will ", "read."}, Calls: []openaitest.Call{
					{Name: "read_file", Args: `{"path":"a.go","n":9007199254740993}`}, {Name: "read_file", Args: `{"path":"ü<b>.go"}`},
				}},
				openaitest.Step{Text: []string{"Fine."}},
			)
			c := client(t, srv.URL)
			req := newRequest()
			g := collect(t.Context(), c, req)
			if g.err != nil || g.text != "I will read." || g.thoughts != "Hm." || g.finish != genai.FinishReasonStop || len(g.calls) != 2 {
				t.Fatalf("got %+v", g)
			}
			if a, b := string(g.calls[0].Args), string(g.calls[1].Args); a != `{"path":"a.go","n":9007199254740993}` || b != `{"path":"ü<b>.go"}` || g.calls[0].ID == g.calls[1].ID {
				t.Errorf("calls %+v", g.calls)
			}
			if g.usage == nil || g.usage.PromptTokenCount != 100 || g.usage.CandidatesTokenCount != 20 || g.usage.TotalTokenCount != 120 {
				t.Errorf("usage %+v", g.usage)
			}
			// Answered in the other order, with an image beside one.
			second := model.NewPart(&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: g.calls[1].ID, Name: "read_file", Response: map[string]any{"error": "no such file"}}})
			first := model.NewPart(&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: g.calls[0].ID, Name: "read_file", Response: map[string]any{"output": "package a"}}})
			image := model.NewPart(&genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("PNG")}})
			pdf := model.NewPart(&genai.Part{InlineData: &genai.Blob{MIMEType: "application/pdf", Data: []byte("PDF")}})
			g = collect(t.Context(), c, newRequest(req.Contents[0],
				model.Content{Role: model.RoleModel, Parts: g.raw},
				model.Content{Role: model.RoleUser, Parts: []model.Part{second, first, image, pdf, model.Text("go on")}}))
			if g.err != nil || g.text != "Fine." {
				t.Fatalf("got %+v", g)
			}
			last := srv.Requests()[1].Body.Messages
			if roles := rolesOf(last); roles != "system user assistant tool tool user" {
				t.Errorf("messages %s", roles)
			}
			if last[2].Text() != "I will read." || last[3].Text() != "Error: no such file" || last[4].Text() != "package a" {
				t.Errorf("messages %q %q %q", last[2].Text(), last[3].Text(), last[4].Text())
			}
			if user := string(last[5].Content); !strings.Contains(user, `"data:image/png;base64,UE5H"`) || !strings.Contains(user, "application/pdf") {
				t.Errorf("user message %s", user)
			}
			if ua := srv.Requests()[0].Header.Get("User-Agent"); ua != "Redline/test (linux; amd64)" {
				t.Errorf("User-Agent %q", ua)
			}
		})
	}
}

func rolesOf(ms []openaitest.Message) string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Role)
	}
	return strings.Join(out, " ")
}

// A conversation that began with Gemini, whose calls have no IDs, goes on here; equal
// conversations are equal bytes.
func TestConversationWithoutIDs(t *testing.T) {
	call := func(path string) model.Part {
		return model.NewPart(&genai.Part{FunctionCall: &genai.FunctionCall{Name: "read_file", Args: map[string]any{"path": path}}})
	}
	response := func(out string) model.Part {
		return model.NewPart(&genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "read_file", Response: map[string]any{"output": out}}})
	}
	signature, err := model.RawPart(json.RawMessage(`{"text":"","thoughtSignature":"eA=="}`))
	if err != nil {
		t.Fatal(err)
	}
	srv := openaitest.New(t, openaitest.Script{Kind: openaitest.LlamaCpp}, openaitest.Step{Text: []string{"a"}}, openaitest.Step{Text: []string{"b"}})
	c := client(t, srv.URL)
	req := newRequest(
		model.UserText("one"),
		model.Content{Role: model.RoleModel, Parts: []model.Part{signature}}, // nothing that could be said
		model.UserText("two"),
		model.Content{Role: model.RoleModel, Parts: []model.Part{call("a"), call("b")}},
		model.Content{Role: model.RoleUser, Parts: []model.Part{response("A"), response("B")}},
	)
	for range 2 {
		if g := collect(t.Context(), c, req); g.err != nil {
			t.Fatal(g.err)
		}
	}
	reqs := srv.Requests()
	if string(reqs[0].Raw) != string(reqs[1].Raw) {
		t.Errorf("the same request twice:\n%s\n%s", reqs[0].Raw, reqs[1].Raw)
	}
	ms := reqs[0].Body.Messages
	if rolesOf(ms) != "system user assistant tool tool" || ms[1].Text() != "one\n\ntwo" || ms[3].Text() != "A" || ms[3].ToolCallID != ms[2].ToolCalls[0].ID {
		t.Errorf("messages %s: %+v", rolesOf(ms), ms)
	}
}

// Answers in the forms that one server or another has.
func TestForms(t *testing.T) {
	for _, tc := range []struct {
		name           string
		step           openaitest.Step
		text, thoughts string
		calls          string // name(args) …
		finish         genai.FinishReason
	}{
		{"not streamed", openaitest.Step{Plain: true, Text: []string{"hi"}, Calls: []openaitest.Call{{Name: "f", Args: `{"a":1}`}}}, "hi", "", `f({"a":1})`, "STOP"},
		{"think tags", openaitest.Step{Text: []string{"<thi", "nk>let me", " see</th", "ink>\n\nDone ", "</think>"}}, "Done </think>", "let me see", "", "STOP"},
		{"almost a think tag", openaitest.Step{Text: []string{"<thi", "s>"}}, "<this>", "", "", "STOP"},
		{"ends in a think tag", openaitest.Step{Text: []string{"<thin"}}, "<thin", "", "", "STOP"},
		{"content filter", openaitest.Step{Text: []string{"no"}, Finish: "content_filter"}, "no", "", "", "SAFETY"},
		{"too long", openaitest.Step{Text: []string{"and then"}, Finish: "length"}, "and then", "", "", "MAX_TOKENS"},
		{"unknown reason", openaitest.Step{Text: []string{"x"}, Finish: "eos"}, "x", "", "", "STOP"},
		{"no arguments", openaitest.Step{Calls: []openaitest.Call{{Name: "f"}}}, "", "", "f({})", "STOP"},
		{"a call cut off", openaitest.Step{Calls: []openaitest.Call{{Name: "f", Args: `{"a":"half a fi`}}, Finish: "length"}, "", "", "", "MAX_TOKENS"},
		{"broken arguments", openaitest.Step{Calls: []openaitest.Call{{Name: "f", Args: `{"a":"b`}}}, "", "", "", "MALFORMED_FUNCTION_CALL"},
		{"an object", openaitest.Step{Raw: `data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}},{"function":{"name":"g","arguments":{}}}]},"finish_reason":"tool_calls"}]}` + "\n\n"}, "", "", `f({"a":1}) g({})`, "STOP"},
		{"pieces, reasoning, crlf, comments", openaitest.Step{Raw: ": hi\r\n\r\nevent: x\r\ndata: {\"choices\":[{\"delta\":{\"reasoning\":\"R\",\"content\":[{\"type\":\"text\",\"text\":\"T\"}]}}]}\r\n\r\ndata: {\"choices\":[{\"finish_reason\":\"stop\",\"delta\":{}}]}\r\n\r\ndata: [DONE]"}, "T", "R", "", "STOP"},
		{"no id, no index", openaitest.Step{Raw: `data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\""}}]}}]}` + "\n\n" + `data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]},"finish_reason":"stop"}]}` + "\n\n"}, "", "", `f({"a":1})`, "STOP"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := openaitest.New(t, openaitest.Script{Kind: openaitest.LlamaCpp}, tc.step)
			g := collect(t.Context(), client(t, srv.URL), newRequest())
			var calls []string
			for _, c := range g.calls {
				calls = append(calls, c.Name+"("+string(c.Args)+")")
			}
			if g.err != nil || g.text != tc.text || g.thoughts != tc.thoughts || strings.Join(calls, " ") != tc.calls || g.finish != tc.finish {
				t.Errorf("got %+v, calls %q", g, calls)
			}
		})
	}
}

// What goes wrong, sorted by what can be done about it.
func TestErrors(t *testing.T) {
	type step = openaitest.Step
	for _, tc := range []struct {
		name   string
		script openaitest.Script
		step   step
		kind   model.Kind
		says   string
		after  time.Duration
	}{
		{"ollama without tools", openaitest.Script{Kind: openaitest.Ollama, NoTools: true}, step{}, model.KindBadRequest, "does not support tools. Redline needs a model that can call tools", 0},
		{"llama.cpp without jinja", openaitest.Script{Kind: openaitest.LlamaCpp, NoTools: true}, step{}, model.KindBadRequest, "--jinja", 0},
		{"vLLM without parser", openaitest.Script{Kind: openaitest.VLLM, NoTools: true}, step{}, model.KindBadRequest, "Start vLLM with --enable-auto-tool-choice", 0},
		{"ollama, no such model", openaitest.Script{Kind: openaitest.Ollama, Models: []string{"x"}}, step{}, model.KindBadRequest, "ollama pull", 0},
		{"vLLM, no such model", openaitest.Script{Kind: openaitest.VLLM, Models: []string{"x"}}, step{}, model.KindBadRequest, "redline.openai.model", 0},
		{"wants a key", openaitest.Script{Kind: openaitest.VLLM, APIKey: "k"}, step{}, model.KindAuth, "redline.openai.apiKeyEnv", 0},
		{"loading", openaitest.Script{}, step{Status: 503, Body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`}, model.KindServer, "Loading model", 0},
		{"too many", openaitest.Script{}, step{Status: 429, Body: `{"error":"slow down"}`, Header: "Retry-After: 0.3"}, model.KindRate, "slow down", 300 * time.Millisecond},
		{"too many, in ms", openaitest.Script{}, step{Status: 429, Body: `{"error":{"message":"m"}}`, Header: "retry-after-ms: 1500"}, model.KindRate, "m", 1500 * time.Millisecond},
		{"no money", openaitest.Script{}, step{Status: 429, Body: `{"error":{"message":"m","code":"insufficient_quota"}}`}, model.KindQuota, "m", 0},
		{"context", openaitest.Script{}, step{Status: 400, Body: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`}, model.KindBadRequest, "start a new session", 0},
		{"500", openaitest.Script{}, step{Status: 500, Body: `{"error":{"message":"out of memory"}}`}, model.KindServer, "out of memory", 0},
		{"detail", openaitest.Script{}, step{Status: 404, Body: `{"detail":"Not Found"}`}, model.KindBadRequest, "baseUrl", 0},
		{"details", openaitest.Script{}, step{Status: 422, Body: `{"detail":[{"loc":["body","x"],"msg":"field required"}]}`}, model.KindBadRequest, "field required", 0},
		{"web page", openaitest.Script{}, step{Status: 502, Body: "<html>Bad gateway</html>"}, model.KindServer, "web page", 0},
		{"words", openaitest.Script{}, step{Status: 500, Body: "boom"}, model.KindServer, "boom", 0},
		{"in the stream", openaitest.Script{}, step{Raw: "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"engine died\",\"code\":500}}\n\n"}, model.KindServer, "engine died", 0},
		{"in the stream, flat", openaitest.Script{}, step{Raw: "data: {\"object\":\"error\",\"message\":\"bad\",\"code\":400}\n\ndata: [DONE]\n\n"}, model.KindBadRequest, "bad", 0},
		{"in the stream, llama.cpp", openaitest.Script{}, step{Raw: "error: {\"code\":500,\"message\":\"slot lost\",\"type\":\"server_error\"}\n\n"}, model.KindServer, "slot lost", 0},
		{"cut", openaitest.Script{}, step{Text: []string{"half"}, Cut: true}, model.KindNetwork, "connection", 0},
		{"proper end, no reason", openaitest.Script{}, step{Raw: "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"}, model.KindCut, "broke off", 0},
		{"garbage", openaitest.Script{}, step{Raw: "data: {nonsense\n\n"}, model.KindGarbage, "could not be read", 0},
		{"garbage, bare", openaitest.Script{}, step{Raw: "what is this\n"}, model.KindGarbage, "could not be read", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.script.Steps = []step{tc.step}
			srv := openaitest.NewServer(tc.script)
			defer srv.Close()
			g := collect(t.Context(), client(t, srv.URL), newRequest())
			var e *model.Error
			if !errors.As(g.err, &e) || e.Kind != tc.kind || !strings.Contains(e.Error(), tc.says) || e.RetryAfter != tc.after {
				t.Errorf("got %#v: %v", g.err, g.err)
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	g := collect(t.Context(), client(t, srv.URL), newRequest())
	var e *model.Error
	if !errors.As(g.err, &e) || e.Kind != model.KindNetwork || !strings.Contains(e.Message, "ollama serve") {
		t.Errorf("got %v", g.err)
	}
}

// Without a model's name the only one that the server has is taken.
func TestAnyModel(t *testing.T) {
	srv := openaitest.New(t, openaitest.Script{Kind: openaitest.VLLM, Models: []string{"qwen"}}, openaitest.Step{Text: []string{"hi"}})
	req := newRequest()
	req.Model = AnyModel
	if g := collect(t.Context(), client(t, srv.URL), req); g.err != nil || g.text != "hi" {
		t.Errorf("got %+v", g)
	}
	two := openaitest.New(t, openaitest.Script{Models: []string{"qwen", "llama"}})
	if g := collect(t.Context(), client(t, two.URL), req); g.err == nil || !strings.Contains(g.err.Error(), "llama, qwen") {
		t.Errorf("with two models: %v", g.err)
	}
}

func TestCancel(t *testing.T) {
	srv := openaitest.New(t, openaitest.Script{}, openaitest.Step{Text: []string{"a"}, Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for chunk, err := range client(t, srv.URL).Stream(ctx, newRequest()) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			return
		}
		if len(chunk.Parts) > 0 {
			cancel()
		}
	}
	t.Error("the answer ended without an error")
}

// The key goes with the request, and never into an error.
func TestKey(t *testing.T) {
	const key = "sk-local-0123456789"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error":{"message":"wrong key `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+`"}}`, http.StatusUnauthorized)
	}))
	defer srv.Close()
	c, err := New(Options{BaseURL: srv.URL, APIKey: key})
	if err != nil {
		t.Fatal(err)
	}
	if g := collect(t.Context(), c, newRequest()); g.err == nil || strings.Contains(g.err.Error(), key) || !strings.Contains(g.err.Error(), "wrong key [key]") {
		t.Errorf("got %v", g.err)
	}
}

func TestBaseURL(t *testing.T) {
	for in, want := range map[string]string{
		"": DefaultBaseURL, "http://h:1": "http://h:1/v1", "http://h:1/": "http://h:1/v1", "http://h/v1/": "http://h/v1",
		"https://h/api/v3": "https://h/api/v3", "http://h/v1/chat/completions": "http://h/v1", "localhost:11434": "", "ftp://h": "", "http://h/v1?x=1": "",
	} {
		got, err := baseURL(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// Servers at home are not reached through a proxy.
func TestProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Options{BaseURL: "http://127.0.0.1:1", Proxy: "http://proxy.invalid:8080"})
		if err != nil {
			t.Fatal(err)
		}
		proxy := c.http.Transport.(*http.Transport).Proxy
		for host, through := range map[string]bool{"127.0.0.1": false, "localhost": false, "[::1]": false, "models.example": true} {
			r, err := http.NewRequest(http.MethodGet, "http://"+host+":8000/v1", nil)
			if err != nil {
				t.Fatal(err)
			}
			if u, err := proxy(r); err != nil || (u != nil) != through {
				t.Errorf("%s: %v, %v", host, u, err)
			}
		}
	})
	if _, err := New(Options{Proxy: "no url"}); err == nil {
		t.Error("a proxy that is no URL is taken")
	}
}

func TestSchema(t *testing.T) {
	for _, tc := range [][2]string{
		{`null`, `{"properties":{},"type":"object"}`},
		{`{"type":"OBJECT","properties":{"a":{"type":"STRING","format":"uri","pattern":"^a"}},"required":["a"]}`, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{`{"properties":{"a":true,"b":{"const":5},"c":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`, `{"properties":{"a":{},"b":{"enum":[5]},"c":{"anyOf":[{"type":"string"},{"type":"null"}]}},"type":"object"}`},
		{`{"definitions":{"x":{"type":"integer","exclusiveMinimum":3}},"properties":{"a":{"$ref":"#/definitions/x"}}}`, `{"$defs":{"x":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/x"}},"type":"object"}`},
		{`{"properties":{"a":{"allOf":[{"type":"string"}],"description":"d"},"b":{"type":["string","null"],"items":{"not":{}}}}}`, `{"properties":{"a":{"description":"d","type":"string"},"b":{"items":{},"type":["string","null"]}},"type":"object"}`},
	} {
		raw, err := json.Marshal(plainSchema(json.RawMessage(tc[0])))
		if err != nil || string(raw) != tc[1] {
			t.Errorf("%s:\n got %s (%v)\nwant %s", tc[0], raw, err, tc[1])
		}
	}
}

func TestArguments(t *testing.T) {
	for _, tc := range []struct {
		in, want string // want empty: to be written again
		cut      bool
	}{
		{`{"a":1}`, `{"a":1}`, false},
		{``, `{}`, false},
		{` null `, `{}`, false},
		{``, ``, true},
		{`{"a":1}`, `{"a":1}`, true},
		{`"{\"a\":1}"`, `{"a":1}`, false},
		{`{"a":1}{"a":1}`, `{"a":1}`, false},
		{`{"a":1}{"a":2}`, ``, false},
		{"```json\n{\"a\":1}\n```", `{"a":1}`, false},
		{"{\"a\":\"x\ny\tz\"}", `{"a":"x\ny\tz"}`, false},
		{`{"a":[1,2,],}`, `{"a":[1,2]}`, false},
		{`{"a":{"b":[1`, `{"a":{"b":[1]}}`, false},
		{`{"a":{"b":[1`, ``, true},
		{`{"a":"open`, ``, false},
		{`{"a":1`, `{"a":1}`, false},
		{`{"a"`, ``, false},
		{`{"a":]`, ``, false},
		{`[1]`, ``, false},
		{`7`, ``, false},
		{`{'a':1}`, ``, false},
	} {
		raw, ok := arguments(tc.in, tc.cut)
		if ok != (tc.want != "") || ok && string(raw) != tc.want {
			t.Errorf("%q (cut %v): %s, %v", tc.in, tc.cut, raw, ok)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"a":[1,{"b":"c\"`, false)
	f.Add("```\n{,}", true)
	f.Fuzz(func(t *testing.T, s string, cut bool) {
		raw, ok := arguments(s, cut)
		var m map[string]any
		if ok && json.Unmarshal(raw, &m) != nil {
			t.Errorf("%q became %q", s, raw)
		}
		if json.Valid([]byte(s)) && strings.HasPrefix(s, "{") && (!ok || string(raw) != strings.TrimSpace(s)) {
			t.Errorf("%q is right and became %q", s, raw)
		}
	})
}

// However a text is cut into chunks, the same thoughts and text come out.
func FuzzThink(f *testing.F) {
	f.Add("<think>a</think>b", uint8(3))
	f.Fuzz(func(t *testing.T, s string, n uint8) {
		run := func(chunks []string) (thought, text string) {
			var th thinker
			for _, c := range chunks {
				a, b := th.add(c)
				thought, text = thought+a, text+b
			}
			a, b := th.end()
			return thought + a, text + b
		}
		var chunks []string
		for piece := range slices.Chunk([]byte(s), int(n)%7+1) {
			chunks = append(chunks, string(piece))
		}
		at, ax := run([]string{s})
		bt, bx := run(chunks)
		if at != bt || strings.TrimLeft(ax, "\r\n") != strings.TrimLeft(bx, "\r\n") {
			t.Errorf("%q: whole %q, %q; in pieces %q, %q", s, at, ax, bt, bx)
		}
	})
}
