package emacs_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"redline/editors/editortest"
)

// The manual is made without a warning, and has every option, face and command that a
// user may want to look up.
func TestManual(t *testing.T) {
	makeinfo, err := exec.LookPath("makeinfo")
	if err != nil {
		editortest.Missing(t, "there is no makeinfo; run editors/emacs/testenv/install.sh")
	}
	out := filepath.Join(t.TempDir(), "redline.info")
	if said, err := exec.CommandContext(t.Context(), makeinfo, "--no-split", "-o", out, "redline.texi").CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("makeinfo: %v\n%s", err, said)
	}
	manual := onDisk(t, "redline.texi")
	for _, m := range regexp.MustCompile(`(?m)^\(def(?:custom|face) (redline-[a-z-]+)`).FindAllStringSubmatch(onDisk(t, "redline-options.el"), -1) {
		if !strings.Contains(manual, m[1]) {
			t.Errorf("the manual has no word of %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`\("[^"]+" "[^"]+" (redline[a-z-]*)`).FindAllStringSubmatch(onDisk(t, "redline-menu.el"), -1) {
		if !strings.Contains(manual, m[1]) && !regexp.MustCompile(`-(hunk|file|all|because|amend|ediff|review|stop|attach|shutdown)$`).MatchString(m[1]) {
			t.Errorf("the manual has no word of %s", m[1])
		}
	}
}
