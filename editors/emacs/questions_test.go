package emacs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/agent/geminitest"
)

func shell(command string) geminitest.Call {
	return geminitest.NewCall("run_shell_command", map[string]any{"command": command, "description": "as asked"})
}

// What a person sees and types: the chat beside the file, hunks in the buffer, a question in
// the minibuffer that C-g refuses, one that is answered by its number, one that goes away
// because the turn is stopped. In docs/*.txt are the screens; REDLINE_UPDATE=1 writes them
// anew; look at them then.
func TestScreen(t *testing.T) {
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
			{Text: "`Top` splits at single spaces only, and it fails for short texts (count.go:10). I fix both.\n"},
			{Calls: []geminitest.Call{
				replace(file, `strings.Split(text, " ")`, "strings.Fields(text)"),
				replace(file, "\treturn words[:n]\n", "\tif n > len(words) {\n\t\tn = len(words)\n\t}\n\treturn words[:n]\n"),
			}},
		}},
		geminitest.Do(shell("echo first")),
		geminitest.Do(shell("echo second; echo third")),
		geminitest.Say("The first change is in place; the second one you did not want."),
		geminitest.Do(shell("echo fourth")),
	)
	x := inTerminal(t, root, srv.URL, 120, 34)
	x.press("C-x", "C-f", "count.go", "Enter")
	x.screen("return words")
	x.press("M-x", "redline-ask", "Enter")
	x.screen("Ask:")
	x.press("Make Top work for all texts", "Enter")
	x.until("(= 2 (length (hunks)))")
	x.press("C-c", "=", "n")
	x.screen("hunk 1 of 2")
	x.golden("review", "[Review]")

	x.press("C-c", "=", "a")
	x.until("(= 1 (length (hunks)))")
	x.press("C-c", "=", "n", "C-c", "=", "d")
	x.golden("diff", "words[:n]\n")
	x.press("R")
	x.screen("because")
	x.press("leave that one", "Enter")
	x.until("(null (hunks))")

	// C-g refuses; one types elsewhere meanwhile.
	x.golden("question", "(default 4 Reject)")
	x.press("C-g")
	x.until(`(drive-said "refused")`)
	contains(t, "what the model is told", told(t, srv, 1), "Reason: leave that one")
	contains(t, "what the model is told", told(t, srv, 2), "not")
	x.screen("echo third? (default 4 Reject)")
	x.press("1", "Enter")
	contains(t, "what the model is told", told(t, srv, 3), "third")
	x.until("(= drive-ended 1)")
	contains(t, "the chat", get[string](x.emacs, "(chat)"), "→ Run once", "second one you did not want")

	// A question whose turn is stopped goes away by itself.
	x.press("M-x", "redline-ask", "Enter")
	x.screen("Ask:")
	x.press("More", "Enter")
	x.screen("(default 4 Reject)")
	x.do("(redline-stop)")
	x.until("(and (= drive-ended 2) (not (active-minibuffer-window)))")
	x.press("C-x", "1")
	x.golden("end", "count.go")
	if got := get[string](x.emacs, `(text "count.go")`); strings.Contains(got, "Split") || strings.Contains(got, "len(words)") {
		t.Errorf("the file:\n%s", got)
	}
}

// golden waits for a text on the screen, and for the screen to be as the one that is kept.
func (x *terminal) golden(name, until string) {
	x.t.Helper()
	path := filepath.Join("docs", name+".txt")
	deadline := time.Now().Add(20 * time.Second)
	for {
		got := strings.ReplaceAll(trimmed(x.screen(until)), x.root, "/home/me/words")
		got = strings.ReplaceAll(got, filepath.Base(x.root), "words")
		if os.Getenv("REDLINE_UPDATE") == "1" {
			time.Sleep(time.Second) // for a person to look at: whatever comes late is there
			got = strings.ReplaceAll(trimmed(x.screen(until)), x.root, "/home/me/words")
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(got, filepath.Base(x.root), "words")), 0o644); err != nil {
				x.t.Fatal(err)
			}
			return
		}
		want := onDisk(x.t, path)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			x.t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Questions that are answered by a command, rejected with words, and asked freely.
func TestAnswers(t *testing.T) {
	program(t)
	t.Parallel()
	root := workspace(t, map[string]string{"a.txt": poem})
	srv := geminitest.New(t,
		geminitest.Do(shell("echo one")), geminitest.Do(shell("echo two")), geminitest.Say("Enough."),
	)
	e := start(t, root, srv.URL)
	e.do(`(show "a.txt") (redline-ask "run it") (await "a question" (redline--all-questions))`)
	contains(t, "the chat", get[string](e, "(chat)"), "? Run echo one?", "[Reject]")
	contains(t, "the mode line", get[string](e, "(redline-mode-line)"), "asks!")
	e.do(`(answer-reads (list (format "%%d Reject, and say why…" (1+ (length (redline--question-options (car (redline--all-questions))))))
		"not on a Saturday") #'redline-answer)`)
	contains(t, "what the model is told", told(t, srv, 1), "not on a Saturday")
	// By a button of the chat.
	e.do(`(await "a question" (redline--all-questions))
		(with-current-buffer (redline--session-buffer (session))
			(goto-char (point-max)) (search-backward "[Run once") (push-button (point)))
		(await-end)`)
	contains(t, "what the model is told", told(t, srv, 2), "two")
}
