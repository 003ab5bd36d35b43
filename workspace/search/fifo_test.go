//go:build unix

package search

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSpecialFiles: nothing blocks on a FIFO, a socket is no file, and a directory without permission is reported.
func TestSpecialFiles(t *testing.T) {
	noGlobalGit(t)
	root := t.TempDir()
	write(t, filepath.Join(root, "a"), "text\n")
	write(t, filepath.Join(root, "closed", "b"), "text\n")
	write(t, filepath.Join(root, "secret"), "text\n")
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("fifo", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(root, "closed")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o777) // or the test's directory could not be removed
	if err := os.Chmod(filepath.Join(root, "secret"), 0); err != nil {
		t.Fatal(err)
	}
	r, err := Grep(context.Background(), GrepOptions{Scope: Scope{Root: root}, Pattern: "text"})
	if err != nil {
		t.Fatal(err)
	}
	g, err := Glob(context.Background(), GlobOptions{Scope: Scope{Root: root}, Pattern: "*"})
	if err != nil {
		t.Fatal(err)
	}
	if g.Total != 2 {
		t.Errorf("glob finds %v", g.Entries)
	}
	if os.Geteuid() == 0 { // for whom everything is readable
		if r.Matches != 3 || len(r.Unreadable) != 0 {
			t.Errorf("%d matches, unreadable %q", r.Matches, r.Unreadable)
		}
		return
	}
	if d := cmp.Diff([]string{"closed", "secret"}, r.Unreadable); d != "" || r.Matches != 1 {
		t.Errorf("%d matches, unreadable (- want, + got)\n%s", r.Matches, d)
	}
}

// TestFIFOAsScope names a FIFO.
func TestFIFOAsScope(t *testing.T) {
	noGlobalGit(t)
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Grep(context.Background(), GrepOptions{Scope: Scope{Root: root, Dir: "fifo"}, Pattern: "x"}); err == nil {
		t.Error("a FIFO was searched")
	}
}
