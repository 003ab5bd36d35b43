package config

import (
	"strings"
	"testing"

	"redline/tools/policy"
)

func TestPolicy(t *testing.T) {
	files := map[string]string{
		"home/settings.json": `{"redline": {"policy": [{"tool": "web_fetch", "decision": "deny", "reason": "why"}], "sensitiveFiles": ["!.npmrc"]},
			"security": {"environmentVariableRedaction": {"allowed": ["MY_TOKEN"]}}}`,
		"a/ws/.gemini/settings.json": `{"redline": {"policy": [{"command": "git push", "decision": "ask"}, {"tool": "x", "decision": "allow"}], "sensitiveFiles": ["prod.yml", "!.env"]},
			"security": {"environmentVariableRedaction": {"allowed": ["THEIR_TOKEN"], "blocked": ["X"], "enabled": false}}}`,
	}
	for _, trusted := range []bool{false, true} {
		env := map[string]string{}
		if trusted {
			env["GEMINI_CLI_TRUST_WORKSPACE"] = "true"
		}
		c, err := load(t, env, files)
		if err != nil || len(c.Policy.User) != 1 || len(c.Policy.Project) != 2 || c.Policy.ProjectAllows != trusted {
			t.Fatalf("trusted %v: got %+v (%v)", trusted, c, err)
		}
		at := func(p string) policy.Path { return policy.Path{Abs: "/ws/" + p, Rel: p} }
		if s := c.Policy.Sensitive; s.Match(at(".npmrc")) || !s.Match(at("prod.yml")) || s.Match(at(".env")) != !trusted || !s.Match(at("id_rsa")) {
			t.Errorf("trusted %v: sensitive files are wrong", trusted)
		}
		if got := strings.Join(c.CommandEnv.Clean([]string{"MY_TOKEN=1", "THEIR_TOKEN=1", "X=1", "OTHER_TOKEN=1"}), " "); trusted != strings.Contains(got, "THEIR") || strings.Contains(got, "X=") || !strings.Contains(got, "MY_TOKEN") || trusted != strings.Contains(got, "OTHER") {
			t.Errorf("trusted %v: commands get %s", trusted, got)
		}
		if !trusted && strings.Contains(strings.Join(c.LeftOut, " "), "redline.policy") {
			t.Errorf("left out: %q", c.LeftOut)
		}
	}
	for text, want := range map[string]string{
		`{"redline": {"policy": {}}}`:                                       "must be a list of rules",
		`{"redline": {"policy": [7]}}`:                                      "rule 1: must be an object",
		`{"redline": {"policy": [{"tool": "x", "decision": "never"}]}}`:     "rule 1: decision must be allow, ask or deny",
		`{"redline": {"policy": [{"tool": "x", "decision": 1}]}}`:           "rule 1: decision must be a string",
		`{"redline": {"policy": [{"tol": "x", "decision": "deny"}]}}`:       `there is no field "tol"`,
		`{"redline": {"policy": [{"decision": "deny"}]}}`:                   "names none of",
		`{"redline": {"sensitiveFiles": ["{"]}}`:                            "no valid glob",
		`{"security": {"environmentVariableRedaction": {"enabled": "no"}}}`: "must be true or false",
	} {
		if _, err := load(t, nil, map[string]string{"home/settings.json": text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
