package config

import (
	"strings"
	"testing"
)

func TestSandbox(t *testing.T) {
	for _, c := range []struct {
		user, project, env string
		want               string // on, kind, warned
	}{
		{``, ``, "", "off"},
		{`{"tools": {"sandbox": true}}`, ``, "", "on"},
		{`{"sandbox": true}`, ``, "", "on"},
		{`{"tools": {"sandbox": "landlock"}}`, ``, "", "on landlock"},
		{`{"tools": {"sandbox": "docker"}}`, ``, "", "on warned"},
		{`{"tools": {"sandbox": true}}`, `{"tools": {"sandbox": false}}`, "", "on"},
		{``, `{"tools": {"sandbox": "bwrap"}}`, "", "on bwrap"},
		{`{"tools": {"sandbox": true}}`, ``, "false", "off"},
		{``, ``, "true", "on"},
	} {
		c2, err := load(t, map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_SANDBOX": c.env}, map[string]string{
			"home/settings.json": c.user, "a/ws/.gemini/settings.json": c.project,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := "off"
		if c2.Sandbox.On {
			got = strings.TrimSpace("on " + string(c2.Sandbox.Kind))
		}
		if len(c2.Warnings) > 0 {
			got += " warned"
		}
		if got != c.want {
			t.Errorf("%+v: %s (%q)", c, got, c2.Warnings)
		}
	}
	for text, want := range map[string]string{
		`{"tools": {"sandbox": 7}}`:                        "tools.sandbox: must be true, false",
		`{"tools": {"sandboxNetworkAccess": "no"}}`:        "tools.sandboxNetworkAccess: must be true or false",
		`{"tools": {"sandboxAllowedPaths": ["relative"]}}`: "must be an absolute path",
	} {
		if _, err := load(t, nil, map[string]string{"home/settings.json": text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
