package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// A whole run of the real binary from a cassette: no model, no network, and every
// request has to be the recorded one. When the system prompt or a tool's declaration
// was changed on purpose, record it anew:
//
//	REDLINE_UPDATE=1 go test ./cmd/redline -run TestCassette
func TestCassette(t *testing.T) {
	const tape = "testdata/cassette/edit.jsonl"
	root, home := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "a.txt"), "hello, world\n")
	write(filepath.Join(home, "settings.json"), `{"tools": {"core": ["read_file", "replace"]}}`)
	flags, env := []string{"--replay", tape}, []string{"REDLINE_HOME=" + home}
	if os.Getenv("REDLINE_UPDATE") != "" {
		f, err := os.Open("testdata/cassette/edit.script.json")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		script, err := geminitest.Load(f, root)
		if err != nil {
			t.Fatal(err)
		}
		srv := geminitest.NewServer(script)
		defer srv.Close()
		flags = []string{"--record", tape}
		env = append(env, "GEMINI_API_KEY="+geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL="+srv.URL)
	}
	cmd := redlineCommand(t, append([]string{"run", "-C", root, "--mode", "autoEdit", "--model", "gemini-test", "-p", "Say hi instead of hello in a.txt."}, flags...)...)
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s\nIf a prompt or a tool was changed on purpose: REDLINE_UPDATE=1 go test ./cmd/redline -run TestCassette", err, stderr.String())
	}
	data, err := os.ReadFile(filepath.Join(root, "a.txt"))
	if err != nil || string(data) != "hi, world\n" || !strings.HasSuffix(stdout.String(), "Done: it says hi now.\n") {
		t.Errorf("the file says %q (%v), the answer was %q", data, err, stdout.String())
	}
	recorded, err := os.ReadFile(tape)
	if err != nil || bytes.Contains(recorded, []byte(root)) || bytes.Contains(recorded, []byte(geminitest.DefaultKey)) {
		t.Errorf("the cassette names this machine's folders or the key (%v)", err)
	}
}

// redlineCommand returns a command of this program, with nothing but a home of its own
// in its environment.
func redlineCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Args[0] = "redline" // what TestMain goes by
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GORACE=atexit_sleep_ms=0"}
	return cmd
}
