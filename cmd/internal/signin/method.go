// Package signin chooses how a user reaches the model, from the settings, the
// environment and what they have signed in with, and signs them in and out.
package signin

import (
	"fmt"
	"slices"
	"strings"

	"redline/agent"
	"redline/agent/gemini/vault"
	"redline/cmd/internal/config"
)

// The ways to sign in, as the settings key security.auth.selectedType names them.
const (
	APIKey     = "gemini-api-key"
	Vertex     = "vertex-ai"
	LoginOAuth = "oauth-personal"
	Compute    = "cloud-shell"
)

// Methods are all of them.
var Methods = []string{APIKey, LoginOAuth, Vertex, Compute}

// aliases are other names of the methods.
var aliases = map[string]string{
	"compute-default-credentials": Compute, // Gemini CLI's newer word
	"login-with-google":           LoginOAuth, "google": LoginOAuth, "oauth": LoginOAuth,
	"api-key": APIKey, "apikey": APIKey, "vertex": Vertex, "cloudshell": Compute, "compute": Compute,
}

// ParseMethod returns the method that a name stands for.
func ParseMethod(name string) (string, error) {
	if m := aliases[name]; m != "" {
		return m, nil
	}
	if slices.Contains(Methods, name) {
		return name, nil
	}
	return "", Missing{fmt.Sprintf("Invalid auth method selected. There is no %q; use one of %s.", name, strings.Join(Methods, ", "))}
}

// What is said when something is missing, in the words Gemini CLI's users know.
const (
	NoKey = "GEMINI_API_KEY environment variable not found. Add that to your environment and try again (no reload needed if using .env)!"

	NoVertex = "When using Vertex AI, you must specify either:\n" +
		"• GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION environment variables.\n" +
		"• GOOGLE_API_KEY environment variable (if using express mode).\n" +
		"Update your environment and try again (no reload needed if using .env)!"

	NoClient = "Login with Google needs an OAuth client of your own; none is built in. " +
		"Make one of the type \"Desktop app\" at https://console.cloud.google.com/apis/credentials and set " +
		"redline.auth.clientId and redline.auth.clientSecret in your settings.json, or REDLINE_OAUTH_CLIENT_ID and REDLINE_OAUTH_CLIENT_SECRET."
)

// Missing is a credential that is not there; its text says what to do.
type Missing struct{ Text string }

func (e Missing) Error() string { return e.Text }

// Is reports whether target is [agent.ErrCredentials].
func (e Missing) Is(target error) bool { return target == agent.ErrCredentials }

// choose returns the method that counts: the settings', else the one that the
// environment speaks for, in Gemini CLI's order, else the one the user last signed in
// with, else an API key.
func choose(cfg *config.Config, handed string, kept vault.Secrets) (string, error) {
	if cfg.AuthType != "" {
		return ParseMethod(cfg.AuthType)
	}
	get := cfg.Env.Get
	switch {
	case handed != "":
		return APIKey, nil
	case isTrue(get("GOOGLE_GENAI_USE_GCA")):
		return LoginOAuth, nil
	case isTrue(get("GOOGLE_GENAI_USE_VERTEXAI")):
		return Vertex, nil
	case get("GEMINI_API_KEY") != "":
		return APIKey, nil
	case isTrue(get("GEMINI_CLI_USE_COMPUTE_ADC")): // said by the user; CLOUD_SHELL is not
		return Compute, nil
	case kept.Google != nil && (kept.APIKey == "" || kept.Last != APIKey):
		return LoginOAuth, nil
	case kept.APIKey != "":
		return APIKey, nil
	case isTrue(get("CLOUD_SHELL")):
		return Compute, nil
	}
	return APIKey, nil
}

func isTrue(s string) bool { return strings.EqualFold(s, "true") || s == "1" }
