package nvim_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
	"redline/agent/googletest"
)

// A conversation with all that a chat shows, in one Neovim: plan, live output, an approval
// that is refused with words, a retry that is counted down, what is said to a running turn
// and what is queued, code blocks, places, usage.
func TestTalk(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"count.go": "package main\n\nfunc Top(n int) int {\n\treturn n\n}\n\nfunc main() {}\n", "sub/other.txt": poem})
		shell := func(command string) geminitest.Chunk {
			return geminitest.Chunk{Call: ptr(geminitest.NewCall("run_shell_command", map[string]any{"command": command}))}
		}
		todos := func(first, second string) geminitest.Chunk {
			return geminitest.Chunk{Call: ptr(geminitest.NewCall("write_todos", map[string]any{"todos": []map[string]string{
				{"description": "Look", "status": first}, {"description": "Change", "status": second}}}))}
		}
		answer := "It is in sub/other.txt:3, or [here](count.go#L3).\n\n> a quote\n> of two lines\n\n```go\nfunc Top(n int) int {\n\treturn min(n, 9)\n}\n```\n\n```text\nby itself\n```\n"
		srv := geminitest.New(t,
			geminitest.Step{Chunks: []geminitest.Chunk{todos("in_progress", "pending")}},
			geminitest.Step{Chunks: []geminitest.Chunk{todos("completed", "in_progress"), shell("rm -rf sub")}},
			geminitest.Step{Chunks: []geminitest.Chunk{shell("echo a first line; echo a last line; read x < go")}},
			geminitest.Step{Error: &geminitest.Error{Status: 503, Message: "Too busy.", RetryDelay: "1.2s"}},
			geminitest.Step{Chunks: []geminitest.Chunk{{Text: "Well.\n"}}, EndGate: "well"},
			geminitest.Step{When: "say more", Chunks: []geminitest.Chunk{{Text: answer}}},
			geminitest.Step{When: "queued words", Chunks: []geminitest.Chunk{{Text: "Last."}}},
		)
		n := start(t, version, root, srv.URL)
		n.lua(`asked = {}
			vim.ui.select = function(items, opts, done)
				asked[#asked + 1] = { prompt = opts.prompt, labels = vim.tbl_map(opts.format_item or tostring, items), pick = function(words)
					for i, l in ipairs(vim.tbl_map(opts.format_item or tostring, items)) do
						if l:find(words, 1, true) then return done(items[i], i) end
					end
					error('no choice ' .. words .. ' in ' .. vim.inspect(items))
				end }
			end
			vim.ui.input = function(opts, done) input = { prompt = opts.prompt, answer = done } end
			function question(n) return await('question ' .. n, function() return asked[n] end) end
			function shown(text) return await('"' .. text .. '" in the chat', function()
				return table.concat(lines(require('redline.chat').buffer()), '\n'):find(text, 1, true) end) end
			vim.fn.system({ 'mkfifo', 'go' }) vim.o.columns = 200
			vim.cmd.edit('count.go') vim.cmd('Redline chat')`, nil)
		n.keys("ido it<C-s>")
		n.lua(`question(1)`, nil)
		contains(t, "the question", get[string](n, `return asked[1].prompt`), "rm -rf sub")
		contains(t, "the chat", joined(get[[]string](n, `return lines()`)), "**Plan** 1 of 2 done", "- [x] Look", "- [ ] Change  ← now")
		contains(t, "the bar", get[string](n, `return vim.wo.winbar`), "plan 1/2", "$0.")
		n.lua(`asked[1].pick('tell why') await('input', function() return input end) input.answer('use git rm')
			question(2).pick('once') shown('\n> a last line')`, nil)
		contains(t, "what the model is told", joined(told(t, srv, 2)), "use git rm")
		folds := `local out = {} for l = 1, vim.fn.line('$') do if vim.fn.foldclosed(l) == l then out[#out + 1] = vim.fn.foldtextresult(l) end end return out`
		contains(t, "the fold of a call that runs", joined(get[[]string](n, folds)), "│ a last line")
		contains(t, "status", get[string](n, `return require('redline').status()`), "working")

		// The command ends, and the model is not to be had at first.
		if err := os.WriteFile(filepath.Join(root, "go"), []byte("\n"), 0); err != nil { // it reads from the pipe
			t.Fatal(err)
		}
		n.lua(`shown('Too busy.')
			await('the countdown', function()
				local ns = vim.api.nvim_get_namespaces()['redline.chat.times']
				local m = vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })[1]
				return m and m[4].virt_text[1][1]:find('again in %d s') end)
			assert(require('redline').status():find('retrying in %d s'), require('redline').status())
			shown('Well.')
			assert(vim.tbl_isempty(vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['redline.chat.times'], 0, -1, {})))`, nil)

		// To the running turn, and after it.
		n.lua(`vim.cmd('Redline ask say more') vim.cmd('Redline queue queued words')
			await('the queue', function() return require('redline').status():find('1 queued') end)
			await('the server to have heard', function() return next(require('redline.client').get().requests) == nil end)`, nil)
		contains(t, "around the prompt", get[string](n, `
			local out = {}
			for _, m in ipairs(vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['redline.chat'], 0, -1, { details = true })) do
				for _, l in ipairs(m[4].virt_lines or {}) do out[#out + 1] = l[1][1] end
			end
			return table.concat(out, '\n')`), "after this step: say more", "queued 1: queued words")
		srv.Release("well")
		n.lua(`shown('Last.') await('the end', function() return require('redline.session').current.ended == 2 end)`, nil)
		chat := joined(get[[]string](n, `return lines()`))
		contains(t, "the chat", chat, "## You\n\ndo it\n\n## Redline\n", "## You\n\nsay more\n\n## Redline\n\nIt is in sub", "## You\n\nqueued words\n\n## Redline\n\nLast.")
		if strings.Contains(joined(get[[]string](n, folds)), "quote") {
			t.Error("a quote in the answer is folded")
		}

		// Places, by gf and by <CR>; the chat stays where it is.
		n.lua(`vim.fn.search('other.txt:3')`, nil)
		n.keys("gf")
		equal(t, "where gf went", get[string](n, `return vim.fn.expand('%:t') .. ':' .. vim.fn.line('.')`), "other.txt:3")
		n.lua(`vim.cmd('Redline chat') vim.fn.search('here\\]')`, nil)
		n.keys("<CR>")
		equal(t, "where <CR> went", get[string](n, `return vim.fn.expand('%:t') .. ':' .. vim.fn.line('.')`), "count.go:3")

		// Code blocks: reviewed as a change of the function, inserted, yanked.
		n.lua(`vim.cmd('Redline chat') vim.fn.search('min(n')`, nil)
		n.keys(`\y`)
		equal(t, "the register", get[string](n, `return vim.fn.getreg('"')`), "func Top(n int) int {\n\treturn min(n, 9)\n}\n")
		n.keys(`\a`)
		n.lua(`hunks(1) vim.cmd.buffer('count.go')`, nil)
		equal(t, "the hunk", joined(get[[]string](n, `return virtual()`)), "3:         return min(n, 9)")
		n.lua(`vim.cmd('Redline accept all') await('the text', function() return lines()[4] == '\treturn min(n, 9)' end)
			vim.cmd('normal! G') vim.cmd('Redline chat') vim.fn.search('by itself')`, nil)
		n.keys(`\i`)
		equal(t, "count.go", joined(get[[]string](n, `return lines()`)), "package main\n\nfunc Top(n int) int {\n\treturn min(n, 9)\n}\n\nfunc main() {}\nby itself")
		n.lua(`vim.cmd('Redline usage') await('usage', function() return noted('requests') end)`, nil)
		contains(t, "usage", get[string](n, `return noted('requests').text`), "tokens", "about $", "the conversation takes up")
	})
}

