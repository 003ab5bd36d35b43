package nvim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// measure is in Lua: it defines typed(), which presses a key in the middle of the current
// file as often as it is told and returns the median time, in milliseconds, until Neovim
// has drawn it and has told the server.
const measure = `
	vim.o.columns, vim.o.lines = 120, 50
	function median(list)
		table.sort(list)
		return list[math.floor(#list / 2) + 1]
	end
	function least(list)
		table.sort(list)
		return list[1]
	end
	function took(fn)
		local a = vim.uv.hrtime()
		fn()
		return (vim.uv.hrtime() - a) / 1e6
	end
	function typed(times, keys, pause)
		local out = {}
		for i = 1, times do
			out[i] = took(function()
				vim.api.nvim_feedkeys(vim.keycode(keys), 'tx', false)
				vim.cmd.redraw()
			end)
			vim.wait(pause, function() return false end, 1) -- what the server says of it comes between two keys
		end
		return median(out)
	end
`

// many returns a text of so many lines, and that text with every nth line changed.
func many(lines, nth int) (old, new string) {
	var a, b strings.Builder
	for i := range lines {
		line := fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", i%40))
		a.WriteString(line)
		if i%nth == nth/2 {
			line = "changed " + line
		}
		b.WriteString(line)
	}
	return a.String(), b.String()
}

// Typing costs no more with fifty hunks shown than with none, in the same Neovim: keys in
// lines, new lines, which move the hunks, and lines of hunks.
func TestTypingWithManyHunks(t *testing.T) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) { // one after the other: it is measured
			program(t, v)
			old, new := many(500, 10)
			root := workspace(t, map[string]string{"a.txt": old, "plain.txt": old})
			srv := geminitest.New(t,
				geminitest.Do(geminitest.NewCall("write_file", map[string]any{"file_path": filepath.Join(root, "a.txt"), "content": new})),
				geminitest.Say("Well."),
			)
			n := start(t, v, root, srv.URL)
			n.lua(`vim.cmd.edit('plain.txt') vim.cmd.edit('a.txt') vim.cmd('Redline ask hello') hunks(50)`, nil)
			var got struct{ None, Fifty, NoneLine, FiftyLine, Update float64 } // milliseconds
			n.lua(measure+`
				local update, taken = require('redline.review').update, {}
				require('redline.review').update = function(...)
					local args = { n = select('#', ...), ... }
					taken[#taken + 1] = took(function() update(unpack(args, 1, args.n)) end)
				end
				local function both(times, keys, pause, a, b, out)
					local none, fifty = {}, {}
					for i = 1, 7 do -- in turns, so that what else goes on hits both
						for _, side in ipairs({ { 'plain.txt', none }, { 'a.txt', fifty } }) do
							vim.cmd.buffer(side[1])
							vim.api.nvim_win_set_cursor(0, { 242 + i, 3 })
							side[2][i] = typed(times, keys, pause)
						end
					end
					out[a], out[b] = least(none), least(fifty)
				end
				local out = {}
				both(10, 'iy<Esc>', 10, 'none', 'fifty', out)
				both(3, 'Onew<Esc>', 80, 'noneLine', 'fiftyLine', out)
				out.update = median(taken)
				return out`, &got)
			t.Logf("a key in a line: %.2f ms with no hunks, %.2f ms with 50 (ratio %.2f); a new line: %.2f and %.2f ms (ratio %.2f); taking what the server says of it: %.2f ms",
				got.None, got.Fifty, got.Fifty/got.None, got.NoneLine, got.FiftyLine, got.FiftyLine/got.NoneLine, got.Update)
			// The least of several rounds: what a machine with other things to do adds is left out.
			if got.Fifty > got.None*1.5+0.5 || got.FiftyLine > got.NoneLine*1.5+1 || got.Update > 20 {
				t.Errorf("50 hunks are felt: %+v", got)
			}
			n.lua(`hunks(50) vim.cmd('Redline! reject all') idle()`, nil)
		})
	}
}

