// Package vim_test drives a real Vim with the plugin ALE, as one of the editors of which redline
// knows nothing, with the settings of editors/README.md.
package vim_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	editortest.Clean()
	os.Exit(code)
}

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

// settings returns the block of settings of editors/README.md that has a text.
func settings(t *testing.T, language, text string) string {
	t.Helper()
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(m[1], text) {
			return m[1]
		}
	}
	t.Fatalf("no block of %s in editors/README.md has %q", language, text)
	return ""
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// A comment is the prompt; of two changes one is taken and one is not, by code actions; the
// file is right, the model is told, and its answer is seen.
func TestALE(t *testing.T) {
	if testing.Short() {
		t.Skip("a real editor is not driven in short mode")
	}
	vim, err := exec.LookPath("vim")
	if err != nil {
		editortest.Missing(t, "there is no vim; run editors/vim/testenv/install.sh")
	}
	if _, err := os.Stat("/usr/share/vim-ale/plugin/ale.vim"); err != nil {
		editortest.Missing(t, "there is no ALE; run editors/vim/testenv/install.sh")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "vim") // not the test's: the server writes there until it has ended
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	file := filepath.Join(root, "main.go")
	put(t, file, greet, 0o644)
	put(t, filepath.Join(home, ".vimrc"), "set nocompatible noswapfile\n"+settings(t, "vim", "packadd! ale"), 0o644)
	put(t, filepath.Join(home, "bin/redline"), fmt.Sprintf("#!/bin/sh\nexec %q \"$@\"\n", editortest.Binary(t)), 0o755)
	replace := func(old, text string) geminitest.Call {
		return geminitest.NewCall("replace", map[string]any{"file_path": file, "old_string": old, "new_string": text})
	}
	srv := geminitest.New(t,
		geminitest.Do(replace(`fmt.Println("hello", name)`, `fmt.Printf("Guten Tag, %s!\n", name)`), replace(`fmt.Println("bye", name)`, `fmt.Printf("Auf Wiedersehen, %s!\n", name)`)),
		geminitest.Say("Only `hello` is in German now."),
	)
	x := editortest.StartTerminal(t, root, []string{
		"PATH=" + filepath.Join(home, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"GOOGLE_GEMINI_BASE_URL=" + srv.URL, "GEMINI_API_KEY=" + geminitest.DefaultKey,
	}, 110, 30, vim, "main.go")
	x.See("func bye")
	command := func(line string) {
		x.Text(":" + line)
		x.Keys("Enter")
	}
	act := func(line, title string) {
		t.Helper()
		command(line)
		var list string
		for limit := time.Now().Add(time.Minute); ; { // the server may be starting
			command("ALECodeAction")
			list = x.Until("code actions, or none", func(s string) bool {
				return strings.Contains(s, "Type number and <Enter>") || strings.Contains(s, "No active LSPs") || strings.Contains(s, "No code actions")
			})
			if strings.Contains(list, "Type number and <Enter>") {
				break
			}
			if time.Now().After(limit) {
				t.Fatalf("there are no code actions:\n%s", list)
			}
			command("echo") // takes the message away
			x.Until("the message to go", func(s string) bool {
				return !strings.Contains(s, "No active LSPs") && !strings.Contains(s, "No code actions")
			})
		}
		m := regexp.MustCompile(`(\d+)\) Redline: ` + title).FindStringSubmatch(list)
		if m == nil {
			t.Fatalf("there is no action %q:\n%s", title, list)
		}
		x.Text(m[1])
		x.Keys("Enter")
		x.Gone("Type number and <Enter>")
	}
	act("5", "do what this comment says")
	x.See("Redline proposes: fmt.Printf(\"Guten Tag")
	act("7", "accept this hunk")
	x.Gone(`fmt.Println("hello", name)`) // ALE tells of it with what comes next
	act("11", "reject this hunk")
	x.See("Only `hello` is in German now.")
	command("write")
	x.See("written")
	data, err := os.ReadFile(file)
	if want := strings.Replace(greet, `fmt.Println("hello", name)`, `fmt.Printf("Guten Tag, %s!\n", name)`, 1); err != nil || string(data) != want {
		t.Errorf("main.go (%v):\n%s", err, data)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := srv.Await(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, f := range r.Last().Responses() {
		text, _ := f.Output()
		told = append(told, text)
	}
	if len(told) != 2 || !strings.Contains(told[0], "Successfully modified file") || !strings.Contains(told[1], "rejected; nothing of it is in the file") {
		t.Errorf("the model was told %q", told)
	}
}
