package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent/geminitest"
	"redline/lsp/lsptest"
)

// The secrets that are planted, by where.
var planted = map[string]string{
	"the API key":                   "planted-gemini-key-000001",
	"a token of the environment":    "planted-env-token-000002",
	"a key of .env":                 "planted-dotenv-key-000003",
	"an MCP server's environment":   "planted-mcp-password-000004",
	"a header of an MCP server":     "planted-header-value-000005",
	"a key in a server's address":   "planted-url-key-000006",
	"a key in the settings":         "planted-settings-key-000007",
	"an access token of a service":  "ya29.planted-access-token-000008",
	"a refresh token of a service":  "1//0planted-refresh-token-00000000000009",
	"a bearer token in an error":    "planted-bearer-000010",
	"a password in a proxy's error": "planted-proxy-password-000011",
}

// plant writes settings with secrets and returns the environment of a process, and
// where telemetry goes.
func plant(t *testing.T, home, out string) (env []string) {
	t.Helper()
	settings, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{
			"program": map[string]any{"command": "false", "env": map[string]any{"DB_PASSWORD": planted["an MCP server's environment"]}},
			"remote": map[string]any{"httpUrl": "http://127.0.0.1:9/mcp?key=" + planted["a key in a server's address"], "timeout": 500,
				"headers": map[string]any{"Authorization": "Bearer " + planted["a header of an MCP server"]}},
		},
		"telemetry": map[string]any{"enabled": true, "outfile": filepath.Join(out, "telemetry.jsonl"), "logPrompts": true},
		"redline":   map[string]any{"openai": map[string]any{"apiKey": planted["a key in the settings"]}, "retry": map[string]any{"initialDelayMs": 1, "maxDelayMs": 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"settings.json": string(settings), ".env": "SERVICE_API_KEY=" + planted["a key of .env"] + "\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"REDLINE_HOME=" + home, "GEMINI_API_KEY=" + planted["the API key"], "MY_SERVICE_TOKEN=" + planted["a token of the environment"]}
}

// careless is a service whose errors quote every secret there is.
func careless(root string) geminitest.Script {
	var all []string
	for where, s := range planted {
		if !strings.Contains(where, "error") { // known by where it stands only
			all = append(all, s)
		}
	}
	quoting := "API key not valid: " + strings.Join(all, " ") + "; Authorization: Bearer " + planted["a bearer token in an error"] +
		" at https://h/x?key=" + planted["a key in a server's address"] + " through http://user:" + planted["a password in a proxy's error"] + "@proxy/"
	return geminitest.Script{APIKey: planted["the API key"], Steps: []geminitest.Step{
		{Error: &geminitest.Error{Status: 503, Message: quoting}},
		{Chunks: []geminitest.Chunk{{Text: "Half of "}}, Fault: geminitest.Cut},
		{Chunks: []geminitest.Chunk{{Call: call("replace", map[string]any{"file_path": filepath.Join(root, "a.txt"), "old_string": "hello", "new_string": "hi"})}}},
		{Error: &geminitest.Error{Status: 400, Message: quoting}},
	}}
}

func call(name string, args any) *geminitest.Call {
	c := geminitest.NewCall(name, args)
	return &c
}

// noSecrets fails for each secret in what was written: all files below the folders but
// those that the user wrote, and the texts.
func noSecrets(t *testing.T, texts map[string]string, folders ...string) {
	t.Helper()
	for _, dir := range folders {
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "settings.json" || d.Name() == ".env" {
				return err
			}
			data, err := os.ReadFile(path)
			texts[path] = string(data)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for what, text := range texts {
		for where, s := range planted {
			if i := strings.Index(text, s); i >= 0 {
				t.Errorf("%s holds %s: …%s…", what, where, text[max(0, i-100):min(len(text), i+60)])
			}
		}
	}
}

func TestNoSecretsInARun(t *testing.T) {
	home, out, root := t.TempDir(), t.TempDir(), t.TempDir()
	env := plant(t, home, out)
	srv := geminitest.NewServer(careless(root))
	defer srv.Close()
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := redlineCommand(t, "run", "-p", "say hi", "-C", root, "--mode", "yolo", "--model", "gemini-test", "--output", "json", "--log-level", "debug",
		"--log-file", filepath.Join(out, "log"), "--trace", filepath.Join(out, "trace"), "--record", filepath.Join(out, "tape"))
	cmd.Env = append(append(cmd.Env, env...), "GOOGLE_GEMINI_BASE_URL="+srv.URL)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err == nil {
		t.Error("the run succeeded, so that its faults were not seen")
	}
	if !strings.Contains(stdout.String(), "API key not valid") {
		t.Errorf("stdout %s", stdout.String())
	}
	noSecrets(t, map[string]string{"stdout": stdout.String(), "stderr": stderr.String()}, out, home)
	for file, must := range map[string]string{"telemetry.jsonl": `"api_error"`, "trace": `"direction":"model"`, "tape": `"kind":"response"`} {
		data, err := os.ReadFile(filepath.Join(out, file))
		if err != nil || !strings.Contains(string(data), must) || !strings.Contains(string(data), "API key not valid") {
			t.Errorf("%s lacks what it is searched for (%v)", file, err)
		}
	}
}

func TestNoSecretsInAServer(t *testing.T) {
	home, out, root := t.TempDir(), t.TempDir(), t.TempDir()
	env := plant(t, home, out)
	srv := geminitest.NewServer(careless(root))
	defer srv.Close()
	env = append(env, "GOOGLE_GEMINI_BASE_URL="+srv.URL)
	e := binaryWith(t, nil, lsptest.Options{Root: root, Files: map[string]string{"a.txt": "hello\n"}}, []string{
		"--model", "gemini-test", "--log-level", "debug", "--log-file", filepath.Join(out, "log"), "--trace", filepath.Join(out, "trace"), "--record", filepath.Join(out, "tape"),
	}, env...)
	e.Notify("$/setTrace", map[string]any{"value": "verbose"})
	var s struct{ SessionID string }
	e.MustCall("agent/session/new", map[string]any{"mode": "yolo"}, &s)
	var p struct{ TurnID string }
	e.MustCall("agent/prompt", map[string]any{"sessionId": s.SessionID, "text": "say hi"}, &p)
	status, message := end(t, e, p.TurnID)
	if status != "failed" || !strings.Contains(message, "API key not valid") {
		t.Errorf("turn %s: %s", status, message)
	}
	logged := e.WaitNotification("$/logTrace", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "turn/ended") })
	if err := e.Shutdown(); err != nil {
		t.Error(err)
	}
	noSecrets(t, map[string]string{"the error": message, "$/logTrace": string(logged)}, out, home)
	if data, err := os.ReadFile(filepath.Join(out, "trace")); err != nil || !strings.Contains(string(data), "API key not valid") {
		t.Errorf("the trace lacks what it is searched for (%v)", err)
	}
}