// Very much to review: a file of ten thousand lines in one hunk, one with a thousand
// hunks, and two hundred over many files. It is shown, gone through and decided within
// times that a person does not mind.
func TestVeryMuch(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		whole, _ := many(10000, 5)
		hunks, changed := many(10000, 10)
		files := map[string]string{"hunks.txt": hunks, "whole.txt": "gone\n"}
		calls := []geminitest.Call{}
		root := workspace(t, files)
		write := func(name, text string) geminitest.Call {
			return geminitest.NewCall("write_file", map[string]any{"file_path": filepath.Join(root, name), "content": text})
		}
		calls = append(calls, write("hunks.txt", changed), write("whole.txt", whole))
		for i := range 40 {
			name := fmt.Sprintf("part%02d.txt", i)
			old, new := many(50, 10)
			if err := os.WriteFile(filepath.Join(root, name), []byte(old), 0o644); err != nil {
				t.Fatal(err)
			}
			calls = append(calls, write(name, new))
		}
		srv := geminitest.New(t, geminitest.Do(calls...), geminitest.Say("Well."))
		n := start(t, version, root, srv.URL)
		const all = 1000 + 1 + 200
		n.lua(fmt.Sprintf(`%s vim.cmd.edit('whole.txt') vim.cmd.edit('hunks.txt') vim.cmd('Redline ask much') hunks(%d)`, measure, all), nil)
		type cost struct {
			What string
			Ms   float64
		}
		var costs []cost
		// Marks are there for what is seen, and for what one comes to.
		drawn := `(function() local c = 0 for _, m in ipairs(vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['redline.review'], 0, -1, { details = true })) do
			if m[4].virt_lines then c = c + 1 end end return c end)()`
		if c := get[int](n, `return `+drawn); c == 0 || c > 100 {
			t.Errorf("%d of 1000 hunks are drawn, of which a screen shows 5", c)
		}
		n.lua(`local out = {}
			local function cost(what, fn) vim.cmd.redraw() out[#out + 1] = { What = what, Ms = took(function() fn() vim.cmd.redraw() end) } end
			local feed = function(keys) vim.api.nvim_feedkeys(vim.keycode(keys), 'tx', false) end
			vim.cmd.buffer('hunks.txt')
			cost(']r', function() feed('gg]r') end)
			assert(vim.fn.line('.') == 6, 'at the first hunk')
			cost('G and [r', function() feed('G[r') end)
			assert(vim.fn.line('.') == 9996, 'at the last hunk')
			assert(`+drawn+` > 0, 'there too')
			cost('a page', function() feed('<C-b>') end)
			cost('a key', function() feed('ix<Esc>') end)
			cost('a new line', function() feed('ox<Esc>') end)
			feed('uu')
			cost('the list', function() vim.cmd('Redline qf') end)
			assert(#vim.fn.getqflist() == `+fmt.Sprint(all)+`, 'all are in the list')
			vim.cmd('cclose')
			cost('the hunk of 10000 lines', function() vim.cmd.buffer('whole.txt') end)
			assert(joined_virtual():find('more lines; :Redline diff shows all'), 'and that there are more is said')
			cost('its diff', function() vim.cmd('Redline diff') end)
			vim.cmd('tabclose')
			return out`, &costs)
		n.lua(fmt.Sprintf(`vim.cmd.buffer('hunks.txt') feedkeys = vim.api.nvim_feedkeys
			start = vim.uv.hrtime() vim.cmd('6') vim.cmd('Redline accept hunk') hunks(%d) one = (vim.uv.hrtime() - start) / 1e6
			start = vim.uv.hrtime() vim.cmd('Redline accept all') idle() rest = (vim.uv.hrtime() - start) / 1e6`, all-1), nil)
		costs = append(costs, cost{"accepting one hunk", get[float64](n, `return one`)}, cost{"accepting the rest", get[float64](n, `return rest`)})
		for _, c := range costs {
			t.Logf("%s: %.0f ms", c.What, c.Ms)
		}
		slow := slices.DeleteFunc(costs, func(c cost) bool {
			return c.Ms < 1000 || c.What == "accepting one hunk" && c.Ms < 5000 || c.What == "accepting the rest" && c.Ms < 20000
		})
		if len(slow) > 0 {
			t.Errorf("slow: %v", slow)
		}
		equal(t, "the file with many hunks", joined(get[[]string](n, `return lines(vim.fn.bufnr('hunks.txt'))`))+"\n", changed)
		equal(t, "the file of 10000 lines", joined(get[[]string](n, `return lines(vim.fn.bufnr('whole.txt'))`))+"\n", whole)
	})
}
