package nvim_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

// terminal is a Neovim in tmux: what a person sees.
type terminal struct {
	*nvim
	dir string // tmux' own
}

// inTerminal starts a Neovim of width by height cells.
func inTerminal(t *testing.T, version, root, url string, width, height int, more ...string) *terminal {
	t.Helper()
	dir, err := os.MkdirTemp("", "nv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	init, err := filepath.Abs("testdata/init.lua")
	if err != nil {
		t.Fatal(err)
	}
	n := &nvim{t: t, exe: program(t, version), root: root, socket: filepath.Join(dir, "s")}
	n.env = append(append(environment(t, root, url), "REDLINE_SCREEN=1", "COLORTERM=truecolor"), more...)
	x := &terminal{n, dir}
	x.tmux("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-c", root,
		// The channel is signalled when Neovim listens; wait-for below waits for it.
		fmt.Sprintf("exec %s --clean --listen %s --cmd 'luafile %s' --cmd 'set noruler noshowcmd' "+
			"--cmd 'autocmd VimEnter * call system(\"tmux -S %s wait-for -S ready\")'", n.exe, n.socket, init, filepath.Join(dir, "t")))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen:\n%s", trimmed(x.tmux("capture-pane", "-p")))
		}
		x.tmux("kill-server")
	})
	x.tmux("wait-for", "ready")
	return x
}

// tmux runs a command of tmux in a server of its own.
func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", filepath.Join(x.dir, "t")}, args...)...)
	cmd.Env = x.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// until waits for a Lua expression to be true. Neovim is asked again and again: keys that
// are on their way are not taken while it waits by itself.
func (x *terminal) until(expr string) {
	x.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !get[bool](x.nvim, "return ("+expr+") and true or false") {
		if time.Now().After(deadline) {
			x.t.Fatalf("waited in vain for %s", expr)
		}
	}
}

// undecided is for until: n hunks wait for a decision.
func undecided(n int) string {
	return fmt.Sprintf("package.loaded['redline.review'] and require('redline.review').count() == %d", n)
}

// ended is for until: the first turn is over.
const ended = "require('redline.session').current.ended"

// await waits for texts on the screen as it is, also while Neovim waits for a key.
func (x *terminal) await(texts ...string) string {
	x.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		got := x.tmux("capture-pane", "-p", "-J")
		missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.Contains(got, text) })
		if len(missing) == 0 {
			return got
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("waited in vain for %q on the screen:\n%s", missing, got)
		}
	}
}

// screen returns the text of the screen once Neovim has drawn all there is.
func (x *terminal) screen(until string) string {
	x.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		x.lua(`vim.cmd('redraw!')`, nil)
		got := x.tmux("capture-pane", "-p")
		if strings.Contains(got, until) {
			return got
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("waited in vain for %q on the screen:\n%s", until, got)
		}
	}
}

// What a person sees of a review and of the chat, kept in testdata/screen.txt.
// REDLINE_UPDATE=1 writes it anew; look at it then.
func TestScreen(t *testing.T) {
	const version = "0.12"
	program(t, version)
	if _, err := exec.LookPath("tmux"); err != nil {
		editortest.Missing(t, "there is no tmux; run editors/nvim/testenv/install.sh")
	}
	root := workspace(t, map[string]string{"count.go": `package main

// Top returns the n most frequent words of text.
func Top(text string, n int) []Word {
	counts := map[string]int{}
	for _, w := range strings.Split(text, " ") {
		counts[w]++
	}
	words := sorted(counts)
	return words[:n]
}
`})
	file := filepath.Join(root, "count.go")
	srv := geminitest.New(t,
		geminitest.Step{Chunks: []geminitest.Chunk{
			{Thought: "**Reading the code**\n\nThe words are split at single spaces only."},
			{Text: "`Top` splits at single spaces only, and it fails for short texts. I fix both.\n"},
			{Calls: []geminitest.Call{
				replace(file, `strings.Split(text, " ")`, "strings.Fields(text)"),
				replace(file, "\treturn words[:n]\n", "\tif n > len(words) {\n\t\tn = len(words)\n\t}\n\treturn words[:n]\n"),
			}},
		}},
		geminitest.Say("The first change is in place; the second one you did not want."),
	)
	x := inTerminal(t, version, root, srv.URL, 120, 34)
	x.lua(`vim.o.statusline = "%f%m%=%{v:lua.require'redline'.status()}" vim.o.laststatus = 3 vim.cmd.edit('count.go')
		vim.cmd('Redline chat') vim.cmd('wincmd p')`, nil)
	x.tmux("send-keys", ":Redline ask Make Top work for all texts", "Enter")
	x.until(undecided(2))
	x.tmux("send-keys", "gg", "]r")
	x.until(`vim.fn.line('.') == 6`)
	review := x.screen("redline 1/2")
	picture := svg(x.tmux("capture-pane", "-e", "-N", "-p"))
	x.tmux("send-keys", `\ra`)
	x.until(undecided(1))
	x.tmux("send-keys", "]r", ":Redline reject leave that one", "Enter")
	x.until(ended)
	x.lua(`vim.cmd('echo ""')`, nil)
	after := x.screen("did not want")

	got := "== under review\n" + trimmed(review) + "== decided\n" + trimmed(after)
	const golden = "testdata/screen.txt"
	const drawn = "media/review.svg"
	if os.Getenv("REDLINE_UPDATE") == "1" {
		if err := os.WriteFile(drawn, []byte(picture), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	equal(t, "the screen", got, onDisk(t, golden))
	// Colours are the editor's, and may change with it; the words are ours.
	equal(t, "the words of "+drawn, words(picture), words(onDisk(t, drawn)))
}

// trimmed takes the spaces at the ends of lines away, and what tokens cost: the folder's
// name is among them.
func trimmed(screen string) string {
	screen = regexp.MustCompile(`\$0\.\d+`).ReplaceAllStringFunc(screen, func(string) string {
		return "$0.00"
	})
	return strings.TrimRight(regexp.MustCompile(`(?m)[ \t]+$`).ReplaceAllString(screen, ""), "\n") + "\n"
}
