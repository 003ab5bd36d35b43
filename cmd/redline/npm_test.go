//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"redline/agent/geminitest"
	"redline/lsp/lsptest"
)

// The tests of this file call public MCP servers of npm, which
// tools/mcp/testenv/install.sh installs, through the real binary.

// npmServer returns the program of an installed server.
func npmServer(t *testing.T, name string) string {
	t.Helper()
	prefix := os.Getenv("REDLINE_EDITORS")
	if prefix == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		prefix = filepath.Join(cache, "redline-editors")
	}
	script := filepath.Join(prefix, "mcp", "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	_, err := os.Stat(script)
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err != nil {
		if os.Getenv("REDLINE_CI") != "" {
			t.Fatalf("%v; run tools/mcp/testenv/install.sh", err)
		}
		t.Skipf("%v; tools/mcp/testenv/install.sh installs it", err)
	}
	return script
}

// overHTTP starts the server everything by HTTP, on the loopback address, and
// returns its address.
func overHTTP(t *testing.T, mode string) string {
	t.Helper()
	script := npmServer(t, "server-everything")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	loopback, err := filepath.Abs("../../tools/mcp/testenv/loopback.cjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "--require", loopback, script, mode)
	cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-drained
		_ = cmd.Wait()
	})
	said := make(chan string, 1)
	go func() {
		defer close(drained)
		defer close(said)
		for sc := bufio.NewScanner(stderr); sc.Scan(); {
			if strings.Contains(sc.Text(), fmt.Sprint(port)) {
				select {
				case said <- sc.Text():
				default:
				}
			}
		}
	}()
	if line, ok := <-said; !ok {
		t.Fatalf("the server by %s ended: %s", mode, line)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// npmServers returns the settings of all servers, for a workspace.
func npmServers(t *testing.T, root string) map[string]any {
	t.Helper()
	stdio := func(name string, args ...string) map[string]any {
		return map[string]any{"command": "node", "args": append([]string{npmServer(t, name)}, args...)}
	}
	return map[string]any{
		"everything": stdio("server-everything", "stdio"),
		"fs":         stdio("server-filesystem", root),
		"http":       map[string]any{"httpUrl": overHTTP(t, "streamableHttp") + "/mcp"},
		"sse":        map[string]any{"url": overHTTP(t, "sse") + "/sse"},
	}
}

// npmEnv returns the environment of a redline that has servers in its settings.
func npmEnv(t *testing.T, servers map[string]any) []string {
	t.Helper()
	home := t.TempDir()
	settings := map[string]any{
		"mcpServers": servers,
		"tools":      map[string]any{"exclude": []string{"fs__move_file", "sse__trigger-*"}},
	}
	data, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "settings.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "REDLINE_HOME=" + home, "GORACE=atexit_sleep_ms=0", "GEMINI_CLI_TRUST_WORKSPACE=true"}
}

// redline runs this program as redline.
func redline(t *testing.T, env []string, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Args[0] = "redline" // what TestMain goes by
	cmd.Env, cmd.Dir = env, dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// folder makes a workspace with one file.
func folder(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("hello from the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// The servers are listed with what they offer, and their tools can be called by hand
// and by a model.
func TestNPMServers(t *testing.T) {
	root := folder(t)
	servers := npmServers(t, root)
	env := npmEnv(t, servers)
	alone := map[string][]string{} // with one server each, which is faster
	for name, s := range servers {
		alone[name] = npmEnv(t, map[string]any{name: s})
	}

	out, errs, code := redline(t, env, root, "mcp", "list")
	if code != 0 {
		t.Fatalf("mcp list: %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{
		"everything           stdio  ready", "http                 http   ready", "sse                  sse    ready", "fs                   stdio  ready, 13 tools",
		"\n  everything__get-tiny-image\n", "\n  /args-prompt --city=… [--state=…]\n", "\n  @everything:demo://resource/static/document/architecture.md\n",
		"\n  @http:demo://resource/dynamic/text/{resourceId}\n", "\n  fs__read_text_file\n", `note: tool "move_file" is left out by the settings`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("mcp list lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "fs__move_file") || strings.Contains(out, "sse__trigger") {
		t.Errorf("mcp list has excluded tools:\n%s", out)
	}

	file := filepath.Join(root, "a.txt")
	made := filepath.Join(root, "made.txt")
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
		fail bool
	}{
		{"everything__echo", map[string]any{"message": "hi"}, "Echo: hi", false},
		{"everything__get-sum", map[string]any{"a": 2, "b": 40}, "The sum of 2 and 40 is 42.", false},
		{"everything__get-sum", map[string]any{"a": "two"}, `parameter "b" is missing; parameter "a" must be a number, not "two"`, true},
		{"everything__get-tiny-image", map[string]any{}, "[image/png, ", false},
		{"everything__get-structured-content", map[string]any{"location": "Chicago"}, "temperature", false},
		{"everything__get-resource-links", map[string]any{"count": 2}, "demo://resource/dynamic/", false},
		{"everything__get-resource-reference", map[string]any{"resourceType": "Text", "resourceId": 1}, "[resource demo://resource/dynamic/text/1]", false},
		{"everything__no-such-tool", map[string]any{}, "does not exist", true},
		{"http__echo", map[string]any{"message": "by HTTP"}, "Echo: by HTTP", false},
		{"http__get-tiny-image", map[string]any{}, "[image/png, ", false},
		{"sse__echo", map[string]any{"message": "by SSE"}, "Echo: by SSE", false},
		{"fs__read_text_file", map[string]any{"path": file}, "hello from the file", false},
		{"fs__read_text_file", map[string]any{"path": "/etc/passwd"}, "Access denied", true},
		{"fs__write_file", map[string]any{"path": made, "content": "made"}, "Successfully wrote", false},
		{"fs__move_file", map[string]any{"source": file, "destination": made}, "does not exist", true},
		{"read_mcp_resource", map[string]any{"server": "http", "uri": "demo://resource/dynamic/text/7"}, "Resource 7: This is a plaintext resource", false},
		{"read_mcp_resource", map[string]any{"server": "http", "uri": "demo://nope"}, "MCP server http: ", true},
	} {
		args, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		server, _, _ := strings.Cut(c.tool, "__")
		if name, ok := c.args["server"].(string); ok {
			server = name
		}
		out, errs, code := redline(t, alone[server], root, "tools", "call", c.tool, string(args))
		if got := out + errs; (code != 0) != c.fail || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %d, want %q:\n%s", c.tool, args, code, c.want, got)
		}
	}
	if data, err := os.ReadFile(made); err != nil || string(data) != "made" {
		t.Errorf("the file that a tool made: %q, %v", data, err)
	}

	// A whole run: a prompt of a server, a resource in it, tools of three servers.
	gemini := geminitest.New(t,
		geminitest.Do(geminitest.NewCall("everything__get-tiny-image", map[string]any{}), geminitest.NewCall("fs__read_text_file", map[string]any{"path": file}), geminitest.NewCall("http__get-sum", map[string]any{"a": 1, "b": 2})),
		geminitest.Say("Done."),
	)
	run := append(env, "GOOGLE_GEMINI_BASE_URL="+gemini.URL, "GEMINI_API_KEY="+geminitest.DefaultKey)
	// The mention is the prompt's second argument, and its contents come along.
	prompt := "/everything:args-prompt --city=Paris @http:demo://resource/static/document/features.md"
	if out, errs, code := redline(t, run, root, "run", "--model", "gemini-test", "--mode", "yolo", "-p", prompt); code != 0 {
		t.Fatalf("run: %d\n%s%s", code, out, errs)
	}
	reqs := gemini.Requests()
	if len(reqs) != 2 {
		t.Fatalf("%d requests", len(reqs))
	}
	if text := reqs[0].Last().Texts(); !strings.Contains(text, "weather in Paris") || !strings.Contains(text, "[Contents of @http:demo://resource/static/document/features.md, from an MCP server]") {
		t.Errorf("the model gets %q", text)
	}
	last := reqs[1].Last()
	told := last.Responses()
	if len(told) != 3 {
		t.Fatalf("%d responses", len(told))
	}
	for i, want := range []string{"[image, image/png]", "hello from the file", "The sum of 1 and 2 is 3."} {
		if got, failed := told[i].Output(); failed || !strings.Contains(got, want) {
			t.Errorf("response %d: %q", i, got)
		}
	}
	images := 0
	for _, p := range last.Parts {
		var part struct {
			InlineData struct {
				MIMEType string
				Data     []byte
			}
		}
		if err := json.Unmarshal(p.Raw, &part); err != nil {
			t.Fatal(err)
		}
		if part.InlineData.MIMEType == "image/png" && bytes.HasPrefix(part.InlineData.Data, []byte("\x89PNG\r\n")) {
			images++
		}
	}
	if images != 1 {
		t.Errorf("%d images", images)
	}

	// Without consent nothing is called.
	gemini = geminitest.New(t, geminitest.Do(geminitest.NewCall("fs__write_file", map[string]any{"path": file, "content": "overwritten"})), geminitest.Say("Very well."))
	run = append(env, "GOOGLE_GEMINI_BASE_URL="+gemini.URL, "GEMINI_API_KEY="+geminitest.DefaultKey)
	if out, errs, code := redline(t, run, root, "run", "--model", "gemini-test", "-p", "write it"); code != 0 || !strings.Contains(errs, "[rejected] fs__write_file") {
		t.Errorf("run without consent: %d\n%s%s", code, out, errs)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "hello from the file\n" {
		t.Errorf("the file is now %q, %v", data, err)
	}
}

// In an editor, the prompts of the servers are commands.
func TestNPMPromptsInEditor(t *testing.T) {
	root := folder(t)
	env := npmEnv(t, npmServers(t, root))
	gemini := geminitest.New(t, geminitest.Say("Sunny."))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "serve", "--model", "gemini-test")
	cmd.Args[0] = "redline"
	cmd.Env = append(env, "GOOGLE_GEMINI_BASE_URL="+gemini.URL, "GEMINI_API_KEY="+geminitest.DefaultKey)
	e := lsptest.NewEditor(t, lsptest.Process(cmd), lsptest.Options{Root: root})
	// The servers are not connected yet when the prompt is sent.
	_, turn := ask(e, `/everything:args-prompt "New York" NY`)
	if status, message := end(t, e, turn); status != "completed" {
		t.Fatalf("turn %s: %s", status, message)
	}
	if text := gemini.Requests()[0].Last().Texts(); !strings.Contains(text, "weather in New York, NY") {
		t.Errorf("the model gets %q", text)
	}
	var got struct {
		Commands []struct{ Name, Source string }
	}
	e.MustCall("agent/command/list", map[string]any{}, &got)
	names := fmt.Sprint(got.Commands)
	for _, want := range []string{"{everything:args-prompt mcp:everything}", "{http:args-prompt mcp:http}"} {
		if !strings.Contains(names, want) {
			t.Errorf("commands %s, without %s", names, want)
		}
	}
}
