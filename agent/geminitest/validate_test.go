package geminitest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// TestRequests checks which bodies are taken and what the others are told.
func TestRequests(t *testing.T) {
	const (
		user  = `{"role":"user","parts":[{"text":"u"}]}`
		model = `{"role":"model","parts":[{"text":"m"}]}`
		call  = `{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{}}},{"functionCall":{"name":"g"}}]}`
	)
	contents := func(c ...string) string { return `{"contents":[` + strings.Join(c, ",") + `]}` }
	parts := func(p string) string { return contents(`{"role":"user","parts":[` + p + `]}`) }
	answers := func(p string) string { return contents(user, call, `{"role":"user","parts":[`+p+`]}`) }
	tools := func(d string) string {
		return `{"contents":[` + user + `],"tools":[{"googleSearch":{}},{"functionDeclarations":[` + d + `]}]}`
	}
	const f, g = `{"functionResponse":{"id":"1","name":"f","response":{}}}`, `{"functionResponse":{"name":"g","response":{"output":""}}}`
	for _, c := range []struct{ name, body, refusal string }{
		{"one content", contents(user), ""},
		{"three contents", contents(user, model, user), ""},
		{"all members", `{"model":"models/x","contents":[` + user + `],"systemInstruction":{"parts":[{"text":"s"}]},"tools":[],"toolConfig":{},"generationConfig":{},"safetySettings":[]}`, ""},
		{"no JSON", `{"contents":[`, "Invalid JSON payload"},
		{"no object", `[]`, "Invalid JSON payload"},
		{"unknown member", `{"contents":[` + user + `],"content":1}`, `Unknown name "content"`},
		{"wrong type", `{"contents":"x"}`, "Invalid JSON payload"},
		{"no contents", `{}`, "contents is not specified"},
		{"empty contents", contents(), "contents is not specified"},
		{"empty system instruction", `{"contents":[` + user + `],"systemInstruction":{"parts":[]}}`, "system_instruction.parts"},

		{"begins with model", contents(model, user), "contents[0] has the role model"},
		{"same role twice", contents(user, user), "contents[1] has the role user"},
		{"no role", contents(`{"parts":[{"text":"u"}]}`), `has the role ""`},
		{"other role", contents(`{"role":"function","parts":[{"text":"u"}]}`), "valid role"},
		{"ends with model", contents(user, model), "end with a user role"},

		{"no parts", contents(`{"role":"user"}`), "contents[0].parts: contents.parts must not be empty"},
		{"empty parts", parts(``), "must not be empty"},
		{"empty part", parts(`{"text":"u"},{}`), "contents[0].parts[1].data: required oneof"},
		{"null part", parts(`null`), "Invalid value"},
		{"empty text", parts(`{"text":""}`), "required oneof"},
		{"null text", parts(`{"text":null}`), "required oneof"},
		{"empty text with signature", parts(`{"text":"","thoughtSignature":"c2ln"}`), ""},
		{"signature alone", parts(`{"thoughtSignature":"c2ln"}`), "required oneof"},
		{"thought alone", parts(`{"thought":true}`), "required oneof"},
		{"two kinds", parts(`{"text":"a","inlineData":{}}`), "already set"},
		{"image", parts(`{"inlineData":{"mimeType":"image/png","data":""}}`), ""},

		{"answered", answers(f + "," + g), ""},
		{"answered, with text and image", answers(`{"text":"and"},` + f + `,{"inlineData":{}},` + g), ""},
		{"one answer missing", answers(f), "number of function response parts"},
		{"all answers missing", contents(user, call, user), "number of function response parts"},
		{"one answer too many", answers(f + "," + g + "," + g), "number of function response parts"},
		{"other order", answers(g + "," + f), "match the function calls"},
		{"other ID", answers(`{"functionResponse":{"id":"2","name":"f","response":{}}},` + g), `answers f(id "2")`},
		{"no ID", answers(`{"functionResponse":{"name":"f","response":{}}},` + g), `answers f(id "")`},
		{"ID of one's own", answers(f + `,{"functionResponse":{"id":"x","name":"g","response":{}}}`), ""},
		{"answer without call", contents(user, model, `{"role":"user","parts":[`+f+`]}`), "immediately after a function call turn"},
		{"answer at first", contents(`{"role":"user","parts":[` + f + `]}`), "immediately after a function call turn"},
		{"answer too late", contents(user, call, `{"role":"user","parts":[`+f+`,`+g+`]}`, model, `{"role":"user","parts":[`+f+`]}`), "contents[4] answers f"},
		{"answer of the model", contents(user, `{"role":"model","parts":[`+f+`]}`, user), "in a user turn"},
		{"call of the user", parts(`{"functionCall":{"name":"f"}}`), "in a model turn"},
		{"call without name", contents(user, `{"role":"model","parts":[{"functionCall":{}}]}`, user), "Name cannot be empty"},
		{"arguments no object", contents(user, `{"role":"model","parts":[{"functionCall":{"name":"f","args":[]}}]}`, user), "function_call.args"},
		{"response no object", answers(`{"functionResponse":{"id":"1","name":"f","response":"fine"}},` + g), "function_response.response"},
		{"no response", answers(`{"functionResponse":{"id":"1","name":"f"}},` + g), "function_response.response"},
		{"response without name", answers(`{"functionResponse":{"response":{}}},` + g), "function_response.name"},

		{"good names", tools(`{"name":"a"},{"name":"_b.c:d-9"},{"name":"` + strings.Repeat("n", 64) + `"}`), ""},
		{"long name", tools(`{"name":"` + strings.Repeat("n", 65) + `"}`), "Invalid function name"},
		{"bad name", tools(`{"name":"ok"},{"name":"a b"}`), "tools[1].function_declarations[1].name: Invalid function name"},
		{"name with newline", tools(`{"name":"a\n"}`), "Invalid function name"},
		{"digit first", tools(`{"name":"9a"}`), "Invalid function name"},
		{"no name", tools(`{}`), "Invalid function name"},
		{"same name", tools(`{"name":"a"},{"name":"a"}`), "Duplicate function declaration found: a"},
		{"schema", tools(`{"name":"a","parameters":{"type":"OBJECT","properties":{"x":{"type":"array","items":{"type":"string"}}},"required":["x"]}}`), ""},
		{"schema no object", tools(`{"name":"a","parameters":{"type":"STRING"}}`), "OBJECT type"},
		{"required not there", tools(`{"name":"a","parameters":{"type":"OBJECT","required":["x"]}}`), "parameters.required[0]: property is not defined"},
		{"array without items", tools(`{"name":"a","parameters":{"type":"OBJECT","properties":{"x":{"type":"ARRAY"}}}}`), "parameters.properties[x].items: missing field"},
		{"two schemas", tools(`{"name":"a","parameters":{"type":"OBJECT"},"parametersJsonSchema":{}}`), "mutually exclusive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := start(t, geminitest.Script{Steps: []geminitest.Step{geminitest.Say("fine")}})
			status, _, answer, err := exchange(t, srv.URL+stream, c.body)
			if err != nil {
				t.Fatal(err)
			}
			r := srv.Requests()[0]
			if c.refusal == "" {
				if status != http.StatusOK || r.Refused != "" || r.Step != 0 {
					t.Errorf("%d %s, %+v", status, answer, r)
				}
				return
			}
			var e event
			if err := json.Unmarshal([]byte(answer), &e); err != nil {
				t.Fatalf("%v: %s", err, answer)
			}
			if status != http.StatusBadRequest || e.Error.Code != status || e.Error.Status != "INVALID_ARGUMENT" || !strings.Contains(e.Error.Message, c.refusal) {
				t.Errorf("%d %s, want 400 with %q", status, answer, c.refusal)
			}
			if r.Refused != e.Error.Message || r.Step != -1 || len(srv.Unused()) != 1 {
				t.Errorf("recorded %+v", r)
			}
		})
	}
}

