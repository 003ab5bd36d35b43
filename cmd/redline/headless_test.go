package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"redline/agent/geminitest"
)

// headlessRun returns a run against a fake Gemini.
func headlessRun(t *testing.T, srv *geminitest.Server, args ...string) (*exec.Cmd, string) {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := redlineCommand(t, append([]string{"run", "-C", root, "--model", "gemini-test"}, args...)...)
	cmd.Env = append(cmd.Env, "REDLINE_HOME="+t.TempDir(), "GEMINI_API_KEY="+geminitest.DefaultKey, "GOOGLE_GEMINI_BASE_URL="+srv.URL)
	return cmd, root
}

func exitCodeOf(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// A pipe that brings its input slowly is read to its end, and appended to the prompt.
func TestRunSlowPipe(t *testing.T) {
	srv := geminitest.New(t, geminitest.Say("Read."))
	cmd, _ := headlessRun(t, srv, "-p", "review this")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{"first line\n", "second ", "line\n"} {
		if _, err := io.WriteString(in, piece); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(srv.Requests()); n != 0 {
		t.Errorf("%d requests before the pipe's end", n)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil || out.String() != "Read.\n" {
		t.Errorf("%v: %q", err, out.String())
	}
	if texts := srv.Requests()[0].Last().Texts(); !strings.Contains(texts, "review this\n\nfirst line\nsecond line\n") {
		t.Errorf("the prompt was %q", texts)
	}
}

// When nobody reads stdout any more, the run ends, and not as a success.
func TestRunBrokenPipe(t *testing.T) {
	srv := geminitest.NewServer(geminitest.Script{Steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "a"}, {Text: "b", Gate: "more"}}}}})
	defer srv.Close()
	cmd, _ := headlessRun(t, srv, "-p", "x", "--output", "stream-json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	srv.Release("more")
	if code := exitCodeOf(cmd.Wait()); code == 0 {
		t.Error("the run ended with 0 although its output was lost")
	}
}

// An interrupt ends a run with 130, what it was doing cancelled.
func TestRunInterrupted(t *testing.T) {
	for name, step := range map[string]geminitest.Step{
		"in the answer":     {Chunks: []geminitest.Chunk{{Text: "a"}}, Fault: geminitest.HangMidStream},
		"before the answer": {Fault: geminitest.HangBeforeHeaders},
	} {
		t.Run(name, func(t *testing.T) {
			srv := geminitest.NewServer(geminitest.Script{Steps: []geminitest.Step{step}})
			defer srv.Close()
			cmd, _ := headlessRun(t, srv, "-p", "x", "--output", "json")
			var out bytes.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := srv.Await(context.Background(), 0); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if code := exitCodeOf(cmd.Wait()); code != exitInterrupted || !strings.Contains(out.String(), `"status":"cancelled"`) {
				t.Errorf("exit code %d, output %s", code, out.String())
			}
		})
	}
}

// The exit codes and outputs of all modes.
func TestRunModes(t *testing.T) {
	edit := func(root string) geminitest.Script {
		return geminitest.Script{Steps: []geminitest.Step{
			{Chunks: []geminitest.Chunk{{Call: call("replace", map[string]any{"file_path": filepath.Join(root, "a.txt"), "old_string": "hello", "new_string": "hi"})}}},
			{Chunks: []geminitest.Chunk{{Call: call("run_shell_command", map[string]any{"command": "touch made"})}}},
			{Chunks: []geminitest.Chunk{{Text: "Done."}}},
		}}
	}
	for _, tc := range []struct {
		mode, file string
		made       bool
		args       []string
		code       int
	}{
		{"default", "hello\n", false, nil, 0},
		{"autoEdit", "hi\n", false, nil, 0},
		{"plan", "hello\n", false, nil, 0},
		{"yolo", "hi\n", true, []string{"--trust"}, 0},
		{"autoEdit", "hi\n", false, []string{"--max-turns", "2"}, exitTurnLimit},
	} {
		t.Run(tc.mode+strings.Join(tc.args, ""), func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("hello\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			srv := geminitest.NewServer(edit(root))
			defer srv.Close()
			cmd, _ := headlessRun(t, srv, append([]string{"-C", root, "-p", "x", "--mode", tc.mode}, tc.args...)...)
			var out, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &stderr
			code := exitCodeOf(cmd.Run())
			data, err := os.ReadFile(filepath.Join(root, "a.txt"))
			_, statErr := os.Stat(filepath.Join(root, "made"))
			if code != tc.code || err != nil || string(data) != tc.file || (statErr == nil) != tc.made {
				t.Errorf("exit code %d, file %q (%v), made %v: %s", code, data, err, statErr == nil, stderr.String())
			}
			if tc.code == 0 && out.String() != "Done.\n" {
				t.Errorf("stdout %q", out.String())
			}
		})
	}
}
