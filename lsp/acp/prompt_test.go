package acp_test

import (
	"strings"
	"testing"

	"redline/agent/agenttest"
)

var fsCaps = map[string]any{"fs": map[string]any{"readTextFile": true, "writeTextFile": true}}

// The main job: a proposal over two files is one question with diffs; what is allowed is
// written by the client, whose unsaved text is what was read.
func TestProposal(t *testing.T) {
	dir := t.TempDir()
	c := &client{t: t, dir: dir}
	m := agenttest.NewModel(
		calls(call("read_file", map[string]any{"path": "a.go"})),
		calls(c.replace("a.go", "one", "ONE"), c.replace("b.go", "two", "TWO")),
		say("Done."),
	)
	c = start(t, setup{model: m, dir: dir, caps: fsCaps, files: map[string]string{"a.go": "// one\n", "b.go": "// two\n"}})
	c.buffers[c.path("a.go")] = "// unsaved\n// one\n"
	o := c.open()
	if got := c.prompt(o.SessionID, text("shout")); got != "end_turn" {
		t.Errorf("stop reason %s", got)
	}
	if got := m.Responses(1)[0].Output; !strings.Contains(got, "// unsaved") {
		t.Errorf("read_file gave %q", got)
	}
	for _, r := range m.Responses(2) {
		if !strings.HasPrefix(r.Output, "Successfully modified file:") {
			t.Errorf("the model was told %+v", r)
		}
	}
	if a, b := c.disk("a.go"), c.disk("b.go"); a != "// unsaved\n// ONE\n" || b != "// TWO\n" {
		t.Errorf("files are %q and %q", a, b)
	}
	if len(c.written) != 2 {
		t.Errorf("the client wrote %v", c.written)
	}
	if len(c.permissions) != 1 {
		t.Fatalf("%d questions", len(c.permissions))
	}
	p := c.permissions[0]
	if p.ToolCall.Title != "Change 2 files" || len(p.ToolCall.Content) != 2 || p.ToolCall.Content[0].NewText != "// unsaved\n// ONE\n" || *p.ToolCall.Content[0].OldText != "// unsaved\n// one\n" {
		t.Errorf("the question is %+v", p.ToolCall)
	}
	if got := c.said("agent_message_chunk"); got != "Done." {
		t.Errorf("said %q", got)
	}
	us := c.of(p.ToolCall.ToolCallID)
	if first, last := us[0], us[len(us)-1]; first.Update.SessionUpdate != "tool_call" || last.Update.Status != "completed" {
		t.Errorf("updates of the proposal:\n%s", c.log())
	}
}
