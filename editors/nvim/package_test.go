package nvim_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/editors/editortest"
)

// installed is a home with the plugin in a folder of it, as a package manager would put
// it, and Neovim's answer to Lua code run after its start.
func installed(t *testing.T, version, where, config, code string) string {
	t.Helper()
	home := t.TempDir()
	target := filepath.Join(home, where)
	for _, dir := range []string{"plugin", "lua", "doc"} {
		if err := os.CopyFS(filepath.Join(target, dir), os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	conf := filepath.Join(home, "config", "nvim")
	if err := os.MkdirAll(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		filepath.Join(conf, "init.lua"): "vim.o.swapfile = false\nvim.g.redline = { cmd = { vim.env.REDLINE_BIN, 'serve' } }\n" + config,
		filepath.Join(home, "code.lua"): code,
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t, version), "--headless", "-c", "luafile "+filepath.Join(home, "code.lua"), "-c", "qall!")
	cmd.Dir = home
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + home, "PLUGIN=" + target, "REDLINE_BIN=" + editortest.Binary(t),
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_DATA_HOME=" + filepath.Join(home, "data"), "XDG_STATE_HOME=" + filepath.Join(home, "state"),
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.ReplaceAll(string(out), "\r", "")
}

// The plugin works from where native packages and package managers put it, and nothing of
// it is loaded before it is used.
func TestInstalled(t *testing.T) {
	const report = `
		local loaded = {}
		for m in pairs(package.loaded) do
			if vim.startswith(m, 'redline') then loaded[#loaded + 1] = m end
		end
		io.stdout:write('before ', vim.fn.exists(':Redline'), ' ', #loaded, '\n')
		`
	const use = `
		vim.cmd('helptags ALL')
		io.stdout:write('help ', tostring(pcall(vim.cmd.help, 'redline-review')), '\n')
		vim.notify = function(text) io.stdout:write('says ', text, '\n') end
		vim.cmd('Redline next')
		`
	// What lazy.nvim does for cmd = and keys =: stand-ins that load the plugin and repeat
	// what was typed.
	const lazy = `
		local function load()
			vim.api.nvim_del_user_command('Redline')
			vim.keymap.del('n', '<Leader>an')
			vim.opt.rtp:append(vim.env.PLUGIN)
			vim.cmd.source(vim.env.PLUGIN .. '/plugin/redline.lua')
		end
		vim.api.nvim_create_user_command('Redline', function(args)
			load()
			vim.cmd({ cmd = 'Redline', args = args.fargs, bang = args.bang, range = args.range > 0 and { args.line1, args.line2 } or nil })
		end, { nargs = '*', bang = true, range = true })
		vim.keymap.set('n', '<Leader>an', function()
			load()
			vim.keymap.set('n', '<Leader>an', '<Plug>(redline-next)')
			vim.api.nvim_feedkeys(vim.keycode('<Leader>an'), 'mx', false)
		end)
		`
	each(t, func(t *testing.T, version string) {
		for name, c := range map[string]struct{ where, config, code, want string }{
			"start": {"data/nvim/site/pack/any/start/redline", "", report + use, "before 2 0\nhelp true\nsays Redline: there is nothing to review\n"},
			"opt":   {"data/nvim/site/pack/any/opt/redline", "", report + "vim.cmd.packadd('redline')" + use, "before 0 0\nhelp true\nsays Redline: there is nothing to review\n"},
			"lazy":  {"plugins/redline", lazy, report + use, "before 2 0\nhelp false\nsays Redline: there is nothing to review\n"},
			"lazy keys": {
				"plugins/redline", lazy, strings.Replace(report+use, "vim.cmd('Redline next')", "vim.api.nvim_feedkeys(vim.keycode('<Leader>an'), 'mx', false)", 1),
				"before 2 0\nhelp false\nsays Redline: there is nothing to review\n",
			},
			"packadd and setup": {
				"data/nvim/site/pack/any/opt/redline", "vim.cmd.packadd('redline') require('redline').setup({ mode = 'plan' })", report + use,
				"before 2 2\nhelp true\nsays Redline: there is nothing to review\n",
			},
		} {
			if got := installed(t, version, c.where, c.config, c.code); got != c.want {
				t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
			}
		}
	})
}

// The rockspec and pkg.json name what is there.
func TestManifests(t *testing.T) {
	program(t, versions[0])
	n := start(t, versions[0], workspace(t, nil), "")
	spec, err := filepath.Abs("redline.nvim-scm-1.rockspec")
	if err != nil {
		t.Fatal(err)
	}
	var rock struct {
		Package, Version string
		Source           struct{ Dir string }
		Build            struct {
			Type    string
			Copy    []string       `json:"copy_directories"`
			Modules map[string]any // absent: all below lua
		}
	}
	n.lua(`local env = {} local chunk = assert(loadfile(`+quote(spec)+`)) setfenv(chunk, env)() return env`, &rock)
	if want := rock.Package + "-" + rock.Version + ".rockspec"; filepath.Base(spec) != want {
		t.Errorf("the file is %s, and describes %s", filepath.Base(spec), want)
	}
	if rock.Build.Type != "builtin" || rock.Build.Modules != nil || !strings.HasSuffix(rock.Source.Dir, "/editors/nvim") {
		t.Errorf("the rock is made otherwise than by the modules below lua: %+v", rock)
	}
	for _, dir := range append(rock.Build.Copy, "lua/redline") {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("%s is no folder: %v", dir, err)
		}
	}
	equal(t, "copied folders", strings.Join(rock.Build.Copy, " "), "doc plugin")
	var pkg struct {
		Name       string
		Engines    map[string]string
		Repository struct{ URL, Directory string }
	}
	if err := json.Unmarshal([]byte(onDisk(t, "pkg.json")), &pkg); err != nil {
		t.Fatal(err)
	}
	if pkg.Name != rock.Package || pkg.Engines["nvim"] != ">=0.10.0" || pkg.Repository.Directory != "editors/nvim" {
		t.Errorf("pkg.json: %+v", pkg)
	}
}
