package auth

import (
	"net/url"
	"strings"
	"testing"
)

// Whatever is pasted: an address counts only with the state of this login, and what
// comes out is never blank.
func FuzzPasted(f *testing.F) {
	for _, s := range []string{
		"4/code", "4%2Fcode&scope=a", "%20", "http://127.0.0.1:1/oauth2callback?state=right&code=4/code", "http://x/?code=a&state=wrong", "code=x", "?code=%zz",
		"http://127.0.0.1:1/?state=right&error=access_denied", " \n", "a b", "http://127.0.0.1/?state=right&code=c#code=d",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		code, problem := pasted(text, "right")
		if (code == "") == (problem == "") {
			t.Fatalf("%q: code %q, problem %q", text, code, problem)
		}
		if code == "" {
			return
		}
		if strings.Contains(text, "://") {
			_, query, _ := strings.Cut(strings.TrimSpace(text), "?")
			query, _, _ = strings.Cut(query, "#")
			if v, err := url.ParseQuery(query); err != nil || v.Get("state") != "right" || v.Get("code") != code {
				t.Errorf("%q gave %q", text, code)
			}
		}
	})
}
