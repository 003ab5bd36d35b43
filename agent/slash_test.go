//go:build unix

package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/slash"
	"redline/tools"
	"redline/tools/policy"
	"redline/tools/shell"
)

// What the model gets of a prompt that calls a command, and what the user is asked.
func TestSlash(t *testing.T) {
	ask := func(kinds ...agent.OptionKind) *user { return &user{kinds: kinds} }
	for _, c := range []struct {
		name   string
		prompt string
		mode   agent.Mode
		policy shell.Policy
		rules  policy.Policy
		user   *user
		asked  string
		want   string // all of the user's text
		media  int
		err    string // of the turn
		early  string // of the prompt
	}{
		{name: "text", prompt: "/plain now", want: "be plain\n\n/plain now"},
		{name: "file", prompt: "/file", want: "see only in the editor\n!"},
		{name: "missing file", prompt: "/missing", want: "see [none.txt cannot be read: file not found: ROOT/none.txt; use glob or list_directory to find the right path]!"},
		{name: "outside", prompt: "/outside", want: "[/etc/passwd cannot be read: path \"/etc/passwd\" is outside the workspace; use a path within the root directory: ROOT]"},
		{name: "folder", prompt: "/folder", want: "--- dir/b.txt ---\nB\n--- End of content ---"},
		{name: "picture", prompt: "/picture", want: "look: Read image/png file: ROOT/p.png", media: 1},
		{name: "mention in the words", prompt: "/plain @dir/b.txt", want: "be plain\n\n/plain @dir/b.txt[Contents of what the prompt mentions with @]\n--- dir/b.txt ---\nB\n--- End of content ---"},
		{name: "command", prompt: "/shell it's", user: ask(agent.OptionOnce), asked: `echo "it's"; exit 3`, want: "said it's\n[Shell command exited with code 3] end"},
		{name: "command that a rule denies", mode: agent.ModeYolo, rules: policy.Policy{User: []policy.Rule{{Command: "echo", Decision: policy.Deny}}}, prompt: "/shell x", err: "a rule of the user forbids this call"},
		{name: "command refused", prompt: "/shell x", user: ask(agent.OptionReject), asked: "echo x; exit 3", err: "/shell: !{echo x; exit 3} was not run: The user did not allow this"},
		{name: "command, nobody to ask", prompt: "/shell x", err: "no way to ask"},
		{name: "command, yolo", mode: agent.ModeYolo, prompt: "/shell x", want: "said x\n[Shell command exited with code 3] end"},
		{name: "command, allowed", policy: shell.Policy{Allow: []string{"echo"}}, prompt: "/echo $(id)", want: "$(id)"},
		{name: "command, forbidden", mode: agent.ModeYolo, policy: shell.Policy{Deny: []string{"echo"}}, prompt: "/echo x", err: "settings forbid this command"},
		{name: "command in plan mode", mode: agent.ModePlan, user: ask(agent.OptionOnce), prompt: "/echo x", err: "plan mode"},
		{name: "nothing left", prompt: "/empty", err: "the prompt it makes is empty"},
		{name: "unknown", prompt: "/plian", early: "there is no command /plian; did you mean /plain?"},
		{name: "broken", prompt: "/broken", err: "/broken: the command /broken cannot be used"},
		{name: "a path", prompt: "/tmp is full", want: "/tmp is full"},
		{name: "a file of the workspace", prompt: "/a.txt is full", want: "/a.txt is full"},
		{name: "a mere word", prompt: "/dir is full", early: "there is no command /dir"},
		{name: "escaped", prompt: " /plian", want: " /plian"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			opt := agent.Options{Mode: c.mode, Commands: c.policy, Policy: c.rules, Slash: &slash.Set{User: home}}
			if c.user != nil {
				opt.Approver = c.user
			}
			b := newBench(t, opt, done)
			for name, prompt := range map[string]string{
				"plain": "be plain", "file": "see @{a.txt}!", "missing": "see @{none.txt}!", "outside": "@{/etc/passwd}", "folder": "@{dir}",
				"picture": "look: @{p.png}", "shell": "said !{echo {{args}}; exit 3} end", "echo": "!{echo {{args}}}", "empty": "{{args}}", "broken": "!{",
			} {
				if err := os.WriteFile(filepath.Join(home, name+".toml"), []byte("prompt = '''"+prompt+"'''"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			b.write("a.txt", "on disk\n")
			b.open("a.txt", "only in the editor\n")
			b.write("dir/b.txt", "B\n")
			b.write("p.png", "\x89PNG\r\n")
			if c.early != "" {
				if _, err := b.s.Prompt(t.Context(), agent.Message{Text: c.prompt}); err == nil || !strings.Contains(err.Error(), c.early) {
					t.Errorf("the prompt gives %v", err)
				}
				return
			}
			end := b.turn(c.prompt)
			if c.user != nil && c.user.lines() != c.asked {
				t.Errorf("asked for %q, want %q", c.user.lines(), c.asked)
			}
			if c.err != "" {
				if end.Status != agent.Failed || end.Err == nil || !strings.Contains(end.Err.Error(), c.err) {
					t.Errorf("turn %s: %v, want %s", end.Status, end.Err, c.err)
				}
				if n := len(b.m.Requests()); n != 0 {
					t.Errorf("%d requests", n)
				}
				return
			}
			if end.Status != agent.Completed {
				t.Fatalf("turn %s: %v", end.Status, end.Err)
			}
			cs := b.m.Requests()[0].Contents
			last := cs[len(cs)-1]
			text := last.Text()
			if i := strings.Index(text, "entries, ignored ones left out"); i >= 0 { // the environment is before it
				_, text, _ = strings.Cut(text[i:], "p.png\n")
			}
			media := 0
			for _, p := range last.Parts {
				if p.Value().InlineData != nil {
					media++
				}
			}
			if want := strings.ReplaceAll(c.want, "ROOT", b.root); text != want || media != c.media {
				t.Errorf("the model gets %q and %d media, want %q and %d", text, media, want, c.media)
			}
		})
	}
}

// resources are an MCP server's.
type resources struct{}

func (resources) Resource(mention string) (server, uri string, ok bool) {
	uri, ok = strings.CutPrefix(mention, "srv:")
	return "srv", strings.TrimRight(uri, "."), ok
}

func (resources) Read(_ context.Context, server, uri string) (*tools.Result, error) {
	if uri == "mem://none" {
		return nil, errors.New("there is none")
	}
	return &tools.Result{Text: "the text of " + uri, Media: []tools.Media{{MIMEType: "image/png", Data: []byte("PNG")}}}, nil
}

// A resource that a prompt mentions comes with it, once.
func TestMentionedResources(t *testing.T) {
	b := newBench(t, agent.Options{Resources: resources{}}, done)
	if end := b.turn("see @srv:mem://a and @srv:mem://a, not me@srv:mem://b or @other:mem://c, but @srv:mem://none."); end.Status != agent.Completed {
		t.Fatalf("turn %s: %v", end.Status, end.Err)
	}
	cs := b.m.Requests()[0].Contents
	text := cs[len(cs)-1].Text()
	if strings.Count(text, "[Contents of @srv:mem://a, from an MCP server]\nthe text of mem://a") != 1 || strings.Contains(text, "mem://b]") ||
		!strings.Contains(text, "[@srv:mem://none cannot be read: there is none]") {
		t.Errorf("the model gets %q", text)
	}
}
