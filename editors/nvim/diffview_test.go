package nvim_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// In the diff view hunks are decided and changed on the proposed side. What was changed
// there and not written outlives the decision on another hunk.
func TestDiffView(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		a := filepath.Join(root, "a.txt")
		srv := geminitest.New(t,
			geminitest.Do(replace(a, "two\n", "TWO\n"), replace(a, "four\n", ""), replace(a, "six\n", "SIX\nsix and a half\n"), replace(a, "ten\n", "TEN\n")),
			geminitest.Say("I see."),
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt') vim.cmd('Redline ask shout') hunks(4)`, nil)
		n.keys(`gg]r\rd`)
		equal(t, "the file's marks while the view is in front", joined(get[[]string](n, `return virtual()`)), "")
		if !get[bool](n, `return vim.wo.diff and vim.fn.bufname() == 'a.txt' and #vim.api.nvim_tabpage_list_wins(0) == 2`) {
			t.Error("the view does not stand in the file, beside what is proposed")
		}
		n.keys(`<C-w>l/SIX<CR>Aty<Esc>`)
		n.keys(`gg/TWO<CR>\ra`)
		n.lua(`hunks(3)`, nil)
		equal(t, "the proposed side", joined(get[[]string](n, `return lines()`)), "one\nTWO\nthree\nfive\nSIXty\nsix and a half\nseven\neight\nnine\nTEN")

		// A line of the document's own.
		n.keys(`/eight<CR>xu:write<CR>`)
		n.lua(`hunks(2)`, nil) // SIXty is written
		doc := `return lines(vim.fn.bufnr('a.txt'))`
		equal(t, "the document", joined(get[[]string](n, doc)), "one\nTWO\nthree\nfour\nfive\nSIXty\nsix and a half\nseven\neight\nnine\nten")
		n.keys(`/eight<CR>x`)
		n.lua(`vim.cmd('silent! write')`, nil)
		contains(t, "message", get[string](n, `return notes[#notes].text`), "only hunks")
		n.keys("u")

		// Nothing is shown of the lines that would go; the line after them stands for it.
		n.keys(`gg/five<CR>`)
		n.lua(`vim.cmd('Redline reject not four')`, nil)
		n.lua(`hunks(1)`, nil)
		n.lua(`vim.cmd('Redline accept file') idle()`, nil)
		equal(t, "the document", joined(get[[]string](n, doc)), "one\nTWO\nthree\nfour\nfive\nSIXty\nsix and a half\nseven\neight\nnine\nTEN")
		if !get[bool](n, `return #vim.api.nvim_list_tabpages() == 1 and not vim.wo.diff and vim.wo.winbar == ''`) {
			t.Error("the view has left something behind")
		}
		told := joined(told(t, srv, 1))
		contains(t, "what the model is told", told, "not four", "SIXty", "amended")
	})
}

// Both sides of a conflict are shown, and can be merged.
func TestMerge(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		a := filepath.Join(root, "a.txt")
		srv := geminitest.New(t,
			geminitest.Do(replace(a, "two\n", "TWO\n"), replace(a, "nine\n", "NINE\n")),
			geminitest.Say("I see."),
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt') vim.cmd('Redline ask shout') hunks(2)`, nil)
		n.keys("ggjAtyped<Esc>")
		n.lua(`await('a conflict', function() return select(2, require('redline.review').count()) == 1 end)`, nil)
		equal(t, "status", get[string](n, `return require('redline').status()`), "redline: 2 hunks, 1 conflict")
		contains(t, "virtual lines", get[string](n, `return joined_virtual()`), "your text stays", "1: was:\n1: two\n1: proposed:\n1: TWO\n8: NINE")
		n.keys(`gg]r\re`)
		equal(t, "the text to merge", joined(get[[]string](n, `return lines()`)), "<<<<<<< yours\ntwotyped\n=======\nTWO\n>>>>>>> proposed")
		n.keys(":write<CR>")
		contains(t, "message", get[string](n, `return notes[#notes].text`), "leave only the lines")
		n.keys("ggcGTWOtyped<Esc>:write<CR>")
		n.lua(`hunks(1)`, nil)
		equal(t, "the line", get[string](n, `return lines(vim.fn.bufnr('a.txt'))[2]`), "TWOtyped")
		n.lua(`vim.cmd.buffer('a.txt') vim.cmd('Redline accept all') idle()`, nil)
		contains(t, "what the model is told", joined(told(t, srv, 1)), "conflict", "their text stands")
	})
}

