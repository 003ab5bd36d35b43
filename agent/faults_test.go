package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"redline/agent"
	"redline/agent/gemini"
	"redline/agent/geminitest"
	"redline/agent/model"
	"redline/agent/retry"
)

// A fault of the service, as a person at the editor sees it: how the turn ends, what
// is shown, how often it was tried.
type fault struct {
	steps  []geminitest.Step
	change func(*agent.Options)
	status agent.Status
	kind   model.Kind      // of the error the turn ends with
	err    string          // part of its text
	said   string          // all of what is shown
	waits  []time.Duration // of the retry events; -1: any
	tools  int             // calls that ran
	notice string          // part of what the user is told
	check  func(*testing.T, *over)
}

func TestFaultsOverHTTP(t *testing.T) {
	const some = time.Duration(-1)
	fine := geminitest.Say("fine")
	list := geminitest.NewCall("list_directory", map[string]any{"path": "."})
	fail := func(e geminitest.Error, times int) geminitest.Step { return geminitest.Step{Error: &e, Times: times} }
	wire := func(w geminitest.Wire) []geminitest.Step {
		s := geminitest.Say("fi", "ne")
		s.Wire = w
		return []geminitest.Step{s}
	}
	twice := func(o *agent.Options) { o.Retry.MaxAttempts = 2 }
	huge := strings.Repeat("0123456789abcdef\n", 30<<20/17)
	for name, tt := range map[string]fault{
		"429 with RetryInfo":       {steps: []geminitest.Step{fail(geminitest.Error{Status: 429, RetryDelay: "0.1s"}, 0), fine}, said: "fine", waits: []time.Duration{100 * time.Millisecond}},
		"429 with Retry-After":     {steps: []geminitest.Step{fail(geminitest.Error{Status: 429, RetryAfter: "0.2"}, 0), fine}, said: "fine", waits: []time.Duration{200 * time.Millisecond}},
		"429 again and again":      {steps: []geminitest.Step{fail(geminitest.Error{Status: 429, Message: "slow down"}, 2)}, change: twice, status: agent.Failed, kind: model.KindRate, err: "slow down; tried 2 times", waits: []time.Duration{some}},
		"a quota of the day":       {steps: []geminitest.Step{fail(geminitest.Error{Status: 429, QuotaID: "GenerateRequestsPerDayPerProjectPerModel-FreeTier", RetryDelay: "30s"}, 0)}, status: agent.Failed, kind: model.KindQuota},
		"499":                      {steps: []geminitest.Step{fail(geminitest.Error{Status: 499}, 0), fine}, said: "fine", waits: []time.Duration{some}},
		"500":                      {steps: []geminitest.Step{fail(geminitest.Error{Status: 500}, 0), fine}, said: "fine", waits: []time.Duration{some}},
		"503 with a page":          {steps: []geminitest.Step{fail(geminitest.Error{Status: 503, Body: "<html>busy</html>"}, 0), fine}, said: "fine", waits: []time.Duration{some}},
		"400":                      {steps: []geminitest.Step{fail(geminitest.Error{Status: 400, Message: "bad field"}, 0)}, status: agent.Failed, kind: model.KindBadRequest, err: "bad field"},
		"403":                      {steps: []geminitest.Step{fail(geminitest.Error{Status: 403, Message: "not you"}, 0)}, status: agent.Failed, kind: model.KindAuth, err: "not you"},
		"reset before the headers": {steps: []geminitest.Step{{Fault: geminitest.Reset}, fine}, said: "fine", waits: []time.Duration{some}},
		"reset in the stream":      {steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "fi"}}, Fault: geminitest.Reset}, geminitest.Say("ne")}, said: "fine", waits: []time.Duration{0}},
		"cut in the stream":        {steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "fi"}}, Fault: geminitest.Cut}, geminitest.Say("ne")}, said: "fine", waits: []time.Duration{0}},
		"an end without a reason":  {steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "fi"}}, Fault: geminitest.NoFinish}, geminitest.Say("ne")}, said: "fine", waits: []time.Duration{0}},
		"garbage in the stream":    {steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "fi"}}, Fault: geminitest.Garbage}, geminitest.Say("ne")}, said: "fine", waits: []time.Duration{0}},
		"garbage at once":          {steps: []geminitest.Step{{Fault: geminitest.Garbage}, fine}, said: "fine", waits: []time.Duration{some}},
		"an error in the stream":   {steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "fi"}}, Error: &geminitest.Error{Status: 503, RetryDelay: "0.05s"}}, geminitest.Say("ne")}, said: "fine", waits: []time.Duration{50 * time.Millisecond}},
		"thoughts, then a cut":     {steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Thought: "**Hm** let me see"}}, Fault: geminitest.Cut}, fine}, said: "fine", waits: []time.Duration{0}},
		"a call, then a cut": {
			steps: []geminitest.Step{geminitest.Do(list), {Chunks: []geminitest.Chunk{{Call: &list}}, Fault: geminitest.Cut}, fine}, said: "fine", waits: []time.Duration{0}, tools: 1,
			check: func(t *testing.T, o *over) {
				if r := o.srv.Requests(); string(r[1].Raw) != string(r[2].Raw) {
					t.Error("the step was not repeated as it was")
				}
			},
		},
		"breaks that do not end": {
			steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "x"}}, Fault: geminitest.Cut, Times: 4}}, status: agent.Failed, kind: model.KindNetwork, said: "xxxx", waits: []time.Duration{0, some, some},
		},
		"silence before the headers": {steps: []geminitest.Step{{Fault: geminitest.HangBeforeHeaders}, fine}, change: impatient, said: "fine", waits: []time.Duration{some}},
		"silence in the stream":      {steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "fi"}}, Fault: geminitest.HangMidStream}, geminitest.Say("ne")}, change: impatient, said: "fine", waits: []time.Duration{0}},
		"keep-alive comments":        {steps: wire(geminitest.Wire{Comments: true}), said: "fine"},
		"event lines":                {steps: wire(geminitest.Wire{EventLine: true}), said: "fine"},
		"CRLF":                       {steps: wire(geminitest.Wire{CRLF: true}), said: "fine"},
		"CR":                         {steps: wire(geminitest.Wire{CR: true}), said: "fine"},
		"[DONE]":                     {steps: wire(geminitest.Wire{Done: true}), said: "fine"},
		"all of them, in pieces":     {steps: wire(geminitest.Wire{Comments: true, EventLine: true, CRLF: true, MultiLine: true, NoSpace: true, OpenEnd: true, SplitAt: 3}), said: "fine"},
		"no candidates": {
			steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Event: json.RawMessage(`{"candidates":[],"usageMetadata":{"promptTokenCount":3}}`)}}, Fault: geminitest.NoFinish}, fine},
			said:  "fine", waits: []time.Duration{some},
		},
		"an empty answer":        {steps: []geminitest.Step{{}, fine}, said: "fine", waits: []time.Duration{0}},
		"thoughts and no answer": {steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Thought: "hm"}}}, fine}, said: "fine", waits: []time.Duration{0}},
		"only empty answers":     {steps: []geminitest.Step{{Times: 3}}, status: agent.Failed, err: "answered nothing", waits: []time.Duration{0, some}},
		"empty after work":       {steps: []geminitest.Step{geminitest.Do(list), {Times: 3}}, notice: "without a last word", waits: []time.Duration{0, some}, tools: 1},
		"MALFORMED_FUNCTION_CALL": {
			steps: []geminitest.Step{{Finish: "MALFORMED_FUNCTION_CALL", FinishMessage: "call(x"}, fine}, said: "fine",
			check: func(t *testing.T, o *over) {
				if last := o.srv.Requests()[1].Last().Texts(); !strings.Contains(last, "could not be read") {
					t.Errorf("the model was told %q", last)
				}
			},
		},
		"MALFORMED for ever":   {steps: []geminitest.Step{{Finish: "MALFORMED_FUNCTION_CALL", Times: 3}}, status: agent.Failed, err: "cannot be read"},
		"UNEXPECTED_TOOL_CALL": {steps: []geminitest.Step{{Finish: "UNEXPECTED_TOOL_CALL"}, fine}, said: "fine"},
		"SAFETY":               {steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "well"}}, Finish: "SAFETY"}}, status: agent.Failed, err: "SAFETY", said: "well"},
		"RECITATION":           {steps: []geminitest.Step{{Finish: "RECITATION", FinishMessage: "a known text"}}, status: agent.Failed, err: "a known text"},
		"a refused prompt":     {steps: []geminitest.Step{{Block: "PROHIBITED_CONTENT"}}, status: agent.Failed, err: "PROHIBITED_CONTENT"},
		"MAX_TOKENS":           {steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "half"}}, Finish: "MAX_TOKENS"}}, said: "half", notice: "limit of output tokens"},
		"30 MB in one chunk":   {steps: []geminitest.Step{geminitest.Say(huge)}, change: func(o *agent.Options) { o.AllowLoops = true }, said: huge},
		"a signature beside empty text": {
			steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "a"}, {Signature: "c2lnbmF0dXJl"}, {Call: &geminitest.Call{Name: "list_directory", Args: list.Args, Signature: "b3RoZXI="}}}}, fine}, said: "a\n\nfine", tools: 1,
			check: func(t *testing.T, o *over) {
				raw := string(o.srv.Requests()[1].Raw)
				for _, want := range []string{`{"text":"","thoughtSignature":"c2lnbmF0dXJl"}`, `"thoughtSignature":"b3RoZXI="`} {
					if !strings.Contains(raw, want) {
						t.Errorf("the next request lacks %s", want)
					}
				}
			},
		},
		"integers above 2^53": {
			steps: []geminitest.Step{geminitest.Do(geminitest.Call{Name: "list_directory", Args: json.RawMessage(`{"path":".","n":9007199254740993}`)}), fine}, said: "fine", tools: 1,
			check: func(t *testing.T, o *over) {
				if raw := string(o.srv.Requests()[1].Raw); !strings.Contains(raw, `"n":9007199254740993`) {
					t.Error("the number was changed")
				}
			},
		},
		"parallel calls over several chunks": {
			steps: []geminitest.Step{{Chunks: []geminitest.Chunk{{Call: &list}, {Text: "and "}, {Calls: []geminitest.Call{geminitest.NewCall("read_file", map[string]any{"path": "a.txt"}), list}}}}, fine}, said: "and \n\nfine", tools: 3,
			check: func(t *testing.T, o *over) {
				var names []string
				for _, r := range o.srv.Requests()[1].Last().Responses() {
					names = append(names, r.Name)
				}
				if strings.Join(names, " ") != "list_directory read_file list_directory" {
					t.Errorf("answered are %v", names)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "30 MB") && testing.Short() {
				t.Skip("large")
			}
			o := newOver(t, tt.change, tt.steps...)
			checkFault(t, o, tt, o.turn("hello"))
			// Whatever happened, the next request is one that the service takes.
			if n := len(o.srv.Requests()); n == 0 || o.srv.Requests()[n-1].Refused != "" {
				t.Errorf("requests: %d", n)
			}
		})
	}
}

