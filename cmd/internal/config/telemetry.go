package config

import (
	"fmt"
	"maps"
	"slices"
)

// Telemetry is what the settings say of telemetry, all of it off unless switched on.
type Telemetry struct {
	Enabled      bool
	Target       string // local or gcp
	Outfile      string
	OTLPEndpoint string
	LogPrompts   bool
}

func init() {
	for name, set := range map[string]func(*Telemetry, any) error{
		"enabled":      func(t *Telemetry, v any) error { return yesNo(&t.Enabled, v) },
		"target":       func(t *Telemetry, v any) error { return oneOf(&t.Target, v, "local", "gcp") },
		"outfile":      func(t *Telemetry, v any) error { return text(&t.Outfile, v) },
		"otlpEndpoint": func(t *Telemetry, v any) error { return text(&t.OTLPEndpoint, v) },
		"logPrompts":   func(t *Telemetry, v any) error { return yesNo(&t.LogPrompts, v) },
	} {
		settings["telemetry."+name] = func(c *Config, v any) error {
			if c.project { // what is told about the user is the user's to say
				var none Telemetry
				c.Warnings = append(c.Warnings, "telemetry."+name+" of the workspace's settings does not count; set it in your own")
				return set(&none, v)
			}
			return set(&c.Telemetry, v)
		}
	}
}

// warnTelemetry says what of the telemetry that is switched on does not work here.
func (c *Config) warnTelemetry() {
	t := c.Telemetry
	if t.Enabled && t.Target == "gcp" {
		c.Warnings = append(c.Warnings, "telemetry.target \"gcp\" is not supported; give telemetry.outfile, or telemetry.otlpEndpoint with a collector of yours")
	}
}

// Secrets returns what of the settings and .env files may be a secret by its name or
// place, for it to be kept out of logs: variables as "NAME=value", and the settings of
// servers as decoded JSON.
func (c *Config) Secrets() (environ []string, trees []any) {
	if c.Env != nil {
		for _, name := range slices.Sorted(maps.Keys(c.Env.file)) {
			environ = append(environ, fmt.Sprintf("%s=%s", name, c.Env.file[name]))
		}
		if name := c.OpenAI.APIKeyEnv; name != "" {
			environ = append(environ, "API_KEY="+c.Env.Get(name))
		}
	}
	return append(environ, "API_KEY="+c.OpenAI.APIKey), []any{map[string]any(c.MCPServers)}
}
