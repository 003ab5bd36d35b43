package nvim_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// Accepted and written, a file differs in the hunk and in no other byte, whether it
// was open or not.
func TestBytes(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		for name, text := range map[string]string{
			"dos":        "one\r\ntwo\r\nthree\r\n",
			"no end":     "one\ntwo\nthree",
			"last line":  "one\ntwo",
			"end added":  "one\ntwo!",
			"byte order": "\ufeffone\ntwo\nthree\n",
			"latin1":     "one \xe9\ntwo\nthree\n",
			"mixed":      "one\r\ntwo\nthree\r\n",
			"wide":       "one 😀 ä\ntwo\nthree 😀\n",
		} {
			for _, open := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, open %t", name, open), func(t *testing.T) {
					root := workspace(t, map[string]string{"a.txt": text})
					file := filepath.Join(root, "a.txt")
					old, now := "two", "TWO"
					if name == "end added" {
						old, now = "two!", "TWO!\n"
					}
					srv := geminitest.New(t, geminitest.Do(replace(file, old, now)), geminitest.Say("Done."))
					n := start(t, version, root, srv.URL)
					if open {
						n.lua(`vim.cmd.edit('a.txt')`, nil)
					}
					n.lua(`vim.cmd('Redline ask hello') hunks(1) vim.cmd('Redline accept all') idle() vim.cmd('silent wall')`, nil)
					if got, want := onDisk(t, file), strings.Replace(text, old, now, 1); got != want {
						t.Errorf("the file: got %q, want %q\nnotes: %s", got, want, get[string](n, `return vim.inspect(notes)`))
					}
					if after := joined(told(t, srv, 1)); strings.Contains(after, "could not be checked") || strings.Contains(after, "Hunk ") {
						t.Errorf("the model is told:\n%s", after)
					}
				})
			}
		}
	})
}

// Much at once: 200 hunks, and one of 10,000 lines.
func TestLarge(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		var text, changed strings.Builder
		for i := range 2000 {
			line := fmt.Sprintf("line %d\n", i)
			text.WriteString(line)
			if i%10 == 0 {
				line = strings.ToUpper(line)
			}
			changed.WriteString(line)
		}
		root := workspace(t, map[string]string{"a.txt": text.String(), "b.txt": "b\n"})
		long := strings.Repeat("a new line\n", 10000)
		write := func(name, content string) geminitest.Call {
			return geminitest.NewCall("write_file", map[string]any{"file_path": filepath.Join(root, name), "content": content})
		}
		srv := geminitest.New(t, geminitest.Do(write("a.txt", changed.String()), write("b.txt", "b\n"+long)), geminitest.Say("Done."))
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt') vim.cmd.edit('b.txt') vim.cmd('Redline ask hello') hunks(201)`, nil)
		contains(t, "virtual lines", joined(get[[]string](n, `return virtual()`)), "9600 more lines")
		n.lua(`vim.cmd('Redline next') vim.cmd('Redline diff')`, nil)
		if lines := get[int](n, `return #lines(vim.fn.bufnr('redline://proposed'))`); lines != 10001 && lines != 2000 {
			t.Errorf("the diff has %d lines", lines)
		}
		n.lua(`vim.cmd('Redline accept all') idle() vim.cmd('silent wall')`, nil)
		for name, want := range map[string]string{"a.txt": changed.String(), "b.txt": "b\n" + long} {
			if got := onDisk(t, filepath.Join(root, name)); got != want {
				t.Errorf("%s is not as proposed: %d bytes, want %d; notes: %s\nthe model is told: %.2000s",
					name, len(got), len(want), get[string](n, `return vim.inspect(notes)`), joined(told(t, srv, 1)))
			}
		}
	})
}

// A file that goes away, and one that may not be written, while under review.
func TestAwkwardFiles(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"gone.txt": "one\ntwo\n", "fixed.txt": "one\ntwo\n"})
		srv := geminitest.New(t,
			geminitest.Do(replace(filepath.Join(root, "gone.txt"), "two", "TWO"), replace(filepath.Join(root, "fixed.txt"), "two", "TWO")),
			geminitest.Say("Done."),
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('gone.txt') vim.cmd('view fixed.txt') vim.cmd('Redline ask hello') hunks(2)
			vim.uv.fs_unlink(vim.env.REDLINE_ROOT .. '/gone.txt')
			vim.bo.modifiable = false
			vim.cmd('Redline accept all') idle()`, nil)
		equal(t, "the file that is gone, in its buffer", joined(get[[]string](n, `return lines(vim.fn.bufnr('gone.txt'))`)), "one\nTWO")
		equal(t, "the file that may not change", joined(get[[]string](n, `return lines()`)), "one\ntwo")
		contains(t, "message", get[string](n, `return await('a message', function() return noted('not applied') end).text`), "fixed.txt", "modifiable")
		contains(t, "what the model is told", joined(told(t, srv, 1)), "modifiable")
	})
}