// Sessions are listed, taken up with all that was said, copied and deleted; checkpoints
// are previewed and gone back to, and that is taken back. Two Neovims in one folder.
func TestKept(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		home := t.TempDir()
		srv := geminitest.New(t,
			geminitest.Step{Chunks: []geminitest.Chunk{{Thought: "**Thinking**\nof a poem"}, {Text: "A first answer."}}},
			geminitest.Do(replace(filepath.Join(root, "a.txt"), "two\n", "TWO\n")),
			geminitest.Say("Shouted."),
			geminitest.Say("In the second."),
		)
		same := []string{"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state")}
		n := start(t, version, root, srv.URL, same...)
		const choose = `vim.ui.select = function(items, opts, done)
				choices = vim.tbl_map(opts.format_item or tostring, items)
				for i, l in ipairs(choices) do
					if l:find(choice, 1, true) then return vim.schedule(function() done(items[i], i) end) end
				end
				error('no choice ' .. choice .. ' in ' .. vim.inspect(choices))
			end
			function pick(words, cmd) choice = words vim.cmd('Redline ' .. cmd) end
			function shown(text) return await('"' .. text .. '" in the chat', function()
				return table.concat(lines(require('redline.chat').buffer()), '\n'):find(text, 1, true) end) end
			function turns(n) await('turn ' .. n, function() local s = require('redline.session').current return s and s.ended == n and not s.running end) end
			`
		n.lua(choose+`vim.cmd.edit('a.txt') vim.cmd('Redline chat') vim.cmd('Redline ask the first') turns(1)
			vim.cmd('Redline mode autoEdit') await('the mode', function() return require('redline.session').current.mode == 'autoEdit' end)
			vim.cmd('Redline ask the second') turns(2) whole = table.concat(lines(), '\n')`, nil)
		whole := get[string](n, `return whole`)
		contains(t, "a.txt", joined(get[[]string](n, `return lines(vim.fn.bufnr('a.txt'))`)), "TWO")

		// Another Neovim in the folder has a session of its own, and is told of this one.
		m := start(t, version, root, srv.URL, same...)
		m.lua(choose+`vim.cmd('Redline chat') vim.cmd('Redline ask something') turns(1) pick('the first', 'sessions')
			await('the message', function() return noted('in use') or noted('open') or noted('another') end)`, nil)
		t.Log(get[[]string](m, `return vim.tbl_map(function(n) return n.text end, notes)`))
		contains(t, "the second's chat", joined(get[[]string](m, `return lines()`)), "In the second.")

		// Checkpoints.
		n.lua(`choice = 'the second'
			local select = vim.ui.select
			vim.ui.select = function(items, opts, done)
				if opts.kind == 'redline.restore' then choice = 'Show what' end
				select(items, opts, done)
			end
			vim.cmd('Redline checkpoints') await('the preview', function() return vim.bo.filetype == 'diff' end)`, nil)
		contains(t, "the preview", joined(get[[]string](n, `return lines()`)), "Going back to: the second", "-TWO", "+two", "rf: restore the files")
		n.keys("rf")
		n.lua(`await('the old text', function() return lines(vim.fn.bufnr('a.txt'))[2] == 'two' end)
			await('the message', function() return noted('unrestore') end)
			vim.cmd('Redline unrestore') await('the new text', function() return lines(vim.fn.bufnr('a.txt'))[2] == 'TWO' end)`, nil)

		// A copy that ends before the second prompt; the other stays.
		n.lua(`vim.cmd('Redline! chat') vim.fn.search('^the second', 'w') first = require('redline.session').current.id
			vim.cmd('Redline fork here') await('the copy', function() local s = require('redline.session').current return s and s.id ~= first end)
			shown('A first answer.')`, nil)
		if got := joined(get[[]string](n, `return lines()`)); strings.Contains(got, "the second") {
			t.Errorf("the copy goes too far:\n%s", got)
		}
		// Restarted, with all that was said.
		n.lua(`notes = {} vim.cmd('Redline restart') await('the restart', function() return noted('goes on') or require('redline.session').current end)`, nil)
		n.quit()
		o := start(t, version, root, srv.URL, same...)
		o.lua(choose+`vim.cmd('Redline chat') pick('the first (2 turns', 'sessions') shown('Shouted.')
			await('it to be the current one', function() return require('redline.session').current end)`, nil)
		got := joined(get[[]string](o, `return lines()`))
		equal(t, "the transcript, taken up", strings.ReplaceAll(got, "✓ Edit a.txt: 1 accepted", "✓ Edit a.txt: 1 accepted"), whole)
		folds := `local out = {} for l = 1, vim.fn.line('$') do if vim.fn.foldclosed(l) == l then out[#out + 1] = vim.fn.foldtextresult(l) end end return out`
		contains(t, "folds", joined(get[[]string](o, folds)), "Thought: Thinking")
		o.lua(`local select = vim.ui.select
			vim.ui.select = function(items, opts, done)
				if opts.kind == 'redline.delete' then choice = 'for good' end
				select(items, opts, done)
			end
			pick('the first (2 turns', 'delete') await('it to be gone', function() return noted('deleted') end)`, nil)
		equal(t, "the chat", joined(get[[]string](o, `return lines()`)), "## You\n\n")
	})
}

