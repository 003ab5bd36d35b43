package main

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Imports point down only, and each border has one keeper (DESIGN.md).
func TestImportDirection(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "redline/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	layers := []string{"workspace", "tools", "agent", "lsp", "cmd"} // low to high
	checked := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		path := strings.TrimPrefix(p.ImportPath, "redline/")
		layer := slices.Index(layers, first(path))
		if layer < 0 {
			continue // editors: tests that drive an editor
		}
		checked++
		for _, imp := range p.Imports {
			own, ours := strings.CutPrefix(imp, "redline/")
			switch {
			case ours && slices.Index(layers, first(own)) > layer:
				t.Errorf("%s imports %s, which is above it", path, own)
			case ours && strings.HasSuffix(first2(own), "test") && !strings.HasSuffix(first2(path), "test"):
				t.Errorf("%s imports the test package %s", path, own)
			case strings.HasPrefix(imp, "go.lsp.dev/") && first(path) != "lsp":
				t.Errorf("%s imports %s; only lsp knows LSP", path, imp)
			case imp == "google.golang.org/genai" && first(path) != "agent" && path != "cmd/redline":
				t.Errorf("%s imports %s; only agent knows Gemini's types", path, imp)
			case first(path) == "tools" && !strings.HasPrefix(path, "tools/") && imp == "os/exec":
				t.Errorf("%s imports %s; tools return effects, they do not have them", path, imp)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d packages checked", checked)
	}
}

// first returns the first element of an import path, first2 the first two.
func first(path string) string { return strings.SplitN(path, "/", 2)[0] }

func first2(path string) string {
	parts := strings.SplitN(path, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}