func impatient(o *agent.Options) { o.Stall = 50 * time.Millisecond }

func checkFault(t *testing.T, o *over, want fault, end agent.TurnEnded) {
	t.Helper()
	if want.status == "" {
		want.status = agent.Completed
	}
	if end.Status != want.status {
		t.Errorf("ended %s: %v", end.Status, end.Err)
	}
	if end.Status == agent.Completed && end.Finish != "STOP" && end.Finish != "MAX_TOKENS" {
		t.Errorf("the last answer ended with %q", end.Finish)
	}
	var e *model.Error
	if want.kind != "" && (!errors.As(end.Err, &e) || e.Kind != want.kind) {
		t.Errorf("ended with %v, want %s", end.Err, want.kind)
	}
	if want.err != "" && (end.Err == nil || !strings.Contains(end.Err.Error(), want.err)) {
		t.Errorf("ended with %v, want %q", end.Err, want.err)
	}
	if got := o.said(); got != want.said {
		t.Errorf("shown %d bytes, %.100q", len(got), got)
	}
	var waits []time.Duration
	ran := 0
	for _, ev := range o.seen() {
		switch b := ev.Body.(type) {
		case agent.Retry:
			waits = append(waits, b.Delay)
			if b.Reason == "" || b.Attempt == 0 {
				t.Errorf("a retry says %+v", b)
			}
		case agent.ToolUpdated:
			if b.Status == agent.CallCompleted || b.Status == agent.CallFailed {
				ran++
			}
		}
	}
	if len(waits) != len(want.waits) {
		t.Fatalf("waits %v, want %v", waits, want.waits)
	}
	for i, w := range want.waits {
		if w >= 0 && waits[i] != w {
			t.Errorf("wait %d is %v, want %v", i, waits[i], w)
		}
	}
	if ran != want.tools {
		t.Errorf("%d calls ran, want %d", ran, want.tools)
	}
	if !strings.Contains(o.notices(), want.notice) {
		t.Errorf("told: %s", o.notices())
	}
	if want.check != nil {
		want.check(t, o)
	}
}

