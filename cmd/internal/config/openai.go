package config

import (
	"maps"
)

// The values of redline.provider.
const (
	ProviderGemini = "gemini"
	ProviderOpenAI = "openai"
)

// OpenAI says how to reach a server of OpenAI's chat completions (redline.openai).
type OpenAI struct {
	BaseURL   string // empty: where Ollama listens
	Model     string // empty: the only one that the server has
	APIKeyEnv string // the environment variable with the key; empty: none is needed
	APIKey    string // the key itself, which better stands elsewhere
}

// Key returns the key, and the name of the variable that should hold it and does not.
func (o OpenAI) Key(env *Env) (key, missing string) {
	switch {
	case o.APIKeyEnv != "":
		if key = env.Get(o.APIKeyEnv); key == "" {
			return "", o.APIKeyEnv
		}
		return key, ""
	}
	return o.APIKey, ""
}

func init() {
	maps.Copy(settings, map[string]func(*Config, any) error{
		"redline.provider":         func(c *Config, v any) error { return oneOf(&c.Provider, v, ProviderGemini, ProviderOpenAI) },
		"redline.openai.baseUrl":   func(c *Config, v any) error { return text(&c.OpenAI.BaseURL, v) },
		"redline.openai.model":     func(c *Config, v any) error { return text(&c.OpenAI.Model, v) },
		"redline.openai.apiKeyEnv": func(c *Config, v any) error { return text(&c.OpenAI.APIKeyEnv, v) },
		"redline.openai.apiKey":    func(c *Config, v any) error { return text(&c.OpenAI.APIKey, v) },
	})
}

// keepKey takes the user's key back when the workspace's settings name another server
// and no key: the user's goes to no host that a project chooses.
func (c *Config) keepKey(user OpenAI) {
	o := &c.OpenAI
	if o.BaseURL == user.BaseURL || o.APIKey != user.APIKey || o.APIKeyEnv != user.APIKeyEnv || o.APIKey+o.APIKeyEnv == "" {
		return
	}
	o.APIKey, o.APIKeyEnv = "", ""
	c.Warnings = append(c.Warnings, "redline.openai: the workspace names another server than your settings, so that your key is not sent to it; name the key's variable (apiKeyEnv) in the workspace's settings too if it is meant for it")
}