// New, renamed and deleted files are hunks like others: shown for what they are, decided,
// and nothing happens before.
func TestFileOperations(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"gone.txt": "gone\n", "kept.txt": "kept\n", "old.txt": "old\n", "same.txt": "same\n"})
		path := func(name string) string { return filepath.Join(root, name) }
		remove := func(name string) geminitest.Call {
			return geminitest.NewCall("delete_file", map[string]any{"file_path": path(name)})
		}
		rename := func(name, to string) geminitest.Call {
			return geminitest.NewCall("rename_file", map[string]any{"file_path": path(name), "new_path": path(to)})
		}
		srv := geminitest.New(t,
			geminitest.Do(remove("gone.txt"), remove("kept.txt"), rename("old.txt", "sub/new.txt"), rename("same.txt", "other.txt"),
				geminitest.NewCall("write_file", map[string]any{"file_path": path("made.txt"), "content": "made\n"})),
			geminitest.Say("I see."),
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('kept.txt') vim.cmd('Redline ask tidy up') hunks(5) vim.cmd('Redline qf')`, nil)
		equal(t, "the list", joined(get[[]string](n, `return vim.tbl_map(function(q) return vim.fs.basename(vim.api.nvim_buf_get_name(q.bufnr)) .. ' ' .. q.text end, vim.fn.getqflist())`)),
			"gone.txt delete this file -1\nkept.txt delete this file -1\nold.txt rename to sub/new.txt\nsame.txt rename to other.txt\nmade.txt new file +1")
		n.lua(`vim.cmd('cclose')`, nil)
		label := `local out = {} for _, m in ipairs(vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['redline.review'], 0, -1, { details = true })) do
			if m[4].virt_text then out[#out + 1] = vim.trim(m[4].virt_text[1][1]) end end return table.concat(out, ',')`
		equal(t, "the label", get[string](n, label), "redline 1/1 delete this file")
		n.lua(`vim.cmd('Redline! reject')`, nil)
		n.lua(`hunks(4)`, nil)
		n.keys("]r") // round to the first
		equal(t, "the file", get[string](n, `return vim.fn.expand('%:t')`), "gone.txt")
		n.keys(`\ra`)
		n.lua(`hunks(3) vim.cmd.edit('old.txt')`, nil)
		equal(t, "the label", get[string](n, label), "redline 1/1 rename to sub/new.txt")
		n.keys(`\ra`)
		n.lua(`hunks(2)`, nil)
		equal(t, "the buffer's name", get[string](n, `return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ':.')`), "sub/new.txt")
		n.lua(`vim.cmd.edit('same.txt') vim.cmd('Redline! reject') hunks(1) vim.cmd.edit('made.txt')`, nil)
		equal(t, "the label", get[string](n, label), "redline 1/1 new file")
		n.keys(`\ra`)
		n.lua(`idle() vim.cmd('silent write')`, nil)
		for name, want := range map[string]string{"kept.txt": "kept\n", "same.txt": "same\n", "sub/new.txt": "old\n", "made.txt": "made\n"} {
			equal(t, name, onDisk(t, path(name)), want)
		}
		files, _ := filepath.Glob(path("*.txt"))
		if len(files) != 3 || strings.Contains(strings.Join(files, " "), "gone") {
			t.Errorf("files: %v", files)
		}
	})
}
