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

	"redline/agent/models"
	"redline/cmd/internal/trust"
	"redline/tools/policy"
	"redline/tools/sandbox"
	"redline/tools/secret"
	"redline/workspace"
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
	Warnings []string // unknown keys and the like

	AuthType        string // security.auth.selectedType
	Model           string
	MaxSessionTurns int // 0: no limit
	Proxy           string
	Review          string        // redline.review
	ReviewAt        string        // redline.reviewAt: step or turn
	ReviewBy        string        // redline.reviewBy: proposal or hunk
	RestoreSession  bool          // redline.restoreSession
	LogLevel        string        // redline.log.level
	Provider        string        // redline.provider: gemini, the default, or openai
	OpenAI          OpenAI        // redline.openai
	Telemetry       Telemetry     // telemetry.*
	CorrectEdits    bool          // redline.correctEdits, true unless it is set
	WebPrivate      bool          // redline.web.allowPrivate
	Silence         time.Duration // tools.shell.inactivityTimeout; 0: not set, negative: none
	// ContextNames are the names of files with instructions; none: the default.
	ContextNames []string // context.fileName
	// Models is modelConfigs of the user and the workspace together; nil: the built-in.
	Models *models.Set
	// CompressAt is redline.compressionThreshold, 0 when it is not set.
	CompressAt float64
	AllowLoops bool // model.disableLoopDetection
	// Window is redline.contextWindow, in tokens: of models that nothing is known of.
	Window int

	// Tools that run without asking, that are not offered, and the only ones that
	// are, as the settings name them: "read_file" or "run_shell_command(git status)".
	AllowedTools  []string // tools.allowed
	ExcludedTools []string // tools.exclude, of the user and the project together
	CoreTools     []string // tools.core

	// DiscoveryCommand and CallCommand are tools.discoveryCommand and tools.callCommand;
	// they count as MCPServers does.
	DiscoveryCommand, CallCommand string
	// MCPServers is mcpServers and mcp.serverCommand, of the user and of a trusted
	// workspace. There are none where the user said not to trust the folder.
	MCPServers map[string]any

	// The folders of custom prompts, of the user and of the workspace; empty when
	// there is none. The workspace's count only when it is trusted.
	UserCommands, ProjectCommands string

	Retry Retry // redline.retry
	// Limits bound what is kept of sessions and checkpoints.
	Limits Limits

	// ClientID and ClientSecret are the OAuth client that Login with Google uses
	// (redline.auth.clientId, redline.auth.clientSecret), of the user only.
	ClientID, ClientSecret string
	// Keyring says that the key of what is kept of a sign-in goes into the system's
	// keyring, where there is one (redline.auth.keyring).
	Keyring bool

	Policy  policy.Policy // redline.policy and redline.sensitiveFiles
	Env     *Env
	Sandbox sandbox.Setting // tools.sandbox, tools.sandboxNetworkAccess, tools.sandboxAllowedPaths; GEMINI_SANDBOX
	// CommandEnv is security.environmentVariableRedaction: what commands get of the
	// environment. A project that is not trusted can only block.
	CommandEnv secret.Env

	// Trust is what is known of the workspace's folders. Unless it is
	// [workspace.Trusted] the workspace's own settings counted only where they make
	// things stricter, and LeftOut names what else there is, for the user.
	Trust   workspace.Trust
	LeftOut []string

	modelConfigs map[string]any // modelConfigs so far

	noTrust bool // security.folderTrust.enabled is false: every folder is trusted
	project bool // the file being read is the workspace's
	strict  bool // only keys that make things stricter are read now
}

// Retry says how failed requests are repeated; zero values are the defaults.
type Retry struct {
	MaxAttempts       int
	Initial, MaxDelay time.Duration
	Stall             time.Duration // without a word from the service, after which a request has failed
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

// StateDir returns the folder of what redline itself keeps of the user, such as a
// sign-in; empty when there is none.
func StateDir(getenv func(string) string) string {
	if h := getenv("REDLINE_HOME"); h != "" {
		return h
	}
	if d := getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "redline")
	}
	if h, err := os.UserHomeDir(); err == nil {
		return filepath.Join(h, ".local", "state", "redline")
	}
	return ""
}

// Source is where settings come from.
type Source struct {
	Getenv  func(string) string
	Folders []string     // of the workspace; the settings of the first count
	Trust   *trust.Store // whether they are trusted; nil: a new one
}

