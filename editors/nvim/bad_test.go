package nvim_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

// A command of the agent changes files: buffers without unsaved text follow, and unsaved
// text is never given up. Nothing is asked, and the cursor stays.
func TestReload(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"clean.txt": poem, "mine.txt": poem, "gone.txt": "gone\n"})
		srv := geminitest.New(t,
			geminitest.Do(geminitest.NewCall("run_shell_command", map[string]any{"command": "cat go; sed -i s/two/TWO/ clean.txt mine.txt; rm gone.txt"})),
			geminitest.Do(geminitest.NewCall("read_file", map[string]any{"path": "mine.txt"})),
			geminitest.Say("Done."),
		)
		wait := filepath.Join(root, "go") // the command goes on when something is written there
		if err := exec.Command("mkfifo", wait).Run(); err != nil {
			t.Fatal(err)
		}
		n := start(t, version, root, srv.URL)
		n.lua(`vim.ui.select = function(items, _, done) done(items[1], 1) end
			vim.cmd.edit('gone.txt') vim.cmd.edit('mine.txt') vim.cmd.edit('clean.txt') vim.api.nvim_win_set_cursor(0, { 7, 1 })
			vim.cmd('Redline ask run it')`, nil)
		running, err := os.OpenFile(wait, os.O_WRONLY, 0) // returns when the command has opened its end
		if err != nil {
			t.Fatal(err)
		}
		n.lua(`vim.api.nvim_buf_set_lines(vim.fn.bufnr('mine.txt'), 0, 1, false, { 'one, unsaved' })`, nil)
		if err := running.Close(); err != nil {
			t.Fatal(err)
		}
		n.lua(`idle()`, nil)
		equal(t, "the file without unsaved text", get[string](n, `return lines()[2]`), "TWO")
		equal(t, "the cursor", get[string](n, `return table.concat(vim.api.nvim_win_get_cursor(0), ',')`), "7,1")
		equal(t, "the file with unsaved text", get[string](n, `return table.concat(lines(vim.fn.bufnr('mine.txt')), ',', 1, 2)`), "one, unsaved,two")
		equal(t, "the file that is gone", joined(get[[]string](n, `return lines(vim.fn.bufnr('gone.txt'))`)), "gone")
		n.lua(`await('messages', function() return #notes >= 2 end)`, nil)
		notes := get[string](n, `return vim.inspect(notes)`)
		contains(t, "messages", notes, "mine.txt was changed on disk too", "gone.txt is gone")
		if c := strings.Count(notes, "on disk too"); c != 1 {
			t.Errorf("the user is told %d times:\n%s", c, notes)
		}
		contains(t, "what the model reads", joined(told(t, srv, 2)), "one, unsaved")
		n.keys("u") // reading anew is a step of its own
		equal(t, "the file after undo", get[string](n, `return lines()[2]`), "two")
	})
}

