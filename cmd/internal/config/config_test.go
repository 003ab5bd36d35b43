package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// load writes the files below a home and a workspace and loads the settings.
func load(t *testing.T, env map[string]string, files map[string]string) (*Config, error) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string {
		if name == "REDLINE_HOME" {
			return filepath.Join(root, "home")
		}
		return env[name]
	}
	return Load(getenv, filepath.Join(root, "a", "ws"))
}

func TestWorkspaceSettingsWin(t *testing.T) {
	c, err := load(t, map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"}, map[string]string{
		"home/settings.json":         `{"model": {"name": "user"}, "redline": {"review": "message", "retry": {"initialDelayMs": 20}}}`,
		"a/ws/.gemini/settings.json": "\ufeff// a comment\n{\"model\": {\"name\": \"project\"}, \"maxSessionTurns\": 3,}",
	})
	if err != nil || c.Model != "project" || c.Review != "message" || c.MaxSessionTurns != 3 || c.Retry.Initial != 20*time.Millisecond || len(c.Warnings) != 0 {
		t.Errorf("got %+v (%v)", c, err)
	}
}

func TestEnvironmentWinsOverSettings(t *testing.T) {
	c, err := load(t, map[string]string{"GEMINI_MODEL": "env"}, map[string]string{"home/settings.json": `{"model": "flat"}`})
	if err != nil || c.Model != "env" {
		t.Errorf("model %q (%v)", c.Model, err)
	}
	c, err = load(t, nil, map[string]string{"home/settings.json": `{"model": "flat"}`})
	if err != nil || c.Model != "flat" {
		t.Errorf("old name: model %q (%v)", c.Model, err)
	}
}

func TestWrongTypesAreErrorsThatNameTheKey(t *testing.T) {
	for text, want := range map[string]string{
		`{"model": {"name": 7}}`:                     "model.name: must be a string",
		`{"redline": {"review": "always"}}`:          "redline.review: must be one of",
		`{"redline": {"retry": {"maxAttempts": 0}}}`: "redline.retry.maxAttempts: must be a whole number",
		`{"model": `: "settings.json",
		`[1]`:        "must be a JSON object",
	} {
		if _, err := load(t, nil, map[string]string{"home/settings.json": text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestUnknownKeysAreWarnings(t *testing.T) {
	c, err := load(t, nil, map[string]string{"home/settings.json": `{"ui": {"theme": "x"}, "modle": 1, "redline": {"foo": 2}}`})
	if err != nil || len(c.Warnings) != 2 || !strings.Contains(strings.Join(c.Warnings, " "), `"modle"`) {
		t.Errorf("warnings %q (%v)", c.Warnings, err)
	}
}

func TestDotEnv(t *testing.T) {
	files := map[string]string{"a/.env": "GEMINI_API_KEY=from-file\nGOOGLE_GEMINI_BASE_URL=http://project.example\n"}
	c, err := load(t, map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"}, files)
	if err != nil || c.Env.Get("GEMINI_API_KEY") != "from-file" || c.Env.Get("GOOGLE_GEMINI_BASE_URL") != "http://project.example" {
		t.Errorf("a project's own key and endpoint: %q, %q (%v)", c.Env.Get("GEMINI_API_KEY"), c.Env.Get("GOOGLE_GEMINI_BASE_URL"), err)
	}
	// The user's key goes to no host that a project names.
	c, err = load(t, map[string]string{"GEMINI_API_KEY": "mine"}, files)
	if err != nil || c.Env.Get("GEMINI_API_KEY") != "mine" || c.Env.Get("GOOGLE_GEMINI_BASE_URL") != "" {
		t.Errorf("the user's key with a project's endpoint: %q, %q (%v)", c.Env.Get("GEMINI_API_KEY"), c.Env.Get("GOOGLE_GEMINI_BASE_URL"), err)
	}
	if _, err := load(t, nil, map[string]string{"a/.env": "no good line = = \"\n'"}); err == nil || !strings.Contains(err.Error(), ".env") {
		t.Errorf("a broken .env: %v", err)
	}
}
