package nvim_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// The chat while an answer streams: what is typed for the next prompt stays, and so
// does the cursor; thoughts and calls are folded.
func TestChatStreams(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		srv := geminitest.New(t,
			geminitest.Step{Chunks: []geminitest.Chunk{
				{Thought: "**Looking**\nat the file first."},
				{Call: ptr(geminitest.NewCall("read_file", map[string]any{"path": "a.txt"}))},
			}},
			geminitest.Step{Chunks: []geminitest.Chunk{
				{Text: "It is a\n\n```\npo"},
				{Text: "em\n```\n", Gate: "more"},
			}, EndGate: "end"},
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd('Redline chat')`, nil)
		n.keys("iwhat is @a.txt?<Esc><CR>")
		n.lua(`await('the first text', function() return vim.tbl_contains(lines(), 'po') end)`, nil)
		contains(t, "what the model was asked", srv.Requests()[0].Last().Texts(), "what is @a.txt?", "--- a.txt ---\none")

		// Reading further up, and typing below: neither is moved.
		n.keys("Gichange of<Esc>")
		pos := `local c = vim.api.nvim_win_get_cursor(0) return vim.fn.getline(c[1]) .. ':' .. c[2] .. ':' .. c[1] - vim.fn.line('$')`
		equal(t, "the cursor", get[string](n, pos), "change of:8:0")
		srv.Release("more")
		n.lua(`await('more text', function() return vim.tbl_contains(lines(), 'poem') end)`, nil)
		equal(t, "the cursor in the prompt", get[string](n, pos), "change of:8:0")
		n.keys("gg")
		srv.Release("end")
		n.lua(`idle()`, nil)
		if line := get[int](n, `return vim.fn.line('.')`); line != 1 {
			t.Errorf("the cursor went from line 1 to %d", line)
		}
		got := joined(get[[]string](n, `return lines()`))
		if want := "It is a\n\n```\npoem\n```\n\n## You\n\nchange of"; !strings.HasSuffix(got, want) {
			t.Errorf("the chat: got\n%s\nwant at the end\n%s", got, want)
		}
		contains(t, "the chat", got, "## You\n\nwhat is @a.txt?", "## Redline\n\n> *Thought:* Looking", "> ✓ ", "a.txt")
		folds := `local out = {} for l = 1, vim.fn.line('$') do if vim.fn.foldclosed(l) == l then out[#out + 1] = vim.fn.foldtextresult(l) end end return out`
		contains(t, "folds", joined(get[[]string](n, folds)), "▸ Thought: Looking")

		// Undo is for what was typed; commands on the whole buffer change the prompt only.
		n.keys("Gu")
		contains(t, "the chat after undo", joined(get[[]string](n, `return lines()`)), "poem")
		n.lua(`vim.cmd('%s/poem/song/')
			await('the transcript put back', function() return vim.tbl_contains(lines(), 'poem') and not vim.tbl_contains(lines(), 'song') end)`, nil)
		contains(t, "the chat after a substitution", joined(get[[]string](n, `return lines()`)), "poem")
		n.keys("ggdGggiwhat else<Esc>")
		n.lua(`await('the transcript put back', function() return vim.tbl_contains(lines(), 'poem') end)`, nil)
		if got := joined(get[[]string](n, `return lines()`)); !strings.HasSuffix(got, "## You\n\nwhat else") {
			t.Errorf("the chat after all was deleted and something typed:\n%s", got)
		}
	})
}

// What comes while somebody types is folded as if nobody did: in the chat, and in another
// window, where Neovim folds nothing by itself.
func TestFoldsWhileTyping(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		think := func(gate string) geminitest.Step {
			return geminitest.Step{Gate: gate, Chunks: []geminitest.Chunk{{Thought: "**Looking**\nat one thing\nand another"}, {Text: "Seen by " + gate + "."}}}
		}
		srv := geminitest.New(t, think("first"), think("second"))
		x := inTerminal(t, version, workspace(t, map[string]string{"a.txt": poem, "b.txt": poem}), srv.URL, 100, 40)
		folded := func(n int) string {
			return fmt.Sprintf(`vim.api.nvim_win_call(vim.fn.bufwinid(require('redline.chat').buffer()), function()
				local c, l, last = 0, 1, vim.fn.line('$')
				while l <= last do
					if vim.fn.foldclosed(l) == l and vim.fn.foldclosedend(l) == l + 2 then c = c + 1 end
					l = l + 1
				end
				return c == %d and vim.fn.mode() == 'i' end)`, n)
		}
		x.tmux("send-keys", ":edit a.txt", "Enter", ":Redline chat", "Enter", "ilook")
		x.tmux("send-keys", "C-s")
		x.await("look") // what was sent is shown
		x.tmux("send-keys", "this is typed, @", "Tab")
		x.await("@diagnostics")
		srv.Release("first")
		x.until(ended) // nothing moves below the menu
		x.tmux("send-keys", "C-n", "C-n")
		x.tmux("send-keys", "C-y")
		x.await("Seen by first.")
		contains(t, "the screen", x.await("▸ Thought: Looking"), "this is typed")
		x.until(folded(1))
		x.tmux("send-keys", " and more")
		x.await("this is typed, @quickfix and more")
		// In another window.
		x.tmux("send-keys", "Escape")
		x.tmux("send-keys", ":Redline ask more", "Enter", "C-w", "p", "Oin the file")
		x.await("in the file")
		srv.Release("second")
		x.await("Seen by second.")
		x.until(folded(2))
		x.tmux("send-keys", " and on")
		x.await("in the file and on")
		x.tmux("send-keys", "Escape")
		x.until(ended)
	})
}