// What can be wrong with a file under review, and with its buffer.
func TestBadFiles(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		files := map[string]string{}
		for _, name := range []string{"locked", "fixed", "deleted", "unopened", "wiped", "again"} {
			files[name+".txt"] = poem
		}
		root := workspace(t, files)
		path := func(name string) string { return filepath.Join(root, name+".txt") }
		srv := geminitest.New(t,
			geminitest.Do(replace(path("locked"), "two\n", "TWO\n"), replace(path("fixed"), "two\n", "TWO\n"), replace(path("deleted"), "two\n", "TWO\n"),
				replace(path("unopened"), "two\n", "TWO\n"), replace(path("wiped"), "two\n", "TWO\n"), replace(path("again"), "two\n", "TWO\n"), replace(path("again"), "nine\n", "NINE\n")),
			geminitest.Say("I see."),
		)
		n := start(t, version, root, srv.URL)
		second := func(name string) string {
			return get[string](n, fmt.Sprintf(`local b = vim.fn.bufnr('%s.txt') return b > 0 and lines(b)[2] or ''`, name))
		}
		n.lua(`vim.cmd.edit('locked.txt') vim.bo.readonly = true
			vim.cmd.edit('fixed.txt') vim.bo.modifiable = false
			vim.cmd.edit('deleted.txt') vim.cmd.edit('wiped.txt') vim.cmd.edit('again.txt')
			vim.cmd('Redline ask shout') hunks(7)`, nil)

		// Read only is about writing: the change is made, and :w asks for its !.
		n.lua(`vim.cmd.buffer('locked.txt') vim.cmd('silent Redline accept file') hunks(6)`, nil)
		equal(t, "the read-only file", second("locked"), "TWO")
		equal(t, "its write", get[string](n, `return select(2, pcall(vim.cmd.write)):match('E%d+')`), "E45")

		// What must not be changed is not, and the user is told why.
		n.lua(`vim.cmd.buffer('fixed.txt') vim.cmd('Redline accept file') await('a message', function() return noted("not 'modifiable'") end)`, nil)
		equal(t, "the file that is not modifiable", second("fixed"), "two")
		n.lua(`vim.bo.modifiable = true`, nil)

		// Reading the file anew: the hunks are there again, where they belong.
		n.lua(`vim.cmd.buffer('again.txt')`, nil)
		n.keys("ggOtyped<Esc>")
		n.lua(`await('the hunk to move', function() return joined_virtual():find('2: TWO') end)`, nil)
		n.lua(`vim.cmd('silent edit!') await('the hunk to be back', function() return joined_virtual():find('1: TWO') and joined_virtual():find('8: NINE') end)`, nil)
		n.keys(`gg]r\ra`)
		n.lua(`await('TWO', function() return lines()[2] == 'TWO' end)`, nil)

		// From a buffer without a name, with text in it, to a hunk and back.
		n.lua(`vim.cmd('enew') vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a note' }) note = vim.api.nvim_get_current_buf()`, nil)
		n.keys(`\ra]r`)
		n.lua(`assert(vim.api.nvim_buf_get_name(0) ~= '', 'at a file') assert(lines(note)[1] == 'a note', 'the note is kept')`, nil)

		// The buffer is wiped out while its hunk is open.
		n.lua(`vim.cmd('bwipeout! wiped.txt') local c = require('redline.review').count() vim.cmd.edit('wiped.txt')
			await('the hunk', function() return joined_virtual() == '1: TWO' end) vim.cmd('bwipeout! wiped.txt') vim.cmd('bwipeout! again.txt')`, nil)
		// And the files are deleted: one that is open, and one that is not.
		for _, name := range []string{"deleted", "unopened"} {
			if err := os.Remove(path(name)); err != nil {
				t.Fatal(err)
			}
		}
		n.lua(`vim.cmd.buffer('deleted.txt') vim.cmd('Redline accept hunk')
			await('TWO', function() return lines()[2] == 'TWO' end)
			vim.cmd('silent write') vim.cmd('Redline accept all') idle()`, nil)
		contains(t, "the deleted file, written again", onDisk(t, path("deleted")), "TWO")
		equal(t, "the file that was wiped out", second("wiped"), "TWO")
		if _, err := os.Stat(path("unopened")); err == nil || second("unopened") != "" {
			t.Errorf("a deleted file is back: %v, %q", err, second("unopened"))
		}
		contains(t, "again.txt", joined(get[[]string](n, `return lines(vim.fn.bufnr('again.txt'))`)), "NINE")
	})
}

// Two Neovims on one folder: what the other one wrote is taken up before the decision.
func TestTwoNeovims(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem, "b.txt": poem})
		a, b := filepath.Join(root, "a.txt"), filepath.Join(root, "b.txt")
		srv := geminitest.New(t,
			geminitest.Do(replace(a, "two\n", "TWO\n"), replace(a, "nine\n", "NINE\n"), replace(b, "two\n", "TWO\n")),
			geminitest.Say("I see."),
		)
		n := start(t, version, root, srv.URL)
		n.lua(`vim.cmd.edit('a.txt') vim.cmd('Redline ask shout') hunks(3)`, nil)
		other := start(t, version, root, "")
		other.lua(`vim.cmd.edit('a.txt') vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'by the other', 'two, by the other' }) vim.cmd('silent write')
			vim.cmd.edit('b.txt') vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'zero' }) vim.cmd('silent write')`, nil)
		n.lua(`vim.cmd('silent checktime') await('a conflict', function() return select(2, require('redline.review').count()) == 1 end)`, nil)
		n.lua(`vim.cmd('Redline accept all') idle()`, nil)
		equal(t, "a.txt", joined(get[[]string](n, `return lines()`)), "one\nby the other\ntwo, by the other\nthree\nfour\nfive\nsix\nseven\neight\nNINE\nten")
		equal(t, "b.txt", get[string](n, `return table.concat(lines(vim.fn.bufnr('b.txt')), ',', 1, 3)`), "zero,one,TWO")
	})
}

