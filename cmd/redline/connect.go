package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"redline/agent"
	"redline/agent/gemini"
	"redline/agent/model"
	"redline/cmd/internal/config"
)

// The ways to sign in (settings key security.auth.selectedType).
const (
	authAPIKey = "gemini-api-key"
)

// noKey is what is said when there is no key, in the words Gemini CLI's users know.
const noKey = "GEMINI_API_KEY environment variable not found. Add that to your environment and try again (no reload needed if using .env)!"

// credentialsError is a missing credential; its text says what to do.
type credentialsError struct{ text string }

func (e credentialsError) Error() string { return e.text }

func (e credentialsError) Is(target error) bool { return target == agent.ErrCredentials }

// connector makes what talks to the model, when it is first needed.
type connector struct {
	cfg *config.Config

	mu     sync.Mutex
	key    string // the client was made with
	client model.ContentGenerator
}

func newConnector(cfg *config.Config) *connector { return &connector{cfg: cfg} }

// status tells how the model would be reached.
func (c *connector) status() (method string, err error) {
	method = c.cfg.AuthType
	if method == "" {
		method = authAPIKey
	}
	if method != authAPIKey {
		return method, credentialsError{fmt.Sprintf("Signing in with %q is not supported yet; set security.auth.selectedType to %q and GEMINI_API_KEY to a key", method, authAPIKey)}
	}
	if c.cfg.Env.Get("GEMINI_API_KEY") == "" {
		return method, credentialsError{noKey}
	}
	return method, nil
}

// generator returns the client for the key of this moment.
func (c *connector) generator(ctx context.Context) (model.ContentGenerator, error) {
	if _, err := c.status(); err != nil {
		return nil, err
	}
	key := c.cfg.Env.Get("GEMINI_API_KEY")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil && c.key == key {
		return c.client, nil
	}
	client, err := gemini.New(ctx, gemini.Options{
		APIKey: key, BaseURL: c.cfg.Env.Get("GOOGLE_GEMINI_BASE_URL"), Proxy: c.cfg.Proxy,
		UserAgent: fmt.Sprintf("Redline/%s (%s; %s)", versionString(), runtime.GOOS, runtime.GOARCH),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to Gemini: %w", err)
	}
	c.key, c.client = key, client
	return c.client, nil
}
