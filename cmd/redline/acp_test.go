//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/agent/geminitest"
	"redline/editors/editortest"
)

// acpInstalled returns a path below what lsp/acp/testenv/install.sh installs.
func acpInstalled(t *testing.T, path ...string) string {
	t.Helper()
	prefix := os.Getenv("REDLINE_EDITORS")
	if prefix == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		prefix = filepath.Join(cache, "redline-editors")
	}
	file := filepath.Join(append([]string{prefix, "acp", "node_modules"}, path...)...)
	_, err := os.Stat(file)
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err != nil {
		if os.Getenv("REDLINE_CI") != "" {
			t.Fatalf("%v; run lsp/acp/testenv/install.sh", err)
		}
		t.Skipf("%v; lsp/acp/testenv/install.sh installs it", err)
	}
	return file
}

// acpEnv is the environment of redline in a test, with the home that holds its sessions.
func acpEnv(t *testing.T, gemini *geminitest.Server, home string) []string {
	t.Helper()
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "REDLINE_HOME=" + home, "GORACE=atexit_sleep_ms=0",
		"GOOGLE_GEMINI_BASE_URL=" + gemini.URL, "GEMINI_API_KEY=" + geminitest.DefaultKey, "GEMINI_CLI_TRUST_WORKSPACE=true",
	}
}

type sdkUpdate struct {
	SessionUpdate, Title, Status, Kind, ToolCallID string
	Content                                        json.RawMessage
}

// sdkSaw is what the SDK's client saw, as lsp/acp/testenv/drive.mjs prints it.
type sdkSaw struct {
	Initialized struct {
		ProtocolVersion int
		AgentInfo       struct{ Name string }
	}
	SessionID string
	Opened    struct {
		Modes struct{ CurrentModeID string }
	}
	Updates   []sdkUpdate
	Questions []struct {
		ToolCall struct {
			Title   string
			Content []struct{ Type, Path, NewText string }
		}
	}
	Files     []string
	Terminals int
	Stops     []string
	Errors    []struct {
		Code    int
		Message string
	}
	Listed struct {
		Sessions []struct{ SessionID, Title string }
	}
	Exit int
}

func (s sdkSaw) said(kind string) (out string) {
	for _, u := range s.Updates {
		if u.SessionUpdate == kind {
			var c struct{ Text string }
			_ = json.Unmarshal(u.Content, &c)
			out += c.Text
		}
	}
	return out
}

// drive has the official SDK's client carry out a plan with this program.
func drive(t *testing.T, env []string, plan map[string]any) sdkSaw {
	t.Helper()
	sdk := acpInstalled(t, "@agentclientprotocol", "sdk", "dist", "v1", "stable", "acp.js")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plan["command"] = []string{exe, "acp", "--model", "gemini-test"}
	raw, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "../../lsp/acp/testenv/drive.mjs", sdk, string(raw))
	cmd.Env = env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.Bytes(), errs.Bytes())
	}
	var saw sdkSaw
	if err := json.Unmarshal(out.Bytes(), &saw); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	return saw
}

func textBlock(s string) []any { return []any{map[string]any{"type": "text", "text": s}} }

