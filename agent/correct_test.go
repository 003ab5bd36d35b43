package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/agent/model"
	"redline/workspace"
)

const toCorrect = "func a() {\n\tsum := add(1, 2)\n\treturn sum\n}\n\nfunc b() {\n\tsum := add(3, 4)\n\treturn sum\n}\n"

// correction is the answer of the model that corrects.
func correction(found bool, old, new, reason string) agenttest.Step {
	b, err := json.Marshal(map[string]any{"found": found, "old_string": old, "new_string": new, "reason": reason})
	if err != nil {
		panic(err)
	}
	return agenttest.Step{Text: []string{string(b[:5]), string(b[5:])}}
}

// An edit that quotes the file wrongly is corrected by one more request, and what
// that answers is checked.
func TestCorrectEdits(t *testing.T) {
	const old, new = "total := add(1, 2)", "total := add(1, 20)"
	after := strings.Replace(toCorrect, "add(1, 2)", "add(1, 20)", 1)
	for _, c := range []struct {
		name     string
		off      bool
		old, new string
		answer   agenttest.Step
		asked    bool   // whether the correction is asked for
		after    string // of the file; toCorrect when empty
		told     string // part of what the model is told
	}{
		{name: "corrected", answer: correction(true, "sum := add(1, 2)", "sum := add(1, 20)", "it is called sum"), asked: true, after: after, told: "(1 replacements). old_string was not what the file has; it was corrected. What was replaced is:\nsum := add(1, 2)"},
		{name: "in a code fence", answer: agenttest.Step{Text: []string{"```json\n{\"found\": true, \"old_string\": \"sum := add(1, 2)\", \"new_string\": \"sum := add(1, 20)\", \"reason\": \"\"}\n```\n"}}, asked: true, after: after, told: "it was corrected"},
		{name: "one place of two", old: "return sum", new: "return -sum", answer: correction(true, "add(3, 4)\n\treturn sum", "add(3, 4)\n\treturn -sum", ""), asked: true, after: strings.TrimSuffix(toCorrect, "sum\n}\n") + "-sum\n}\n", told: "it was corrected"},
		{name: "still two places", old: "return sum", new: "return -sum", answer: correction(true, "return sum", "return -sum", ""), asked: true, told: "expected 1 occurrences but found 2"},
		{name: "wrong again", answer: correction(true, "sum  := add(1, 2)", "x", ""), asked: true, told: "0 occurrences found"},
		{name: "another place", answer: correction(true, "func b() {", "total := add(1, 20)", ""), asked: true, told: "0 occurrences found"},
		{name: "it cannot tell", answer: correction(false, "", "", "the file\nalready adds 20"), asked: true, told: "\n(What a second look at the file says: the file already adds 20)"},
		{name: "no JSON", answer: agenttest.Step{Text: []string{"I would rather talk."}}, asked: true, told: "0 occurrences found"},
		{name: "it fails", answer: agenttest.Step{Err: errors.New("broken")}, asked: true, told: "0 occurrences found"},
		{name: "switched off", off: true, told: "0 occurrences found"},
		{name: "right from the start", old: "sum := add(1, 2)", new: "sum := add(1, 20)", after: after, told: "(1 replacements)."},
		{name: "found by layout", old: "sum  :=  add(1, 2)", new: "sum := add(1, 20)", after: after, told: "ignoring whitespace"},
		{name: "nothing to change", old: "x", new: "x", told: "No changes to apply"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, agent.Options{CorrectEdits: !c.off})
			path := b.write("a.go", toCorrect)
			if c.old == "" {
				c.old, c.new = old, new
			}
			steps := []agenttest.Step{{Text: []string{"I make it add twenty."}, Calls: []agenttest.Call{
				{Name: "replace", Args: map[string]any{"file_path": path, "old_string": c.old, "new_string": c.new}},
			}}}
			if c.asked {
				steps = append(steps, c.answer)
			}
			*b.m = *agenttest.NewModel(append(steps, done)...)
			if end := b.turn("x"); end.Status != agent.Completed || end.Usage.Requests != len(steps)+1 {
				t.Fatalf("ended %+v", end)
			}
			if c.after == "" {
				c.after = toCorrect
			}
			if got, _ := os.ReadFile(path); string(got) != c.after {
				t.Errorf("the file is now\n%s", got)
			}
			reqs := b.m.Requests()
			if r := b.m.Responses(len(reqs) - 1); len(r) != 1 || !strings.Contains(r[0].Output+r[0].Error, c.told) {
				t.Errorf("the model is told %+v, want %q", r, c.told)
			}
			if c.asked {
				checkQuestion(t, reqs[1], c.old)
			}
			for i, r := range reqs {
				if i != 1 && c.asked && (len(r.Contents) != 1+i || strings.Contains(fmt.Sprint(r.Contents), "text_of_the_file")) {
					t.Errorf("request %d holds the correction: %d contents", i, len(r.Contents))
				}
			}
		})
	}
}

