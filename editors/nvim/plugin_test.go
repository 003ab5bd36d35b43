package nvim_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The help can be indexed, its references lead somewhere, and it has all commands.
func TestHelp(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		dir := t.TempDir()
		text := onDisk(t, "doc/redline.txt")
		if err := os.WriteFile(filepath.Join(dir, "redline.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		n := start(t, version, workspace(t, nil), "")
		n.lua(`vim.cmd.helptags(`+quote(dir)+`)`, nil)
		tags := map[string]bool{}
		for line := range strings.Lines(onDisk(t, filepath.Join(dir, "tags"))) {
			tags[strings.SplitN(line, "\t", 2)[0]] = true
		}
		for _, sub := range get[[]string](n, `return vim.fn.getcompletion('Redline ', 'cmdline')`) {
			if !tags[":Redline-"+sub] {
				t.Errorf("the help does not explain :Redline %s", sub)
			}
		}
		for _, m := range regexp.MustCompile(`\|([^|\s]+)\|`).FindAllStringSubmatch(text, -1) {
			if !tags[m[1]] && get[int](n, `return #vim.fn.getcompletion(`+quote(m[1])+`, 'help')`) == 0 {
				t.Errorf("the help refers to %q, which is not there", m[1])
			}
		}
		for _, m := range regexp.MustCompile(`(?m)^\*hl-(\w+)\*\s+(\w+)`).FindAllStringSubmatch(text, -1) {
			link := get[string](n, `require('redline.marks') return vim.api.nvim_get_hl(0, { name = '`+m[1]+`' }).link or ''`)
			equal(t, "the link of "+m[1], link, m[2])
		}
		// The defaults in the help are the defaults.
		code := regexp.MustCompile(`(?s)require\('redline'\)\.setup\((\{.*?\n    \})\)`).FindStringSubmatch(text)
		if code == nil {
			t.Fatal("the help does not show the settings")
		}
		if !get[bool](n, `return vim.deep_equal(`+code[1]+`, require('redline.config').defaults)`) {
			t.Error("the settings in the help are not the defaults")
		}
	})
}

func TestComplete(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		n := start(t, version, workspace(t, map[string]string{"sub/file.txt": ""}), "")
		for line, want := range map[string]string{
			"Redline ac":          "accept",
			"Redline reject ":     "all file hunk",
			"Red reject ":         "all file hunk",
			"Redline mode a":      "autoEdit",
			"'<,'>Redline ask @s": "@selection @symbol: @sub/ @sub/file.txt",
			"Redline nonsense x":  "",
		} {
			got := get[[]string](n, `return vim.fn.getcompletion(`+quote(line)+`, 'cmdline')`)
			equal(t, line, strings.Join(got, " "), want)
		}
		n.lua(`vim.cmd('Redline nonsense')`, nil)
		contains(t, "message", get[string](n, `return notes[#notes].text`), "nonsense")
		n.lua(`vim.cmd('Redline next')`, nil)
		contains(t, "message", get[string](n, `return notes[#notes].text`), "nothing to review")
	})
}

// Starting Neovim with the plugin costs next to nothing.
func TestLoadTime(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		n := start(t, version, workspace(t, nil), "")
		var got struct {
			Plugin, Require float64 // milliseconds
			Loaded          []string
		}
		// The best of several: the machine does other things too.
		n.lua(`local out = { plugin = 1e9, require = 1e9 }
			out.loaded = vim.tbl_filter(function(m) return vim.startswith(m, 'redline') end, vim.tbl_keys(package.loaded))
			for _ = 1, 20 do
				vim.g.loaded_redline = nil
				local a = vim.uv.hrtime()
				vim.cmd('runtime plugin/redline.lua')
				out.plugin = math.min(out.plugin, (vim.uv.hrtime() - a) / 1e6)
				for m in pairs(package.loaded) do if vim.startswith(m, 'redline') then package.loaded[m] = nil end end
				a = vim.uv.hrtime()
				require('redline').setup({ mode = 'plan' })
				out.require = math.min(out.require, (vim.uv.hrtime() - a) / 1e6)
			end
			return out`, &got)
		t.Logf("plugin file %.2f ms, require and setup %.2f ms", got.Plugin, got.Require)
		if got.Plugin > 5 || got.Require > 5 {
			t.Errorf("loading takes %.2f ms, require and setup %.2f ms; want 5 at most", got.Plugin, got.Require)
		}
		if len(got.Loaded) > 0 {
			t.Errorf("modules loaded before the first use: %v", got.Loaded)
		}
	})
}

// What the agent may ask of the editor, with a language server of our own in it.
func TestEditorRequests(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root := workspace(t, map[string]string{"a.txt": "äö word\nmore\n"})
		n := start(t, version, root, "")
		n.lua(onDisk(t, "testdata/languageserver.lua"), nil)
		uri := "file://" + filepath.Join(root, "a.txt")
		ask := func(method, params string) string {
			t.Helper()
			var out struct {
				Result json.RawMessage
				Error  string
			}
			n.lua(`local out, done
				coroutine.wrap(function()
					local ok, result, err = pcall(require('redline.editor').requests.`+method+`, vim.json.decode(`+quote(params)+`), { client_id = client.id })
					out = { result = ok and result or vim.NIL, error = not ok and tostring(result) or err and err.message or nil }
					done = true
				end)()
				await('the answer', function() return done end)
				return out`, &out)
			if out.Error != "" {
				return "error: " + out.Error
			}
			return strings.ReplaceAll(string(out.Result), strings.ReplaceAll(uri, "/", `\/`), "A")
		}
		at := `{"uri":"` + uri + `","position":{"line":0,"character":` + get[string](n, `return client.offset_encoding == 'utf-8' and '5' or '3'`) + `}}`
		for _, c := range []struct{ method, params, want string }{
			{"definition", at, `"line":1`},
			{"references", at, `"character":4`},
			{"hover", at, "asked at 3"},
			{"symbols", `{"uri":"` + uri + `"}`, "chapter"},
			{"symbols", `{"query":"wor"}`, "found wor"},
			{"rename", strings.Replace(at, "{", `{"newName":"term",`, 1), "term"},
			{"format", `{"uri":"` + uri + `"}`, "formatted"},
			{"diagnostics", `{"uri":"` + uri + `"}`, "a mistake"},
			{"diagnostics", `{}`, "a mistake"},
			{"openBuffers", `{}`, `"dirty":true`},
			{"save", `{"uris":["` + uri + `","` + uri + `.no"]}`, `.no"]`},
		} {
			contains(t, c.method+" "+c.params, strings.ReplaceAll(ask(c.method, c.params), " ", " "), c.want)
		}
		contains(t, "the disk", onDisk(t, filepath.Join(root, "a.txt")), "typed")
		n.lua(`local out
			vim.defer_fn(function() vim.diagnostic.set(vim.api.nvim_create_namespace('late'), 0, { { lnum = 0, col = 0, message = 'a late one' } }) end, 1)
			coroutine.wrap(function() out = require('redline.editor').requests.diagnostics({ uri = '`+uri+`', waitMs = 10000 }) end)()
			assert(vim.inspect(await('diagnostics', function() return out end)):find('a late one'))`, nil)
	})
}