// What the service refuses is not sent again: not the prompt that it would not answer,
// nor what a call brought; everything else stays.
func TestRefusedIsTakenOut(t *testing.T) {
	o := newOver(t, nil,
		geminitest.Step{Block: "PROHIBITED_CONTENT"},
		geminitest.Say("hello"),
		geminitest.Step{Finish: "SAFETY"},
		geminitest.Do(geminitest.NewCall("read_file", map[string]any{"path": "bad.txt"})),
		geminitest.Step{Block: "SAFETY"},
		geminitest.Say("better"),
	)
	o.write("bad.txt", "planted text\n")
	for i, want := range []agent.Status{agent.Failed, agent.Completed, agent.Failed, agent.Failed, agent.Completed} {
		if end := o.turn(fmt.Sprintf("prompt %d", i)); end.Status != want {
			t.Fatalf("turn %d ended %+v", i, end)
		}
	}
	raw := string(o.srv.Requests()[5].Raw)
	for text, there := range map[string]bool{
		"prompt 0": false, "prompt 1": true, "prompt 2": false, "prompt 3": true, "prompt 4": true,
		"planted text": false, "refuses it": true, "Workspace root": true,
	} {
		if strings.Contains(raw, text) != there {
			t.Errorf("the last request has %q: %v", text, !there)
		}
	}
}

