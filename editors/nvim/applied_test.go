package nvim_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// In mode autoEdit edits are applied at once. What came is shown until it was looked at,
// is kept or taken back hunk by hunk, and is in a list as long as it stands.
func TestApplied(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem, "b.txt": "b\n"})
		a, b := filepath.Join(root, "a.txt"), filepath.Join(root, "b.txt")
		srv := geminitest.New(t,
			geminitest.Do(replace(a, "two\n", "TWO\n"), replace(a, "five\n", ""), replace(a, "nine\n", "NINE\nnine and a half\n"), replace(b, "b\n", "B\n")),
			geminitest.Say("Done."),
			geminitest.Do(replace(a, "ten\n", "TEN\n")),
			geminitest.Say("Done too."),
			geminitest.Say("I see."),
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt') vim.api.nvim_win_set_cursor(0, { 3, 2 })
			vim.cmd('Redline mode autoEdit') vim.cmd('Redline ask shout') idle()`, nil)
		now := "one\nTWO\nthree\nfour\nsix\nseven\neight\nNINE\nnine and a half\nten"
		equal(t, "the buffer", joined(get[[]string](n, `return lines()`)), now)
		equal(t, "what was there", joined(get[[]string](n, `return virtual()`)), "1: two\n4: five\n7: nine")
		equal(t, "status", get[string](n, `return require('redline').status()`), "redline: 4 applied, autoEdit")
		if strings.Contains(get[string](n, `return vim.inspect(notes)`), "to review") {
			t.Error("there is nothing to review, and a message says so")
		}
		equal(t, "the cursor", get[string](n, `return table.concat(vim.api.nvim_win_get_cursor(0), ',')`), "3,2")

		n.keys(`gg]r`)
		n.keys(`\ra`) // two is kept
		n.keys(`]r`)
		if line := get[int](n, `return vim.fn.line('.')`); line != 5 {
			t.Fatalf("]r goes to line %d, want 5", line)
		}
		n.lua(`vim.cmd('Redline! reject')`, nil) // five comes back
		n.lua(`await('five', function() return vim.tbl_contains(lines(), 'five') and #virtual() == 1 end)`, nil)
		equal(t, "what is left to look at", joined(get[[]string](n, `return virtual()`)), "8: nine")
		list := `vim.cmd('Redline applied') local out = vim.tbl_map(function(q) return vim.fs.basename(vim.api.nvim_buf_get_name(q.bufnr)) .. ':' .. q.lnum .. ' ' .. q.text end, vim.fn.getqflist()) vim.cmd('cclose') return out`
		equal(t, "what stands", joined(get[[]string](n, list)),
			"a.txt:2 applied -1 +1 TWO\na.txt:9 applied -1 +2 NINE\nb.txt:1 applied -1 +1 B")

		// Undone by the user: it does not stand, and nothing is shown of it.
		n.lua(`vim.cmd.buffer('b.txt')`, nil)
		n.keys("u")
		equal(t, "b.txt", joined(get[[]string](n, `return lines()`)), "b")
		equal(t, "what stands", joined(get[[]string](n, list)), "a.txt:2 applied -1 +1 TWO\na.txt:9 applied -1 +2 NINE")

		// Two proposals in one file: the newest is taken back, then all.
		n.lua(`vim.cmd.buffer('a.txt') local s = require('redline.session').current local before = s.ended
			vim.cmd('Redline ask more') await('the second turn', function() return s.ended > before end)`, nil)
		equal(t, "marks of both", joined(get[[]string](n, `return virtual()`)), "8: nine\n10: ten")
		n.keys("gg")
		n.lua(`vim.cmd('Redline revert proposal') await('ten', function() return lines()[11] == 'ten' end)
			assert(lines()[2] == 'TWO', 'the older proposal stands')`, nil)
		n.lua(`vim.cmd('Redline revert all') await('all to be as before', function() return table.concat(lines(), '\n') == `+quote(strings.TrimSuffix(poem, "\n"))+` and #require('redline.applied').hunks() == 0 and #virtual() == 0 end)`, nil)
		equal(t, "marks", joined(get[[]string](n, `return virtual()`)), "")
		n.lua(`vim.cmd('Redline revert') await('a message', function() return noted('nothing of the agent stands') end)`, nil)
		n.keys("u") // the last that was taken back is one step
		if text := joined(get[[]string](n, `return lines()`)); text == strings.TrimSuffix(poem, "\n") {
			t.Error("undo does not bring back what was taken back")
		}
		n.keys("<C-r>")
		n.lua(`vim.cmd('Redline ask and?') local s = require('redline.session').current await('the third turn', function() return s.ended == 3 end)`, nil)
		r := srv.Requests()
		var told strings.Builder
		for _, p := range r[len(r)-1].Last().Parts {
			if p.Text != nil {
				told.WriteString(*p.Text)
			}
		}
		contains(t, "what the model is told", told.String(), "took back")
	})
}

