package agent_test

import (
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/tools"
)

// What a prompt mentions with @ comes with it.
func TestMentions(t *testing.T) {
	for _, c := range []struct {
		prompt string
		want   string // the files read, in order
	}{
		{"look at @a.txt", "a.txt"},
		{"@a.txt, @sub/b.txt.", "a.txt sub/b.txt"},
		{"(see @a.txt) and `@sub/b.txt`", "a.txt sub/b.txt"},
		{"all of @sub", "sub/b.txt sub/c d.txt"},
		{"all of @sub/ now", "sub/b.txt sub/c d.txt"},
		{`this: @sub/c\ d.txt!`, "sub/c d.txt"},
		{"every @*.txt", "a.txt open.txt"},
		{"twice @a.txt @./a.txt @a.txt", "a.txt"},
		{"@open.txt", "open.txt"},
		{"write to me@a.txt", ""},
		{"@Component({ @Input() @nobody @../outside @/etc/passwd @ @@", ""},
		{"@[a*", ""},
		{"no mention", ""},
	} {
		t.Run(c.prompt, func(t *testing.T) {
			b := newBench(t, agent.Options{}, agenttest.Step{Text: []string{"ok"}})
			b.write("a.txt", "A\n")
			b.write("sub/b.txt", "B\n")
			b.write("sub/c d.txt", "C\n")
			b.open("open.txt", "only in the editor\n")
			if end := b.turn(c.prompt); end.Status != agent.Completed {
				t.Fatalf("turn %s: %v", end.Status, end.Err)
			}
			var got []string
			cs := b.m.Requests()[0].Contents
			for line := range strings.Lines(cs[len(cs)-1].Text()) {
				name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- ")
				if name = strings.TrimSuffix(name, " ---"); ok && name != "End of content" {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("read %q, want %q", got, c.want)
			}
		})
	}
}

// A memory is reviewed by itself, also where edits are not asked for.
func TestMemoryIsReviewed(t *testing.T) {
	file := t.TempDir() + "/GEMINI.md"
	r := &autos{}
	b := newBench(t, agent.Options{Mode: agent.ModeAutoEdit, Reviewer: r, Tools: tools.NewRegistry(append(tools.Builtin(), tools.SaveMemory(file))...)})
	path := b.write("a.txt", "one\n")
	*b.m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			{Name: "write_file", Args: map[string]any{"file_path": path, "content": "two\n"}},
			{Name: "save_memory", Args: map[string]any{"fact": "Likes tabs."}},
			{Name: "write_file", Args: map[string]any{"file_path": path, "content": "three\n"}},
		}},
		agenttest.Step{Text: []string{"ok"}})
	b.turn("x")
	if got := strings.Join(r.got, " "); got != "a.txt:true GEMINI.md:false a.txt:true" {
		t.Errorf("reviews: %s", got)
	}
	for i, want := range []string{"Successfully overwrote", "remembered that: Likes tabs.", "Successfully overwrote"} {
		if got := b.m.Responses(1)[i]; !strings.Contains(got.Output, want) {
			t.Errorf("response %d: %+v", i, got)
		}
	}
}
