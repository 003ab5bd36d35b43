package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/workspace"
)

func TestTree(t *testing.T) {
	root := t.TempDir()
	for _, f := range []string{".gitignore", "b/x/deep.go", "b/one.go", "a.txt", "out/built"} {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("out/\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := workspace.New(root)
	if err != nil {
		t.Fatal(err)
	}
	want := root + "/\n  b/\n    x/\n      deep.go\n    one.go\n  .gitignore\n  a.txt\n"
	if got := tree(context.Background(), ws.Snapshot()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for i := range 300 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("f%03d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := tree(context.Background(), ws.Snapshot())
	if n := strings.Count(got, "\n"); n > maxTree+10 || !strings.Contains(got, "…") {
		t.Errorf("%d lines:\n%s", n, got)
	}
}