// Signing in: the key is typed where it is not shown, and stays nowhere; Google by a link.
func TestSignIn(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		busy := geminitest.Fail(429, "RESOURCE_EXHAUSTED", "too many at once")
		model := geminitest.NewServer(geminitest.Script{Steps: []geminitest.Step{geminitest.Say("Hello."), busy, busy, geminitest.Say("By the other model.")}})
		t.Cleanup(model.Close)
		google := googletest.NewServer(model)
		t.Cleanup(google.Close)
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{"redline": {"retry": {"initialDelayMs": 1, "maxDelayMs": 2}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		x := inTerminal(t, version, workspace(t, nil), "", 120, 30,
			"GOOGLE_VERTEX_BASE_URL="+google.URL, "GCE_METADATA_HOST="+google.Host,
			"GOOGLE_GEMINI_BASE_URL="+model.URL, "REDLINE_OAUTH_ENDPOINT="+google.URL, "CODE_ASSIST_ENDPOINT="+google.URL,
			"REDLINE_HOME="+home, "REDLINE_OAUTH_CLIENT_ID="+googletest.ClientID, "REDLINE_OAUTH_CLIENT_SECRET="+googletest.ClientSecret)
		n := x.nvim
		n.lua(`vim.lsp.set_log_level('trace')`, nil)
		x.tmux("send-keys", ":Redline chat", "Enter", "ihello")
		x.tmux("send-keys", "C-s")
		x.await("(see the chat)")
		contains(t, "the chat", joined(get[[]string](n, `idle() return lines()`)), "GEMINI_API_KEY environment variable not found. Add that", ":Redline login")
		// What was asked waits to be sent again.
		equal(t, "the prompt", get[string](n, `return lines()[#lines()]`), "hello")
		x.tmux("send-keys", "C-\\", "C-n")
		key := geminitest.DefaultKey
		x.tmux("send-keys", ":Redline login", "Enter")
		x.await("1: Gemini API key")
		x.tmux("send-keys", "1", "Enter")
		x.await("Gemini API key: ")
		x.tmux("send-keys", "no-good-key")
		x.await("Gemini API key: ***********")
		x.tmux("send-keys", "Enter")
		x.await("API key not valid")
		x.await("Gemini API key: ")
		x.tmux("send-keys", key, "Enter")
		x.await("signed in by Gemini API key (saved on this machine)")
		x.tmux("send-keys", "G", "Enter")
		x.until(`vim.tbl_contains(lines(), 'Hello.')`)
		x.tmux("send-keys", ":Redline login "+key, "Enter") // as somebody would try it
		x.await("never a part of the command")
		where := get[string](n, `
			local out = {}
			for _, h in ipairs({ 'cmd', 'input', 'search', 'expr' }) do
				for i = 1, vim.fn.histnr(h) do out[#out + 1] = h .. ' history: ' .. vim.fn.histget(h, i) end
			end
			out[#out + 1] = vim.fn.execute('messages')
			out[#out + 1] = vim.inspect(notes)
			out[#out + 1] = vim.inspect(vim.fn.getreg('"'))
			out[#out + 1] = table.concat(vim.fn.readfile(vim.lsp.get_log_path()), '\n')
			return table.concat(out, '\n')`)
		if !strings.Contains(where, "agent/prompt") {
			t.Errorf("the log of the language client is not what it should be:\n%.2000s", where)
		}
		for line := range strings.Lines(where) {
			if strings.Contains(line, key) || strings.Contains(line, "no-good-key") {
				t.Errorf("the key is in: %s", line)
			}
		}

		n.lua(`vim.notify = function(text) notes[#notes + 1] = { text = text } end
			vim.cmd('Redline logout') await('the message', function() return noted('signed out') end)
			vim.cmd('Redline status') await('the status', function() return noted('not signed in') end)`, nil)
		n.lua(`notes = {} progress = {}
			vim.api.nvim_create_autocmd('LspProgress', { callback = function(a) progress[#progress + 1] = vim.inspect(a.data) end })
			vim.ui.open = function(url) link = url return { wait = function() return { code = 0 } end } end
			vim.cmd('Redline login oauth-personal') await('the link', function() return link end)`, nil)
		res, err := http.Get(get[string](n, `return link`))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		n.lua(`await('the message', function() return noted('signed in by Login with Google') end)`, nil)
		if get[int](n, `return #progress`) == 0 {
			t.Error("the sign-in has no progress")
		}
		// The agent asks in the middle of a turn, and goes by the answer.
		x.tmux("send-keys", ":Redline! ask again", "Enter")
		contains(t, "the question", x.await("Redline asks:", "2: Stay"), "too many at once", "for the rest of this session", "1: Change to gemini-2.5-flash")
		x.tmux("send-keys", "1", "Enter")
		x.until(`noted('Please submit a new query') and require('redline.session').current.model == 'gemini-2.5-flash'`)
		x.tmux("send-keys", ":Redline ask and again", "Enter")
		x.until(`vim.tbl_contains(lines(require('redline.chat').buffer()), 'By the other model.')`)
		// Vertex: the project is asked for, and the server started with it; the session goes on.
		n.lua(`notes = {}
			local answers = { 'my-project', 'here' }
			vim.ui.input = function(_, done) done(table.remove(answers, 1)) end
			vim.cmd('Redline login vertex-ai') await('the message', function() return noted('signed in by Vertex AI') end)`, nil)
		contains(t, "the message", get[string](n, `return noted('signed in by').text`), "my-project", "here")
		n.lua(`await('the session', function() vim.cmd('Redline mode plan') return true end)
			await('the mode', function() local s = require('redline.session').current return s and s.mode == 'plan' end)`, nil)
		contains(t, "the chat", joined(get[[]string](n, `return lines(require('redline.chat').buffer())`)), "Hello.")
	})
}

