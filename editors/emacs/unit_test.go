package emacs_test

import (
	"os"
	"os/exec"
	"testing"
)

// What needs no server, as ERT.
func TestUnits(t *testing.T) {
	for _, name := range []string{"emacs-30", oldest} {
		t.Run(name, func(t *testing.T) {
			exe := version(t, name)
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), exe, "-Q", "--batch", "-l", "testdata/floor.el", "-L", ".", "-l", "testdata/redline-tests.el", "-f", "ert-run-tests-batch-and-exit")
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "LANG=C.UTF-8")
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}
