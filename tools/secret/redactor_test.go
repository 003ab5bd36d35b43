package secret

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestRedactor(t *testing.T) {
	var r Redactor
	r.AddEnviron([]string{"MY_API_KEY=env-value-1234", "HOME=/home/somebody", "SHORT_TOKEN=abc"})
	r.AddTree("", map[string]any{
		"mcpServers": map[string]any{"x": map[string]any{"headers": map[string]any{"Authorization": "Bearer header-value-1"}, "env": map[string]any{"DB_PASSWORD": "pass\"word<1>"}, "command": "/usr/bin/server"}},
		"redline":    map[string]any{"openai": map[string]any{"apiKey": "plain-value-1", "apiKeyEnv": "NAME_OF_VARIABLE"}},
	})
	for in, want := range map[string]string{
		"x env-value-1234 y":                                "x [redacted] y",
		"/home/somebody abc":                                "/home/somebody abc",
		"/usr/bin/server NAME_OF_VARIABLE":                  "/usr/bin/server NAME_OF_VARIABLE",
		"plain-value-1":                                     "[redacted]",
		"header-value-1":                                    "[redacted]",
		`pass"word<1>`:                                      "[redacted]",
		"Authorization: Bearer abcdefghij":                  "Authorization: Bearer [redacted]",
		"https://h/p?a=1&key=abcdefgh&b=2":                  "https://h/p?a=1&key=[redacted]&b=2",
		"http://user:password@host/":                        "http[redacted]@host/",
		`{"access_token":"abc.def","n":1}`:                  `{"access_token":"[redacted]","n":1}`,
		`"{\"refresh_token\":\"abc.def\"}"`:                 `"{\"refresh_token\":\"[redacted]\"}"`,
		"AIza" + strings.Repeat("x", 35):                    "[redacted]",
		"no secret: the token count is 5, the key is to go": "no secret: the token count is 5, the key is to go",
	} {
		got := r.Text(in)
		if strings.Contains(want, "@host") { // the form decides what of the address stays
			if strings.Contains(got, "password") {
				t.Errorf("%q became %q", in, got)
			}
			continue
		}
		if got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// JSON stays JSON, whatever is in it, and numbers and the rest stay as they are.
func TestRedactorJSON(t *testing.T) {
	var r Redactor
	r.Add(`pass"word<1>`)
	for _, in := range []string{
		`{"a":"http://host","k":"v@","n":9007199254740993}`,
		`["://x","u:p@"]`,
		`{"password":"open sesame","x":[{"authorization":"12345678"}]}`,
		`{"a":"pass\"word\u003c1\u003e","b":"pass\"word<1>"}`,
	} {
		got := r.JSON([]byte(in))
		if !json.Valid(got) || bytes.Contains(got, []byte("word<1")) || bytes.Contains(got, []byte("sesame")) || bytes.Contains(got, []byte("12345678")) || strings.Contains(in, "9007") && !bytes.Contains(got, []byte("9007199254740993")) {
			t.Errorf("%s became %s", in, got)
		}
	}
}

func FuzzRedactorJSON(f *testing.F) {
	f.Add([]byte(`{"a":"http://x:y@z","token":"x","u":"?key=abcd"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var r Redactor
		r.Add("secret\\value", `q"uoted-value`)
		if json.Valid(in) && !json.Valid(r.JSON(in)) {
			t.Errorf("%s became %s", in, r.JSON(in))
		}
	})
}
