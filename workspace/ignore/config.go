package ignore

import (
	"bytes"
	"path/filepath"
	"strings"
)

// gitConfig is the little of git's configuration that bears on ignoring.
type gitConfig struct {
	excludesFile string // absolute path of core.excludesFile, or its default; empty when there can be none
	ignoreCase   bool   // core.ignoreCase
}

// maxIncludeDepth is git's own limit on files that include files.
const maxIncludeDepth = 10

// gitConfig reads the configuration that holds in the repository with the given git directory (empty: outside any), in
// the order of git-config(1): system, user, repository.
func (r *Rules) gitConfig(gitDir string) gitConfig {
	getenv := r.opts.Getenv
	home := getenv("HOME")
	if home == "" {
		home = getenv("USERPROFILE")
	}
	xdg := getenv("XDG_CONFIG_HOME")
	if xdg == "" && home != "" {
		xdg = filepath.Join(home, ".config")
	}
	c := &configReader{home: home, gitDir: gitDir}
	if xdg != "" {
		c.excludesFile = filepath.Join(xdg, "git", "ignore")
	}
	if no := strings.ToLower(getenv("GIT_CONFIG_NOSYSTEM")); no == "" || no == "0" || no == "false" {
		system := getenv("GIT_CONFIG_SYSTEM")
		if system == "" {
			system = "/etc/gitconfig"
		}
		c.read(system, 0)
	}
	if global := getenv("GIT_CONFIG_GLOBAL"); global != "" {
		c.read(global, 0)
	} else {
		if xdg != "" {
			c.read(filepath.Join(xdg, "git", "config"), 0)
		}
		if home != "" {
			c.read(filepath.Join(home, ".gitconfig"), 0)
		}
	}
	if gitDir != "" {
		c.read(filepath.Join(gitDir, "config"), 0)
	}
	return c.gitConfig
}

type configReader struct {
	gitConfig
	home   string
	gitDir string // empty outside of any repository
}

// read takes over the settings of one file. A missing file sets nothing; a line that cannot be understood is skipped,
// where git would refuse to work at all.
func (c *configReader) read(file string, depth int) {
	content, ok := readRegular(file)
	if !ok || depth > maxIncludeDepth {
		return
	}
	section := ""
	content = bytes.TrimPrefix(content, utf8BOM)
	for rest := string(content); rest != ""; {
		rest = strings.TrimLeft(rest, " \t\r\n")
		switch {
		case rest == "":
			return
		case rest[0] == '#' || rest[0] == ';':
			_, rest, _ = strings.Cut(rest, "\n")
		case rest[0] == '[':
			section, rest = configSection(rest)
		default:
			var key, value string
			var isSet bool
			key, value, isSet, rest = configLine(rest)
			c.set(section, key, value, isSet, filepath.Dir(file), depth)
		}
	}
}

func (c *configReader) set(section, key, value string, isSet bool, dir string, depth int) {
	switch section + "." + key {
	case "core.excludesfile":
		c.excludesFile = c.path(value, dir)
	case "core.ignorecase":
		switch strings.ToLower(value) {
		case "true", "yes", "on", "1":
			c.ignoreCase = true
		default:
			c.ignoreCase = !isSet // a key without a value is true
		}
	case "include.path":
		if included := c.path(value, dir); included != "" {
			c.read(included, depth+1)
		}
	default:
		if when, ok := condition(section); ok && key == "path" && c.included(when, dir) {
			if included := c.path(value, dir); included != "" {
				c.read(included, depth+1)
			}
		}
	}
}

// path resolves `~/` and what is relative to the file that says it.
func (c *configReader) path(value, dir string) string {
	switch {
	case value == "":
		return ""
	case strings.HasPrefix(value, "~/"):
		if c.home == "" {
			return ""
		}
		return filepath.Join(c.home, value[2:])
	case filepath.IsAbs(value):
		return value
	}
	return filepath.Join(dir, value)
}

// configSection takes a `[section]` or `[section "sub"]` from the beginning of s. Case counts in the quotes only.
func configSection(s string) (name, rest string) {
	quoted := false
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\n':
			return "", s[i+1:]
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ']' && !quoted:
			name, sub, _ := strings.Cut(s[1:i], "\"")
			if name = strings.ToLower(strings.TrimSpace(name)); sub != "" {
				name += ` "` + sub
			}
			return name, s[i+1:]
		}
	}
	return "", ""
}

// configLine takes a `key = value` from the beginning of s, the value unquoted. isSet is false for a key on its own.
func configLine(s string) (key, value string, isSet bool, rest string) {
	end := strings.IndexAny(s, "=\n#;")
	if end < 0 {
		return strings.ToLower(strings.TrimSpace(s)), "", false, ""
	}
	key = strings.ToLower(strings.TrimSpace(s[:end]))
	if s[end] != '=' {
		_, rest, _ = strings.Cut(s[end:], "\n")
		return key, "", false, rest
	}
	var out []byte
	kept := 0 // length of out up to the last byte that is not unquoted trailing space
	quoted, comment := false, false
	i := end + 1
	for ; i < len(s) && (s[i] == ' ' || s[i] == '\t'); i++ {
	}
	for ; i < len(s); i++ {
		switch b := s[i]; {
		case b == '\n':
			return key, string(out[:kept]), true, s[i+1:]
		case comment:
		case b == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case '\r', '\n': // the value goes on in the next line
				if s[i] == '\r' && i+1 < len(s) && s[i+1] == '\n' {
					i++
				}
				continue
			case 'n':
				out = append(out, '\n')
			case 't':
				out = append(out, '\t')
			case 'b':
				out = append(out, '\b')
			default:
				out = append(out, s[i])
			}
			kept = len(out)
		case b == '"':
			quoted = !quoted
			kept = len(out)
		case !quoted && (b == '#' || b == ';'):
			comment = true
		default:
			out = append(out, b)
			if quoted || b != ' ' && b != '\t' && b != '\r' {
				kept = len(out)
			}
		}
	}
	return key, string(out[:kept]), true, ""
}