// The official SDK's client drives a whole session with the real binary: it reads
// unsaved text, a proposal over two files is taken, one is rejected with a reason, a command runs in
// its terminal, an MCP server that it brings along is used; another process loads the
// session and goes on.
func TestACPSession(t *testing.T) {
	root, home := folder(t), t.TempDir()
	file := func(name string) string { return filepath.Join(root, name) }
	server := npmServer(t, "server-everything")
	gemini := geminitest.New(t,
		geminitest.Do(geminitest.NewCall("read_file", map[string]any{"path": "a.txt"})),
		geminitest.Do(
			geminitest.NewCall("replace", map[string]any{"file_path": file("a.txt"), "old_string": "hello", "new_string": "goodbye"}),
			geminitest.NewCall("write_file", map[string]any{"file_path": file("new/b.txt"), "content": "made\n"}),
		),
		geminitest.Do(geminitest.NewCall("replace", map[string]any{"file_path": file("a.txt"), "old_string": "goodbye", "new_string": "farewell"})),
		geminitest.Do(geminitest.NewCall("run_shell_command", map[string]any{"command": "cat a.txt; exit 5"})),
		geminitest.Do(geminitest.NewCall("everything__echo", map[string]any{"message": "over MCP"})),
		geminitest.Say("All ", "done."),
		geminitest.Say("Still here."),
	)
	env := acpEnv(t, gemini, home)
	saw := drive(t, env, map[string]any{
		"cwd": root, "buffers": map[string]string{file("a.txt"): "unsaved first line\nhello from the file\n"},
		"answers": []string{"allow_once", "rejectWhy", "allow_once"}, "forms": []string{"farewell is too sad"},
		"servers": []any{map[string]any{"name": "everything", "command": "node", "args": []string{server, "stdio"}, "env": []any{}}},
		"prompts": []any{textBlock("say goodbye")},
	})
	if saw.Initialized.ProtocolVersion != 1 || saw.Initialized.AgentInfo.Name != "redline" || saw.Opened.Modes.CurrentModeID != "default" {
		t.Errorf("%+v", saw.Initialized)
	}
	if !slices.Equal(saw.Stops, []string{"end_turn"}) || saw.Exit != 0 {
		t.Fatalf("stops %v, errors %v, exit code %d", saw.Stops, saw.Errors, saw.Exit)
	}
	if got := saw.said("agent_message_chunk"); got != "All done." {
		t.Errorf("said %q", got)
	}
	if data, err := os.ReadFile(file("a.txt")); err != nil || string(data) != "unsaved first line\ngoodbye from the file\n" {
		t.Errorf("a.txt is %q (%v)", data, err)
	}
	if data, err := os.ReadFile(file("new/b.txt")); err != nil || string(data) != "made\n" {
		t.Errorf("b.txt is %q (%v)", data, err)
	}
	if len(saw.Questions) != 4 || saw.Questions[0].ToolCall.Title != "Change 2 files" || len(saw.Questions[0].ToolCall.Content) != 2 || saw.Terminals != 1 {
		t.Errorf("%d questions %+v, %d terminals", len(saw.Questions), saw.Questions, saw.Terminals)
	}
	reqs := gemini.Requests()
	for i, want := range map[int]string{1: "unsaved first line", 2: "Successfully", 3: "farewell is too sad", 4: "Exit Code: 5", 5: "Echo: over MCP"} {
		if out, _ := reqs[i].Last().Responses()[0].Output(); !strings.Contains(out, want) {
			t.Errorf("request %d tells the model %q, want %q in it", i, out, want)
		}
	}
	if len(saw.Listed.Sessions) != 1 || saw.Listed.Sessions[0].Title != "say goodbye" {
		t.Errorf("listed %+v", saw.Listed)
	}

	again := drive(t, env, map[string]any{"cwd": root, "load": saw.SessionID, "prompts": []any{textBlock("are you there?")}})
	if got := again.said("user_message_chunk"); got != "say goodbye" {
		t.Errorf("the user said %q", got)
	}
	if got := again.said("agent_message_chunk"); got != "All done.Still here." {
		t.Errorf("said %q", got)
	}
	if len(again.Questions) != 0 || !slices.Equal(again.Stops, []string{"end_turn"}) {
		t.Errorf("%+v, %v", again.Questions, again.Stops)
	}
}

// The replay files that every editor plays, as far as the protocol can: hunks are questions one
// after the other, and a reason is a form; nothing is amended.
func TestACPReplays(t *testing.T) {
	for _, name := range []string{"bytes", "conflict", "review"} {
		t.Run(name, func(t *testing.T) {
			r := editortest.Load(t, name)
			root, gemini := r.Start(t)
			plan := map[string]any{"cwd": root, "prompts": []any{textBlock(r.Prompt)}}
			var during []any
			buffers := map[string]string{}
			answers := []string{"hunks"}
			forms := []string{}
			asked, some := false, false
			for _, a := range r.Person {
				path := filepath.Join(root, a.File)
				switch a.Verb {
				case "ask":
					asked = true
				case "type":
					if asked {
						during = append(during, map[string]any{"path": path, "line": a.At, "text": a.Text})
						continue
					}
					data, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					lines := strings.Split(string(data), "\n")
					lines[a.At-1] = a.Text
					buffers[path] = strings.Join(lines, "\n")
				case "accept":
					answers = append(answers, "accept")
				case "reject":
					some = true
					if a.Text == "" {
						answers = append(answers, "reject")
						continue
					}
					answers, forms = append(answers, "rejectWhy"), append(forms, a.Text)
				case "amend", "undo":
					t.Fatalf("the replay has come to %s, which the protocol cannot", a.Verb)
				}
			}
			plan["types"], plan["buffers"], plan["forms"] = during, buffers, forms
			if some {
				plan["answers"] = answers
			}
			saw := drive(t, acpEnv(t, gemini, t.TempDir()), plan)
			if !slices.Equal(saw.Stops, []string{"end_turn"}) || some && len(saw.Questions) != len(answers) {
				t.Errorf("stops %v, errors %v, %d questions", saw.Stops, saw.Errors, len(saw.Questions))
			}
			r.Check(t, root, gemini)
		})
	}
}

