// Package secret keeps secrets from where they do not belong: out of the environment
// of commands, whose output goes to the model, and out of what is logged.
package secret

import (
	"regexp"
	"slices"
	"strings"
)

// Env says which environment variables commands get. Its zero value withholds every
// variable that looks like a secret.
type Env struct {
	Allowed []string // names that are passed on whatever they look like
	Blocked []string // names that are withheld besides
	Off     bool     // only Own and Blocked are withheld
}

// Own are the variables that hold the credentials of this program; commands never get
// them.
var Own = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "REDLINE_TOKEN", "REDLINE_OAUTH_CLIENT_SECRET"}

// words are what names of secrets are made of. Each stands between underscores or at
// an end: AUTH_SOCK is no secret, and MONKEY no key.
var words = map[string]bool{
	"TOKEN": true, "TOKENS": true, "SECRET": true, "SECRETS": true, "PASSWORD": true, "PASSWD": true, "PASSPHRASE": true, "PASS": true, "PWD": false,
	"APIKEY": true, "KEY": true, "CREDENTIAL": true, "CREDENTIALS": true, "CREDS": true, "PAT": true,
}

// harmless are names that look like secrets and are none.
var harmless = map[string]bool{"SSH_AUTH_SOCK": true, "GPG_TTY": true, "GIT_ASKPASS": true, "SSH_ASKPASS": true, "NODE_PRESERVE_SYMLINKS": true}

// Looks reports whether a variable of this name, or with this value, holds a secret.
func Looks(name, value string) bool {
	name = strings.ToUpper(name)
	if harmless[name] {
		return false
	}
	for _, w := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		if words[w] || strings.HasSuffix(w, "TOKEN") || strings.HasSuffix(w, "PASSWORD") || strings.HasSuffix(w, "SECRET") {
			return true
		}
	}
	return Redact(value) != value
}

// Clean returns the variables ("NAME=value") that commands get.
func (e Env) Clean(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		fold := func(list []string) bool {
			return slices.ContainsFunc(list, func(n string) bool { return strings.EqualFold(n, name) })
		}
		switch {
		case fold(Own), fold(e.Blocked):
			return true
		case fold(e.Allowed), e.Off:
			return false
		}
		return Looks(name, value)
	})
}

// form is the look of a well-known kind of key or token: text that is always in it,
// by which it is found quickly, and what it is from there on.
type form struct {
	anchor string
	from   *regexp.Regexp // begins with the anchor
	lead   int            // bytes of the anchor that are no secret
	tail   int            // bytes at the end of the match that are no secret
}

var forms = []form{
	{anchor: "AIza", from: regexp.MustCompile(`^AIza[0-9A-Za-z_-]{35}`)},                                                                    // Google API keys
	{anchor: "ya29.", from: regexp.MustCompile(`^ya29\.[0-9A-Za-z_-]{20,}`)},                                                                // Google access tokens
	{anchor: "1//0", from: regexp.MustCompile(`^1//0[0-9A-Za-z_-]{30,}`)},                                                                   // Google refresh tokens
	{anchor: "gh", from: regexp.MustCompile(`^gh[pousr]_[0-9A-Za-z]{36,}`)},                                                                 // GitHub
	{anchor: "github_pat_", from: regexp.MustCompile(`^github_pat_[0-9A-Za-z_]{36,}`)},                                                      // GitHub
	{anchor: "glpat-", from: regexp.MustCompile(`^glpat-[0-9A-Za-z_-]{20,}`)},                                                               // GitLab
	{anchor: "AKIA", from: regexp.MustCompile(`^AKIA[0-9A-Z]{16}`)},                                                                         // AWS
	{anchor: "ASIA", from: regexp.MustCompile(`^ASIA[0-9A-Z]{16}`)},                                                                         // AWS, temporary
	{anchor: "xox", from: regexp.MustCompile(`^xox[abprs]-[0-9A-Za-z-]{10,}`)},                                                              // Slack
	{anchor: "sk-", from: regexp.MustCompile(`^sk-[0-9A-Za-z_-]{32,}`)},                                                                     // OpenAI, Anthropic
	{anchor: "k_live_", from: regexp.MustCompile(`^k_live_[0-9A-Za-z]{20,}`)},                                                               // Stripe
	{anchor: "npm_", from: regexp.MustCompile(`^npm_[0-9A-Za-z]{36}`)},                                                                      // npm
	{anchor: "eyJ", from: regexp.MustCompile(`^eyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}`)},                          // JSON web tokens
	{anchor: "-----BEGIN ", from: regexp.MustCompile(`^-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)}, // also one that is cut off
	{anchor: "://", from: regexp.MustCompile(`^://[^\s:/@]{1,100}:[^\s:/@]{1,200}@`), lead: 3, tail: 1},                                     // a password in an address
}

// Mask takes the place of a secret.
const Mask = "[redacted]"

// maxSecret bounds how long a secret is looked at, in bytes.
const maxSecret = 16 << 10

// Redact replaces well-known forms of keys and tokens in text, and the given values,
// which must be at least 8 bytes long to count.
func Redact(text string, values ...string) string {
	for _, v := range values {
		if len(v) >= 8 {
			text = strings.ReplaceAll(text, v, Mask)
		}
	}
	for _, f := range forms {
		text = f.redact(text)
	}
	return text
}

func (f form) redact(text string) string {
	i := strings.Index(text, f.anchor)
	if i < 0 {
		return text
	}
	var b strings.Builder
	at := 0 // up to here text is in b
	for {
		n := len(f.anchor)
		if m := f.from.FindStringIndex(text[i:min(len(text), i+maxSecret)]); m != nil {
			n = m[1]
			b.WriteString(text[at : i+f.lead])
			b.WriteString(Mask)
			at = i + n - f.tail
		}
		next := strings.Index(text[i+n:], f.anchor)
		if next < 0 {
			break
		}
		i += n + next
	}
	if at == 0 {
		return text
	}
	b.WriteString(text[at:])
	return b.String()
}