// Two Neovims in one process of the server: the second follows the session of the first,
// and decides; the edit goes into the documents of the first.
func TestOneSession(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		a := filepath.Join(root, "a.txt")
		srv := geminitest.New(t,
			geminitest.Do(replace(a, "two\n", "TWO\n"), replace(a, "nine\n", "NINE\n")),
			geminitest.Say("I see."),
		)
		dir, err := os.MkdirTemp("", "nv") // a socket's path must be short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		socket := filepath.Join(dir, "s")
		server := exec.Command(editortest.Binary(t), "serve", "--listen", "unix:"+socket)
		server.Dir, server.Env = root, environment(t, root, srv.URL)
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = server.Process.Kill()
			_ = server.Wait() // it was killed
		})
		join := fmt.Sprintf(`await('the socket', function() return vim.uv.fs_stat(%[1]q) end)
			require('redline').setup({ cmd = { vim.env.REDLINE_BIN, 'serve', '--remote', 'unix:%[1]s' } }) vim.cmd.edit('a.txt')`, socket)
		n, other := start(t, version, root, srv.URL), start(t, version, root, srv.URL)
		n.lua(join+` vim.cmd('Redline ask shout') hunks(2)`, nil)
		other.lua(join+` vim.cmd('Redline resume') hunks(2) await('the marks', function() return joined_virtual() == '1: TWO\n8: NINE' end)`, nil)
		other.keys(`gg]r\ra`)
		n.lua(`hunks(1) await('the text', function() return lines()[2] == 'TWO' end)`, nil)
		other.lua(`hunks(1)`, nil)
		equal(t, "the text in the second, which has not read the file anew", get[string](other, `return lines()[2]`), "two")
		n.lua(`vim.cmd('silent write')`, nil)
		other.lua(`vim.cmd('silent checktime') await('the text', function() return lines()[2] == 'TWO' end)`, nil)
		// What is typed in the first moves the hunk in both.
		n.keys("ggOzero<Esc>")
		n.lua(`vim.cmd('silent write')`, nil)
		other.lua(`vim.cmd('silent checktime') await('the mark', function() return joined_virtual() == '9: NINE' end)`, nil)
		n.keys(`G[r\ra`)
		n.lua(`idle()`, nil)
		other.lua(`await('the end', function() return require('redline.review').count() == 0 end)
			await('what was said', function() return not require('redline.session').current.running end)`, nil)
	})
}

// A file with a swap file, of another Neovim or of one that crashed, is changed without a
// question in the middle; it is read-only then, and the swap file stays.
func TestSwapFile(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem, "b.txt": poem})
		srv := geminitest.New(t,
			geminitest.Do(replace(filepath.Join(root, "a.txt"), "two\n", "TWO\n"), replace(filepath.Join(root, "b.txt"), "two\n", "TWO\n")),
			geminitest.Say("I see."),
		)
		x := inTerminal(t, version, root, srv.URL, 100, 30)
		x.lua(`vim.o.swapfile = true vim.o.directory = vim.env.HOME .. '//'
			for _, name in ipairs({ 'a.txt', 'b.txt' }) do
				vim.cmd.edit(name)
				vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'never written' })
				vim.cmd('preserve')
				local swap = vim.fn.swapname('%')
				assert(vim.uv.fs_copyfile(swap, swap .. '.kept'))
				vim.cmd('bwipeout!')
				assert(vim.uv.fs_rename(swap .. '.kept', swap))
				swaps = (swaps or '') .. vim.fs.basename(swap)
			end`, nil)
		x.tmux("send-keys", ":Redline ask shout", "Enter")
		x.until(undecided(2))
		x.tmux("send-keys", ":Redline accept all", "Enter")
		x.until(undecided(0))
		x.await("has a swap file: read-only")
		x.tmux("send-keys", "Enter") // two of these messages fill the line
		x.until(ended)
		got := get[[]string](x.nvim, `local out = {}
			for _, name in ipairs({ 'a.txt', 'b.txt' }) do
				local b = vim.fn.bufnr(name)
				out[#out + 1] = lines(b)[2] .. ' ' .. tostring(vim.bo[b].readonly) .. ' ' .. vim.fn.fnamemodify(vim.fn.swapname(b), ':e')
			end
			return out`)
		equal(t, "the files", joined(got), "TWO true swo\nTWO true swo")
	})
}