// The service's word on when to come back is kept to the tenth of a second.
func TestRetryAfterIsObeyed(t *testing.T) {
	for _, e := range []geminitest.Error{{Status: 429, RetryDelay: "0.3s"}, {Status: 503, RetryAfter: "0.3"}} {
		d := quickest(func() time.Duration {
			o := newOver(t, nil, geminitest.Step{Error: &e}, geminitest.Say("ok"))
			began := time.Now()
			o.turn("hello")
			return time.Since(began)
		}, 400*time.Millisecond)
		if d < 300*time.Millisecond || d > 400*time.Millisecond {
			t.Errorf("%+v: came back after %v", e, d)
		}
	}
}

// quickest measures until it is at most limit, three times at most: a busy machine
// makes things slower than they are.
func quickest(measure func() time.Duration, limit time.Duration) (d time.Duration) {
	for range 3 {
		if d = measure(); d <= limit {
			break
		}
	}
	return d
}

// Cancelling takes effect at once wherever a turn is.
func TestCancelEverywhere(t *testing.T) {
	slow := func(o *agent.Options) { o.Retry = retry.Options{Initial: time.Hour, Max: time.Hour} }
	for name, tt := range map[string]struct {
		steps  []geminitest.Step
		change func(*agent.Options)
		when   func() func(agent.Event) bool // the place; nil: when the first request has come
	}{
		"before the headers":  {[]geminitest.Step{{Fault: geminitest.HangBeforeHeaders}}, nil, always(nil)},
		"in the stream":       {[]geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "a"}}, Fault: geminitest.HangMidStream}}, nil, always(isDelta)},
		"while waiting":       {[]geminitest.Step{geminitest.Fail(503, "", "")}, slow, always(isRetry)},
		"while told to wait":  {[]geminitest.Step{{Error: &geminitest.Error{Status: 429, RetryDelay: "3600s"}}}, nil, always(isRetry)},
		"between the breaks":  {[]geminitest.Step{{Chunks: []geminitest.Chunk{{Text: "a"}}, Fault: geminitest.Cut, Times: 2}}, slow, second(isRetry)},
		"in a command":        {[]geminitest.Step{geminitest.Do(geminitest.NewCall("run_shell_command", map[string]any{"command": "sleep 60"}))}, yolo, always(isRunning)},
		"in the compression":  {[]geminitest.Step{geminitest.Say(long("x", 40)), {When: "Write the snapshot", Fault: geminitest.HangBeforeHeaders}}, small, always(isSummary)},
		"in a refused stream": {[]geminitest.Step{{Error: &geminitest.Error{Status: 429}, Times: 2}}, slow, always(isRetry)},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range tt.steps {
				tt.steps[i].Optional = true
			}
			d := quickest(func() time.Duration { return cancelled(t, name, tt.steps, tt.change, tt.when) }, cancelLimit)
			if d > cancelLimit {
				t.Errorf("ended after %v", d)
			}
		})
	}
}

