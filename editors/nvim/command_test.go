package nvim_test

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// What goes with a prompt: selected lines, what is wrong in them, and what is named.
func TestContext(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem, "sub/b.txt": "b\n"})
		srv := geminitest.New(t, geminitest.Say("One."), geminitest.Say("Two."), geminitest.Say("Three."))
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt')
			vim.diagnostic.set(vim.api.nvim_create_namespace('x'), 0, {
				{ lnum = 2, col = 0, message = 'three is odd', source = 'lint', severity = 2 },
				{ lnum = 8, col = 0, message = 'nine is odd', severity = 2 },
			})`, nil)
		n.keys("ggjVjj:Redline ask what of @sub/b.txt, and these?<CR>")
		n.lua(`await('the answer', function() local s = require('redline.session').current return s and s.ended == 1 end)`, nil)
		got := srv.Requests()[0].Last().Texts()
		contains(t, "the prompt", got, "what of @sub/b.txt, and these?", "[selection a.txt, lines 2-4]\n```\ntwo\nthree\nfour\n```",
			"[diagnostics a.txt]\n```\nline 3: warning [lint]: three is odd\n```", "--- sub/b.txt ---\nb")
		if strings.Contains(got, "nine") {
			t.Errorf("the prompt has what was not selected:\n%s", got)
		}
		n.lua(`vim.cmd('9') vim.cmd('Redline fix')
			await('the answer', function() return require('redline.session').current.ended == 2 end)`, nil)
		contains(t, "the prompt", srv.Requests()[1].Last().Texts(), "Fix the problems", "lines 9-9", "nine is odd")
		n.lua(`vim.fn.setqflist({ { bufnr = vim.fn.bufnr('a.txt'), lnum = 4, text = 'look here' } })
			vim.ui.input = function(_, done) done('see @quickfix and @diagnostics') end
			vim.cmd('Redline ask')
			await('the answer', function() return require('redline.session').current.ended == 3 end)`, nil)
		contains(t, "the prompt", srv.Requests()[2].Last().Texts(), "a.txt:4: look here", "nine is odd")
	})
}

// Sessions, modes, models, and the end of a turn.
func TestSessions(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem, "b.txt": "b\n"})
		srv := geminitest.New(t,
			geminitest.Step{When: "hang on", Chunks: []geminitest.Chunk{{Text: "Well"}}, Fault: geminitest.HangMidStream},
			geminitest.Step{When: "at once", Model: "gemini-test", Chunks: []geminitest.Chunk{{Calls: []geminitest.Call{
				replace(filepath.Join(root, "a.txt"), "two\n", "TWO\n"), replace(filepath.Join(root, "b.txt"), "b\n", "B\n"),
			}}}},
			geminitest.Step{Model: "gemini-test", Chunks: []geminitest.Chunk{{Text: "Done."}}},
			geminitest.Say("A new start."),
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt') vim.cmd('Redline chat') vim.cmd('Redline ask hang on')
			await('text', function() return vim.tbl_contains(lines(), 'Well') end)
			vim.cmd('Redline cancel') idle()`, nil)
		contains(t, "the chat", joined(get[[]string](n, `return lines()`)), "Well", "cancelled")

		// A choice, and a name.
		n.lua(`vim.ui.select = function(items, opts, done) choices = vim.tbl_map(opts.format_item, items) done(items[#items], #items) end
			vim.cmd('Redline model') await('the model', function() return require('redline.session').current.model == 'gemini-test' end)
			vim.cmd('Redline mode autoEdit') await('the mode', function() return require('redline.session').current.mode == 'autoEdit' end)`, nil)
		contains(t, "the models", joined(get[[]string](n, `return choices`)), "gemini-2.5-pro  1.05M tokens, $1.25 in, $10 out a million (now)", "gemini-test")
		equal(t, "status", get[string](n, `return require('redline').status()`), "redline: autoEdit")

		// In this mode edits are there at once, also in files that were not open.
		n.lua(`require('redline').setup({ save = true }) vim.cmd('Redline ask at once')
			await('the answer', function() return require('redline.session').current.ended == 2 end)`, nil)
		contains(t, "a.txt", joined(get[[]string](n, `return lines(vim.fn.bufnr('a.txt'))`)), "TWO")
		equal(t, "b.txt on disk, as save is set", onDisk(t, filepath.Join(root, "b.txt")), "B\n")

		n.lua(`vim.cmd('Redline new') await('a new session', function() return require('redline.session').current.ended == nil end)`, nil)
		equal(t, "the new chat", joined(get[[]string](n, `return lines()`)), "## You\n\n")
		n.lua(`vim.cmd('Redline ask hello') idle()`, nil)
		n.lua(`vim.ui.select = function(items, _, done) done(items[1], 1) end
			vim.cmd('Redline sessions') await('the first session', function() return vim.tbl_contains(lines(), 'hang on') end)`, nil)
		if got := joined(get[[]string](n, `return lines()`)); strings.Contains(got, "A new start.") {
			t.Errorf("the first session's chat has the second's text:\n%s", got)
		}
	})
}