func TestKeysAndPaths(t *testing.T) {
	srv := start(t, geminitest.Script{APIKey: "k", Models: []string{"m"}, Steps: []geminitest.Step{{Times: -1, Chunks: []geminitest.Chunk{{Text: "fine"}}}}})
	for _, c := range []struct {
		name, path, header, value string
		status                    int
		want                      string
	}{
		{"header", "/v1beta/models/m:generateContent", "x-goog-api-key", "k", 200, "fine"},
		{"query", "/v1beta/models/m:generateContent?key=k", "", "", 200, "fine"},
		{"Vertex AI", "/v1beta1/projects/p/locations/l/publishers/google/models/m:generateContent", "Authorization", "Bearer k", 200, "fine"},
		{"bearer elsewhere", "/v1beta/models/m:generateContent", "Authorization", "Bearer k", 400, "API_KEY_INVALID"},
		{"wrong", "/v1beta/models/m:generateContent", "x-goog-api-key", "no", 400, "API_KEY_INVALID"},
		{"none", "/v1beta/models/m:generateContent", "", "", 400, "API_KEY_INVALID"},
		{"model", "/v1beta/models/n:generateContent", "x-goog-api-key", "k", 404, "models/n is not found for API version v1beta, or is not supported for generateContent"},
		{"method", "/v1beta/models/m:embedContent", "x-goog-api-key", "k", 404, "NOT_FOUND"},
		{"path", "/v1beta/files", "x-goog-api-key", "k", 404, "NOT_FOUND"},
		{"no method", "/v1beta/models/m", "x-goog-api-key", "k", 404, "NOT_FOUND"},
		{"no sse", "/v1beta/models/m:streamGenerateContent", "x-goog-api-key", "k", 400, "alt=sse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(testContext(t), http.MethodPost, srv.URL+c.path, strings.NewReader(hello))
			if err != nil {
				t.Fatal(err)
			}
			if c.header != "" {
				req.Header.Set(c.header, c.value)
			}
			res, err := client(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var b strings.Builder
			if err := res.Write(&b); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != c.status || !strings.Contains(b.String(), c.want) {
				t.Errorf("%s", b.String())
			}
		})
	}
}

