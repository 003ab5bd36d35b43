package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"redline/agent/model"
	"redline/agent/openai"
	"redline/cmd/internal/config"
	"redline/cmd/internal/signin"
	"redline/lsp"
)

// missingKey says that the environment variable name, which the settings want, is not set.
func missingKey(name string) error {
	return signin.Missing{Text: fmt.Sprintf("The environment variable %s, which redline.openai.apiKeyEnv names, is not set. Set it to the server's key, or remove the setting if the server needs none.", name)}
}

// useOpenAI lets sessions talk to a server of OpenAI's chat completions. modelFlag is
// the model that the command line names; empty: the settings' one counts.
func useOpenAI(set *lsp.Settings, cfg *config.Config, modelFlag string) {
	set.Account = nil // there is nothing to sign in to
	set.Model = modelFlag
	if set.Model == "" {
		set.Model = cfg.OpenAI.Model
	}
	if set.Model == "" {
		set.Model = openai.AnyModel
	}
	auth := func() (key string, err error) {
		key, missing := cfg.OpenAI.Key(cfg.Env)
		if missing != "" {
			return "", missingKey(missing)
		}
		return key, nil
	}
	set.Auth = func() (string, error) {
		_, err := auth()
		return config.ProviderOpenAI, err
	}
	var mu sync.Mutex
	var client *openai.Client
	set.Generator = func(context.Context) (model.ContentGenerator, error) {
		key, err := auth()
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if client != nil {
			return client, nil
		}
		c, err := openai.New(openai.Options{
			BaseURL: cfg.OpenAI.BaseURL, APIKey: key, Proxy: cfg.Proxy,
			UserAgent: fmt.Sprintf("Redline/%s (%s; %s)", versionString(), runtime.GOOS, runtime.GOARCH),
		})
		if err != nil {
			return nil, fmt.Errorf("redline.openai: %w", err)
		}
		client = c
		return c, nil
	}
}