// checkQuestion checks a request for a correction: small model, JSON, nothing of the
// conversation.
func checkQuestion(t *testing.T, r *model.Request, old string) {
	t.Helper()
	q := r.Contents[0].Text()
	for _, want := range []string{"a.go", "<old_string>\n" + old, "<text_of_the_file>\n" + toCorrect, "<purpose_of_the_edit>\nI make it add twenty."} {
		if !strings.Contains(q, want) {
			t.Errorf("the question lacks %q:\n%s", want, q)
		}
	}
	if r.Model != "gemini-2.5-flash" || len(r.Contents) != 1 || len(r.Config.Tools) > 0 || r.Config.ResponseMIMEType != "application/json" || r.Config.ResponseJsonSchema == nil {
		t.Errorf("request %+v, %+v", r, r.Config)
	}
}

// What the correction is checked against is the text of the moment it comes.
func TestCorrectEditsLive(t *testing.T) {
	for _, c := range []struct {
		name, typed string
		want        string // new text of the only hunk; empty: refused
	}{
		{"moved", "// typed\n" + toCorrect, "\tsum := add(1, 20)\n"},
		{"gone", "// all gone\n", ""},
		{"as the model had it", strings.ReplaceAll(toCorrect, "sum", "total"), "\ttotal := add(1, 20)\n"},
		{"twice by now", toCorrect + "\n" + toCorrect, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked, gate := make(chan struct{}), make(chan struct{})
			var hunks []*workspace.Hunk
			b := newBench(t, agent.Options{CorrectEdits: true, Reviewer: decider(func(_ int, h *workspace.Hunk) {
				h.State = workspace.Accepted
				hunks = append(hunks, h)
			})})
			b.open("a.go", toCorrect)
			edit := agenttest.Call{Name: "replace", Args: map[string]any{"file_path": filepath.Join(b.root, "a.go"), "old_string": "total := add(1, 2)", "new_string": "total := add(1, 20)"}}
			fixed := correction(true, "sum := add(1, 2)", "sum := add(1, 20)", "")
			fixed.Asked, fixed.Gate = asked, gate
			*b.m = *agenttest.NewModel(step(edit), fixed, done)
			go func() {
				<-asked
				b.open("a.go", c.typed)
				close(gate)
			}()
			b.turn("x")
			r := b.m.Responses(2)[0]
			switch {
			case c.want == "" && (len(hunks) > 0 || !strings.Contains(r.Error, "Failed to edit")):
				t.Errorf("told %+v, hunks %+v", r, hunks)
			case c.want != "" && (len(hunks) != 1 || hunks[0].New != c.want):
				t.Errorf("told %+v, hunks %+v", r, hunks)
			}
		})
	}
}

