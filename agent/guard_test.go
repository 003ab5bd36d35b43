//go:build unix

package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/tools/policy"
	"redline/tools/secret"
	"redline/tools/shell"
)

// word is what no response may hold unless the user allowed it.
const word = "hunter2-hunter2"

func callOf(name string, args ...string) agenttest.Call {
	m := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		m[args[i]] = args[i+1]
	}
	return agenttest.Call{Name: name, Args: m}
}

// at returns arguments with {R} replaced by the root.
func at(args any, root string) map[string]any {
	out := map[string]any{}
	for k, v := range args.(map[string]any) {
		if s, ok := v.(string); ok {
			v = strings.ReplaceAll(s, "{R}", root)
		}
		out[k] = v
	}
	return out
}

func (b *bench) files(files map[string]string) {
	b.t.Helper()
	for name, text := range files {
		path := filepath.Join(b.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// Files that may hold secrets are read when the user says so, by whatever tool and
// in whatever mode.
func TestSensitiveFiles(t *testing.T) {
	const once, session, no = agent.OptionOnce, agent.OptionSession, agent.OptionReject
	type c = agenttest.Call
	read := callOf("read_file", "path", ".env")
	many := func(paths ...any) c { return c{Name: "read_many_files", Args: map[string]any{"paths": paths}} }
	allowCat := shell.Policy{Allow: []string{"cat", "ls"}}
	for _, c := range []struct {
		name    string
		mode    agent.Mode
		policy  policy.Policy
		command shell.Policy
		calls   []agenttest.Call
		answer  agent.OptionKind
		asked   int
		told    bool   // the secret
		says    string // part of what the model is told
	}{
		{name: "no", calls: []c{read}, answer: no, asked: 1, says: "did not allow this"},
		{name: "yes", calls: []c{read}, answer: once, asked: 1, told: true},
		{name: "once is one step's", calls: []c{read, read}, answer: once, asked: 1, told: true},
		{name: "in yolo too", mode: agent.ModeYolo, calls: []c{read}, answer: no, asked: 1, says: "did not allow this"},
		{name: "by another name", calls: []c{callOf("read_file", "path", "link")}, answer: no, asked: 1, says: "did not allow"},
		{name: "absolute", calls: []c{callOf("read_file", "absolute_path", "{R}/.env")}, answer: no, asked: 1},
		{name: "many, named", calls: []c{many(".env")}, answer: no, asked: 1},
		{name: "many, named and allowed", calls: []c{many("a.txt", ".env")}, answer: session, asked: 1, told: true},
		{name: "many, by a pattern", calls: []c{many("**/*", "**/.env*")}, answer: once, says: "Left out: sub/id_rsa (it may hold secrets"},
		{name: "many, by a folder", calls: []c{many("sub")}, answer: once, says: "Left out: sub/id_rsa"},
		{name: "grep", calls: []c{callOf("grep_search", "pattern", "hunter2")}, answer: once, says: "may hold secrets were not searched"},
		{name: "grep, named", calls: []c{callOf("grep_search", "pattern", "hunter2", "path", ".env")}, answer: no, asked: 1},
		{name: "grep, named and allowed", calls: []c{callOf("grep_search", "pattern", "hunter2", "path", ".env")}, answer: once, asked: 1, told: true},
		{name: "grep, a folder with nothing else", calls: []c{callOf("grep_search", "pattern", "hunter2", "path", "sub")}, answer: once, says: "1 files that may hold"},
		{name: "names are no secret", calls: []c{callOf("glob", "pattern", "**/.env"), callOf("list_directory", "path", ".")}, answer: no},
		{name: "an edit that would quote it", calls: []c{callOf("replace", "file_path", "{R}/.env", "old_string", "KEY=wrong", "new_string", "x")}, answer: no, asked: 1},
		{name: "an example", calls: []c{callOf("read_file", "path", ".env.example")}, answer: no, says: "KEY="},
		{name: "a command that is allowed", command: allowCat, calls: []c{sh("cat .env")}, answer: no, asked: 1},
		{name: "a command, yolo", mode: agent.ModeYolo, calls: []c{sh("cat ./sub/../.env")}, answer: no, asked: 1},
		{name: "a command, by a pattern", mode: agent.ModeYolo, calls: []c{sh("cat .e*")}, answer: no, asked: 1},
		{name: "a command, in another", mode: agent.ModeYolo, calls: []c{sh(`bash -c "cat <.env"`)}, answer: no, asked: 1},
		{name: "a command, as an option", mode: agent.ModeYolo, calls: []c{sh("docker run --env-file=.env x")}, answer: no, asked: 1},
		{name: "a command, from there", mode: agent.ModeYolo, calls: []c{{Name: "run_shell_command", Args: map[string]any{"command": "cat id_rsa", "directory": "sub"}}}, answer: no, asked: 1},
		{name: "a command on others", command: allowCat, calls: []c{sh("cat a.txt")}, answer: no, says: "Exit Code: 0"},
		{name: "allowed by a rule", policy: policy.Policy{User: []policy.Rule{{Path: ".env", Decision: policy.Allow}}}, calls: []c{read, callOf("grep_search", "pattern", "hunter2")}, answer: no, told: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := &user{kinds: []agent.OptionKind{c.answer}}
			root := t.TempDir()
			real, err := filepath.EvalSymlinks(root)
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.calls {
				c.calls[i].Args = at(c.calls[i].Args, real)
			}
			b := newBenchAt(t, root, agent.Options{Approver: u, Mode: c.mode, Policy: c.policy, Commands: c.command}, step(c.calls...), done)
			b.files(map[string]string{".env": "KEY=" + word + "\n", ".env.example": "KEY=\n", "a.txt": "nothing\n", "sub/id_rsa": word + "\n"})
			if err := os.Symlink(".env", filepath.Join(b.root, "link")); err != nil {
				t.Fatal(err)
			}
			if end := b.turn("x"); end.Status != agent.Completed {
				t.Fatalf("turn %s: %v", end.Status, end.Err)
			}
			all := ""
			for _, r := range b.m.Responses(1) {
				all += r.Output + r.Error
			}
			if told := strings.Contains(all, word); told != c.told || len(u.asked) != c.asked || !strings.Contains(all, c.says) {
				t.Errorf("asked %d times, the model is told:\n%s", len(u.asked), all)
			}
			for _, a := range u.asked {
				if a.Subject.Type == "path" && len(a.Subject.Paths) == 0 || a.Unasked == "" {
					t.Errorf("asked %+v", a)
				}
			}
		})
	}
}

// What the user names in the prompt is theirs to give.
func TestSensitiveMention(t *testing.T) {
	b := newBench(t, agent.Options{}, done, done)
	b.files(map[string]string{".env": word, "sub/.env": word})
	b.turn("see @sub/ and @**/*.env")
	sent := func() string {
		reqs := b.m.Requests()
		var all strings.Builder
		for _, c := range reqs[len(reqs)-1].Contents {
			for _, p := range c.Parts {
				all.WriteString(p.Value().Text)
			}
		}
		return all.String()
	}
	if strings.Contains(sent(), word) {
		t.Error("a folder or a pattern gives out what may be secret")
	}
	b.turn("see @.env")
	if !strings.Contains(sent(), word) {
		t.Error("what is named is not sent")
	}
}

// The user's rules, for every kind of tool.
func TestPolicy(t *testing.T) {
	const once, no = agent.OptionOnce, agent.OptionReject
	rules := func(rs ...policy.Rule) policy.Policy { return policy.Policy{User: rs} }
	why := "ask the team"
	edit := callOf("replace", "file_path", "{R}/docs/a.md", "old_string", "old", "new_string", "new")
	for _, c := range []struct {
		name   string
		mode   agent.Mode
		policy policy.Policy
		call   agenttest.Call
		answer agent.OptionKind
		asked  int
		done   bool
		says   string
	}{
		{"a tool denied", agent.ModeYolo, rules(policy.Rule{Tool: "read_file", Decision: policy.Deny, Reason: why}), callOf("read_file", "path", "docs/a.md"), once, 0, false, "a rule of the user forbids this call, which was not made: tool read_file: deny (ask the team)"},
		{"a path denied", agent.ModeDefault, rules(policy.Rule{Path: "docs/", Decision: policy.Deny}), callOf("read_file", "path", "docs/a.md"), once, 0, false, "path docs/: deny"},
		{"a path denied to searches", agent.ModeDefault, rules(policy.Rule{Path: "docs/", Decision: policy.Deny}), callOf("grep_search", "pattern", "old"), once, 0, true, "not searched"},
		{"a path denied to edits", agent.ModeYolo, rules(policy.Rule{Path: "docs/", Tool: "replace", Decision: policy.Deny}), edit, once, 0, false, "forbids"},
		{"which may be read", agent.ModeDefault, rules(policy.Rule{Path: "docs/", Tool: "replace", Decision: policy.Deny}), callOf("read_file", "path", "docs/a.md"), once, 0, true, "old"},
		{"a path asked, no", agent.ModeYolo, rules(policy.Rule{Path: "docs/", Decision: policy.Ask}), callOf("read_file", "path", "docs/a.md"), no, 1, false, "did not allow"},
		{"a path asked, yes", agent.ModeYolo, rules(policy.Rule{Path: "docs/", Decision: policy.Ask}), callOf("read_file", "path", "docs/a.md"), once, 1, true, "old"},
		{"a tool asked, no", agent.ModeYolo, rules(policy.Rule{Tool: "glob", Decision: policy.Ask}), callOf("glob", "pattern", "*"), no, 1, false, "did not allow"},
		{"a tool asked, yes", agent.ModeYolo, rules(policy.Rule{Tool: "glob", Decision: policy.Ask}), callOf("glob", "pattern", "**/*"), once, 1, true, "a.md"},
		{"a command denied", agent.ModeYolo, rules(policy.Rule{Command: "touch", Decision: policy.Deny, Reason: why}), sh("true && touch no"), once, 0, false, why},
		{"a command asked", agent.ModeYolo, rules(policy.Rule{Command: "touch", Decision: policy.Ask}), sh("touch no"), no, 1, false, "did not allow"},
		{"a command allowed", agent.ModeDefault, rules(policy.Rule{Command: "echo", Decision: policy.Allow}), sh("echo hi"), no, 0, true, "hi"},
		{"a command allowed, with another", agent.ModeDefault, rules(policy.Rule{Command: "echo", Decision: policy.Allow}), sh("echo hi; touch no"), no, 1, false, "did not allow"},
		{"a command on a denied path", agent.ModeYolo, rules(policy.Rule{Path: "docs/", Decision: policy.Deny}), sh("cat docs/a.md"), once, 0, false, "path docs/: deny"},
		{"the web allowed", agent.ModeDefault, rules(policy.Rule{Tool: "web_fetch", Decision: policy.Deny}), callOf("web_fetch", "prompt", "see http://example.com"), once, 0, false, "forbids"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := &user{kinds: []agent.OptionKind{c.answer}}
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			c.call.Args = at(c.call.Args, root)
			b := newBenchAt(t, root, agent.Options{Approver: u, Mode: c.mode, Policy: c.policy}, step(c.call), done)
			b.files(map[string]string{"docs/a.md": "old\n"})
			b.turn("x")
			r := b.m.Responses(1)[0]
			if (r.Error == "") != c.done || !strings.Contains(r.Output+r.Error, c.says) || len(u.asked) != c.asked {
				t.Errorf("asked %d times, the model is told %+v", len(u.asked), r)
			}
			if _, err := os.Stat(filepath.Join(b.root, "no")); err == nil {
				t.Error("a command ran that must not")
			}
		})
	}
}

// An edit that a rule asks for is reviewed where edits are applied at once.
func TestPolicyOfEdits(t *testing.T) {
	for _, mode := range []agent.Mode{agent.ModeAutoEdit, agent.ModeYolo} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		rv := &autos{}
		b := newBenchAt(t, root, agent.Options{Mode: mode, Reviewer: rv, Policy: policy.Policy{User: []policy.Rule{{Tool: "replace", Decision: policy.Ask}}}},
			step(callOf("replace", "file_path", filepath.Join(root, "a.txt"), "old_string", "old", "new_string", "new")),
			step(callOf("write_file", "file_path", filepath.Join(root, "b.txt"), "content", "x\n")), done)
		b.files(map[string]string{"a.txt": "old\n"})
		b.turn("x")
		if got := strings.Join(rv.got, " "); got != "a.txt:false b.txt:true" {
			t.Errorf("%s: applied without asking: %s", mode, got)
		}
	}
}

