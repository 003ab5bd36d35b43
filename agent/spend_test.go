package agent_test

import (
	"math"
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/geminitest"
	"redline/agent/models"
)

// What a session used is counted by model and priced where prices are known.
func TestSpending(t *testing.T) {
	usage := &geminitest.Usage{Prompt: 1000, Cached: 400, Candidates: 100, Thoughts: 50}
	steps := []geminitest.Step{
		{Model: "gemini-2.5-pro", Chunks: []geminitest.Chunk{{Text: "a"}}, Usage: usage},
		{Model: "gemini-2.5-flash", Chunks: []geminitest.Chunk{{Text: "b"}}, Usage: usage},
		{Model: "gemini-test", Chunks: []geminitest.Chunk{{Text: "c"}}, Usage: usage},
	}
	o := newOver(t, func(opt *agent.Options) { opt.Model = "pro" }, steps...)
	end := o.turn("one")
	pro := (600*1.25 + 400*0.125 + 150*10) / 1e6
	if math.Abs(end.Usage.Cost-pro) > 1e-12 || end.Usage.Unpriced != 0 {
		t.Errorf("the first turn: %+v, want %v", end.Usage, pro)
	}
	if err := o.Configure("", "flash"); err != nil {
		t.Fatal(err)
	}
	o.turn("two")
	if sp := o.Spending(); sp.Total.Unpriced != 0 || sp.Total.Total != 2*1150 || sp.Context != 1100 || sp.Window != 1_048_576 {
		t.Errorf("after two: %+v", sp)
	}
	if err := o.Configure("", "gemini-test"); err != nil {
		t.Fatal(err)
	}
	o.turn("three")
	sp := o.Spending()
	flash := (600*0.3 + 400*0.03 + 150*2.5) / 1e6
	if math.Abs(sp.Total.Cost-pro-flash) > 1e-12 || sp.Total.Unpriced != 1 || len(sp.Models) != 3 || sp.Models[0].Model != "gemini-2.5-flash" || sp.Models[2].Unpriced != 1 {
		t.Errorf("at the end: %+v", sp)
	}
	free := newOver(t, func(opt *agent.Options) { opt.Model, opt.Free = "pro", func() bool { return true } }, steps[0])
	if end := free.turn("one"); end.Usage.Cost != 0 || end.Usage.Unpriced != 1 {
		t.Errorf("where nobody pays: %+v", end.Usage)
	}
}

// Parameters reach the service as the settings and the model's kind have them.
func TestParameters(t *testing.T) {
	set, _, err := models.Parse(map[string]any{"customAliases": map[string]any{"mine": map[string]any{
		"extends":     "flash",
		"modelConfig": map[string]any{"generateContentConfig": map[string]any{"temperature": 0.25, "maxOutputTokens": 99, "thinkingConfig": map[string]any{"thinkingBudget": 0}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"mine":           {"gemini-2.5-flash", `"temperature":0.25`, `"maxOutputTokens":99`, `"thinkingBudget":0`},
		"gemini-2.5-pro": {"gemini-2.5-pro", `"thinkingBudget":8192`, `"includeThoughts":true`, `"topK":64`},
		"gemini-test":    {"gemini-test", `"includeThoughts":true`},
	} {
		o := newOver(t, func(opt *agent.Options) { opt.Model, opt.Models = name, set }, geminitest.Say("ok"))
		o.turn("hello")
		r := o.srv.Requests()[0]
		config := string(members(t, r)["generationConfig"])
		if r.Model != want[0] {
			t.Errorf("%s: model %s", name, r.Model)
		}
		for _, w := range want[1:] {
			if !strings.Contains(config, w) {
				t.Errorf("%s: %s lacks %s", name, config, w)
			}
		}
	}
}
