package agent_test

import (
	"context"
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/geminitest"
	"redline/agent/models"
)

// asker answers questions; it keeps them.
type asker struct {
	answer func(options []string) (string, bool)
	asked  []string
}

func (a *asker) Ask(_ context.Context, _, question string, options []string) (string, bool) {
	a.asked = append(a.asked, question)
	return a.answer(options)
}

// Two 429 in a row, or a daily quota that is used up, bring the session to Flash when
// the user is signed in with Google: announced, asked, and gone on with by the user.
func TestFallback(t *testing.T) {
	busy := geminitest.Step{Model: "gemini-2.5-pro", Error: &geminitest.Error{Status: 429, Message: "slow down"}, Times: 2}
	quota := geminitest.Step{Model: "gemini-2.5-pro", Error: &geminitest.Error{Status: 429, Message: "no more today", QuotaID: "GenerateRequestsPerDayPerProjectPerModel"}}
	pro := geminitest.Step{Model: "gemini-2.5-pro", Chunks: []geminitest.Chunk{{Text: "Pro."}}}
	flash := geminitest.Step{Model: "gemini-2.5-flash", Chunks: []geminitest.Chunk{{Text: "Flash."}}}
	yes := func(o []string) (string, bool) { return o[0], true }
	no := func(o []string) (string, bool) { return o[1], true }
	silent := func([]string) (string, bool) { return "", false }
	for name, tt := range map[string]struct {
		steps  []geminitest.Step
		key    bool // signed in with a key: there is no fallback
		alone  bool
		answer func([]string) (string, bool)
		status agent.Status // of the first turn
		said   string       // of both turns
		model  string
	}{
		"busy, yes":       {[]geminitest.Step{busy, flash}, false, false, yes, agent.Failed, "Flash.", "gemini-2.5-flash"},
		"busy, no":        {[]geminitest.Step{busy, pro, pro}, false, false, no, agent.Completed, "Pro.\n\nPro.", "gemini-2.5-pro"},
		"busy, no answer": {[]geminitest.Step{busy, flash}, false, false, silent, agent.Failed, "Flash.", "gemini-2.5-flash"},
		"busy, no asker":  {[]geminitest.Step{busy, flash}, false, false, nil, agent.Failed, "Flash.", "gemini-2.5-flash"},
		"quota, yes":      {[]geminitest.Step{quota, flash}, false, false, yes, agent.Failed, "Flash.", "gemini-2.5-flash"},
		"quota, no":       {[]geminitest.Step{quota, pro}, false, false, no, agent.Failed, "Pro.", "gemini-2.5-pro"},
		"quota, alone":    {[]geminitest.Step{quota, flash, flash}, false, true, nil, agent.Completed, "Flash.\n\nFlash.", "gemini-2.5-flash"},
		"busy, a key":     {[]geminitest.Step{busy, pro, pro}, true, false, yes, agent.Completed, "Pro.\n\nPro.", "gemini-2.5-pro"},
		"quota, a key":    {[]geminitest.Step{quota, pro}, true, false, yes, agent.Failed, "Pro.", "gemini-2.5-pro"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &asker{answer: tt.answer}
			o := newOver(t, func(opt *agent.Options) {
				opt.Model, opt.Alone = "pro", tt.alone // an alias
				if tt.answer != nil {
					opt.Asker = a
				}
				if !tt.key {
					opt.Fallback = models.Flash
				}
			}, tt.steps...)
			end := o.turn("hello")
			if end.Status != tt.status {
				t.Fatalf("ended %+v", end)
			}
			if end := o.turn("again"); end.Status != agent.Completed {
				t.Fatalf("the next turn: %+v", end)
			}
			changed := 0
			for _, ev := range o.seen() {
				if m, ok := ev.Body.(agent.ModelChanged); ok && m.Model == "gemini-2.5-flash" && m.Reason != "" {
					changed++
				}
			}
			fell := tt.model == "gemini-2.5-flash"
			if o.said() != tt.said || (changed == 1) != fell || fell && o.Info().Model != tt.model {
				t.Errorf("said %q, %d changes, model %q", o.said(), changed, o.Info().Model)
			}
			if fell && !tt.alone && (end.Err.Error() != "Please submit a new query to continue with the Flash model." || !strings.Contains(o.notices(), "from now on this session uses gemini-2.5-flash")) {
				t.Errorf("ended with %v, told %s", end.Err, o.notices())
			}
			if want := tt.answer != nil && !tt.key; (len(a.asked) == 1) != want {
				t.Errorf("asked %q", a.asked)
			}
			for _, r := range o.srv.Requests() {
				if r.Refused != "" {
					t.Errorf("refused: %s", r.Refused)
				}
			}
		})
	}
}