// What other programs run is reviewed where edits are applied at once, by whatever spelling or link it is reached.
func TestEditsOfWhatRuns(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rv := &autos{}
	var steps []agenttest.Step
	for _, name := range []string{".git/hooks/pre-commit", "sub/.GIT/config", ".gemini/settings.json", ".vscode/tasks.json", "link/hooks/x", "a.txt", ".gitignore", "git/x"} {
		steps = append(steps, step(callOf("write_file", "file_path", name, "content", "x\n")))
	}
	b := newBenchAt(t, root, agent.Options{Mode: agent.ModeAutoEdit, Reviewer: rv}, append(steps, done)...)
	b.files(map[string]string{".git/config": "[core]\n"})
	if err := os.Symlink(".git", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	b.turn("x")
	if got, want := strings.Join(rv.got, " "), "pre-commit:false config:false settings.json:false tasks.json:false x:false a.txt:true .gitignore:true x:true"; got != want {
		t.Errorf("applied without asking:\n%s, want\n%s", got, want)
	}
}

// No secret of ours gets to the model through a command.
func TestSecretsOfCommands(t *testing.T) {
	t.Setenv("GEMINI_API_KEY", "own-credential-1")
	t.Setenv("SOME_TOKEN", "foreign-credential")
	t.Setenv("KEPT_TOKEN", "kept-credential")
	b := newBench(t, agent.Options{Mode: agent.ModeYolo, Env: secret.Env{Allowed: []string{"KEPT_TOKEN"}}, Secrets: []string{"own-credential-2"}},
		step(sh("env"), sh("echo own-credential-2 AKIA\"\"ABCDEFGHIJKLMNOP")), done)
	b.turn("x")
	all := ""
	for _, r := range b.m.Responses(1) {
		all += r.Output + r.Error
	}
	for _, s := range []string{"own-credential-1", "foreign-credential", "own-credential-2", "AKIAABCDEFGHIJKLMNOP"} {
		if strings.Contains(all, s) {
			t.Errorf("%s is told:\n%s", s, all)
		}
	}
	if !strings.Contains(all, "kept-credential") || !strings.Contains(all, "PATH=") || !strings.Contains(all, "[redacted] [redacted]") {
		t.Errorf("told:\n%s", all)
	}
}
