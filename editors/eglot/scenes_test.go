package eglot_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"redline/agent/geminitest"
)

const greet = `# redline: greet in German, and politely
def hello(name):
    print("hello", name)


def bye(name):
    print("bye", name)
`

func wants(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: there is no %q in\n%s", what, p, text)
		}
	}
}

func onDisk(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What the page shows, in one Emacs: a comment, C-g instead of an answer, a review by code
// actions, the difference, a command that is asked about, a second question, the chat, a
// cancel, a server that dies.
func TestScenes(t *testing.T) {
	program(t)
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "greet.txt") // python-mode wants a Python
	put(t, file, greet)
	call := geminitest.NewCall
	replace := func(old, text string) geminitest.Call {
		return call("replace", map[string]any{"file_path": file, "old_string": old, "new_string": text})
	}
	srv := geminitest.New(t,
		geminitest.Do(
			replace("# redline: greet in German, and politely\n", "# Greets in German.\n"),
			replace(`print("hello", name)`, `print("Guten Tag,", name)`),
			replace(`print("bye", name)`, `print("Auf Wiedersehen,", name)`),
			call("write_file", map[string]any{"file_path": filepath.Join(root, "greet.md"), "content": "# greet\n\nSays hello.\n"}),
		),
		geminitest.Say("In German now, and there is a page."),
		geminitest.Do(call("run_shell_command", map[string]any{"command": "echo counted > count.txt"})),
		geminitest.Say("Counted."),
		geminitest.Step{Chunks: []geminitest.Chunk{{Text: "I think about it"}, {Text: " for ever.", Gate: "never"}}},
		geminitest.Do(replace(`print("bye", name)`, `print("tschüs", name)`)),
	)
	e := start(t, root, srv.URL, "greet.txt")
	keep := func(name string) { e.Keep("screens/"+name+".txt", e.clean) }

	// A comment is a prompt; the message is sent away, the notes and actions are left.
	e.open("greet.txt", 1)
	e.act("do what this comment says")
	e.See("Choose an option: Review")
	keep("proposal")
	e.Keys("C-g")
	e.See("Quit")
	e.open("greet.txt", 3)
	e.mx("eglot-code-actions")
	e.See("Pick an action")
	e.Keys("Tab", "Tab")
	e.See("accept all of this file (3)")
	keep("hunk")
	e.Keys("C-g")
	e.Gone("Pick an action")
	e.act("accept this hunk")
	e.open("greet.txt", 1)
	e.act("accept this hunk")
	opened := e.sent(`"textDocument/didOpen"`)
	e.do("showDiff")
	e.See("+++ b/greet.md")
	keep("difference")
	// Hunks are decided where they are read.
	e.traced(`"textDocument/didOpen"`, opened+1)
	e.Keys("C-s")
	e.See("I-search:")
	e.Text("Auf")
	e.Keys("Enter")
	e.act("reject this hunk")
	e.Keys("C-x", "1")
	// The new file is the rest; eglot asks before it edits a file that is not open.
	e.do("accept")
	e.See("greet.md (1 change)")
	e.Text("y")
	e.See("In German now, and there is a page.")
	wants(t, "the first answer", told(t, srv, 1), "Successfully modified file", "rejected; nothing of it is in the file", "greet.md")
	e.Keys("C-x", "s")
	e.See("Save file")
	e.Text("!")
	e.until("the files to be saved", func() bool { _, err := os.Stat(filepath.Join(root, "greet.md")); return err == nil })
	want := strings.Replace(greet, "# redline: greet in German, and politely", "# Greets in German.", 1)
	want = strings.Replace(want, `print("hello", name)`, `print("Guten Tag,", name)`, 1)
	e.until("greet.txt to be saved", func() bool { return onDisk(t, file) == want })
	if got := onDisk(t, filepath.Join(root, "greet.md")); got != "# greet\n\nSays hello.\n" {
		t.Errorf("greet.md: %q", got)
	}

	// A command is asked about; C-g puts it off, and the code actions answer it. A second
	// question goes along.
	e.open("greet.txt", 1)
	e.ask("Count it.")
	e.See("Choose an option: Reject")
	keep("question")
	e.Keys("C-g")
	e.See("Quit")
	e.ask("and hurry")
	e.See("Redline takes that along once you have answered its question.")
	e.act("Run once, without trusting the folder — echo counted > count.txt")
	e.See("Counted.")
	if got := onDisk(t, filepath.Join(root, "count.txt")); got != "counted\n" {
		t.Errorf("count.txt: %q", got)
	}

	// The chat is any redline-chat.md; sent by a code action, cancelled by a command.
	e.Keys("C-x", "1", "C-x", "C-f")
	e.See("Find file:")
	e.Text("redline-chat.md")
	e.Keys("Enter")
	e.See("redline-chat.md ")
	changes := e.sent(`"textDocument/didChange"`)
	e.Text("What else?")
	e.traced(`"textDocument/didChange"`, changes+1)
	e.act("Send")
	told(t, srv, 4) // it is asked; eglot gets an answer in one piece
	e.do("cancel")
	e.See("*Cancelled.*")
	e.See("## You")
	keep("chat")

	// The server dies; eglot starts it again.
	opened = e.sent(`"textDocument/didOpen"`)
	kill(t, e, "redline")
	e.traced(`"textDocument/didOpen"`, opened+1)
	e.open("greet.txt", 1)
	e.ask("Shorter.")
	e.See("Choose an option: Review")
	e.Keys("C-g")
}

// kill ends the server that Emacs runs, without a warning.
func kill(t *testing.T, e *emacs, name string) {
	t.Helper()
	pid := e.Pid()
	data, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range strings.Fields(string(data)) {
		comm, _ := os.ReadFile("/proc/" + child + "/comm") // it may be gone
		if n, err := strconv.Atoi(child); err == nil && strings.TrimSpace(string(comm)) == name {
			if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no %s among the children of Emacs: %s", name, data)
}

// Without credentials the first question says what is missing.
func TestNoCredentials(t *testing.T) {
	program(t)
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "greet.txt"), greet)
	e := start(t, root, "", "greet.txt")
	e.ask("hello")
	e.See("GEMINI_API_KEY environment variable not found")
}
