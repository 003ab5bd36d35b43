//go:build linux

package vscode_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goCmp copies the sources of go-cmp, which this module needs anyway, from the module
// cache to a folder that may be written to.
func goCmp(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/go-cmp").Output()
	if err != nil {
		t.Fatalf("find go-cmp: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "go-cmp")
	if err := os.CopyFS(dir, os.DirFS(strings.TrimSpace(string(out)))); err != nil {
		t.Fatal(err)
	}
	// The module cache is read-only, and so are copies of it.
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// replaced returns text with its one occurrence of old replaced.
func replaced(t *testing.T, text, old, new string) string {
	t.Helper()
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%q occurs %d times", old, n)
	}
	return strings.Replace(text, old, new, 1)
}
