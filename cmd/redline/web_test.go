package main

import (
	"net/url"
	"testing"

	"redline/cmd/internal/config"
)

func TestWebOptions(t *testing.T) {
	for _, c := range []struct {
		name    string
		env     map[string]string
		setting string
		want    map[string]string // proxy by URL, empty for none
	}{
		{"none", nil, "", nil},
		{"setting", nil, "http://proxy:1", map[string]string{"http://a.example/": "http://proxy:1", "https://a.example/": "http://proxy:1"}},
		{"setting over environment", map[string]string{"HTTPS_PROXY": "http://other:2", "NO_PROXY": "b.example"}, "http://proxy:1", map[string]string{"https://a.example/": "http://proxy:1", "https://b.example/": ""}},
		{"environment", map[string]string{"https_proxy": "http://other:2"}, "", map[string]string{"https://a.example/": "http://other:2", "http://a.example/": ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			getenv := func(name string) string { return c.env[name] }
			env, err := config.LoadEnv(getenv, "", "", false)
			if err != nil {
				t.Fatal(err)
			}
			opt := webOptions(&config.Config{Env: env, Proxy: c.setting})
			if opt.AllowPrivate || (opt.Proxy == nil) != (c.want == nil) {
				t.Fatalf("options %+v", opt)
			}
			for raw, want := range c.want {
				u, err := url.Parse(raw)
				if err != nil {
					t.Fatal(err)
				}
				got, err := opt.Proxy(u)
				if err != nil || (got == nil) != (want == "") || got != nil && got.String() != want {
					t.Errorf("%s: %v, %v; want %q", raw, got, err, want)
				}
			}
		})
	}
}
