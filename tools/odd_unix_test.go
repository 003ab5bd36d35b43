//go:build unix

package tools_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

func makeFIFO(_ *testing.T, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return syscall.Mkfifo(path, 0o600)
}

// makeDevice makes a character device; only root may.
func makeDevice(t *testing.T, path string, major, minor int) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, major<<8|minor); err != nil {
		if os.Geteuid() == 0 && os.Getenv("REDLINE_CI") != "" {
			t.Fatal("make a device: ", err)
		}
		t.Skip("make a device: ", err)
	}
}

// asNobody plays a file in a process of the user nobody.
func asNobody(t *testing.T, file string) {
	const nobody = 65534
	dir, err := os.MkdirTemp("", "redline-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, played := filepath.Join(dir, "test"), filepath.Join(dir, "testdata", filepath.Base(file))
	for _, c := range []struct{ from, to string }{{exe, program}, {file, played}} {
		data, err := os.ReadFile(c.from)
		if err != nil {
			t.Fatal(err)
		}
		put(t, c.to, data)
	}
	for _, path := range []string{dir, filepath.Dir(played), played, program} {
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, program} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-test.run=^TestData$", "-test.v", "-update="+strconv.FormatBool(*update))
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestData/unreadable")) {
		t.Fatalf("as nobody: %v\n%s", err, out)
	}
	if *update {
		data, err := os.ReadFile(played)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
