// Package config reads what the user has set: environment, .env files, and the
// settings files that Gemini CLI users already have.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// FileError is a settings file that cannot be used.
type FileError struct {
	File string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s: %v", e.File, e.Err) }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// Config is what is set, all sources merged.
type Config struct {
	Env      *Env
	Warnings []string // unknown keys and the like

	AuthType        string // security.auth.selectedType
	Model           string
	MaxSessionTurns int // 0: no limit
	Proxy           string
	Review          string // redline.review
	LogLevel        string // redline.log.level
	CorrectEdits    bool   // redline.correctEdits, true unless it is set
	// ContextNames are the names of files with instructions; none: the default.
	ContextNames []string // context.fileName

	// Tools that run without asking, that are not offered, and the only ones that
	// are, as the settings name them: "read_file" or "run_shell_command(git status)".
	AllowedTools  []string // tools.allowed, of the user only: a project cannot allow itself anything
	ExcludedTools []string // tools.exclude, of the user and the project together
	CoreTools     []string // tools.core

	// MCPServers is mcpServers, of the user only: a server is a program that runs, and
	// nobody has said yet that a project's may.
	MCPServers map[string]any

	project bool  // the file being read is the workspace's
	Retry   Retry // redline.retry
}

// Retry says how failed requests are repeated; zero values are the defaults.
type Retry struct {
	MaxAttempts       int
	Initial, MaxDelay time.Duration
}

// Home returns the folder of the user's settings.json and GEMINI.md.
func Home(getenv func(string) string) string {
	if h := getenv("REDLINE_HOME"); h != "" {
		return h
	}
	if h, err := os.UserHomeDir(); err == nil {
		return filepath.Join(h, ".gemini")
	}
	return ""
}

// Load reads the settings of the user and of the workspace in dir, which may be
// empty. The workspace's win.
func Load(getenv func(string) string, dir string) (*Config, error) {
	home := Home(getenv)
	env, err := LoadEnv(getenv, dir, home)
	if err != nil {
		return nil, err
	}
	c := &Config{Env: env, CorrectEdits: true}
	var files []string
	if home != "" {
		files = append(files, filepath.Join(home, "settings.json"))
	}
	if dir != "" {
		files = append(files, filepath.Join(dir, ".gemini", "settings.json"))
	}
	for i, f := range files {
		c.project = i > 0 || home == ""
		if err := c.read(f); err != nil {
			return nil, err
		}
	}
	if m := env.Get("GEMINI_MODEL"); m != "" {
		c.Model = m
	}
	return c, nil
}

// read merges one settings file into c. A file that is not there is no error.
func (c *Config) read(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &FileError{file, err}
	}
	std, err := hujson.Standardize(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return &FileError{file, err}
	}
	if len(bytes.TrimSpace(std)) == 0 {
		return nil
	}
	var tree map[string]any
	if err := json.Unmarshal(std, &tree); err != nil {
		return &FileError{file, errors.New("the settings must be a JSON object")}
	}
	return c.walk(file, "", tree)
}

// walk visits the keys of a settings object in order.
func (c *Config) walk(file, prefix string, tree map[string]any) error {
	for _, k := range slices.Sorted(maps.Keys(tree)) {
		path, v := prefix+k, tree[k]
		if _, section := v.(map[string]any); !section && oldNames[path] != "" {
			path = oldNames[path]
		}
		if s, ok := settings[path]; ok {
			if err := s(c, v); err != nil {
				return &FileError{file, fmt.Errorf("%s: %w", path, err)}
			}
			continue
		}
		if sub, ok := v.(map[string]any); ok && isSection(path) {
			if err := c.walk(file, path+".", sub); err != nil {
				return err
			}
			continue
		}
		if !known(path) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: unknown setting %q", file, path))
		}
	}
	return nil
}

// oldNames are Gemini CLI's former, flat names.
var oldNames = map[string]string{
	"selectedAuthType": "security.auth.selectedType", "model": "model.name",
	"maxSessionTurns":  "model.maxSessionTurns",
	"contextFileName":  "context.fileName",
	"mcpServerCommand": "mcp.serverCommand",
	"allowedTools":     "tools.allowed", "excludeTools": "tools.exclude", "coreTools": "tools.core",
}

