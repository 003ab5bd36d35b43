package editortest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Prefix returns the folder that editors/*/testenv/install.sh install into.
func Prefix(t testing.TB) string {
	t.Helper()
	if prefix := os.Getenv("REDLINE_EDITORS"); prefix != "" {
		return prefix
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "redline-editors")
}

// Missing skips the test because an editor is not there, or fails it where REDLINE_CI is 1.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("REDLINE_CI") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}

var build struct {
	once sync.Once
	dir  string
	err  error
}

// Binary builds cmd/redline, once a process, and returns its path; REDLINE_BIN names one to
// take instead. The package's TestMain removes it with Clean.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("REDLINE_BIN"); path != "" {
		return path
	}
	build.once.Do(func() {
		if build.dir, build.err = os.MkdirTemp("", "redline-"); build.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", build.dir, "redline/cmd/redline")
		if out, err := cmd.CombinedOutput(); err != nil {
			build.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if build.err != nil {
		t.Fatalf("build the server: %v", build.err)
	}
	return filepath.Join(build.dir, "redline")
}

// Clean removes what Binary built.
func Clean() {
	if build.dir != "" {
		_ = os.RemoveAll(build.dir) // a temporary folder
	}
}