// A hunk that the user accepted is taken back at the cursor, though the text has moved.
func TestRevertAccepted(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		a := filepath.Join(root, "a.txt")
		srv := geminitest.New(t,
			geminitest.Do(replace(a, "two\n", "TWO\n"), replace(a, "nine\n", "NINE\n")),
			geminitest.Say("Done."),
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt') vim.cmd('Redline ask shout') hunks(2)`, nil)
		// Selected lines: what touches them is decided, the rest is not.
		n.keys(`5GVG\ra`)
		n.lua(`hunks(1)`, nil)
		equal(t, "the buffer", joined(get[[]string](n, `return lines()`)), strings.Replace(strings.TrimSuffix(poem, "\n"), "nine", "NINE", 1))
		n.lua(`vim.cmd('Redline accept all') idle()`, nil)
		n.keys("ggOzero<CR>and a half<Esc>")
		n.lua(`vim.cmd('12') assert(vim.api.nvim_get_current_line() == 'ten', 'the line')`, nil)
		n.lua(`vim.cmd('Redline revert')`, nil)
		contains(t, "message", get[string](n, `return notes[#notes].text`), "no applied hunk here")
		n.keys("k")
		n.lua(`vim.cmd('Redline revert') await('nine', function() return lines()[11] == 'nine' end)`, nil)
		equal(t, "the buffer", joined(get[[]string](n, `return lines()`)), "zero\nand a half\none\nTWO\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten")
		n.keys("u")
		equal(t, "the line after undo", get[string](n, `return lines()[11]`), "NINE")
	})
}

// With the review at the end of the turn, the edits of all steps come as one proposal, with
// both changes of a line in one hunk. Until then nothing is shown, and nothing is changed.
func TestReviewAtTurn(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		a := filepath.Join(root, "a.txt")
		srv := geminitest.New(t,
			geminitest.Do(replace(a, "two\n", "TWO\n")),
			geminitest.Do(replace(a, "TWO\n", "TWO!\n"), replace(a, "nine\n", "")),
			geminitest.Say("Done."), geminitest.Say("I see."),
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt') vim.cmd('Redline reviewat later') assert(noted('step or turn'), 'a wrong word is told')
			vim.cmd('Redline reviewat turn') await('the message', function() return noted('when the turn ends') end)
			vim.cmd('Redline ask shout') hunks(2)`, nil)
		equal(t, "virtual lines", joined(get[[]string](n, `return virtual()`)), "1: TWO!")
		if c := get[int](n, `local c = 0 for _, n in ipairs(notes) do if n.text:find('to review') then c = c + 1 end end return c`); c != 1 {
			t.Errorf("the user is told %d times that there is something to review", c)
		}
		n.keys(`gg]r\ra`)
		n.lua(`hunks(1) vim.cmd('Redline! reject all') idle()`, nil)
		equal(t, "the buffer", joined(get[[]string](n, `return lines()`)), strings.Replace(strings.TrimSuffix(poem, "\n"), "two", "TWO!", 1))
	})
}

// What else is in a buffer stays as it is: folds closed, other plugins' virtual text, the
// cursor, the window and the mode, when hunks come.
func TestNothingDisturbed(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem, "b.txt": poem})
		a := filepath.Join(root, "a.txt")
		srv := geminitest.New(t,
			geminitest.Do(replace(a, "two\n", "TWO\n"), replace(a, "seven\n", "SEVEN\n")),
			geminitest.Say("Done."),
		)
		n := start(t, version, root, srv.URL)
		const state = `local other = vim.api.nvim_create_namespace('other')
			return vim.json.encode({ vim.fn.foldclosed(7), vim.fn.foldclosed(2), vim.api.nvim_win_get_cursor(0), vim.fn.winsaveview().topline, vim.api.nvim_get_current_win(),
				#vim.api.nvim_list_wins(), vim.api.nvim_get_mode().mode, vim.api.nvim_buf_get_extmarks(0, other, 0, -1, { details = true })[1][4].virt_text,
				vim.fn.getreg('"'), vim.fn.getreg('/'), vim.fn.getqflist({ nr = '$' }).nr, vim.b.changedtick })`
		n.lua(`vim.cmd('split b.txt') vim.cmd('wincmd p | edit a.txt') vim.wo.foldmethod = 'manual' vim.cmd('6,8fold')
			vim.api.nvim_buf_set_extmark(0, vim.api.nvim_create_namespace('other'), 1, 0, { virt_text = { { 'blame', 'Comment' } } })
			vim.api.nvim_win_set_cursor(0, { 3, 2 }) vim.cmd('normal! yl')`, nil)
		before := get[string](n, state)
		n.lua(`vim.cmd('Redline ask shout') hunks(2)`, nil)
		equal(t, "the editor", get[string](n, state), before)
		n.keys("]r") // asked for: the fold opens, and it is there
		equal(t, "the cursor", get[string](n, `return vim.fn.line('.') .. ' ' .. vim.fn.foldclosed(7)`), "7 -1")
		n.lua(`vim.cmd('Redline! reject all') idle()`, nil)
	})
}