// settings are the keys that are read here.
var settings = map[string]func(*Config, any) error{
	"security.auth.selectedType": func(c *Config, v any) error { return text(&c.AuthType, v) },
	"model.name":                 func(c *Config, v any) error { return text(&c.Model, v) },
	"model.maxSessionTurns": func(c *Config, v any) error {
		n, ok := v.(float64)
		if !ok || n != float64(int(n)) {
			return fmt.Errorf("must be a whole number, not %v", v)
		}
		c.MaxSessionTurns = max(0, int(n)) // Gemini CLI writes -1 for no limit
		return nil
	},
	"tools.allowed": func(c *Config, v any) error {
		var list []string
		if err := texts(&list, v); err != nil {
			return err
		}
		if c.project {
			c.Warnings = append(c.Warnings, "tools.allowed counts in the user's settings only; the project's is ignored")
			return nil
		}
		c.AllowedTools = list
		return nil
	},
	"mcpServers": func(c *Config, v any) error {
		servers, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("must be an object of servers by name, not %v", v)
		}
		if c.project {
			c.Warnings = append(c.Warnings, "mcpServers counts in the user's settings only; the project's is ignored")
			return nil
		}
		if c.MCPServers == nil {
			c.MCPServers = map[string]any{}
		}
		maps.Copy(c.MCPServers, servers)
		return nil
	},
	"mcp.serverCommand": func(c *Config, v any) error {
		var line string
		if err := text(&line, v); err != nil || line == "" {
			return err
		}
		if c.project {
			c.Warnings = append(c.Warnings, "mcp.serverCommand counts in the user's settings only; the project's is ignored")
			return nil
		}
		if c.MCPServers == nil {
			c.MCPServers = map[string]any{}
		}
		c.MCPServers["mcp"] = map[string]any{"command": "bash", "args": []any{"-c", line}}
		return nil
	},
	"tools.exclude": func(c *Config, v any) error { return texts(&c.ExcludedTools, v) },
	"tools.core": func(c *Config, v any) error {
		c.CoreTools = nil
		return texts(&c.CoreTools, v)
	},
	"proxy":                func(c *Config, v any) error { return text(&c.Proxy, v) },
	"redline.correctEdits": func(c *Config, v any) error { return yesNo(&c.CorrectEdits, v) },
	"context.fileName": func(c *Config, v any) error {
		c.ContextNames = nil
		if name, ok := v.(string); ok {
			v = []any{name}
		}
		return texts(&c.ContextNames, v)
	},
	"redline.review": func(c *Config, v any) error {
		return oneOf(&c.Review, v, "auto", "annotations", "message", "codeAction")
	},
	"redline.retry.maxAttempts":    func(c *Config, v any) error { return count(&c.Retry.MaxAttempts, v) },
	"redline.retry.initialDelayMs": func(c *Config, v any) error { return millis(&c.Retry.Initial, v) },
	"redline.retry.maxDelayMs":     func(c *Config, v any) error { return millis(&c.Retry.MaxDelay, v) },
	"redline.log.level":            func(c *Config, v any) error { return oneOf(&c.LogLevel, v, "debug", "info", "warn", "error") },
}

// foreign are sections of Gemini CLI and keys of ours that other parts read, or
// that have no meaning here; they are no reason for a warning.
var foreign = []string{
	"context", "tools", "mcp", "mcpServers", "telemetry", "ui", "general", "ide", "privacy", "experimental", "advanced",
	"hooks", "extensions", "security", "model", "output", "admin", "agents", "skills", "billing", "useWriteTodos", "$schema",
	"toolDiscoveryCommand", "toolCallCommand", "mcpServerCommand", "theme", "sandbox", "coreTools", "excludeTools",
	"redline.reviewAt", "redline.compressionThreshold",
}

func known(path string) bool {
	for _, f := range foreign {
		if path == f || strings.HasPrefix(path, f+".") {
			return true
		}
	}
	return false
}

func isSection(path string) bool {
	for k := range settings {
		if strings.HasPrefix(k, path+".") {
			return true
		}
	}
	return false
}

func count(dst *int, v any) error {
	n, ok := v.(float64)
	if !ok || n != float64(int(n)) || n < 1 {
		return fmt.Errorf("must be a whole number from 1 on, not %v", v)
	}
	*dst = int(n)
	return nil
}

func millis(dst *time.Duration, v any) error {
	var n int
	if err := count(&n, v); err != nil {
		return err
	}
	*dst = time.Duration(n) * time.Millisecond
	return nil
}

func text(dst *string, v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("must be a string, not %v", v)
	}
	*dst = s
	return nil
}

func yesNo(dst *bool, v any) error {
	b, ok := v.(bool)
	if !ok {
		return fmt.Errorf("must be true or false, not %v", v)
	}
	*dst = b
	return nil
}

// texts appends a list of strings.
func texts(dst *[]string, v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("must be a list of strings, not %v", v)
	}
	for _, x := range list {
		s, ok := x.(string)
		if !ok {
			return fmt.Errorf("must be a list of strings, but has %v in it", x)
		}
		*dst = append(*dst, s)
	}
	return nil
}

func oneOf(dst *string, v any, words ...string) error {
	s, ok := v.(string)
	if !ok || !slices.Contains(words, s) {
		return fmt.Errorf("must be one of %s, not %v", strings.Join(words, ", "), v)
	}
	*dst = s
	return nil
}
