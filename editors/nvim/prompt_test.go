package nvim_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// A small PNG: one white pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4//8/AwAI/AL+hc2rNAAAAABJRU5ErkJggg=="

// What a prompt is written with, by keys: completion after @ and /, symbols of a language
// server, images by name and by pasting, what is added and dropped.
func TestPrompt(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{
			"a.txt": poem, "src/deep/needle file.txt": "x\n", "src/other.txt": "y\n",
			".gemini/commands/explain.toml": "prompt = \"Explain {{args}}\"\ndescription = \"Explains it\"\n",
		})
		png, err := base64.StdEncoding.DecodeString(pixel)
		if err != nil {
			t.Fatal(err)
		}
		shot := filepath.Join(t.TempDir(), "my shot.png") // outside of the workspace
		if err := os.WriteFile(shot, png, 0o600); err != nil {
			t.Fatal(err)
		}
		srv := geminitest.New(t, geminitest.Say("Seen."), geminitest.Say("Explained."), geminitest.Say("Described."))
		n := start(t, version, root, srv.URL, "GEMINI_CLI_TRUST_WORKSPACE=true")
		n.lua(`vim.cmd.edit('a.txt')
			vim.cmd('normal! 2GVjj') vim.cmd('normal! \27')`, nil)
		n.lua(onDisk(t, "testdata/languageserver.lua"), nil)
		n.lua(`vim.o.completeopt = 'menu' vim.cmd('Redline chat')`, nil)

		// Files by a part of their names, as <Tab> completes them.
		n.keys("ilook at @needle<Tab><C-y> and @sel<Tab><C-y> and @symbol:chap<Tab><C-y><Esc>")
		equal(t, "the prompt", get[string](n, `return vim.fn.getline('$')`), `look at @src/deep/needle\ file.txt and @selection and @symbol:chapter`)
		n.lua(`vim.fn.setreg('p', `+quote(strings.ReplaceAll(shot, " ", `\ `))+`)
			vim.paste({ vim.fn.getreg('p') }, -1)
			vim.cmd('Redline add @diagnostics') vim.cmd('Redline drop') vim.paste({ vim.fn.getreg('p') }, -1)`, nil)
		around := `
			local out = {}
			for _, m in ipairs(vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['redline.chat'], 0, -1, { details = true })) do
				for _, l in ipairs(m[4].virt_lines or {}) do out[#out + 1] = l[1][1] end
			end
			return table.concat(out, '\n')`
		contains(t, "around the prompt", get[string](n, around), "with image", "my shot.png")
		n.keys("G<CR>")
		n.lua(`await('the answer', function() return vim.tbl_contains(lines(), 'Seen.') end)`, nil)
		request := string(srv.Requests()[0].Raw)
		contains(t, "the prompt", srv.Requests()[0].Last().Texts(), "--- src/deep/needle file.txt ---", "[selection a.txt, lines 2-4]", "[symbol a.txt, line")
		contains(t, "the request", request, pixel, `"image/png"`)

		// Custom prompts.
		n.keys("G" + `i/expl<Tab><C-y> the poem<Esc><CR>`)
		n.lua(`await('the answer', function() return vim.tbl_contains(lines(), 'Explained.') end)`, nil)
		contains(t, "the prompt", srv.Requests()[1].Last().Texts(), "Explain the poem")

		// A command that is not there, and an image that is none.
		n.keys("G" + `i/nonsense<Esc><CR>`)
		n.lua(`await('the message', function() return noted('nonsense') end)
			vim.cmd('Redline image a.txt') assert(noted('is no image'))
			vim.cmd('Redline image none.png') assert(noted('there is no file'))
			vim.cmd('Redline drop')`, nil)
		equal(t, "what is given back", get[string](n, `return vim.fn.getline('$')`), "/nonsense")
		n.lua(`vim.cmd('Redline image `+strings.ReplaceAll(shot, " ", `\\ `)+`')`, nil)
		n.keys("Gccwhat is that?<Esc><CR>")
		n.lua(`await('the answer', function() return vim.tbl_contains(lines(), 'Described.') end)`, nil)
		contains(t, "the request", string(srv.Requests()[2].Raw), pixel)
		if get[string](n, around) != "" {
			t.Errorf("what went with the prompt still stands there: %s", get[string](n, around))
		}
	})
}

// A question does not take the keys of somebody who types; a folder is trusted by an
// answer; who leaves a question has said no; the server's progress and its place among
// Neovim's language servers.
func TestQuestions(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": poem, ".gemini/settings.json": `{"mcpServers": {"x": {"command": "false"}}}`})
		call := geminitest.NewCall("run_shell_command", map[string]any{"command": "touch made"})
		srv := geminitest.New(t, geminitest.Do(call), geminitest.Say("Then not."))
		x := inTerminal(t, version, root, srv.URL, 100, 30)
		x.lua(`vim.o.statusline = "%f%=%{v:lua.require'redline'.status()}" vim.o.laststatus = 3 vim.cmd.edit('a.txt')`, nil)
		x.tmux("send-keys", ":Redline ask make it", "Enter", "o")
		x.await("redline: asks")
		x.tmux("send-keys", "1 is typed", "Enter", "2 too")
		got := x.await("2 too")
		if strings.Contains(got, "Do you trust") && strings.Contains(got, "Always trust it") {
			t.Errorf("the question has come while somebody typed:\n%s", got)
		}
		x.tmux("send-keys", "C-\\", "C-n")
		contains(t, "the question of trust", x.await("Always trust it"), "Do you trust", "It brings along")
		x.tmux("send-keys", "1", "Enter")
		contains(t, "the question", x.await("tell why"), "touch made", "Run once")
		x.tmux("send-keys", "C-c") // as good as Esc
		x.until(ended)
		if _, err := os.Stat(filepath.Join(root, "made")); err == nil {
			t.Error("the command was run without a yes")
		}
		equal(t, "the buffer", joined(get[[]string](x.nvim, `return vim.list_slice(lines(vim.fn.bufnr('a.txt')), 1, 4)`)), "one\n1 is typed\n2 too\ntwo")
		if _, err := os.Stat(filepath.Join(root, ".gemini", "trusted")); err == nil {
			t.Error("something was written into the workspace")
		}
	})
}
