package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/geminitest"
	"redline/tools"
	"redline/workspace"
)

// What every request begins with is small, and the same byte for byte from step to
// step, even when instructions and tools change meanwhile.
func TestPrefixOverHTTP(t *testing.T) {
	late := tools.Builtin()[0]
	var reg *tools.Registry
	o := newOver(t, func(opt *agent.Options) {
		reg = opt.Tools
		reg.Remove(late.Spec().Name)
	},
		geminitest.Do(geminitest.NewCall("read_file", map[string]any{"path": "a.txt"})),
		geminitest.Step{Gate: "changed", Chunks: []geminitest.Chunk{{Call: ptr(geminitest.NewCall("grep_search", map[string]any{"pattern": "<two> & \u2028"}))}}},
		geminitest.Say("done <b>"),
		geminitest.Say("again"),
	)
	o.write("GEMINI.md", "old rules")
	if _, err := o.Prompt(t.Context(), agent.Message{Text: "look at <a> & b"}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.srv.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	o.write("GEMINI.md", "new rules")
	reg.Add(late)
	o.srv.Release("changed")
	<-o.ended
	o.turn("and now?")

	reqs := o.srv.Requests()
	for i := 1; i < 3; i++ {
		if err := samePrefix(t, reqs[i-1], reqs[i]); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if strings.Contains(o.system(2), "new rules") || !strings.Contains(o.system(2), "old rules") {
		t.Error("the instructions changed within a turn")
	}
	if !strings.Contains(o.system(3), "new rules") || strings.Contains(o.system(3), "old rules") {
		t.Error("the instructions are not read again for the next turn")
	}
	if len(reqs[3].Functions()) != len(reqs[2].Functions())+1 {
		t.Error("the tool that came is not offered in the next turn")
	}
	if !strings.Contains(o.notices(), "read again") {
		t.Errorf("the user was told: %s", o.notices())
	}
}

func ptr[T any](v T) *T { return &v }

// System prompt and declarations of all built-in tools together stay below 12 KB.
func TestPromptIsSmall(t *testing.T) {
	for _, mode := range []agent.Mode{agent.ModeDefault, agent.ModePlan} {
		o := newOver(t, func(opt *agent.Options) { opt.Mode = mode }, geminitest.Say("hi"))
		o.turn("hello")
		m := members(t, o.srv.Requests()[0])
		var system struct{ Parts []struct{ Text string } }
		if err := json.Unmarshal(m["systemInstruction"], &system); err != nil {
			t.Fatal(err)
		}
		if n := len(system.Parts[0].Text) + len(m["tools"]); n > 12<<10 {
			t.Errorf("mode %s: system prompt %d bytes, declarations %d bytes, together %d", mode, len(system.Parts[0].Text), len(m["tools"]), n)
		} else {
			t.Logf("mode %s: %d bytes", mode, n)
		}
	}
}

// The instructions of deeper folders come with the message that first gets there,
// once, and again when they changed; what is open in the editor counts.
func TestInstructionsBelow(t *testing.T) {
	read := geminitest.Do(geminitest.NewCall("read_file", map[string]any{"path": "pkg/b/x.go"}))
	o := newOver(t, nil, read, read, geminitest.Say("one"), read, geminitest.Say("two"), geminitest.Say("three"))
	o.write("pkg/GEMINI.md", "rules of pkg")
	o.write("pkg/b/x.go", "package b\n")
	o.write("other/GEMINI.md", "rules of other")
	other := o.write("other/y.go", "package other\n")
	o.turn("read it")
	inner := filepath.Join(o.root, "pkg/b/AGENTS.md")
	o.ws.Put(&workspace.Document{Key: workspace.Key(inner), URI: "file://" + inner, Path: inner, Text: "unsaved rules of b"})
	o.turn("again")
	o.turn("this", agent.ContextItem{Kind: "file", Path: other})

	reqs := o.srv.Requests()
	for i, want := range []string{"", "rules of pkg", "", "", "unsaved rules of b", "rules of other"} {
		last := reqs[i].Last().Texts()
		for _, rule := range []string{"rules of pkg", "unsaved rules of b", "rules of other"} {
			if strings.Contains(last, rule) != (rule == want) {
				t.Errorf("request %d has %q: %v", i, rule, !(rule == want))
			}
		}
	}
	var names []string
	for _, f := range o.Memory().Files {
		names = append(names, filepath.Base(filepath.Dir(f.Path)))
	}
	if strings.Join(names, " ") != "other pkg b" {
		t.Errorf("listed: %v", names)
	}
}

// A fact that was saved is in the next turn's system prompt.
func TestSavedFactsAreRead(t *testing.T) {
	o := newOver(t, nil,
		geminitest.Do(geminitest.NewCall("save_memory", map[string]any{"fact": "Likes short answers."})),
		geminitest.Say("ok"), geminitest.Say("hi"))
	o.turn("remember")
	o.turn("hello")
	if data, err := os.ReadFile(filepath.Join(filepath.Dir(o.root), "home/GEMINI.md")); err != nil || !strings.Contains(string(data), "short answers") {
		t.Fatalf("%s (%v)", data, err)
	}
	if strings.Contains(o.system(1), "short answers") || !strings.Contains(o.system(2), "short answers") {
		t.Errorf("system prompt of the next turn:\n%s", o.system(2))
	}
}
