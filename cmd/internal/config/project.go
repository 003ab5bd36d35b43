package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"redline/cmd/internal/trust"
	"redline/workspace"
)

// stricter are the settings that count of a workspace nobody trusts, because they
// can only make things stricter.
var stricter = map[string]bool{
	"tools.exclude": true, "redline.policy": true, "redline.sensitiveFiles": true, "security.environmentVariableRedaction.blocked": true,
}

// judge finds out whether the workspace is trusted. The user's settings are read.
func (c *Config) judge(s Source, home string) error {
	if c.noTrust {
		c.Trust = workspace.Trusted
		return nil
	}
	store := s.Trust
	if store == nil {
		store = trust.New(s.Getenv, home)
	}
	var err error
	c.Trust, err = store.State(s.Folders...)
	return err
}

// projectFile returns the path of a file in the workspace's folder of settings;
// empty when there is no workspace, or when that folder is the user's own, as it is
// for somebody who works in the home folder.
func projectFile(dir, name, home string) string {
	if dir == "" {
		return ""
	}
	folder := filepath.Join(dir, ".gemini")
	if a, err := os.Stat(folder); err == nil && home != "" {
		if b, err := os.Stat(home); err == nil && os.SameFile(a, b) {
			return ""
		}
	}
	return filepath.Join(folder, name)
}

// readProject reads the workspace's settings: all of them when it is trusted, else
// those that make things stricter, and then a broken file is no reason to stop.
func (c *Config) readProject(file string) error {
	c.project = true
	defer func() { c.project = false }()
	c.Policy.ProjectAllows = c.Trust == workspace.Trusted
	if c.Trust == workspace.Trusted {
		return c.read(file)
	}
	c.strict = true
	err := c.read(file)
	c.strict = false
	if err != nil {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%v (the folder is not trusted, so that this is no matter)", err))
	}
	return nil
}

// withheld names, for the user, what the workspace in dir brings along that does
// not count as long as it is not trusted.
func withheld(dir, home string) []string {
	var out []string
	if file := projectFile(dir, "settings.json", home); file != "" {
		if keys := topKeys(file); len(keys) > 0 {
			out = append(out, fmt.Sprintf("its settings (.gemini/settings.json: %s)", strings.Join(keys, ", ")))
		}
	}
	if file := projectFile(dir, ".env", home); file != "" {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			out = append(out, "its environment (.gemini/.env)")
		}
	}
	if folder := projectFile(dir, "commands", home); folder != "" && hasCommands(folder) {
		out = append(out, "its commands (.gemini/commands)")
	}
	return out
}

// topKeys returns what a settings file has at its top, beside what counts anyway.
func topKeys(file string) []string {
	tree, err := parseSettings(file)
	if err != nil {
		return []string{"not readable"}
	}
	var keys []string
	for k, v := range tree {
		if sub, ok := v.(map[string]any); ok {
			for name := range sub {
				if !stricter[k+"."+name] {
					keys = append(keys, k+"."+name)
				}
			}
			continue
		}
		if name := oldNames[k]; k != "$schema" && !stricter[k] && !stricter[name] {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// hasCommands reports whether a folder of commands has any, at most one folder deep.
func hasCommands(folder string) bool {
	for _, glob := range []string{"*.toml", "*/*.toml"} {
		if found, _ := filepath.Glob(filepath.Join(folder, glob)); len(found) > 0 { // the pattern is right
			return true
		}
	}
	return false
}
