package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
)

// TestRun plays a script with two steps, of which only one is used.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	script, log := filepath.Join(dir, "script.json"), filepath.Join(dir, "bodies")
	if err := os.WriteFile(script, []byte(`{"steps":[{"chunks":["in ${ROOT}"]},{"when":"later"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin, endStdin := io.Pipe()
	stdout, stdoutWriter := io.Pipe()
	var stderr strings.Builder
	done := make(chan error, 1)
	go func() {
		done <- run([]string{"-script", script, "-root", "/the root", "-log", log, "-until-eof"}, stdin, stdoutWriter, &stderr)
		_ = stdoutWriter.Close()
	}()
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("no URL: %v, %v", err, <-done)
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	for _, c := range []struct{ body, want string }{
		{"{\"contents\": [\n{\"role\":\"user\",\"parts\":[{\"text\":\"<\"}]}]}", "in /the root"},
		{"{", "Invalid JSON"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			strings.TrimSpace(url)+"/v1beta/models/gemini-test:streamGenerateContent?alt=sse", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-goog-api-key", geminitest.DefaultKey)
		res, err := (&http.Client{Transport: tr}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || !strings.Contains(string(b), c.want) {
			t.Errorf("%s, %v", b, err)
		}
	}
	_ = endStdin.Close()
	if err := <-done; err == nil || err.Error() != "step 1 was not used up" {
		t.Errorf("error %v", err)
	}
	got, err := os.ReadFile(log)
	if want := `{"contents":[{"role":"user","parts":[{"text":"<"}]}]}` + "\n\"{\"\n"; err != nil || string(got) != want {
		t.Errorf("log %q, %v, want %q", got, err, want)
	}
	if want := "streamGenerateContent gemini-test: step 0\nstreamGenerateContent gemini-test: refused: "; !strings.HasPrefix(stderr.String(), want) {
		t.Errorf("stderr %q", stderr.String())
	}
}

func TestRunFails(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte(`{"step":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "usage"},
		{[]string{"-script", filepath.Join(dir, "none")}, "open the script"},
		{[]string{"-script", bad}, `bad.json: script: json: unknown field "step"`},
		{[]string{"-script", bad, "more"}, "usage"},
	} {
		if err := run(c.args, strings.NewReader(""), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v", c.args, err)
		}
	}
}