// TestSignatures checks that a thought signature must come back with its call.
func TestSignatures(t *testing.T) {
	for name, c := range map[string]struct{ part, refusal string }{
		"same":           {`{"functionCall":{"name":"f","args":{"b":2,"a":"<"}},"thoughtSignature":"c2ln"}`, ""},
		"other order":    {`{"functionCall":{"args":{"a":"\u003c","b":2},"name":"f"},"thoughtSignature":"c2ln"}`, ""},
		"missing":        {`{"functionCall":{"name":"f","args":{"b":2,"a":"<"}}}`, "is missing a `thought_signature`"},
		"another":        {`{"functionCall":{"name":"f","args":{"b":2,"a":"<"}},"thoughtSignature":"b3RoZXI="}`, "is not valid"},
		"another's call": {`{"functionCall":{"name":"f","args":{"b":3}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			srv := start(t, geminitest.Script{Steps: []geminitest.Step{
				geminitest.Do(geminitest.Call{Name: "f", Args: []byte(`{"b":2,"a":"<"}`), Signature: "c2ln"}), geminitest.Say("fine"),
			}})
			if _, _, _, err := exchange(t, srv.URL+stream, hello); err != nil {
				t.Fatal(err)
			}
			_, _, answer, err := exchange(t, srv.URL+stream, `{"contents":[{"role":"user","parts":[{"text":"hello"}]},{"role":"model","parts":[`+c.part+`]},`+
				`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`)
			if err != nil {
				t.Fatal(err)
			}
			want := c.refusal
			if want == "" {
				want = "fine"
			}
			if !strings.Contains(answer, want) {
				t.Errorf("%s, want %s", answer, want)
			}
		})
	}
}