// The reason for a rejection is asked for.
func TestRejectAsks(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		srv := geminitest.New(t, geminitest.Do(replace(filepath.Join(root, "a.txt"), "one\n", "zero\none\n")), geminitest.Say("Oh."))
		n := start(t, version, root, srv.URL)
		n.lua(`vim.ui.input = function(opts, done) answer = done end
			vim.cmd.edit('a.txt') vim.cmd('Redline ask hello') hunks(1)`, nil)
		equal(t, "virtual lines", joined(get[[]string](n, `return virtual()`)), "0: zero")
		n.keys(`]r\rr`)
		n.lua(`answer(nil)`, nil) // thought better of it
		n.lua(`hunks(1)`, nil)
		n.keys(`\rr`)
		n.lua(`answer('start at one') idle()`, nil)
		contains(t, "what the model is told", joined(told(t, srv, 1)), "rejected", "start at one")
		equal(t, "the buffer", joined(get[[]string](n, `return lines()`))+"\n", poem)
	})
}

// agent/ask and agent/approve, several at a time: one question after the other, each
// with its own answer.
func TestQuestionsInTurn(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		n := start(t, version, workspace(t, nil), "")
		got := get[[]string](n, `
			local asked, out = {}, {}
			vim.ui.select = function(items, opts, done) asked[#asked + 1] = function(i) done(items[i]) end end
			vim.ui.input = function(opts, done) asked[#asked + 1] = function(text) done(text) end end
			local q = require('redline.questions')
			local function run(f, p) coroutine.wrap(function() local answer = vim.json.encode(f(p)) table.insert(out, answer) end)() end
			run(q.ask, { question = 'Which?', options = { 'a', { label = 'b' } } })
			run(q.ask, { question = 'Why?' })
			run(q.approve, { title = 'Run', options = { { optionId = 'yes', label = 'Yes', kind = 'once' }, { optionId = 'no', label = 'No', kind = 'reject' } } })
			for i, answer in ipairs({ 2, 'because', 3 }) do
				await('question ' .. i, function() return #asked == i end)
				asked[i](answer)
				await('answer ' .. i, function() return #out == i end)
			end
			return out`)
		equal(t, "the answers", joined(got), `{"answer":"b"}`+"\n"+`{"answer":"because"}`+"\n"+`{"optionId":"no"}`)
	})
}

// The server's code actions work with Neovim's own commands, also before there is a
// session, and Neovim lists the server with the others.
func TestCodeAction(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		srv := geminitest.New(t, geminitest.Do(replace(filepath.Join(root, "a.txt"), "two\n", "TWO\n")), geminitest.Say("Fixed."))
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt')
			vim.diagnostic.set(vim.api.nvim_create_namespace('x'), 0, { { lnum = 1, col = 0, end_col = 3, message = 'two is small',
				severity = 1 } })
			local ready
			require('redline.client').ready(function() ready = true end)
			await('the server', function() return ready end)
			vim.cmd('2')
			vim.lsp.buf.code_action({ apply = true, filter = function(a) return a.title:find('fix this') end })
			hunks(1) vim.cmd('Redline accept') idle() vim.cmd('Redline chat')`, nil)
		contains(t, "the prompt", srv.Requests()[0].Last().Texts(), "two is small")
		contains(t, "the chat", joined(get[[]string](n, `return lines()`)), "two is small", "Fixed.")
		contains(t, "a.txt", joined(get[[]string](n, `return lines(vim.fn.bufnr('a.txt'))`)), "TWO")
		n.lua(`vim.cmd('checkhealth vim.lsp')`, nil)
		contains(t, "the list of servers", joined(get[[]string](n, `return lines()`)), "redline")
	})
}