// A server that dies in the middle of an answer and under a review is started again by
// itself; the session goes on and the hunks are there.
func TestCrash(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem})
		srv := geminitest.New(t,
			geminitest.Step{Chunks: []geminitest.Chunk{{Text: "A piece of "}}, EndGate: "never"},
			geminitest.Do(replace(filepath.Join(root, "a.txt"), "two\n", "TWO\n")),
			geminitest.Say("Going on."),
		)
		defer srv.Release("never")
		n := start(t, version, root, srv.URL)
		const kill = `notes = {}
			local pid = tonumber(vim.fn.system({ 'pgrep', '-f', '-P', tostring(vim.uv.os_getpid()), 'serve' }):match('%d+'))
			vim.uv.kill(pid, 'sigkill')
			await('the message', function() return noted('started again') end)
			await('the session', function() return require('redline.session').current and require('redline.client').get() end)`
		n.lua(`vim.cmd.edit('a.txt') vim.cmd('Redline chat') vim.cmd('Redline ask tell')
			await('text', function() return vim.tbl_contains(lines(), 'A piece of ') end)
			id = require('redline.session').current.id `+kill, nil)
		contains(t, "the chat", joined(get[[]string](n, `return lines()`)), "A piece of", "goes on")
		n.lua(`assert(require('redline.session').current.id == id) assert(not require('redline.session').current.running)
			vim.cmd('Redline ask shout') hunks(1) `+kill+` hunks(1)
			vim.cmd.buffer('a.txt') vim.cmd('Redline accept all') await('the text', function() return lines()[2] == 'TWO' end)
			vim.cmd('Redline ask on') await('the answer', function() return table.concat(lines(require('redline.chat').buffer()), '\n'):find('Going on.') end)`, nil)

		// Something else than a server, and one that is none of ours.
		n.lua(`notes = {} vim.cmd('Redline stop') await('the end', function() return not require('redline.session').current end)
			require('redline').setup({ cmd = { 'false' } }) vim.cmd('Redline ask hello')
			await('the message', function() return noted('before it was ready') end)`, nil)
		n.lua(fmt.Sprintf(`notes = {} require('redline').setup({ cmd = { 'sh', %s } }) vim.cmd('Redline ask hello again')
			await('the message', function() return noted('no redline server') end)`, quote(other(t, `{}`))), nil)
		for ext, says := range map[string]string{`"version":0,"minVersion":0`: "older than this plugin", `"version":3,"minVersion":2`: "newer than this plugin"} {
			n.lua(fmt.Sprintf(`notes = {} await('the end', function() return not require('redline.client').get() end)
				require('redline').setup({ cmd = { 'sh', %s } }) vim.cmd('Redline ask hello again')
				await('the message', function() return noted(%q) end)`, quote(other(t, `{"experimental":{"redline":{`+ext+`}}}`)), says), nil)
		}
		// One that never says anything: the user is told in the end; here that comes at once.
		n.lua(`notes = {}
			local later, waited = vim.defer_fn, 0
			vim.defer_fn = function(fn, ms)
				if ms >= 10000 then waited, ms = ms, 1 end
				return later(fn, ms)
			end
			require('redline').setup({ cmd = { 'sleep', '600' } }) vim.cmd('Redline ask hello again')
			await('the message', function() return noted('does not answer as a language server') end)
			assert(waited == 20000, 'it has 20 s')
			vim.defer_fn = later
			await('its end', function() return vim.fn.system({ 'pgrep', '-P', tostring(vim.uv.os_getpid()), 'sleep' }) == '' end)`, nil)
		// It is given back, to be sent when that is mended.
		n.lua(`vim.cmd('Redline chat')`, nil)
		contains(t, "the prompt", get[string](n, `return lines()[#lines()]`), "hello")
	})
}