// Load reads the settings of the user and of the workspace in dir, which may be
// empty. The workspace's win, as far as it is trusted; nobody is asked.
func Load(getenv func(string) string, dir string) (*Config, error) {
	src := Source{Getenv: getenv}
	if dir != "" {
		src.Folders = []string{dir}
	}
	return src.Load()
}

// Load reads the settings.
func (s Source) Load() (*Config, error) {
	home, dir := Home(s.Getenv), ""
	if len(s.Folders) > 0 {
		dir = s.Folders[0]
	}
	c := &Config{CorrectEdits: true, ProjectCommands: projectFile(dir, "commands", home)}
	if home != "" {
		c.UserCommands = filepath.Join(home, "commands")
		if err := c.read(filepath.Join(home, "settings.json")); err != nil {
			return nil, err
		}
	}
	if err := c.judge(s, home); err != nil {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the trusted folders cannot be read, so that none is trusted: %v", err))
	}
	env, err := LoadEnv(s.Getenv, dir, home, c.Trust == workspace.Trusted)
	if err != nil {
		return nil, err
	}
	c.Env = env
	if file := projectFile(dir, "settings.json", home); file != "" {
		c.project = true
		user := c.OpenAI
		if err := c.readProject(file); err != nil {
			return nil, err
		}
		c.keepKey(user)
	}
	if c.Trust != workspace.Trusted {
		c.LeftOut = withheld(dir, home)
		if len(env.withheld) > 0 {
			c.LeftOut = append(c.LeftOut, strings.Join(env.withheld, ", ")+" of a .env file")
		}
	}
	if c.Trust == workspace.Untrusted {
		c.MCPServers = nil
		c.DiscoveryCommand, c.CallCommand = "", ""
	}
	c.project = false
	if v := env.Get("GEMINI_SANDBOX"); v != "" {
		if err := c.sandbox(v); err != nil {
			return nil, fmt.Errorf("GEMINI_SANDBOX %w", err)
		}
	}
	c.warnTelemetry()
	if m := env.Get("GEMINI_MODEL"); m != "" {
		c.Model = m
	}
	return c, nil
}

// read merges one settings file into c. A file that is not there is no error.
func (c *Config) read(file string) error {
	tree, err := parseSettings(file)
	if err != nil {
		return err
	}
	return c.walk(file, "", tree)
}

// parseSettings returns the object that a settings file holds; nil when there is no
// file, or nothing in it.
func parseSettings(file string) (map[string]any, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &FileError{file, err}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	std, err := hujson.Standardize(data)
	if err != nil {
		return nil, &FileError{file, err}
	}
	var tree map[string]any
	if err := json.Unmarshal(std, &tree); err != nil {
		return nil, &FileError{file, errors.New("the settings must be a JSON object")}
	}
	return tree, nil
}

