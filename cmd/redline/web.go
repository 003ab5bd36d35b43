package main

import (
	"fmt"
	"runtime"

	"golang.org/x/net/http/httpproxy"

	"redline/cmd/internal/config"
	"redline/tools/web"
)

// webOptions returns how web_fetch fetches pages itself: through the proxy of the
// settings or else of the environment, but for what NO_PROXY names.
func webOptions(cfg *config.Config) web.Options {
	first := func(names ...string) string {
		for _, n := range names {
			if v := cfg.Env.Get(n); v != "" {
				return v
			}
		}
		return ""
	}
	p := httpproxy.Config{
		HTTPProxy: first("HTTP_PROXY", "http_proxy"), HTTPSProxy: first("HTTPS_PROXY", "https_proxy"), NoProxy: first("NO_PROXY", "no_proxy"),
	}
	if cfg.Proxy != "" {
		p.HTTPProxy, p.HTTPSProxy = cfg.Proxy, cfg.Proxy
	}
	opt := web.Options{
		AllowPrivate: cfg.WebPrivate,
		UserAgent:    fmt.Sprintf("Redline/%s (%s; %s)", versionString(), runtime.GOOS, runtime.GOARCH),
	}
	if p.HTTPProxy != "" || p.HTTPSProxy != "" {
		opt.Proxy = p.ProxyFunc()
	}
	return opt
}