// other returns a shell script that answers initialize as some other language server, with
// these capabilities.
func other(t *testing.T, capabilities string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.sh")
	body := `{"jsonrpc":"2.0","id":1,"result":{"capabilities":` + capabilities + `,"serverInfo":{"name":"cuckoo"}}}`
	script := fmt.Sprintf("read line; printf 'Content-Length: %d\\r\\n\\r\\n%s'; cat >/dev/null\n", len(body), body)
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A piece of an answer is shown at once, however long the chat is.
func TestLongChat(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		n := start(t, version, workspace(t, nil), "")
		var got struct {
			First, Delta float64 // milliseconds
			Lines        int
		}
		n.lua(`vim.cmd('Redline chat')
			local session, page, seq = require('redline.session'), require('redline.page'), 0
			local function event(e, turn) seq = seq + 1 session.event({ sessionId = 's', seq = seq, turnId = turn, event = e }) end
			for i = 1, 300 do
				local t = 't' .. i
				event({ type = 'message/user', messageId = t, text = 'prompt ' .. i }, t)
				event({ type = 'thought/delta', messageId = t .. 'x', text = 'about\nit', subject = 'Thinking' }, t)
				event({ type = 'tool/updated', callId = t, name = 'x', title = 'x', kind = 'read', status = 'completed', display = 'two\nlines' }, t)
				event({ type = 'message/delta', messageId = t .. 'm', text = 'answer ' .. i .. '\nmore\n' }, t)
			end
			local a = vim.uv.hrtime()
			page.flush() vim.cmd.redraw()
			local out = { first = (vim.uv.hrtime() - a) / 1e6, delta = 1e9, lines = vim.fn.line('$') }
			for i = 1, 30 do
				event({ type = 'message/delta', messageId = 'last', text = 'word ' .. i .. '\n' }, 'z')
				a = vim.uv.hrtime()
				page.flush() vim.cmd.redraw()
				out.delta = math.min(out.delta, (vim.uv.hrtime() - a) / 1e6)
			end
			return out`, &got)
		t.Logf("%d lines: %.1f ms to show them, %.2f ms a piece", got.Lines, got.First, got.Delta)
		if got.Lines < 4000 || got.Delta > 16 || got.First > 3000 {
			t.Errorf("%d lines: %.1f ms to show them, %.2f ms a piece; want 3000 and 16 at most", got.Lines, got.First, got.Delta)
		}
	})
}
