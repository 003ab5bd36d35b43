package secret

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	env := []string{
		"PATH=/bin", "HOME=/root", "GEMINI_API_KEY=x", "GITHUB_TOKEN=x", "NPM_TOKEN=x", "AWS_SECRET_ACCESS_KEY=x", "DB_PASSWORD=x", "MY_APIKEY=x",
		"SSH_AUTH_SOCK=/s", "MONKEY=x", "KEYBOARD=us", "PWD=/x", "TOKENIZERS_PARALLELISM=1", "DATABASE_URL=postgres://u:hunter22@h/d",
		"SOME=ghp_0123456789012345678901234567890123456789", "PLAIN=http://host/path", "REDLINE_TOKEN=x",
	}
	for _, c := range []struct {
		env  Env
		want string
	}{
		{Env{}, "PATH HOME SSH_AUTH_SOCK MONKEY KEYBOARD PWD TOKENIZERS_PARALLELISM PLAIN"},
		{Env{Allowed: []string{"github_token", "GEMINI_API_KEY"}, Blocked: []string{"HOME"}}, "PATH GITHUB_TOKEN SSH_AUTH_SOCK MONKEY KEYBOARD PWD TOKENIZERS_PARALLELISM PLAIN"},
		{Env{Off: true, Blocked: []string{"SOME"}}, "PATH HOME GITHUB_TOKEN NPM_TOKEN AWS_SECRET_ACCESS_KEY DB_PASSWORD MY_APIKEY SSH_AUTH_SOCK MONKEY KEYBOARD PWD TOKENIZERS_PARALLELISM DATABASE_URL PLAIN"},
	} {
		var names []string
		for _, kv := range c.env.Clean(env) {
			name, _, _ := strings.Cut(kv, "=")
			names = append(names, name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.env, got, c.want)
		}
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"key AIzaSyA0123456789012345678901234567890a.":                                   "key [redacted].",
		"token=ghp_0123456789012345678901234567890123456789":                             "token=[redacted]",
		"AKIAABCDEFGHIJKLMNOP":                                                           "[redacted]",
		"a\n-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----\nb": "a\n[redacted]\nb",
		"-----BEGIN PRIVATE KEY-----\nabc":                                               "[redacted]",
		"https://user:pass@host/x":                                                       "https://[redacted]@host/x",
		"https://host/x sha256:abc sk-short":                                             "https://host/x sha256:abc sk-short",
		"it is my-own-value, again my-own-value":                                         "it is [redacted], again [redacted]",
		"short":                                                                          "short",
	} {
		if got := Redact(in, "my-own-value", "short", ""); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func BenchmarkRedact(b *testing.B) {
	text := strings.Repeat("an ordinary line of output, with a path /usr/share/doc and a number 12345\n", 10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if Redact(text, "my-own-value") != text {
			b.Fatal("changed")
		}
	}
}
