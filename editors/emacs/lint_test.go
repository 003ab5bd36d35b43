package emacs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The package compiles without a warning, and checkdoc and package-lint have nothing to
// say of it. What was compiled loads.
func TestLint(t *testing.T) {
	exe := program(t)
	t.Parallel()
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), exe, "-Q", "--batch", "-l", "testdata/lint.el", abs(t, "."), out, filepath.Join(filepath.Dir(exe), "package-lint"))
	cmd.Env = append(os.Environ(), "HOME="+out)
	said, err := cmd.CombinedOutput()
	if err != nil || len(said) > 0 {
		t.Errorf("%v\n%s", err, said)
	}
	compiled, err := filepath.Glob(filepath.Join(out, "*.elc"))
	if sources, _ := filepath.Glob("*.el"); err != nil || len(compiled) != len(sources) {
		t.Errorf("%d files were compiled: %v", len(compiled), err)
	}
	e := start(t, workspace(t, nil), "", "REDLINE_ELC="+out)
	if got := get[string](e, `(symbol-file 'redline-menu)`); filepath.Dir(got) != out {
		t.Errorf("redline-menu is from %s", got)
	}
}