// acpx, a client for the command line, carries a prompt through.
func TestACPX(t *testing.T) {
	cli := acpInstalled(t, "acpx", "dist", "cli.js")
	root := folder(t)
	gemini := geminitest.New(t,
		geminitest.Do(geminitest.NewCall("replace", map[string]any{"file_path": filepath.Join(root, "a.txt"), "old_string": "hello", "new_string": "goodbye"})),
		geminitest.Do(geminitest.NewCall("run_shell_command", map[string]any{"command": "echo from acpx"})),
		geminitest.Say("All done."),
	)
	link := filepath.Join(t.TempDir(), "redline") // TestMain goes by the name
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", cli, "--cwd", root, "--approve-all", "--agent", link+" acp --model gemini-test", "exec", "say goodbye")
	cmd.Env = acpEnv(t, gemini, t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "All done.") || !strings.Contains(string(out), "from acpx") {
		t.Errorf("%v\n%s", err, out)
	}
	if data, err := os.ReadFile(filepath.Join(root, "a.txt")); err != nil || string(data) != "goodbye from the file\n" {
		t.Errorf("a.txt is %q (%v)", data, err)
	}
}

// rawACP is this program as a process that is spoken to line by line.
type rawACP struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startACP(t *testing.T, env []string) *rawACP {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "acp", "--model", "gemini-test")
	cmd.Args[0] = "redline"
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &rawACP{t, cmd, in, bufio.NewReaderSize(out, 1<<20)}
}

func (a *rawACP) send(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, line); err != nil {
		a.t.Fatal(err)
	}
}

// next returns the next message in which want occurs.
func (a *rawACP) next(want string) string {
	a.t.Helper()
	for {
		line, err := a.out.ReadString('\n')
		if err != nil {
			a.t.Fatalf("waiting for %s: %v", want, err)
		}
		if !json.Valid([]byte(line)) {
			a.t.Fatalf("no JSON: %q", line)
		}
		if strings.Contains(line, want) {
			return line
		}
	}
}