// The server is killed in the middle of a review: it is started again, takes up the session,
// and the hunks that were not decided are there again. Then Neovim itself is left without a
// decision; the next one takes the session up, and decides.
func TestReviewGoesOn(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem, "b.txt": poem})
		a, b := filepath.Join(root, "a.txt"), filepath.Join(root, "b.txt")
		srv := geminitest.New(t,
			geminitest.Do(replace(a, "two\n", "TWO\n"), replace(a, "nine\n", "NINE\n"), replace(b, "two\n", "TWO\n")),
			geminitest.Say("I see."), geminitest.Say("I see that you took all."),
		)
		home := "REDLINE_HOME=" + t.TempDir()
		n := start(t, version, root, srv.URL, home)
		n.lua(`vim.cmd.edit('a.txt') vim.cmd('Redline ask shout') hunks(3)`, nil)
		n.keys(`gg]r\ra`)
		n.lua(`hunks(2) vim.cmd('silent write')`, nil)
		n.lua(`local c = require('redline.client').get()
			local pid = tonumber(vim.fn.system({ 'pgrep', '-f', '-P', tostring(vim.uv.os_getpid()), 'serve' }):match('%d+'))
			vim.uv.kill(pid, 'sigkill')
			await('another server', function() local now = require('redline.client').get() return now and now.id ~= c.id end)
			hunks(2) await('the marks', function() return joined_virtual() == '8: NINE' end)`, nil)
		n.keys(`]r\ra`)
		n.lua(`hunks(1) vim.cmd('silent write')`, nil)
		equal(t, "a.txt", onDisk(t, a), strings.NewReplacer("two", "TWO", "nine", "NINE").Replace(poem))

		// Quit, and begin again: nothing is decided by that.
		n.quit()
		again := start(t, version, root, srv.URL, home)
		again.lua(`vim.cmd.edit('b.txt') vim.cmd('Redline resume') hunks(1) await('the marks', function() return joined_virtual() == '1: TWO' end)`, nil)
		if c := get[int](again, `local c = 0 for _, n in ipairs(notes) do if n.text:find('to review') then c = c + 1 end end return c`); c > 1 {
			t.Errorf("the user is told %d times that there is something to review", c)
		}
		again.keys(`gg]r\ra`)
		again.lua(`await('TWO', function() return lines()[2] == 'TWO' end) await('the end', function() return require('redline.review').count() == 0 end)`, nil)
		again.lua(`vim.cmd('Redline applied') assert(#vim.fn.getqflist() == 3, 'what stands is listed') vim.cmd('cclose') vim.cmd('Redline ask well?') idle()`, nil)
		// A decision of just now may come after the prompt; it is told with the next one.
		again.lua(`local s = require('redline.session').current local before = s.ended vim.cmd('Redline ask and?') await('the answer', function() return s.ended > before end)`, nil)
		var said strings.Builder
		for _, c := range srv.Requests()[2].Body.Contents {
			said.WriteString(c.Texts())
		}
		contains(t, "what the model is told", said.String(), "All of it is in the files now")
		if strings.Contains(said.String(), "rejected") {
			t.Errorf("the model is told that something was rejected:\n%s", said.String())
		}
	})
}
