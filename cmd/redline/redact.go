package main

import (
	"encoding/json"
	"regexp"
)

// secretParams are the members of parameters that hold a secret, by method.
var secretParams = map[string][]string{
	"agent/auth/login":    {"apiKey"},
	"agent/auth/complete": {"code"},
}

// signInState is what ties the browser's answer to a sign-in that waits.
var signInState = regexp.MustCompile(`\bstate=[^&"\\\s]+`)

const removed = "[removed]"

// redacted returns a message without the secrets that signing in needs; a message that
// has none comes back as it is, and of what is no JSON nothing is known.
func redacted(body []byte) []byte {
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(body, &m) != nil {
		return body
	}
	switch m.Method {
	case "window/showDocument", "window/showMessage":
		return signInState.ReplaceAll(body, []byte("state="+removed))
	}
	names := secretParams[m.Method]
	if names == nil {
		return body
	}
	var whole, params map[string]json.RawMessage
	if json.Unmarshal(body, &whole) != nil || json.Unmarshal(m.Params, &params) != nil {
		return []byte(`{"method":"` + m.Method + `","params":"` + removed + `"}`)
	}
	for _, n := range names {
		if _, ok := params[n]; ok {
			params[n] = json.RawMessage(`"` + removed + `"`)
		}
	}
	out, err := json.Marshal(params)
	if err == nil {
		whole["params"] = out
		out, err = json.Marshal(whole)
	}
	if err != nil {
		return []byte(`{}`) // both were just decoded
	}
	return out
}