// Whatever comes in is answered or left, and the next line is read.
func TestACPGarbage(t *testing.T) {
	a := startACP(t, acpEnv(t, geminitest.New(t), t.TempDir()))
	for _, bad := range []struct{ line, code string }{
		{"{nonsense", "-32700"},
		{"\x00\xff\xfe\x80", "-32700"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize"`, "-32700"},
		{`"text"`, "-32600"},
		{"17", "-32600"},
		{"null", "-32600"},
		{"[]", "-32600"},
		{`{"id":5}`, "-32600"},
		{`{"jsonrpc":"1.0","id":5,"method":"initialize"}`, "-32600"},
		{`{"jsonrpc":"2.0","id":5,"method":7}`, "-32600"},
		{strings.Repeat("[", 20000), "-32700"},
		{`{"jsonrpc":"2.0","id":6,"method":"` + strings.Repeat("x", 70<<20) + `"}`, "-32600"}, // longer than is taken
		{`{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, "-32600"},
		{`{"jsonrpc":"2.0","id":8,"method":"initialize","params":[1]}`, "-32602"},
		{`{"jsonrpc":"2.0","id":9,"method":"initialize","params":{"protocolVersion":"one"}}`, "-32602"},
	} {
		a.send(bad.line + "\n")
		if got := a.next(`"error"`); !strings.Contains(got, bad.code) {
			t.Errorf("%.60q is answered %s", bad.line, got)
		}
	}
	// Left without an answer: blank lines, answers nobody waits for, notifications.
	a.send("\n  \r\n\uFEFF\n" + `{"jsonrpc":"2.0","id":99,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":[],"error":3}` + "\n" + `{"jsonrpc":"2.0","method":"dance"}` + "\r\n")
	a.send("\uFEFF" + `{"jsonrpc":"2.0","id":"one","method":"initialize","params":{"protocolVersion":1,"_meta":{"a` + "\xff" + `":1},"more":null}}` + "\r\n")
	if got := a.next(`"id"`); !strings.Contains(got, `"protocolVersion":1`) || !strings.Contains(got, `"one"`) {
		t.Errorf("initialize is answered %s", got)
	}
	_ = a.in.Close()
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("at the end of the input: %v", err)
	}
}

// A client that vanishes in mid-prompt: the process ends within a second, with the
// command that runs and its children; the session can be loaded.
func TestACPVanish(t *testing.T) {
	root, home := folder(t), t.TempDir()
	pidFile := filepath.Join(root, "pid")
	gemini := geminitest.New(t, geminitest.Do(geminitest.NewCall("run_shell_command", map[string]any{"command": "sleep 300 & echo $! > pid; wait"})))
	env := acpEnv(t, gemini, home)
	a := startACP(t, env)
	a.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n")
	a.next(`"id":1`)
	cwd, _ := json.Marshal(root)
	a.send(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":` + string(cwd) + `,"mcpServers":[]}}` + "\n")
	var opened struct{ Result struct{ SessionID string } }
	if err := json.Unmarshal([]byte(a.next(`"id":2`)), &opened); err != nil {
		t.Fatal(err)
	}
	id := opened.Result.SessionID
	a.send(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"` + id + `","prompt":[{"type":"text","text":"wait"}]}}` + "\n")
	var question struct {
		ID     json.RawMessage
		Params struct {
			Options []struct{ OptionID, Kind string }
		}
	}
	if err := json.Unmarshal([]byte(a.next("request_permission")), &question); err != nil {
		t.Fatal(err)
	}
	a.send(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"` + question.Params.Options[0].OptionID + `"}}}` + "\n")
	var pid []byte
	for deadline := time.Now().Add(20 * time.Second); len(bytes.TrimSpace(pid)) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the command did not begin")
		}
		pid, _ = os.ReadFile(pidFile)
	}
	began := time.Now()
	_ = a.in.Close()
	_ = a.cmd.Wait()
	if d := time.Since(began); d > time.Second {
		t.Errorf("the process took %v to end", d)
	}
	if got, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat"); err == nil && !strings.Contains(string(got), ") Z ") {
		t.Errorf("the command's child is still there: %s", got)
	}
	saw := drive(t, env, map[string]any{"cwd": root, "load": id})
	if got := saw.said("user_message_chunk"); got != "wait" {
		t.Errorf("after loading the user said %q", got)
	}
	if !slices.ContainsFunc(saw.Updates, func(u sdkUpdate) bool { return u.Kind == "execute" && u.Status == "failed" }) {
		t.Errorf("after loading the command is not shown as cut off: %+v", saw.Updates)
	}
}

// Without a key: the protocol's error, which says what to do.
func TestACPNoKey(t *testing.T) {
	a := startACP(t, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "REDLINE_HOME=" + t.TempDir(), "GORACE=atexit_sleep_ms=0"})
	a.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n")
	if got := a.next(`"id":1`); !strings.Contains(got, "gemini-api-key") {
		t.Errorf("initialize is answered %s", got)
	}
	a.send(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/tmp","mcpServers":[]}}` + "\n")
	if got := a.next(`"id":2`); !strings.Contains(got, "-32000") || !strings.Contains(got, "GEMINI_API_KEY") {
		t.Errorf("session/new is answered %s", got)
	}
	a.send(`{"jsonrpc":"2.0","id":3,"method":"authenticate","params":{"methodId":"gemini-api-key"}}` + "\n")
	if got := a.next(`"id":3`); !strings.Contains(got, "-32000") || !strings.Contains(got, "GEMINI_API_KEY") {
		t.Errorf("authenticate is answered %s", got)
	}
	a.send(`{"jsonrpc":"2.0","id":4,"method":"logout","params":{}}` + "\n")
	if got := a.next(`"id":4`); !strings.Contains(got, "result") {
		t.Errorf("logout is answered %s", got)
	}
}
