package geminitest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/genai"

	"redline/agent/geminitest"
)

func TestUnary(t *testing.T) {
	srv := geminitest.New(t,
		geminitest.Step{Chunks: []geminitest.Chunk{{Thought: "hm"}, {Text: "a"}, {Text: "b"}, {Call: &geminitest.Call{Name: "f"}}}},
		geminitest.Step{Fault: geminitest.NoFinish, Chunks: []geminitest.Chunk{{Text: "a"}}},
		geminitest.Step{Fault: geminitest.Garbage},
		geminitest.Step{Fault: geminitest.Cut},
		geminitest.Step{Block: "SAFETY"},
	)
	for i, want := range []string{
		`[{"content":{"parts":[{"text":"hm","thought":true},{"text":"ab"},{"functionCall":{"name":"f","args":{}}}],"role":"model"},"finishReason":"STOP","index":0}]`,
		`[{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0}]`,
		"<<<",
		"",
		`{"promptFeedback":{"blockReason":"SAFETY"}`,
	} {
		status, _, answer, err := exchange(t, srv.URL+unary, hello)
		if status != http.StatusOK || !strings.Contains(answer, want) {
			t.Errorf("%d: %d %s", i, status, answer)
		}
		if cut := i == 3; cut != (err != nil) {
			t.Errorf("%d: error %v", i, err)
		}
	}
}

func TestModels(t *testing.T) {
	srv := geminitest.New(t)
	type page struct {
		Models        []struct{ Name string }
		NextPageToken string
	}
	var names []string
	token := ""
	for range 10 {
		_, _, answer, err := exchange(t, srv.URL+"/v1beta/models?pageSize=3&pageToken="+token, "")
		var p page
		if err != nil || json.Unmarshal([]byte(answer), &p) != nil {
			t.Fatalf("%s, %v", answer, err)
		}
		for _, m := range p.Models {
			names = append(names, m.Name)
		}
		if token = p.NextPageToken; token == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "models/gemini-2.5-pro models/gemini-2.5-flash models/gemini-test models/gemini-embedding-001" {
		t.Errorf("models %s", got)
	}
	for path, want := range map[string]string{
		"/gemini-test":      `"name":"models/gemini-test"`,
		"/other":            "Model is not found: models/other for api version v1beta",
		"?pageSize=x":       "page_size",
		"?pageToken=999":    "Invalid page token",
		"/gemini-test:what": "NOT_FOUND",
	} {
		if _, _, answer, err := exchange(t, srv.URL+"/v1beta/models"+path, ""); err != nil || !strings.Contains(answer, want) {
			t.Errorf("%s: %s, %v", path, answer, err)
		}
	}
}

func TestCountTokens(t *testing.T) {
	srv := geminitest.New(t)
	url := srv.URL + "/v1beta/models/gemini-test:countTokens"
	for _, body := range []string{hello, `{"generateContentRequest":` + hello + `}`} {
		if _, _, answer, err := exchange(t, url, body); err != nil || !strings.Contains(answer, `"totalTokens":2`) {
			t.Errorf("%s: %s, %v", body, answer, err)
		}
	}
	if status, _, answer, _ := exchange(t, url, `{"contents":[]}`); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, answer)
	}
	counts := srv.TokenCounts()
	if len(counts) != 3 || len(srv.Requests()) != 0 || counts[2].Refused == "" || counts[1].Last().Texts() != "hello" {
		t.Errorf("recorded %+v", counts)
	}
}

// TestSDK checks that Google's own client understands the fake.
func TestSDK(t *testing.T) {
	srv := geminitest.New(t,
		geminitest.Step{Chunks: []geminitest.Chunk{{Text: "a"}, {Call: &geminitest.Call{Name: "f", Args: []byte(`{"x":1}`)}}}},
		geminitest.Step{Error: &geminitest.Error{Status: 429, Message: "slow", RetryDelay: "3s"}},
		geminitest.Say("whole"),
	)
	ctx := testContext(t)
	sdk, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: geminitest.DefaultKey, Backend: genai.BackendGeminiAPI, HTTPClient: client(t), HTTPOptions: genai.HTTPOptions{BaseURL: srv.URL + "/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var text, finish string
	var calls []*genai.FunctionCall
	for res, err := range sdk.Models.GenerateContentStream(ctx, "gemini-test", genai.Text("hello"), &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("s", genai.RoleUser),
		Tools:             []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "f", ParametersJsonSchema: map[string]any{"type": "object"}}}}},
		ThinkingConfig:    &genai.ThinkingConfig{IncludeThoughts: true},
		SafetySettings:    []*genai.SafetySetting{{Category: genai.HarmCategoryHarassment, Threshold: genai.HarmBlockThresholdBlockNone}},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range res.Candidates[0].Content.Parts {
			text += p.Text
		}
		calls = append(calls, res.FunctionCalls()...)
		finish += string(res.Candidates[0].FinishReason)
	}
	if text != "a" || finish != "STOP" || len(calls) != 1 || calls[0].Args["x"] != 1.0 {
		t.Errorf("text %q, finish %q, calls %v", text, finish, calls)
	}
	for _, err := range sdk.Models.GenerateContentStream(ctx, "gemini-test", genai.Text("hello"), nil) {
		var api genai.APIError
		if !errors.As(err, &api) || api.Code != 429 || api.Message != "slow" || len(api.Details) != 1 {
			t.Errorf("error %v", err)
		}
	}
	if res, err := sdk.Models.GenerateContent(ctx, "gemini-test", genai.Text("hello"), nil); err != nil || res.Text() != "whole" {
		t.Errorf("%v, %v", res, err)
	}
	if res, err := sdk.Models.CountTokens(ctx, "gemini-test", genai.Text("hello"), nil); err != nil || res.TotalTokens != 2 {
		t.Errorf("%v, %v", res, err)
	}
	n := 0
	for _, err := range sdk.Models.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 4 {
		t.Errorf("%d models", n)
	}
}

