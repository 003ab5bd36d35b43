package emacs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// Buffers that are not as one expects: narrowed, looked at through an indirect buffer, killed
// with hunks in them and visited again, changed on disk and reverted. Prompts that are quit
// decide nothing.
func TestOddBuffers(t *testing.T) {
	program(t)
	t.Parallel()
	root := workspace(t, map[string]string{"narrow.txt": poem, "indirect.txt": poem, "killed.txt": poem, "disk.txt": poem, "latin.txt": "Stra\xdfe\r\ntwo\r\n"})
	var calls []geminitest.Call
	for _, name := range []string{"narrow.txt", "indirect.txt", "killed.txt", "disk.txt"} {
		calls = append(calls, replace(filepath.Join(root, name), "nine\n", "NINE\n"))
	}
	calls = append(calls, replace(filepath.Join(root, "latin.txt"), "two", "zwei ß"))
	srv := geminitest.New(t, geminitest.Do(calls...), geminitest.Say("I see."))
	e := start(t, root, srv.URL)
	e.do(`(dolist (f '("narrow.txt" "indirect.txt" "killed.txt" "disk.txt" "latin.txt")) (show f))
		(redline-ask "shout") (await-hunks 5)`)
	want := strings.Replace(poem, "nine", "NINE", 1)

	// Quit at every prompt: nothing is decided.
	for _, keys := range []string{"C-c = R C-g", "C-c = e C-c C-k"} {
		e.do(`(show "narrow.txt" 9) (condition-case nil (keys %s) (quit nil))`, quote(keys))
		if n := get[float64](e, "(pending)"); n != 5 {
			t.Errorf("%s: %v hunks are open", keys, n)
		}
	}

	e.do(`(show "narrow.txt" 1) (narrow-to-region 1 (pos-eol)) (redline-next-hunk) (widen) (narrow-to-region 1 5)
		(redline-accept-file) (await-hunks 4)`)
	equal(t, "narrowed", get[string](e, `(save-restriction (widen) (text "narrow.txt"))`), want)
	if !get[bool](e, `(buffer-narrowed-p)`) {
		t.Error("the buffer is not narrowed any more")
	}
	e.do(`(undo-boundary) (widen) (undo)`)
	equal(t, "undone once", get[string](e, `(text "narrow.txt")`), poem)

	e.do(`(show "indirect.txt" 1) (switch-to-buffer (make-indirect-buffer (current-buffer) "other" t)) (goto-char (point-max)) (insert "eleven\n")
		(show "indirect.txt" 9) (keys "C-c = a") (await-hunks 3)`)
	equal(t, "typed in an indirect buffer", get[string](e, `(text "indirect.txt")`), want+"eleven\n")

	e.do(`(show "killed.txt" 9) (kill-buffer) (show "killed.txt" 9) (await "the hunk" (previews)) (keys "C-c = a") (await-hunks 2)`)
	equal(t, "killed and visited again", get[string](e, `(text "killed.txt")`), want)

	if err := os.WriteFile(filepath.Join(root, "disk.txt"), []byte("zero\n"+poem), 0o644); err != nil {
		t.Fatal(err)
	}
	e.do(`(show "disk.txt" 1) (revert-buffer t t) (await "the hunk" (previews)) (redline-accept-file) (await-hunks 1)`)
	equal(t, "changed on disk and reverted", get[string](e, `(text "disk.txt")`), "zero\n"+want)

	e.do(`(show "latin.txt" 2) (redline-accept-all) (await-hunks 0) (await-end) (show "latin.txt") (should-not-ask #'save-buffer)`)
	equal(t, "Latin-1 with CR LF", onDisk(t, filepath.Join(root, "latin.txt")), "Stra\xdfe\r\nzwei \xdf\r\n")
	contains(t, "what the model is told", told(t, srv, 1), "Successfully modified file")
}
