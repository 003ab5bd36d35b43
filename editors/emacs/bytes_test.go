package emacs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// Files in other encodings, with other line ends or mixed ones, open in a buffer or not:
// what no edit touches stays as it is, to the byte. In one Emacs, one prompt for all.
func TestBytes(t *testing.T) {
	program(t)
	t.Parallel()
	latin := "caf\xe9 one\ntwo\nna\xefve\n"
	utf16 := func(s string) string {
		b := []byte{0xff, 0xfe}
		for _, r := range s {
			b = append(b, byte(r), byte(r>>8))
		}
		return string(b)
	}
	files := map[string]string{
		"crlf.txt": "one\r\ntwo\r\nthree\r\n", "mixed.txt": "one\r\ntwo\nthree\r\nfour\n", "noeol.txt": "one\ntwo",
		"bom.txt": "\ufeffone\ntwo\n", "latin.txt": latin, "utf16.txt": utf16("one\r\ntwo\r\nthree é\r\n"), "cr.txt": "one\rtwo\rthree\r",
		"new/closed.txt": "one\r\ntwo\r\n",
	}
	want := map[string]string{}
	root := workspace(t, files)
	var calls []geminitest.Call
	for name, text := range files {
		old, new := "two", "2 → zwei"
		if name == "latin.txt" {
			new = "zwei é"
			want[name] = strings.Replace(text, old, "zwei \xe9", 1)
		} else if name == "utf16.txt" {
			want[name] = utf16("one\r\n2 → zwei\r\nthree é\r\n")
		} else {
			want[name] = strings.Replace(text, old, new, 1)
		}
		calls = append(calls, replace(filepath.Join(root, name), old, new))
	}
	srv := geminitest.New(t, geminitest.Do(calls...), geminitest.Say("All done."))
	e := start(t, root, srv.URL)
	for name := range files {
		if !strings.HasPrefix(name, "new/") {
			e.do("(show %s)", quote(name))
		}
	}
	e.do(`(redline-ask "count in German") (await-hunks %d) (redline-accept-all) (await-end)`, len(files))
	contains(t, "what the model is told", told(t, srv, 1), "Successfully modified file")
	for name := range files {
		e.do(`(show %s) (should-not-ask (lambda () (save-buffer)))`, quote(name))
		if got := onDisk(t, filepath.Join(root, name)); got != want[name] {
			t.Errorf("%s: got\n%q\nwant\n%q", name, got, want[name])
		}
	}
}

// Buffers that cannot take an edit: it is refused with the reason, the model is told,
// and what is there stays.
func TestRefused(t *testing.T) {
	program(t)
	t.Parallel()
	root := workspace(t, map[string]string{"readonly.txt": "two\n", "disk.txt": "two\n", "both.txt": "two\n", "raw.txt": "two\n", "gone.txt": "two\n", "fine.txt": "two\n"})
	var calls []geminitest.Call
	for _, name := range []string{"readonly.txt", "disk.txt", "both.txt", "raw.txt", "gone.txt", "fine.txt"} {
		calls = append(calls, replace(filepath.Join(root, name), "two\n", "zwei\n"))
	}
	srv := geminitest.New(t, geminitest.Do(calls...), geminitest.Say("I see."))
	e := start(t, root, srv.URL)
	e.do(`(dolist (f '("readonly.txt" "disk.txt" "both.txt" "raw.txt" "gone.txt" "fine.txt")) (show f))
		(redline-ask "count in German") (await-hunks 6)`)
	accept := func(name string) {
		t.Helper()
		e.do(`(let ((n (pending))) (show %s 1) (keys "C-c = a") (await "a hunk decided" (< (pending) n)) (await "nothing of it shown" (null (previews))))`, quote(name))
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e.do(`(show "readonly.txt") (setq buffer-read-only t)`)
	accept("readonly.txt")
	contains(t, "the message", get[string](e, `(drive-said "readonly.txt was not applied")`), "read-only")
	equal(t, "the read-only buffer", get[string](e, `(text "readonly.txt")`), "two\n")

	// Changed on disk, not in Emacs: the buffer follows, and the hunk fits what is there.
	write("disk.txt", "zero\ntwo\n")
	accept("disk.txt")
	equal(t, "changed on disk", get[string](e, `(text "disk.txt")`), "zero\nzwei\n")

	// Changed in both: nothing is asked, nothing is lost.
	e.do(`(show "both.txt") (goto-char (point-max)) (insert "mine\n")`)
	write("both.txt", "zero\ntwo\n")
	accept("both.txt")
	contains(t, "the message", get[string](e, `(drive-said "both.txt was not applied")`), "changed on disk and in Emacs")
	equal(t, "changed in both", get[string](e, `(text "both.txt")`), "two\nmine\n")

	// Deleted below the buffer: the buffer is what counts.
	if err := os.Remove(filepath.Join(root, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	accept("gone.txt")
	equal(t, "deleted on disk", get[string](e, `(text "gone.txt")`), "zwei\n")

	// Raw bytes: the server is not told of them, and they survive.
	e.do(`(show "raw.txt") (goto-char (point-max)) (insert-byte 200 1) (redline--flush (server))
		(await "the document closed" (not redline--document))`)
	accept("raw.txt")
	equal(t, "raw bytes", get[string](e, `(if (string-match-p "\\`+"`"+`two\n.\\'" (text "raw.txt")) "as it was" (text "raw.txt"))`), "as it was")

	accept("fine.txt")
	e.do("(await-end)")
	equal(t, "the last", get[string](e, `(text "fine.txt")`), "zwei\n")
	contains(t, "what the model is told", told(t, srv, 1), "read-only", "changed on disk and in Emacs", "Successfully modified file")
}

// Files are created, renamed and deleted with their buffers, and taken back.
func TestFiles(t *testing.T) {
	program(t)
	t.Parallel()
	root := workspace(t, map[string]string{"a.txt": poem, "b.txt": "b\n"})
	srv := geminitest.New(t,
		geminitest.Do(
			geminitest.NewCall("rename_file", map[string]any{"file_path": filepath.Join(root, "a.txt"), "new_path": filepath.Join(root, "sub", "c.txt")}),
			geminitest.NewCall("delete_file", map[string]any{"file_path": filepath.Join(root, "b.txt")}),
		),
		geminitest.Say("Done."),
	)
	e := start(t, root, srv.URL)
	e.do(`(show "b.txt") (show "a.txt" 3) (keys "C-e !") (redline-ask "tidy up") (await-hunks 2)`)
	contains(t, "what the buffer shows", strings.Join(get[[]string](e, "(previews)"), "\n"), "rename this file to sub/c.txt")
	e.do(`(redline-accept-all) (await-end)`)
	equal(t, "the buffer's file", get[string](e, `(show "sub/c.txt") buffer-file-name`), filepath.Join(root, "sub", "c.txt"))
	equal(t, "its text", get[string](e, `(line-of "sub/c.txt" 3)`), "three!")
	if _, err := os.Stat(filepath.Join(root, "b.txt")); err == nil {
		t.Error("b.txt is still there")
	}
	equal(t, "the buffer of the deleted file", get[string](e, `(if (find-buffer-visiting (expand-file-name "b.txt")) "there" "gone")`), "gone")
	contains(t, "what the model is told", told(t, srv, 1), "sub/c.txt", "b.txt")
}
