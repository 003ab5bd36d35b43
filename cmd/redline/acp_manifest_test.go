package main

import (
	"encoding/json"
	"regexp"
	"testing"
)

// The entry has what the registry's schema wants: these fields, an id of small letters,
// a version of three numbers, an archive and a command for each known platform.
func TestRegistryManifest(t *testing.T) {
	raw, err := registryManifest("v1.2.3", "https://example.com/releases/v1.2.3/")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		ID, Name, Version, Description, License string
		Distribution                            map[string]map[string]struct {
			Archive, Cmd string
			Args         []string
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(m.ID) || m.Version != "1.2.3" || m.Name == "" || m.Description == "" || len(m.Distribution) != 1 {
		t.Errorf("%s", raw)
	}
	known := regexp.MustCompile(`^(darwin|linux|windows)-(aarch64|x86_64)$`)
	for name, b := range m.Distribution["binary"] {
		if !known.MatchString(name) || b.Cmd != "./redline" || len(b.Args) != 1 || b.Args[0] != "acp" {
			t.Errorf("%s: %+v", name, b)
		}
	}
	if got := m.Distribution["binary"]["linux-x86_64"].Archive; got != "https://example.com/releases/v1.2.3/redline_1.2.3_linux_amd64.tar.gz" {
		t.Errorf("archive %s", got)
	}
	for version, base := range map[string]string{"dev": "https://example.com", "1.2.3": "http://example.com", "1.2": "https://example.com", "1.2.4": "there"} {
		if _, err := registryManifest(version, base); err == nil {
			t.Errorf("version %q at %q is taken", version, base)
		}
	}
}
