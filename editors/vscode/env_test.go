//go:build linux

// Package vscode_test drives the real VS Code workbench with the packed extension
// and the real redline binary by mouse and keyboard. The workbench is installed by
// testenv/install.sh; without it the tests are skipped, except where REDLINE_CI is 1.
package vscode_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/editors/editortest"
)

// environment is where the installed parts are.
type environment struct {
	root     string // of testenv/install.sh
	node     string
	code     string // the workbench's server
	chromium string
}

// workbenches bounds how many run at once: each is a browser and two or three Node processes.
var workbenches = make(chan struct{}, 4)

// installed returns the environment, or skips the test. The test goes on beside others of its kind.
func installed(t *testing.T) environment {
	t.Helper()
	env := found(t)
	t.Parallel()
	workbenches <- struct{}{}
	t.Cleanup(func() { <-workbenches })
	// The ten minutes that go test gives by itself may not do for all of them; then those that would
	// not come to their end say so, instead of ending all others with them.
	if end, ok := t.Deadline(); ok && time.Until(end) < longest {
		editortest.Missing(t, "go test's time is nearly up; go test -timeout 40m ./editors/vscode runs all tests of VS Code")
	}
	return env
}

// longest is how long a test of the workbench takes on a machine with other work.
const longest = 3 * time.Minute

// found is installed for a test that measures, and so runs alone.
func found(t *testing.T) environment {
	t.Helper()
	if testing.Short() {
		t.Skip("a real editor is not driven in short mode")
	}
	env := environment{root: filepath.Join(editortest.Prefix(t), "vscode")}
	env.node = filepath.Join(env.root, "node", "bin", "node")
	env.code = filepath.Join(env.root, "code-server", "lib", "vscode")
	missing := ""
	if _, err := os.Stat(filepath.Join(env.root, ".installed")); err != nil {
		missing = "VS Code is not installed in " + env.root
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			env.chromium = p
			break
		}
	}
	if missing == "" && env.chromium == "" {
		missing = "there is no chromium"
	}
	if _, err := exec.LookPath("npm"); missing == "" && err != nil {
		missing = "there is no npm to build the extension with"
	}
	if missing != "" {
		editortest.Missing(t, missing+"; run editors/vscode/testenv/install.sh")
	}
	return env
}

// once keeps what all tests of the process share.
var once struct {
	sync.Mutex
	extensions string
}

// extensions builds the extension, packs it, has the workbench install the package,
// and returns the folder of installed extensions. It is kept by the content of the
// sources, so that a second run builds nothing.
func extensions(t *testing.T, env environment) string {
	t.Helper()
	once.Lock()
	defer once.Unlock()
	if once.extensions != "" {
		return once.extensions
	}
	dir := filepath.Join(env.root, "built", sourceHash(t))
	if _, err := os.Stat(filepath.Join(dir, "extensions.json")); err == nil {
		once.extensions = dir
		return dir
	}
	if stale("node_modules/.package-lock.json", "package-lock.json") {
		run(t, ".", nil, "npm", "ci", "--ignore-scripts", "--silent")
	}
	run(t, ".", nil, "npm", "run", "--silent", "check")
	run(t, ".", nil, "npm", "run", "--silent", "build")
	work := t.TempDir()
	vsix := filepath.Join(work, "redline.vsix")
	run(t, ".", nil, "node", "scripts/pack.mjs", vsix)
	exts := filepath.Join(work, "extensions")
	run(t, env.code, nil, env.node, "out/server-main.js", "--install-extension", vsix,
		"--extensions-dir", exts, "--server-data-dir", filepath.Join(work, "data"), "--accept-server-license-terms")
	// Extensions are listed with their paths, so they are copied to where they stay; at
	// once, for other tests look there too.
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	next, err := os.MkdirTemp(filepath.Dir(dir), "next-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(next)
	if err := os.CopyFS(next, os.DirFS(exts)); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(next, "extensions.json")
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatalf("the workbench did not install the package: %v", err)
	}
	if err := os.WriteFile(list, []byte(strings.ReplaceAll(string(data), exts, dir)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	once.extensions = dir
	return dir
}

// sourceHash is a hash of everything the packed extension is made from.
func sourceHash(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	for _, root := range []string{"package.json", "package-lock.json", "tsconfig.json", "README.md", "scripts", "src", "media"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			fmt.Fprintf(sum, "%s\n", filepath.ToSlash(path))
			_, err = io.Copy(sum, f)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// stale reports whether made is missing or older than from.
func stale(made, from string) bool {
	m, err := os.Stat(made)
	if err != nil {
		return true
	}
	f, err := os.Stat(from)
	return err == nil && f.ModTime().After(m.ModTime())
}

// run runs a program to its end and fails the test when it fails.
func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