// walk visits the keys of a settings object in order.
func (c *Config) walk(file, prefix string, tree map[string]any) error {
	for _, k := range slices.Sorted(maps.Keys(tree)) {
		path, v := prefix+k, tree[k]
		if _, section := v.(map[string]any); !section && oldNames[path] != "" {
			path = oldNames[path]
		}
		if s, ok := settings[path]; ok {
			if c.strict && !stricter[path] {
				continue
			}
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
		if !known(path) && !c.strict {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: unknown setting %q", file, path))
		}
	}
	return nil
}

// oldNames are Gemini CLI's former, flat names.
var oldNames = map[string]string{
	"selectedAuthType": "security.auth.selectedType", "model": "model.name",
	"maxSessionTurns":      "model.maxSessionTurns",
	"contextFileName":      "context.fileName",
	"mcpServerCommand":     "mcp.serverCommand",
	"toolDiscoveryCommand": "tools.discoveryCommand", "toolCallCommand": "tools.callCommand",
	"sandbox": "tools.sandbox", "allowedTools": "tools.allowed", "excludeTools": "tools.exclude", "coreTools": "tools.core",
}

// settings are the keys that are read here.
var settings = map[string]func(*Config, any) error{
	"security.folderTrust.enabled": func(c *Config, v any) error {
		on, ok := v.(bool)
		if !ok {
			return fmt.Errorf("must be true or false, not %v", v)
		}
		c.noTrust = !on
		return nil
	},
	"security.environmentVariableRedaction.enabled": func(c *Config, v any) error {
		on, ok := v.(bool)
		if !ok {
			return fmt.Errorf("must be true or false, not %v", v)
		}
		c.CommandEnv.Off = !on
		return nil
	},
	"security.environmentVariableRedaction.allowed": func(c *Config, v any) error { return texts(&c.CommandEnv.Allowed, v) },
	"security.environmentVariableRedaction.blocked": func(c *Config, v any) error { return texts(&c.CommandEnv.Blocked, v) },
	"tools.sandbox": func(c *Config, v any) error { return c.sandbox(v) },
	"tools.sandboxNetworkAccess": func(c *Config, v any) error {
		on, ok := v.(bool)
		if !ok {
			return fmt.Errorf("must be true or false, not %v", v)
		}
		c.Sandbox.Network = on
		return nil
	},
	"tools.sandboxAllowedPaths":  func(c *Config, v any) error { return c.sandboxPaths(v) },
	"redline.policy":             func(c *Config, v any) error { return c.rules(v) },
	"redline.sensitiveFiles":     func(c *Config, v any) error { return c.sensitive(v) },
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
	"tools.allowed": func(c *Config, v any) error { return texts(&c.AllowedTools, v) },
	"mcpServers": func(c *Config, v any) error {
		servers, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("must be an object of servers by name, not %v", v)
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
		if c.MCPServers == nil {
			c.MCPServers = map[string]any{}
		}
		c.MCPServers["mcp"] = map[string]any{"command": "bash", "args": []any{"-c", line}}
		return nil
	},
	"tools.discoveryCommand": func(c *Config, v any) error { return text(&c.DiscoveryCommand, v) },
	"tools.callCommand":      func(c *Config, v any) error { return text(&c.CallCommand, v) },
	"tools.shell.inactivityTimeout": func(c *Config, v any) error {
		n, ok := v.(float64)
		if !ok || n < 0 || n > 1e6 {
			return fmt.Errorf("must be a number of seconds, 0 for no limit, not %v", v)
		}
		if c.Silence = time.Duration(n * float64(time.Second)); c.Silence == 0 {
			c.Silence = -1
		}
		return nil
	},
	"tools.exclude": func(c *Config, v any) error { return texts(&c.ExcludedTools, v) },
	"tools.core": func(c *Config, v any) error {
		c.CoreTools = nil
		return texts(&c.CoreTools, v)
	},
	"proxy":                    func(c *Config, v any) error { return text(&c.Proxy, v) },
	"redline.web.allowPrivate": func(c *Config, v any) error { return yesNo(&c.WebPrivate, v) },
	"redline.correctEdits":     func(c *Config, v any) error { return yesNo(&c.CorrectEdits, v) },
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
	"redline.reviewBy":             func(c *Config, v any) error { return oneOf(&c.ReviewBy, v, "proposal", "hunk") },
	"redline.restoreSession":       func(c *Config, v any) error { return yesNo(&c.RestoreSession, v) },
	"redline.reviewAt":             func(c *Config, v any) error { return oneOf(&c.ReviewAt, v, "step", "turn") },
	"model.disableLoopDetection":   func(c *Config, v any) error { return yesNo(&c.AllowLoops, v) },
	"model.compressionThreshold":   func(c *Config, v any) error { return share(&c.CompressAt, v) },
	"modelConfigs":                 setModels,
	"redline.compressionThreshold": func(c *Config, v any) error { return share(&c.CompressAt, v) },
	"redline.contextWindow":        func(c *Config, v any) error { return count(&c.Window, v) },
	"redline.retry.stallMs":        func(c *Config, v any) error { return millis(&c.Retry.Stall, v) },
	"redline.auth.clientId":        func(c *Config, v any) error { return c.usersText(&c.ClientID, "redline.auth.clientId", v) },
	"redline.auth.keyring": func(c *Config, v any) error {
		if c.project {
			c.Warnings = append(c.Warnings, "redline.auth.keyring counts in the user's settings only; the project's is ignored")
			return nil
		}
		return yesNo(&c.Keyring, v)
	},
	"redline.auth.clientSecret":    func(c *Config, v any) error { return c.usersText(&c.ClientSecret, "redline.auth.clientSecret", v) },
	"redline.sessions.keep":        func(c *Config, v any) error { return count(&c.Limits.Sessions, v) },
	"redline.checkpoints.maxMB":    func(c *Config, v any) error { return count(&c.Limits.CheckpointMB, v) },
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
	"mcpServerCommand", "theme", "sandbox", "coreTools", "excludeTools",
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

// usersText is text for what a project must not set.
func (c *Config) usersText(dst *string, key string, v any) error {
	if c.project {
		c.Warnings = append(c.Warnings, key+" counts in the user's settings only; the project's is ignored")
		return nil
	}
	return text(dst, v)
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
