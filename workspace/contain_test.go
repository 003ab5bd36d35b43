//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/workspace/text"
)

// contained is a workspace ws beside a folder out with a secret.
func contained(t *testing.T) (top string, d Disk) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"ws/sub/f": "inside", "ws/a": "inside", "ws2/b": "inside", "out/f": "secret"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"ws/escape": "../out", "ws/file": "../out/f", "ws/abs": filepath.Join(top, "ws", "sub"), "ws/other": "../ws2"} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := New(filepath.Join(top, "ws"), filepath.Join(top, "ws2"))
	if err != nil {
		t.Fatal(err)
	}
	return top, ws.Snapshot().Disk()
}

func TestDiskContains(t *testing.T) {
	top, d := contained(t)
	for path, want := range map[string]string{
		"ws/a": "inside", "ws/sub/f": "inside", "ws/abs/f": "inside", "ws/other/b": "inside", "ws2/b": "inside",
		"out/f":       "secret", // named as what it is: the caller's decision
		"ws/escape/f": "", "ws/file": "", "ws/sub/../escape/f": "",
	} {
		data, _, err := d.ReadBytes(filepath.Join(top, path))
		var outside *PathError
		if string(data) != want || (want == "") != errors.As(err, &outside) {
			t.Errorf("read %s: %q (%v)", path, data, err)
		}
		err = d.WriteFile(filepath.Join(top, path)+".new", "x", text.Plain)
		if strings.Contains(path, "escape") != (err != nil) {
			t.Errorf("write %s.new: %v", path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(top, "out", "f.new")); err != nil {
		t.Errorf("what is outside by its name is not written: %v", err)
	}
}

// swap puts a link to the outside in the place of a folder that was looked at.
func swap(t *testing.T, top string) {
	t.Helper()
	sub := filepath.Join(top, "ws", "sub")
	if err := os.Rename(sub, sub+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(top, "out"), sub); err != nil {
		t.Fatal(err)
	}
}

// Between the look at a path and its use a folder on it becomes a link to the outside.
func TestDiskSwapped(t *testing.T) {
	for name, use := range map[string]func(p *place) error{
		"read":   func(p *place) error { _, err := p.ReadFile(p.rel); return err },
		"write":  func(p *place) error { return p.write([]byte("x")) },
		"remove": func(p *place) error { return p.Remove(p.rel) },
		"make":   func(p *place) error { return p.parents(filepath.Join(filepath.Dir(p.rel), "new", "f")) },
	} {
		t.Run(name, func(t *testing.T) {
			top, d := contained(t)
			p, err := d.at(filepath.Join(top, "ws", "sub", "f"), true)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			swap(t, top)
			if err := use(p); err == nil {
				t.Error("it was done")
			}
			if data, err := os.ReadFile(filepath.Join(top, "out", "f")); string(data) != "secret" {
				t.Errorf("outside there is %q now (%v)", data, err)
			}
			if entries, _ := os.ReadDir(filepath.Join(top, "out")); len(entries) != 1 {
				t.Errorf("outside there is %v", entries)
			}
		})
	}
}

// The file itself becomes a link: what is written takes its place, and does not go
// where it leads.
func TestDiskSwappedFile(t *testing.T) {
	top, d := contained(t)
	file := filepath.Join(top, "ws", "a")
	p, err := d.at(file, true)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := errors.Join(os.Remove(file), os.Symlink(filepath.Join(top, "out", "f"), file)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ReadFile(p.rel); err == nil {
		t.Error("it was read")
	}
	err = p.write([]byte("x"))
	if data, _ := os.ReadFile(filepath.Join(top, "out", "f")); string(data) != "secret" {
		t.Errorf("outside there is %q (%v)", data, err)
	}
}

// Links that lead nowhere outside, and loops, are refused.
func TestDiskDangling(t *testing.T) {
	top, d := contained(t)
	if err := errors.Join(os.Symlink("../out/new", filepath.Join(top, "ws", "gone")), os.Symlink("loop", filepath.Join(top, "ws", "loop"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gone", "loop"} {
		if err := d.WriteFile(filepath.Join(top, "ws", name), "x", text.Plain); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(top, "out", "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("outside there is a file: %v", err)
	}
}
