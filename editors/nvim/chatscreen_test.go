package nvim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

// What a person sees of a conversation, kept in testdata/chat.txt: a question that waits
// while they type, the question, a command that prints, an answer. REDLINE_UPDATE=1 writes
// it anew; look at it then.
func TestChatScreen(t *testing.T) {
	const version = "0.12"
	program(t, version)
	if _, err := exec.LookPath("tmux"); err != nil {
		editortest.Missing(t, "there is no tmux; run editors/nvim/testenv/install.sh")
	}
	root := workspace(t, map[string]string{"count.go": "package main\n\nfunc Top(n int) int {\n\treturn n\n}\n"})
	plan := geminitest.NewCall("write_todos", map[string]any{"todos": []map[string]string{
		{"description": "Run the tests", "status": "in_progress"}, {"description": "Say what is wrong", "status": "pending"}}})
	run := geminitest.NewCall("run_shell_command", map[string]any{"command": "printf 'first test\\nsecond test\\n'; read x < go; echo FAIL"})
	srv := geminitest.New(t,
		geminitest.Step{Chunks: []geminitest.Chunk{
			{Thought: "**Looking for the tests**\n\nThey have to be run first."}, {Text: "I run the tests first.\n"}, {Call: ptr(plan)}, {Call: ptr(run)}}},
		geminitest.Say("`Top` in count.go:3 fails for more than 9:\n\n```go\nfunc Top(n int) int {\n\treturn min(n, 9)\n}\n```\n\n> A quote is no fold.\n"),
	)
	x := inTerminal(t, version, root, srv.URL, 130, 30, "GEMINI_CLI_TRUST_WORKSPACE=true")
	x.lua(`vim.o.statusline = "%f%m%=%{v:lua.require'redline'.status()}" vim.o.laststatus = 3
		vim.fn.system({ 'mkfifo', 'go' }) vim.cmd.edit('count.go') vim.cmd('Redline chat')`, nil)
	x.tmux("send-keys", "iwhy do the tests fail?")
	x.tmux("send-keys", "C-s")
	x.tmux("send-keys", "and then")
	waits := x.await("<Esc> to answer", "redline: asks", "and then", "> ? printf", "Say what is wrong", "plan 0/2", "INSERT")
	x.tmux("send-keys", "C-\\", "C-n")
	question := x.await("Type number", "plan 0/2")
	x.tmux("send-keys", "1", "Enter")
	runs := x.await("│ second test", "redline: working", "plan 0/2")
	if err := os.WriteFile(filepath.Join(root, "go"), []byte("\n"), 0); err != nil { // the command reads from the pipe
		t.Fatal(err)
	}
	x.until(ended)
	answer := x.screen("A quote")
	got := "== a question waits\n" + trimmed(waits) + "== the question\n" + trimmed(question) + "== a command prints\n" + trimmed(runs) +
		"== the answer\n" + trimmed(answer)
	const golden = "testdata/chat.txt"
	if os.Getenv("REDLINE_UPDATE") == "1" {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	equal(t, "the screen", got, onDisk(t, golden))
}
