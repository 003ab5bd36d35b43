package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"redline/tools/sandbox"
)

// sandbox reads tools.sandbox as Gemini CLI has it: true, false or the name of a kind.
// A project can ask for a sandbox, and cannot do away with the user's.
func (c *Config) sandbox(v any) error {
	var s sandbox.Setting
	switch word := strings.ToLower(fmt.Sprint(v)); word {
	case "true", "1":
		s.On = true
	case "false", "0", "":
	case string(sandbox.Bwrap), string(sandbox.Landlock):
		s.On, s.Kind = true, sandbox.Kind(word)
	default:
		if _, ok := v.(string); !ok {
			return fmt.Errorf("must be true, false, \"bwrap\" or \"landlock\", not %v", v)
		}
		// Gemini CLI's docker, podman, profiles…: what is wanted is a sandbox.
		c.Warnings = append(c.Warnings, fmt.Sprintf("tools.sandbox: there is no sandbox %q here; bubblewrap or Landlock is used", v))
		s.On = true
	}
	if c.project && c.Sandbox.On {
		return nil
	}
	c.Sandbox.On, c.Sandbox.Kind = s.On, s.Kind
	return nil
}

// sandboxPaths reads tools.sandboxAllowedPaths: what commands may write to besides.
func (c *Config) sandboxPaths(v any) error {
	var list []string
	if err := texts(&list, v); err != nil {
		return err
	}
	for _, p := range list {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			p = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(p) {
			return fmt.Errorf("%q must be an absolute path, or begin with ~/", p)
		}
		c.Sandbox.Writable = append(c.Sandbox.Writable, filepath.Clean(p))
	}
	return nil
}
