package nvim_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

const poem = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

func joined(lines []string) string { return strings.Join(lines, "\n") }

// The main job: a prompt, hunks in the buffer, one accepted, one rejected with a
// reason, a new file; the model is told what really happened.
func TestReview(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		a := filepath.Join(root, "a.txt")
		srv := geminitest.New(t,
			geminitest.Do(geminitest.NewCall("read_file", map[string]any{"path": "a.txt"})),
			geminitest.Do(
				replace(a, "two\n", "TWO\n"),
				replace(a, "nine\n", "NINE\nnine and a half\n"),
				geminitest.NewCall("write_file", map[string]any{"file_path": filepath.Join(root, "sub", "new.txt"), "content": "fresh\n"}),
			),
			geminitest.Say("Done."),
		)
		n := start(t, version, root, srv.URL)

		// Typed and not saved: the agent reads it, and it survives.
		n.lua(`vim.cmd.edit('a.txt'); vim.api.nvim_buf_set_lines(0, 4, 5, false, { 'five, unsaved' })`, nil)
		n.lua(`vim.cmd('Redline ask shout'); hunks(3)`, nil)
		contains(t, "what read_file told the model", joined(told(t, srv, 1)), "five, unsaved")

		before := "one\ntwo\nthree\nfour\nfive, unsaved\nsix\nseven\neight\nnine\nten"
		equal(t, "the buffer under review", joined(get[[]string](n, `return lines()`)), before)
		equal(t, "virtual lines", joined(get[[]string](n, `return virtual()`)), "1: TWO\n8: NINE\n8: nine and a half")
		equal(t, "status", get[string](n, `return require('redline').status()`), "redline: 3 hunks")
		contains(t, "message", get[string](n, `return notes[#notes].text`), "3 hunks in 2 files")

		n.keys("gg]r")
		if line := get[int](n, `return vim.fn.line('.')`); line != 2 {
			t.Fatalf("]r goes to line %d, want 2", line)
		}
		n.keys(`\ra`)
		n.lua(`hunks(2)`, nil)
		equal(t, "the buffer after one hunk", joined(get[[]string](n, `return lines()`)), strings.Replace(before, "two", "TWO", 1))
		n.keys("]r")
		if line := get[int](n, `return vim.fn.line('.')`); line != 9 {
			t.Fatalf("]r goes to line %d, want 9", line)
		}
		n.lua(`vim.cmd('Redline reject nine is fine'); hunks(1)`, nil)
		n.keys("]r") // on to the next file, which is not there yet
		equal(t, "the file of the last hunk", get[string](n, `return vim.api.nvim_buf_get_name(0)`), filepath.Join(root, "sub", "new.txt"))
		equal(t, "virtual lines of a new file", joined(get[[]string](n, `return virtual()`)), "0: fresh")
		n.lua(`vim.cmd('Redline accept file'); idle()`, nil)
		equal(t, "the new file", joined(get[[]string](n, `return lines()`)), "fresh")

		after := joined(told(t, srv, 2))
		contains(t, "what the model is told", after, "rejected", "nine is fine")
		equal(t, "the disk", onDisk(t, a), poem)
		n.lua(`vim.cmd.write({ mods = { silent = true } })`, nil)
		equal(t, "the new file on disk", onDisk(t, filepath.Join(root, "sub", "new.txt")), "fresh\n")

		// One step of undo takes the accepted hunk back and nothing else.
		n.lua(`vim.cmd.buffer('a.txt')`, nil)
		equal(t, "marks", joined(get[[]string](n, `return virtual()`)), "")
		equal(t, "map", get[string](n, `return vim.fn.maparg(']r', 'n')`), "")
		n.keys("u")
		equal(t, "the buffer after undo", joined(get[[]string](n, `return lines()`)), before)
	})
}

// The user types between the decision and the edit: the edit that was on its way is
// refused, and made anew on what is there.
func TestTypingRaces(t *testing.T) {
	for name, c := range map[string]struct{ typed, want string }{
		"above":         {`vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'zero' })`, "zero\none\nTWO\nthree"},
		"in the hunk":   {`vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'two, by me' })`, "one\ntwo, by me\nthree"},
		"takes it away": {`vim.api.nvim_buf_set_lines(0, 1, 2, false, {})`, "one\nthree"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, version string) {
				root := workspace(t, map[string]string{"a.txt": "one\ntwo\nthree\n"})
				srv := geminitest.New(t,
					geminitest.Do(replace(filepath.Join(root, "a.txt"), "two\n", "TWO\n")),
					geminitest.Say("Well."),
				)
				n := start(t, version, root, srv.URL)
				n.lua(`vim.cmd.edit('a.txt'); vim.cmd('Redline ask shout'); hunks(1)`, nil)
				// No event is taken between the two, so the server decides on the old text.
				n.lua(`vim.cmd('Redline accept all') `+c.typed+` idle()`, nil)
				equal(t, "the buffer", joined(get[[]string](n, `return lines()`)), c.want)
				if !strings.Contains(c.want, "TWO") {
					contains(t, "message", get[string](n, `return await('a message', function() return noted('not applied') end).text`), "a.txt")
					// The server cannot know whether text in a hunk's place was typed for it.
					if after := joined(told(t, srv, 1)); !strings.Contains(after, "conflict") && !strings.Contains(after, "amended") {
						t.Errorf("the model is told:\n%s", after)
					}
				}
			})
		})
	}
}