func TestLoad(t *testing.T) {
	for name, c := range map[string]struct{ script, err string }{
		"empty":            {`{"steps":[]}`, ""},
		"unknown member":   {`{"steps":[{"chunk":[]}]}`, `unknown field "chunk"`},
		"unknown in chunk": {`{"steps":[{"chunks":[{"txt":"a"}]}]}`, `unknown field "txt"`},
		"two values":       {`{} {}`, "more than one"},
		"syntax":           {"{\n\"steps\": [}", "line 2"},
		"fault":            {`{"steps":[{},{"fault":"explode"}]}`, `step 1: unknown fault "explode"`},
		"fault and finish": {`{"steps":[{"fault":"cut","finish":"STOP"}]}`, "leaves no place"},
		"error and finish": {`{"steps":[{"error":{"status":500},"finish":"STOP"}]}`, "leaves no place"},
		"hang and chunks":  {`{"steps":[{"fault":"hangBeforeHeaders","chunks":["a"]}]}`, "cannot come before"},
		"status":           {`{"steps":[{"error":{"status":200}}]}`, "status is 200"},
		"retry delay":      {`{"steps":[{"error":{"status":429,"retryDelay":"7"}}]}`, "retryDelay"},
		"arguments":        {`{"steps":[{"chunks":[{"call":{"name":"f","args":[1]}}]}]}`, "step 0: chunk 0: the arguments of f"},
		"nameless call":    {`{"steps":[{"chunks":[{"calls":[{}]}]}]}`, "no name"},
		"signature":        {`{"steps":[{"chunks":[{"thoughtSignature":"?"}]}]}`, "base64"},
		"part":             {`{"steps":[{"chunks":[{"parts":["a"]}]}]}`, "part is no JSON object"},
		"event":            {`{"steps":[{"chunks":[{"event":[]}]}]}`, "event is no JSON object"},
		"times":            {`{"steps":[{"times":-2}]}`, "times"},
		"open and done":    {`{"steps":[{"wire":{"done":true,"openEnd":true}}]}`, "open end"},
		"line ends":        {`{"steps":[{"wire":{"cr":true,"crlf":true}}]}`, "both"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := geminitest.Load(strings.NewReader(c.script), "")
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// TestDocumentation loads the example of the package's documentation.
func TestDocumentation(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "The file holds a [Script]:\n//\n")
	if !ok {
		t.Fatal("the example is not where it was")
	}
	var example strings.Builder
	for line := range strings.SplitSeq(rest, "\n") {
		code, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			break
		}
		example.WriteString(code + "\n")
	}
	root := `C:\a "b"`
	s, err := geminitest.Load(strings.NewReader(example.String()), root)
	if err != nil {
		t.Fatal(err)
	}
	var args struct{ Path string }
	if err := json.Unmarshal(s.Steps[0].Chunks[3].Call.Args, &args); err != nil || args.Path != root+"/a.go" {
		t.Errorf("path %q, %v", args.Path, err)
	}
	if c := s.Steps[0].Chunks; len(s.Steps) != 5 || c[1].Text != "I will " || c[2].DelayMS != 20 {
		t.Errorf("script %+v", s)
	}
}

// recorder is a test that records how it would have failed.
type recorder struct {
	testing.TB
	cleanup []func()
	errors  []string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Logf(string, ...any)            {}
func (r *recorder) Cleanup(f func())               { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Errorf(format string, _ ...any) { r.errors = append(r.errors, format) }

// TestNewFails checks that a test fails when its script does not fit.
func TestNewFails(t *testing.T) {
	for name, c := range map[string]struct {
		steps    []geminitest.Step
		requests int
		want     int
	}{
		"as it should be": {[]geminitest.Step{geminitest.Say("a")}, 1, 0},
		"optional":        {[]geminitest.Step{{Optional: true}}, 0, 0},
		"unused":          {[]geminitest.Step{geminitest.Say("a"), geminitest.Say("b")}, 1, 1},
		"no step":         {[]geminitest.Step{geminitest.Say("a")}, 2, 1},
		"one of two":      {[]geminitest.Step{{Times: 2}}, 1, 1},
		"always":          {[]geminitest.Step{{Times: -1}}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{}
			srv := geminitest.New(r, c.steps...)
			for range c.requests {
				if _, _, _, err := exchange(t, srv.URL+stream, hello); err != nil {
					t.Error(err)
				}
			}
			for _, f := range r.cleanup {
				f()
			}
			if len(r.errors) != c.want {
				t.Errorf("failures %q", r.errors)
			}
		})
	}
}
