package shell

import (
	"slices"
	"strings"
)

// secret are the variables that commands do not get: what they print goes to the model.
var secret = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}

// Environ returns the environment for commands: env without our credentials, and with nothing that waits for a key or
// draws in colour.
func Environ(env []string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(secret, name)
	})
	return append(out, "REDLINE=1", "TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0")
}