// What was staged before the correction moves along with what is typed during it.
func TestCorrectEditsAfterStaging(t *testing.T) {
	asked, gate := make(chan struct{}), make(chan struct{})
	var hunks []string
	b := newBench(t, agent.Options{CorrectEdits: true, Reviewer: decider(func(_ int, h *workspace.Hunk) {
		h.State = workspace.Accepted
		hunks = append(hunks, h.Old+"→"+h.New)
	})})
	b.open("a.go", toCorrect)
	edit := func(old, new string) agenttest.Call {
		return agenttest.Call{Name: "replace", Args: map[string]any{"file_path": filepath.Join(b.root, "a.go"), "old_string": old, "new_string": new}}
	}
	fixed := correction(true, "sum := add(1, 2)", "sum := add(1, 20)", "")
	fixed.Asked, fixed.Gate = asked, gate
	*b.m = *agenttest.NewModel(step(edit("add(3, 4)", "add(3, 40)"), edit("total := add(1, 2)", "total := add(1, 20)")), fixed, done)
	go func() {
		<-asked
		b.open("a.go", "// typed\n"+toCorrect+"// at both ends\n")
		close(gate)
	}()
	b.turn("x")
	for i, r := range b.m.Responses(2) {
		if r.Error != "" {
			t.Errorf("call %d: %s", i, r.Error)
		}
	}
	if got, want := strings.Join(hunks, "|"), "\tsum := add(1, 2)\n→\tsum := add(1, 20)\n|\tsum := add(3, 4)\n→\tsum := add(3, 40)\n"; got != want {
		t.Errorf("hunks %q, want %q", got, want)
	}
}

// Calls of one step compose, also when one of them had to be corrected, and the
// later ones see its text.
func TestCorrectEditsCompose(t *testing.T) {
	b := newBench(t, agent.Options{CorrectEdits: true})
	path := b.write("a.go", toCorrect)
	edit := func(old, new string) agenttest.Call {
		return agenttest.Call{Name: "replace", Args: map[string]any{"file_path": path, "old_string": old, "new_string": new}}
	}
	*b.m = *agenttest.NewModel(
		step(edit("add(3, 4)", "add(3, 40)"), edit("total := add(1, 2)", "total := add(1, 20)"), edit("add(1, 20)", "add(1, 200)"), edit("value := add(3, 40)", "value := add(3, 400)")),
		correction(true, "sum := add(1, 2)", "sum := add(1, 20)", ""),
		correction(true, "sum := add(3, 40)", "sum := add(3, 400)", ""),
		done)
	b.turn("x")
	got, _ := os.ReadFile(path)
	if want := strings.NewReplacer("add(1, 2)", "add(1, 200)", "add(3, 4)", "add(3, 400)").Replace(toCorrect); string(got) != want {
		t.Errorf("the file is now\n%s", got)
	}
	if q := b.m.Requests()[2].Contents[0].Text(); !strings.Contains(q, "add(1, 200)") || !strings.Contains(q, "add(3, 40)") {
		t.Errorf("the second question does not show what was staged:\n%s", q)
	}
	for i, r := range b.m.Responses(3) {
		if r.Error != "" {
			t.Errorf("call %d: %s", i, r.Error)
		}
	}
}

// A cancelled correction ends the turn; the call is answered all the same.
func TestCorrectEditsCancelled(t *testing.T) {
	asked := make(chan struct{})
	b := newBench(t, agent.Options{CorrectEdits: true})
	path := b.write("a.go", toCorrect)
	*b.m = *agenttest.NewModel(
		step(agenttest.Call{Name: "replace", Args: map[string]any{"file_path": path, "old_string": "total := add(1, 2)", "new_string": "x"}}),
		agenttest.Step{Asked: asked, Hang: true}, done)
	go func() {
		<-asked
		b.s.Cancel("")
	}()
	if end := b.turn("x"); end.Status != agent.Cancelled {
		t.Fatalf("ended %+v", end)
	}
	b.turn("go on")
	if err := check(b.m.Requests()[2].Contents); err != nil {
		t.Error(err)
	}
	if got := b.statuses("replace"); !strings.HasSuffix(got, "cancelled") {
		t.Errorf("states: %s", got)
	}
}
