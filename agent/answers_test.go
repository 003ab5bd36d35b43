package agent_test

import (
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/agenttest"
)

// The same question beside the conversation is asked once: here, how to correct the
// same edit of the same text.
func TestEqualQuestionsAreAskedOnce(t *testing.T) {
	b := newBench(t, agent.Options{CorrectEdits: true})
	path := b.write("a.go", toCorrect)
	edit := func(old string) agenttest.Step {
		return agenttest.Step{Text: []string{"Now."}, Calls: []agenttest.Call{{Name: "replace", Args: map[string]any{"file_path": path, "old_string": old, "new_string": "x"}}}}
	}
	cannot := correction(false, "", "", "there is nothing like it")
	*b.m = *agenttest.NewModel(
		edit("no such text"), cannot,
		edit("no such text"), // answered from memory
		edit("other text"), cannot,
		agenttest.Step{Text: []string{"I give up."}})
	if end := b.turn("go"); end.Status != agent.Completed || end.Usage.Requests != 6 {
		t.Fatalf("ended %+v", end)
	}
	for i, want := range []string{"there is nothing like it", "there is nothing like it", "there is nothing like it"} {
		if r := b.m.Responses([]int{2, 3, 5}[i]); len(r) != 1 || !strings.Contains(r[0].Error, want) {
			t.Errorf("response %d: %+v", i, r)
		}
	}
}
