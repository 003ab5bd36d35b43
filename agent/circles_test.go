package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/geminitest"
)

func loops(evs []agent.Event) (out []string) {
	for _, ev := range evs {
		if l, ok := ev.Body.(agent.LoopDetected); ok {
			out = append(out, l.Kind)
		}
	}
	return out
}

// A model that goes round in circles is told so once, then stopped; the user can let
// it go on.
func TestLoops(t *testing.T) {
	list := geminitest.NewCall("list_directory", map[string]any{"path": "."})
	read := func(i int) geminitest.Call {
		return geminitest.NewCall("read_file", map[string]any{"path": fmt.Sprintf("%d.txt", i)})
	}
	same := geminitest.Do(list)
	same.Times = 10
	var cycle []geminitest.Step
	for range 10 {
		cycle = append(cycle, geminitest.Do(read(1)), geminitest.Do(read(2)))
	}
	var words []geminitest.Chunk
	for range 3000 {
		words = append(words, geminitest.Chunk{Text: "I will try it once more. "})
	}
	babble := geminitest.Step{Chunks: words, Times: 2}
	for name, tt := range map[string]struct {
		steps    []geminitest.Step
		kind     string
		requests int
	}{
		"the same call":  {[]geminitest.Step{same}, "call", 10},
		"a cycle":        {cycle, "cycle", 20},
		"the same text":  {[]geminitest.Step{babble}, "text", 2},
		"in one step":    {[]geminitest.Step{geminitest.Do(list, list, list, list, list), geminitest.Do(list, list, list, list, list)}, "call", 2},
		"text and calls": {append([]geminitest.Step{{Chunks: words}}, geminitest.Do(list, list, list, list, list)), "call", 2},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOver(t, nil, append(tt.steps, geminitest.Say("All right."))...)
			end := o.turn("go")
			if end.Status != agent.Limit || end.Err == nil || !strings.Contains(end.Err.Error(), "say “continue”") {
				t.Errorf("ended %+v", end)
			}
			if got := loops(o.seen()); len(got) != 1 || got[0] != tt.kind {
				t.Errorf("loops: %v", got)
			}
			reqs := o.srv.Requests()
			if len(reqs) != tt.requests {
				t.Fatalf("%d requests", len(reqs))
			}
			if strings.Count(o.notices(), "The model repeats itself") != 1 {
				t.Errorf("told: %s", o.notices())
			}
			told := 0
			for _, r := range reqs {
				if last := r.Last().Texts(); strings.Contains(last, "in a row") || strings.Contains(last, "in circles") || strings.Contains(last, "over and over") {
					told++
				}
			}
			if told != 1 {
				t.Errorf("the model was told %d times", told)
			}
			if end := o.turn("continue"); end.Status != agent.Completed || !strings.HasSuffix(o.said(), "All right.") {
				t.Errorf("then: %+v", end)
			}
			if last := o.srv.Requests()[tt.requests]; last.Refused != "" || len(last.Raw) > 64<<10 {
				t.Errorf("the next request: %d bytes, refused: %s", len(last.Raw), last.Refused)
			}
		})
	}
}

// Work that looks alike is no loop, and a setting lets the model do as it likes.
func TestNoLoops(t *testing.T) {
	list := geminitest.NewCall("list_directory", map[string]any{"path": "."})
	var steps []geminitest.Step
	for i := range 20 {
		steps = append(steps, geminitest.Do(geminitest.NewCall("grep_search", map[string]any{"pattern": fmt.Sprint("x", i)})), geminitest.Do(list))
	}
	steps = append(steps, geminitest.Say("```\n"+strings.Repeat("0, 0, 0, 0,\n", 500)+"```\n", strings.Repeat("| a | b |\n", 500)))
	o := newOver(t, nil, steps...)
	if end := o.turn("go"); end.Status != agent.Completed || len(loops(o.seen())) != 0 || o.notices() != "" {
		t.Errorf("ended %+v; %s", end, o.notices())
	}
	same := geminitest.Do(list)
	same.Times = 30
	o = newOver(t, func(opt *agent.Options) { opt.AllowLoops = true }, same, geminitest.Say("ok"))
	if end := o.turn("go"); end.Status != agent.Completed {
		t.Errorf("ended %+v", end)
	}
}
