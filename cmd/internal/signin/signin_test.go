package signin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/gemini/vault"
	"redline/cmd/internal/config"
)

// Which way counts, with what, and where it goes, by settings, environment, .env files
// and what is kept. A project is trusted here, and still says nothing about where the
// user's tokens go.
func TestResolve(t *testing.T) {
	google := vault.Secrets{Google: &vault.Google{RefreshToken: "r", Email: "ada@example.com"}}
	for _, tt := range []struct {
		name     string
		settings string            // the user's
		env      map[string]string // of the process
		file     string            // .env of the project
		users    string            // .env of the user
		handed   string
		kept     vault.Secrets
		want     target // project, baseURL, source, method, keys
		err      string
	}{
		{name: "nothing", want: target{method: APIKey}, err: NoKey},
		{name: "key", env: map[string]string{"GEMINI_API_KEY": "k"}, want: target{method: APIKey, source: "environment", apiKey: "k"}},
		{name: "key of the project", file: "GEMINI_API_KEY=k\nGOOGLE_GEMINI_BASE_URL=http://project/", want: target{method: APIKey, source: "environment", apiKey: "k", baseURL: "http://project/"}},
		{name: "the user's key, the project's endpoint", env: map[string]string{"GEMINI_API_KEY": "k"}, file: "GOOGLE_GEMINI_BASE_URL=http://evil/", want: target{method: APIKey, source: "environment", apiKey: "k"}},
		{name: "a kept key, the project's endpoint", kept: vault.Secrets{APIKey: "k"}, file: "GOOGLE_GEMINI_BASE_URL=http://evil/", want: target{method: APIKey, source: "saved", apiKey: "k"}},
		{name: "a kept key, the user's endpoint", kept: vault.Secrets{APIKey: "k"}, users: "GOOGLE_GEMINI_BASE_URL=http://mine/", want: target{method: APIKey, source: "saved", apiKey: "k", baseURL: "http://mine/"}},
		{name: "a key handed over goes first", env: map[string]string{"GEMINI_API_KEY": "k", "GOOGLE_GENAI_USE_VERTEXAI": "true"}, handed: "h", file: "GOOGLE_GEMINI_BASE_URL=http://evil/", want: target{method: APIKey, source: "client", apiKey: "h"}},
		{name: "settings before everything", settings: `{"security":{"auth":{"selectedType":"oauth-personal"}}}`, env: map[string]string{"GEMINI_API_KEY": "k"}, handed: "h", kept: google, want: target{method: LoginOAuth, source: "saved", refreshToken: "r", email: "ada@example.com"}},
		{name: "the old name of the setting", settings: `{"selectedAuthType":"vertex-ai"}`, env: map[string]string{"GOOGLE_API_KEY": "k"}, want: target{method: Vertex, source: "environment", apiKey: "k"}},
		{name: "the environment before what is kept", env: map[string]string{"GEMINI_API_KEY": "k"}, kept: google, want: target{method: APIKey, source: "environment", apiKey: "k"}},
		{name: "what is kept", kept: google, want: target{method: LoginOAuth, source: "saved", refreshToken: "r", email: "ada@example.com"}},
		{name: "the last of what is kept", kept: vault.Secrets{Google: google.Google, APIKey: "k", Last: APIKey}, want: target{method: APIKey, source: "saved", apiKey: "k"}},
		{name: "the login was last", kept: vault.Secrets{Google: google.Google, APIKey: "k", Last: LoginOAuth}, want: target{method: LoginOAuth, source: "saved", refreshToken: "r", email: "ada@example.com"}},
		{name: "login wanted, not made", env: map[string]string{"GOOGLE_GENAI_USE_GCA": "true", "REDLINE_OAUTH_CLIENT_ID": "c"}, want: target{method: LoginOAuth}, err: "You are not signed in with Google."},
		{name: "login wanted, no client", env: map[string]string{"GOOGLE_GENAI_USE_GCA": "true"}, want: target{method: LoginOAuth}, err: NoClient},
		{name: "a client of the project's is none", env: map[string]string{"GOOGLE_GENAI_USE_GCA": "true"}, file: "REDLINE_OAUTH_CLIENT_ID=evil", want: target{method: LoginOAuth}, err: NoClient},
		{name: "an access token", env: map[string]string{"GOOGLE_GENAI_USE_GCA": "true", "GOOGLE_CLOUD_ACCESS_TOKEN": "a"}, want: target{method: LoginOAuth, source: "environment", token: "a"}},
		{name: "login with a project", kept: google, env: map[string]string{"GOOGLE_CLOUD_PROJECT_ID": "p"}, file: "CODE_ASSIST_ENDPOINT=http://evil/\nREDLINE_OAUTH_ENDPOINT=http://evil/", want: target{method: LoginOAuth, source: "saved", refreshToken: "r", email: "ada@example.com", project: "p"}},
		{name: "vertex", env: map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "1", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"}, file: "GOOGLE_VERTEX_BASE_URL=http://evil/", want: target{method: Vertex, source: "default", project: "p", location: "l"}},
		{name: "vertex, a file of the user's", env: map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "1", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l", "GOOGLE_APPLICATION_CREDENTIALS": "f"}, want: target{method: Vertex, source: "default", project: "p", location: "l", file: "f"}},
		{name: "vertex, a file of the project's", env: map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "1", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"}, file: "GOOGLE_APPLICATION_CREDENTIALS=f", want: target{method: Vertex, source: "default", project: "p", location: "l", file: "f", fromProject: true}},
		{name: "vertex without a location", env: map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "TRUE", "GOOGLE_CLOUD_PROJECT": "p"}, want: target{method: Vertex, project: "p"}, err: NoVertex},
		{name: "express goes before project and location", env: map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "1", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l", "GOOGLE_API_KEY": "k"}, want: target{method: Vertex, source: "environment", apiKey: "k"}},
		{name: "cloud shell", env: map[string]string{"CLOUD_SHELL": "true", "GOOGLE_CLOUD_PROJECT": "follows-gcloud"}, want: target{method: Compute, source: "machine", project: "cloudshell-gca"}},
		{name: "cloud shell, own project", env: map[string]string{"CLOUD_SHELL": "true", "GOOGLE_CLOUD_PROJECT": "follows-gcloud"}, users: "GOOGLE_CLOUD_PROJECT=mine", want: target{method: Compute, source: "machine", project: "mine"}},
		{name: "the machine, by the user's word", env: map[string]string{"GEMINI_CLI_USE_COMPUTE_ADC": "true"}, kept: vault.Secrets{Google: &vault.Google{RefreshToken: "r"}}, want: target{method: Compute, source: "machine"}},
		{name: "cloud shell, with a sign-in", env: map[string]string{"CLOUD_SHELL": "true"}, kept: vault.Secrets{APIKey: "k"}, want: target{method: APIKey, source: "saved", apiKey: "k"}},
		{name: "the newer word", settings: `{"security":{"auth":{"selectedType":"compute-default-credentials"}}}`, env: map[string]string{"GOOGLE_CLOUD_PROJECT": "p"}, want: target{method: Compute, source: "machine", project: "p"}},
		{name: "proxy", settings: `{"proxy":"http://proxy:1"}`, env: map[string]string{"GEMINI_API_KEY": "k"}, want: target{method: APIKey, source: "environment", apiKey: "k", proxy: "http://proxy:1"}},
		{name: "proxy of the user's .env", users: "GEMINI_API_KEY=k\nHTTPS_PROXY=http://proxy:1", want: target{method: APIKey, source: "environment", apiKey: "k", proxy: "http://proxy:1"}},
		{name: "proxy of the environment needs no word", env: map[string]string{"HTTPS_PROXY": "http://own:1"}, users: "GEMINI_API_KEY=k\nHTTPS_PROXY=http://proxy:1", want: target{method: APIKey, source: "environment", apiKey: "k"}},
		{name: "proxy of a project's .env", env: map[string]string{"GEMINI_API_KEY": "k"}, file: "HTTPS_PROXY=http://evil:1", want: target{method: APIKey, source: "environment", apiKey: "k"}},
		{name: "proxy of a project's .env, with a login", kept: google, file: "HTTPS_PROXY=http://evil:1", want: target{method: LoginOAuth, source: "saved", refreshToken: "r", email: "ada@example.com"}},
		{name: "unknown", settings: `{"security":{"auth":{"selectedType":"magic"}}}`, err: "Invalid auth method selected."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, dir := t.TempDir(), t.TempDir()
			write := func(file, text string) {
				if text == "" {
					return
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(filepath.Join(home, "settings.json"), tt.settings)
			write(filepath.Join(home, ".env"), tt.users)
			write(filepath.Join(dir, ".env"), tt.file)
			getenv := func(name string) string {
				switch name {
				case "REDLINE_HOME":
					return home
				case "GEMINI_CLI_TRUST_WORKSPACE":
					return "true"
				}
				return tt.env[name]
			}
			cfg, err := config.Load(getenv, dir)
			if err != nil {
				t.Fatal(err)
			}
			var got target
			method, err := choose(cfg, tt.handed, tt.kept)
			if err == nil {
				got, err = resolve(method, cfg, tt.handed, tt.kept)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}