// cancelled runs a turn, cancels it when it has come to a place, and returns how long
// its end took from there.
func cancelled(t *testing.T, name string, steps []geminitest.Step, change func(*agent.Options), begin func() func(agent.Event) bool) time.Duration {
	t.Helper()
	reached := make(chan struct{}, 100)
	when := begin()
	o := newOver(t, func(opt *agent.Options) {
		if change != nil {
			change(opt)
		}
		emit := opt.Emit
		opt.Emit = func(ev agent.Event) {
			emit(ev)
			if when != nil && when(ev) {
				reached <- struct{}{}
			}
		}
	}, steps...)
	if name == "in the compression" {
		o.turn("first")
	}
	if _, err := o.Prompt(t.Context(), agent.Message{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if when == nil {
		if _, err := o.srv.Await(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	} else {
		<-reached
	}
	began := time.Now()
	o.Cancel("")
	end := <-o.ended
	if end.Status != agent.Cancelled {
		t.Errorf("ended %+v", end)
	}
	return time.Since(began)
}

func yolo(o *agent.Options) { o.Mode = agent.ModeYolo }

func isDelta(ev agent.Event) bool { _, ok := ev.Body.(agent.MessageDelta); return ok }
func isRetry(ev agent.Event) bool { _, ok := ev.Body.(agent.Retry); return ok }
func isRunning(ev agent.Event) bool {
	u, ok := ev.Body.(agent.ToolUpdated)
	return ok && u.Status == agent.CallRunning
}

func isSummary(ev agent.Event) bool {
	n, ok := ev.Body.(agent.Notice)
	return ok && strings.Contains(n.Text, "summarised")
}

func always(is func(agent.Event) bool) func() func(agent.Event) bool {
	return func() func(agent.Event) bool { return is }
}

func second(is func(agent.Event) bool) func() func(agent.Event) bool {
	return func() func(agent.Event) bool {
		n := 0
		return func(ev agent.Event) bool {
			if is(ev) {
				n++
			}
			return n == 2
		}
	}
}

// Nobody listens.
func TestConnectionRefused(t *testing.T) {
	gone := geminitest.NewServer(geminitest.Script{})
	gone.Close()
	o := newOver(t, func(opt *agent.Options) {
		client, err := gemini.New(t.Context(), gemini.Options{APIKey: geminitest.DefaultKey, BaseURL: gone.URL})
		if err != nil {
			t.Fatal(err)
		}
		opt.Generator = func(context.Context) (model.ContentGenerator, error) { return client, nil }
		opt.Retry.MaxAttempts = 3
	})
	end := o.turn("hello")
	var e *model.Error
	if end.Status != agent.Failed || !errors.As(end.Err, &e) || e.Kind != model.KindNetwork || !strings.Contains(e.Message, "refused") || !strings.Contains(e.Message, "tried 3 times") {
		t.Errorf("ended %+v", end)
	}
}
