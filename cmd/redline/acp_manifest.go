package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// manifest is redline's entry in the ACP registry (agent.json).
type manifest struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Description  string   `json:"description"`
	Authors      []string `json:"authors"`
	License      string   `json:"license"`
	Distribution struct {
		Binary map[string]binaryTarget `json:"binary"`
	} `json:"distribution"`
}

type binaryTarget struct {
	Archive string   `json:"archive"`
	Cmd     string   `json:"cmd"`
	Args    []string `json:"args"`
}

// platforms are the systems that have a release, in the registry's words, and what Go
// calls them. Commands need a Unix.
var platforms = map[string]string{
	"darwin-aarch64": "darwin_arm64", "darwin-x86_64": "darwin_amd64",
	"linux-aarch64": "linux_arm64", "linux-x86_64": "linux_amd64",
}

var release = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+\S*)$`)

// registryManifest returns the registry's agent.json for a release whose archives,
// redline_VERSION_OS_ARCH.tar.gz, are below the address base.
func registryManifest(version, base string) ([]byte, error) {
	m := release.FindStringSubmatch(version)
	if m == nil {
		return nil, fmt.Errorf("the registry lists releases, and %q is none; build with -ldflags '-X main.version=1.2.3'", version)
	}
	if u, err := url.Parse(base); err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no https address of a release's archives", base)
	}
	out := manifest{
		ID: "redline", Name: "Redline", Version: m[1], License: "MIT", Authors: []string{"The redline authors"},
		Description: "Gemini in your editor: proposals with diffs that never overwrite what you typed, and a model that is told what became of them",
	}
	out.Distribution.Binary = map[string]binaryTarget{}
	for name, system := range platforms {
		out.Distribution.Binary[name] = binaryTarget{
			Archive: fmt.Sprintf("%s/redline_%s_%s.tar.gz", strings.TrimSuffix(base, "/"), m[1], system), Cmd: "./redline", Args: []string{"acp"},
		}
	}
	return json.MarshalIndent(out, "", "  ")
}
