package helix_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

const greet = `package main

import "fmt"

// redline: greet in German, and politely
func hello(name string) {
	fmt.Println("hello", name)
}

func bye(name string) {
	fmt.Println("bye", name)
}
`

// told returns what the model was told with its request i of its calls.
func told(t *testing.T, srv *geminitest.Server, i int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := srv.Await(ctx, i)
	if err != nil {
		t.Fatalf("the model's request %d: %v", i, err)
	}
	var out []string
	for _, f := range r.Last().Responses() {
		text, _ := f.Output()
		out = append(out, text)
	}
	return strings.Join(out, "\n---\n")
}

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

func call(name string, args map[string]any) geminitest.Call { return geminitest.NewCall(name, args) }

// What the page shows, in one Helix: a comment, a review in the text and in the difference,
// the chat, a command that is asked about, a second question, a cancel, a server that dies.
func TestScenes(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(root, "main.go")
		put(t, file, greet)
		replace := func(old, text string) geminitest.Call {
			return call("replace", map[string]any{"file_path": file, "old_string": old, "new_string": text})
		}
		const long = "`hello` is in German now, and `bye` is as it was, because you did not want that one.\n\n" +
			"What I left alone:\n\n- `bye`\n- the import\n\nSay so if I should go on with the rest of the project.\n"
		srv := geminitest.New(t,
			geminitest.Do(
				replace("// redline: greet in German, and politely\n", "// hello greets in German.\n"),
				replace(`fmt.Println("hello", name)`, `fmt.Printf("Guten Tag, %s!\n", name)`),
				replace(`fmt.Println("bye", name)`, `fmt.Printf("Auf Wiedersehen, %s!\n", name)`),
			),
			geminitest.Say(long),
			geminitest.Do(
				call("write_file", map[string]any{"file_path": filepath.Join(root, "doc/greet.md"), "content": "# greet\n\nSays hello.\n"}),
				replace(`fmt.Println("bye", name)`, `fmt.Println("ciao", name)`),
			),
			geminitest.Say("There is a page now."),
			geminitest.Do(call("run_shell_command", map[string]any{"command": "echo counted > count.txt"})),
			geminitest.Step{Chunks: []geminitest.Chunk{{Text: "It ran. Now I think about it"}, {Text: " for ever.", Gate: "never"}}},
			geminitest.Do(replace(`fmt.Println("bye", name)`, `fmt.Println("tschüs", name)`)),
		)
		keep := func(h *helix, name string) {
			h.Keep("screens/"+name+"-"+version+".txt", h.clean)
		}
		h := start(t, version, root, srv.URL, "main.go", "")

		// A comment is a prompt.
		h.open("main.go", 5)
		if acts := h.actions(); len(acts) != 1 || acts[0] != "do what this comment says" {
			t.Errorf("on the comment: %q", acts)
		}
		keep(h, "comment")
		h.Keys("Enter")
		if version == "25.01" {
			h.See("Redline: 3 changes in main.go")
		} else {
			h.See("Redline proposes:")
			keep(h, "proposal")
			h.Keys("Escape") // to look at the text first
			h.See("Redline: 3 changes in main.go")
		}
		// Its hunks are marked; each has its actions.
		h.open("main.go", 7)
		h.actions()
		keep(h, "hunk")
		h.Keys("Enter")
		h.See("Guten Tag")
		h.open("main.go", 5)
		h.act("accept this hunk")
		h.See("// hello greets in German.")
		h.open("main.go", 11)
		h.act("reject this hunk")
		h.See("(redline.openChat shows all) `hello` is in German now")
		keep(h, "answer")
		h.command("write")
		h.See("written")
		want := strings.Replace(greet, "// redline: greet in German, and politely", "// hello greets in German.", 1)
		want = strings.Replace(want, `fmt.Println("hello", name)`, `fmt.Printf("Guten Tag, %s!\n", name)`, 1)
		if got := onDisk(t, file); got != want {
			t.Errorf("main.go:\n%s", got)
		}
		wants(t, "the first answer", told(t, srv, 1), "Successfully modified file", "rejected; nothing of it is in the file")

		// The chat has what was said; a proposal over two files is decided in the difference.
		h.redline("openChat")
		h.See("Say so if I should go on")
		h.insert("Write a page, and shorten bye.")
		h.act("Send")
		if version != "25.01" {
			h.See("> new file doc/greet.md +3")
			h.Keys("Enter") // Review is the first
		} else {
			h.See("Redline: 2 changes in 2 files")
			keep(h, "chat")
			h.redline("showDiff")
		}
		h.See("+++ b/doc/greet.md")
		h.traced(`"languageId":"diff"`, 1)
		keep(h, "difference")
		if version == "25.01" { // the difference is in a window of its own
			h.Keys("C-w", "o")
		}
		h.Text("/Says hello")
		h.Keys("Enter")
		h.act("accept this hunk")
		h.Gone(" Redline: ")
		h.Text("/ciao")
		h.Keys("Enter")
		h.act("reject this hunk")
		h.idle()
		wants(t, "the second answer", told(t, srv, 3), "doc/greet.md", "rejected; nothing of it is in the file")
		h.command("write-all!")
		h.See("written")
		if got := onDisk(t, filepath.Join(root, "doc/greet.md")); got != "# greet\n\nSays hello.\n" {
			t.Errorf("doc/greet.md: %q", got)
		}
		if got := onDisk(t, file); got != want {
			t.Errorf("main.go:\n%s", got)
		}

		// A command is asked about: a menu, or code actions.
		h.redline("openChat")
		h.See("There is a page now.")
		h.Keys("g", "e")
		h.insert("Count it.")
		h.act("Send")
		if version == "25.01" {
			h.See("Redline: echo counted > count.txt? · space a to answer")
			h.actions()
			keep(h, "question")
			h.Keys("Enter")
		} else {
			h.See("Run once, without trusting the folder")
			keep(h, "question")
			h.Keys("Down", "Enter") // the first says no
		}
		// A second question meanwhile, and a cancel.
		h.See("Now I think about it")
		if got := onDisk(t, filepath.Join(root, "count.txt")); got != "counted\n" {
			t.Errorf("count.txt: %q", got)
		}
		if version != "25.01" {
			h.redline(`ask {"text":"and hurry"}`)
			h.See("Redline is at work and takes that along.")
		} else {
			h.act("Send")
			h.See("Redline: ")
		}
		h.redline("cancel")
		h.idle()
		h.See("*Cancelled.*")
		keep(h, "cancelled")

		// The server dies; Helix says so, and starts it again when asked to.
		// (25.01 starts all servers of the language or none: gopls may not be there.)
		put(t, filepath.Join(root, "note.txt"), "a note\n")
		h.open("note.txt", 1)
		kill(t, h, "redline")
		opened := h.sent("textDocument/didOpen")
		h.command("lsp-restart")
		h.traced("textDocument/didOpen", opened+1)
		if version == "25.01" {
			h.redline("ask")
			h.See("Write below the last heading")
			h.Keys("g", "e")
			h.insert("Shorter.")
			h.act("Send")
			h.See("> main.go +1 -1")
		} else {
			h.open("main.go", 11)
			h.command("set-option lsp.display-progress-messages true")
			h.redline(`ask {"text":"Shorter."}`)
			h.See("Redline proposes:")
			h.See("Redline ⋅ waits for your decision on 1 change in main.go")
			keep(h, "progress")
		}
		// It dies again, with a change undecided: that one comes back, and counts.
		if version != "25.01" {
			h.Keys("Escape")
			h.See("Redline: 1 change in main.go")
		}
		h.open("note.txt", 1)
		kill(t, h, "redline")
		h.command("lsp-restart")
		h.See("Redline: 1 change of last time undecided")
		keep(h, "restarted")
		h.redline("resume")
		if version != "25.01" {
			h.See("Redline proposes:")
			keep(h, "resumed")
			h.Keys("Escape")
		}
		h.See("Redline: 1 change in main.go")
		h.open("main.go", 11)
		h.act("accept this hunk")
		h.See(`fmt.Println("tschüs", name)`)
		// The earlier conversation is in the list, and goes on from there.
		h.redline("sessions")
		h.See("- Shorter. · just now · 1 prompt · the current one")
		h.Text("/3 prompts")
		h.Keys("Enter")
		h.act("go on with this conversation")
		h.See("Redline: goes on with “greet in German, and politely” (3 prompts)")
	})
}

// kill ends the server that Helix runs, without a warning.
func kill(t *testing.T, h *helix, name string) {
	t.Helper()
	pid := h.Pid()
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
	t.Fatalf("no %s among the children of Helix: %s", name, data)
}

// Without credentials the first question says what is missing.
func TestNoCredentials(t *testing.T) {
	each(t, func(t *testing.T, version string) {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(root, "main.go"), greet)
		h := start(t, version, root, "", "main.go", "")
		h.open("main.go", 5)
		h.act("do what this comment says")
		h.See("GEMINI_API_KEY environment variable not found")
		h.idle()
		h.Keep("screens/nokey-"+version+".txt", h.clean)
	})
}

var _ = editortest.Missing