// A hunk whose lines the user changed is a conflict: it shows, it is never applied,
// and it heals when the change is undone.
func TestConflict(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		a := filepath.Join(root, "a.txt")
		srv := geminitest.New(t,
			geminitest.Do(replace(a, "two\n", "TWO\n"), replace(a, "eight\n", "EIGHT\n")),
			geminitest.Say("I see."),
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt'); vim.cmd('Redline ask shout'); hunks(2)`, nil)
		n.keys("ggjAtyped<Esc>")
		n.lua(`await('a conflict', function() return joined_virtual():find('lines meanwhile') end)`, nil)
		n.keys("u")
		n.lua(`await('no conflict', function() return not joined_virtual():find('lines meanwhile') end)`, nil)
		n.keys("ggjAtyped<Esc>ggOabove<Esc>")
		n.lua(`await('a conflict', function() return joined_virtual():find('lines meanwhile') end)`, nil)
		n.lua(`vim.cmd('Redline accept all'); idle()`, nil)
		want := "above\none\ntwotyped\nthree\nfour\nfive\nsix\nseven\nEIGHT\nnine\nten"
		equal(t, "the buffer", joined(get[[]string](n, `return lines()`)), want)
		contains(t, "what the model is told", joined(told(t, srv, 1)), "conflict")
	})
}

// The views of the hunks, and a text of the user's own.
func TestViews(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem, "b.txt": "b\n"})
		a := filepath.Join(root, "a.txt")
		srv := geminitest.New(t,
			geminitest.Do(replace(a, "two\n", ""), replace(a, "eight\n", "EIGHT\n"), replace(filepath.Join(root, "b.txt"), "b\n", "B\n")),
			geminitest.Say("I see."),
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt'); vim.cmd('Redline ask shout'); hunks(3)`, nil)

		n.lua(`vim.cmd('Redline diff')`, nil)
		got := get[[]string](n, `local out = {} for _, w in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
			out[#out + 1] = tostring(vim.wo[w].diff) .. ' ' .. table.concat(lines(vim.api.nvim_win_get_buf(w)), ',') end return out`)
		equal(t, "the diff", joined(got), "true one,two,three,four,five,six,seven,eight,nine,ten\ntrue one,three,four,five,six,seven,EIGHT,nine,ten")

		n.lua(`vim.cmd('Redline qf')`, nil)
		list := `return vim.tbl_map(function(q) return vim.fs.basename(vim.api.nvim_buf_get_name(q.bufnr)) .. ':' .. q.lnum .. ' ' .. q.text end, vim.fn.getqflist())`
		equal(t, "the quickfix list", joined(get[[]string](n, list)), "a.txt:2 -1 +0 two\na.txt:8 -1 +1 EIGHT\nb.txt:1 -1 +1 B")
		n.lua(`vim.cmd('cclose | cc 2')`, nil)

		n.lua(`vim.cmd('Redline amend')`, nil)
		equal(t, "the text to amend", joined(get[[]string](n, `return lines()`)), "EIGHT")
		n.keys("ccacht<Esc>:write<CR>")
		n.lua(`hunks(2)`, nil)
		equal(t, "the diff after that", get[string](n, `return table.concat(lines(vim.fn.bufnr('redline://proposed')), ',')`),
			"one,three,four,five,six,seven,acht,nine,ten")
		n.lua(`vim.cmd.buffer('a.txt') vim.cmd('Redline accept file'); hunks(1)`, nil)
		equal(t, "the buffer", joined(get[[]string](n, `return lines()`)), "one\nthree\nfour\nfive\nsix\nseven\nacht\nnine\nten")
		equal(t, "the quickfix list", joined(get[[]string](n, list)), "b.txt:1 -1 +1 B")
		if tabs := get[int](n, `return #vim.api.nvim_list_tabpages()`); tabs != 1 {
			t.Errorf("the diff of a file with nothing left to decide is still there: %d tabs", tabs)
		}

		// Never opened: it is, and the server sees what became of it.
		n.lua(`vim.cmd('Redline accept all'); idle()`, nil)
		equal(t, "b.txt", joined(get[[]string](n, `return lines(vim.fn.bufnr('b.txt'))`)), "B")
		after := joined(told(t, srv, 1))
		contains(t, "what the model is told", after, "amended", "acht")
		if strings.Contains(after, "could not be checked") {
			t.Errorf("the server did not see a file that was not open:\n%s", after)
		}
	})
}
