package config

import (
	"strings"
	"testing"
)

func TestOpenAI(t *testing.T) {
	const user = `{"redline": {"provider": "openai", "openai": {"baseUrl": "http://mine.example", "model": "qwen", "apiKeyEnv": "MY_KEY"}}}`
	trusted := map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true", "MY_KEY": "k-mine"}
	for _, tc := range []struct {
		name, project string
		env           map[string]string
		url, key      string
		warned        bool
	}{
		{"user's", ``, trusted, "http://mine.example", "k-mine", false},
		{"not trusted", `{"redline": {"openai": {"baseUrl": "http://evil.example"}}}`, map[string]string{"MY_KEY": "k-mine"}, "http://mine.example", "k-mine", false},
		{"a project's server gets no key of the user's", `{"redline": {"openai": {"baseUrl": "http://other.example"}}}`, trusted, "http://other.example", "", true},
		{"unless it is named", `{"redline": {"openai": {"baseUrl": "http://other.example", "apiKeyEnv": "THEIR_KEY"}}}`, map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true", "THEIR_KEY": "k-their"}, "http://other.example", "k-their", false},
		{"another model", `{"redline": {"openai": {"model": "llama"}}}`, trusted, "http://mine.example", "k-mine", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := load(t, tc.env, map[string]string{"home/settings.json": user, "a/ws/.gemini/settings.json": tc.project})
			if err != nil {
				t.Fatal(err)
			}
			key, missing := c.OpenAI.Key(c.Env)
			if c.Provider != ProviderOpenAI || c.OpenAI.BaseURL != tc.url || key != tc.key || missing != "" || strings.Contains(strings.Join(c.Warnings, " "), "your key is not sent") != tc.warned {
				t.Errorf("got %+v, key %q, missing %q, warnings %q", c.OpenAI, key, missing, c.Warnings)
			}
		})
	}
	c, err := load(t, nil, map[string]string{"home/settings.json": user})
	if err != nil {
		t.Fatal(err)
	}
	if _, missing := c.OpenAI.Key(c.Env); missing != "MY_KEY" {
		t.Errorf("missing %q", missing)
	}
	if _, err := load(t, nil, map[string]string{"home/settings.json": `{"redline": {"provider": "other"}}`}); err == nil || !strings.Contains(err.Error(), "redline.provider: must be one of gemini, openai") {
		t.Errorf("unknown provider: %v", err)
	}
}