func ptr[T any](v T) *T { return &v }

// A long answer in many pieces comes out whole, with the chat closed in between.
func TestChatManyDeltas(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, nil)
		var chunks []geminitest.Chunk
		var want strings.Builder
		for i := range 300 { // never the same, which would be cut as a loop
			words := fmt.Sprintf("%d words\nand ", i)
			chunks = append(chunks, geminitest.Chunk{Text: words}, geminitest.Chunk{Text: "more, "})
			want.WriteString(words + "more, ")
		}
		chunks[200].Gate = "half"
		srv := geminitest.New(t, geminitest.Step{Chunks: chunks})
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd('Redline ask go on') vim.cmd('Redline chat')
			await('text', function() return vim.tbl_contains(lines(), 'and more, 1 words') end) vim.cmd('close')`, nil)
		srv.Release("half")
		n.lua(`idle() vim.cmd('Redline chat')`, nil)
		contains(t, "the chat", joined(get[[]string](n, `return lines()`)), want.String()+"\n\n## You\n\n")
	})
}

// Without credentials the user is told what to do, in a message and in the chat.
func TestNoKey(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		n := start(t, version, workspace(t, nil), "")
		n.lua(`vim.cmd('Redline ask hello') idle()`, nil)
		contains(t, "message", get[string](n, `return noted('GEMINI_API_KEY').text`), "Add that to your environment")
		n.lua(`vim.cmd('Redline chat')`, nil)
		contains(t, "the chat", joined(get[[]string](n, `return lines()`)), "hello", "> **Error:** GEMINI_API_KEY")
		n.lua(`vim.cmd('checkhealth redline')`, nil)
		contains(t, "checkhealth", joined(get[[]string](n, `return lines()`)), "the server runs", "GEMINI_API_KEY")
	})
}

// A server that is not there; see TestCrash for one that ends.
func TestServerGone(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		srv := geminitest.New(t, geminitest.Say("Here I am."))
		n := start(t, version, workspace(t, nil), srv.URL)
		n.lua(`require('redline').setup({ cmd = { 'no-such-server' } }) vim.cmd('Redline ask hello')`, nil)
		contains(t, "message", get[string](n, `return await('a message', function() return noted('no-such-server') end).text`), "checkhealth")
		n.lua(`vim.cmd('checkhealth redline')`, nil)
		contains(t, "checkhealth", joined(get[[]string](n, `return lines()`)), "is not there")

		// When it is there, the prompt that was given back is sent.
		n.lua(`require('redline').setup({ cmd = { vim.env.REDLINE_BIN, 'serve' } }) vim.cmd('Redline chat')`, nil)
		n.keys("G<CR>")
		n.lua(`await('the answer', function() return vim.tbl_contains(lines(), 'Here I am.') end)`, nil)
	})
}

// Commands need a yes; what the user has not saved is saved first where it matters.
func TestApprove(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": "on disk\n"})
		run := geminitest.NewCall("run_shell_command", map[string]any{"command": "cat a.txt"})
		srv := geminitest.New(t, geminitest.Do(run), geminitest.Do(run), geminitest.Do(run), geminitest.Say("Enough."))
		n := start(t, version, root, srv.URL)
		n.lua(`asked = {}
			vim.ui.select = function(items, opts, done)
				asked[#asked + 1] = { prompt = opts.prompt, items = vim.tbl_map(opts.format_item, items), answer = function(i) done(items[i], i) end }
			end
			vim.cmd.edit('a.txt') vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'typed' })
			vim.cmd('Redline ask cat it') await('a question', function() return asked[1] end)`, nil)
		contains(t, "the question", get[string](n, `return asked[1].prompt`), "cat a.txt")
		t.Log(get[[]string](n, `return asked[1].items`))
		n.lua(`asked[1].answer(nil) await('a second question', function() return asked[2] end)`, nil)
		if after := joined(told(t, srv, 1)); strings.Contains(after, "typed") || strings.Contains(after, "on disk") {
			t.Errorf("the command ran although nobody agreed:\n%s", after)
		}
		n.lua(`asked[2].answer(1) await('the end of the second call', function() return asked[3] or require('redline.session').current.ended end)`, nil)
		contains(t, "what the command said", joined(told(t, srv, 2)), "typed")
		equal(t, "the disk", onDisk(t, filepath.Join(root, "a.txt")), "typed\n")
		n.lua(`if asked[3] then asked[3].answer(nil) end idle()`, nil)
	})
}
