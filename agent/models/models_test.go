package models

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	for name, want := range map[string]struct {
		window   int
		thinking Thinking
		known    bool
	}{
		"gemini-2.5-pro":                        {1_048_576, ThinkingBudget, true},
		"gemini-2.5-pro-preview-05-06":          {1_048_576, ThinkingBudget, true},
		"gemini-2.5-flash-lite":                 {1_048_576, ThinkingBudget, true},
		"gemini-2.5-flash-image":                {1_048_576, ThinkingNone, false},
		"gemini-3-pro-preview":                  {1_048_576, ThinkingLevel, true},
		"gemini-3.1-pro-preview-customtools":    {1_048_576, ThinkingLevel, true},
		"gemini-4-ultra":                        {1_048_576, ThinkingLevel, false},
		"gemini-2.0-flash-001":                  {1_048_576, ThinkingNone, true},
		"gemini-test":                           {1_048_576, ThinkingNone, false},
		"qwen3-coder":                           {131_072, ThinkingNone, false},
		"gemini-2.5-flash-preview-native-audio": {1_048_576, ThinkingNone, false},
	} {
		m, known := Lookup(name)
		if m.Name != name || m.Window != want.window || m.Thinking != want.thinking || known != want.known {
			t.Errorf("%s: %+v, %v", name, m, known)
		}
	}
	for _, m := range All() {
		if got, known := Lookup(m.Name); !known || got.Price == nil {
			t.Errorf("%s of the table is not found: %+v", m.Name, got)
		}
	}
}

func TestCost(t *testing.T) {
	for _, tt := range []struct {
		model string
		t     Tokens
		usd   float64
		ok    bool
	}{
		{"gemini-2.5-pro", Tokens{Input: 100_000, Output: 1000, Thoughts: 1000}, 0.125 + 0.02, true},
		{"gemini-2.5-pro", Tokens{Input: 300_000, Cached: 200_000, Output: 1000}, 0.25 + 0.05 + 0.015, true},
		{"gemini-2.5-flash", Tokens{Input: 1_000_000}, 0.3, true},
		{"gemini-test", Tokens{Input: 1}, 0, false},
	} {
		usd, ok := Cost(tt.model, tt.t)
		if ok != tt.ok || math.Abs(usd-tt.usd) > 1e-9 {
			t.Errorf("%s %+v: %v, %v", tt.model, tt.t, usd, ok)
		}
	}
}

// What a name resolves to, with settings as Gemini CLI has them.
func TestResolve(t *testing.T) {
	const settings = `{
		"customAliases": {
			"precise": {"extends": "chat-base-2.5", "modelConfig": {"model": "gemini-2.5-pro", "generateContentConfig": {"temperature": 0.2, "thinkingConfig": {"thinkingBudget": -1}}}},
			"local": {"modelConfig": {"model": "qwen3", "generateContentConfig": {"temperature": 0.5}}}
		},
		"customOverrides": [
			{"match": {"model": "precise"}, "modelConfig": {"generateContentConfig": {"topP": 0.5}}},
			{"match": {}, "modelConfig": {"generateContentConfig": {"topP": 0.1, "seed": 7}}},
			{"match": {"model": "gemini-2.5-flash", "overrideScope": "edit-corrector"}, "modelConfig": {"model": "gemini-2.5-flash-lite"}},
			{"match": {"model": "chat-base", "isRetry": true}, "modelConfig": {"generateContentConfig": {"temperature": 2}}}
		]
	}`
	var tree map[string]any
	if err := json.Unmarshal([]byte(settings), &tree); err != nil {
		t.Fatal(err)
	}
	custom, warnings, err := Parse(tree)
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	for _, tt := range []struct {
		set         *Set
		name, scope string
		model, want string
	}{
		{nil, "gemini-2.5-pro", Chat, "gemini-2.5-pro", `{"temperature":1,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192},"topK":64,"topP":0.95}`},
		{nil, "gemini-3-pro-preview", Chat, "gemini-3-pro-preview", `{"temperature":1,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"},"topK":64,"topP":0.95}`},
		{nil, "gemini-3.7-flash", Chat, "gemini-3.7-flash", `{"temperature":1,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"},"topK":64,"topP":0.95}`},
		{nil, "gemini-flash-latest", Chat, "gemini-flash-latest", `{"temperature":1,"thinkingConfig":{"includeThoughts":true},"topK":64,"topP":0.95}`},
		{nil, "gemini-2.0-flash", Chat, "gemini-2.0-flash", `{}`},
		{nil, "qwen3-coder", Chat, "qwen3-coder", `{}`},
		{nil, "flash", Chat, "gemini-2.5-flash", `{"temperature":1,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192},"topK":64,"topP":0.95}`},
		{nil, EditCorrector, EditCorrector, "gemini-2.5-flash", `{"temperature":0,"thinkingConfig":{"thinkingBudget":0},"topP":1}`},
		{nil, Compression, Compression, "", `{"temperature":0,"topP":1}`},
		{custom, "precise", Chat, "gemini-2.5-pro", `{"seed":7,"temperature":0.2,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1},"topK":64,"topP":0.5}`},
		{custom, "local", Chat, "qwen3", `{"seed":7,"temperature":0.5,"topP":0.1}`},
		{custom, EditCorrector, EditCorrector, "gemini-2.5-flash-lite", `{"seed":7,"temperature":0,"thinkingConfig":{"thinkingBudget":0},"topP":0.1}`},
	} {
		r, err := tt.set.Resolve(tt.name, tt.scope)
		got, _ := json.Marshal(r.Params)
		if err != nil || r.Model != tt.model || string(got) != tt.want {
			t.Errorf("%s for %s: %q %s (%v), want %q %s", tt.name, tt.scope, r.Model, got, err, tt.model, tt.want)
		}
		if _, err := r.Config(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if got := custom.Aliases()["precise"]; got != "gemini-2.5-pro" {
		t.Errorf("aliases: %v", custom.Aliases())
	}
	if got := (*Set)(nil).Aliases(); got["flash"] != "gemini-2.5-flash" || len(got) != 6 {
		t.Errorf("built-in aliases: %v", got)
	}
}

func TestBadSettings(t *testing.T) {
	for settings, want := range map[string]string{
		`{"aliases": {"a": {"extends": "b", "modelConfig": {}}, "b": {"extends": "a", "modelConfig": {}}}}`:                "extends itself",
		`{"aliases": {"a": {"extends": "nothing", "modelConfig": {}}}}`:                                                    `extends "nothing", which there is none of`,
		`{"aliases": {"a": {"modelConfig": {"generateContentConfig": {"temperature": "hot"}}}}}`:                           "temperature must not be a string",
		`{"customAliases": {"a": {"modelConfig": {"generateContentConfig": {"thinkingConfig": {"thinkingBudget": {}}}}}}}`: "thinkingBudget must not be a object",
		`{"aliases": {"a": {"modelConfg": {}}}}`:                                                                           "modelConfg",
		`{"overrides": {}}`:                                                                                                "overrides",
		`{"overrides": [{"match": {"model": 1}, "modelConfig": {}}]}`:                                                      "must not be a number",
	} {
		var tree map[string]any
		if err := json.Unmarshal([]byte(settings), &tree); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Parse(tree); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
	_, warnings, err := Parse(map[string]any{"aliases": map[string]any{"a": map[string]any{"modelConfig": map[string]any{"generateContentConfig": map[string]any{"tools": []any{}}}}}, "x": 1})
	if err != nil || len(warnings) != 2 {
		t.Errorf("warnings %q (%v)", warnings, err)
	}
}
