package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"redline/agent"
	"redline/agent/geminitest"
)

const snapshot = "<state_snapshot><goal>count to ten</goal><next>say five</next></state_snapshot>"

// small is a window that a few messages fill.
func small(o *agent.Options) { o.Window = 8000 }

// long returns n KB of text that says which one it is.
func long(name string, kb int) string {
	var b strings.Builder
	b.WriteString(name + " lorem")
	for i := 0; b.Len() < kb<<10; i++ {
		fmt.Fprintf(&b, " ipsum %d\n", i)
	}
	return b.String()
}

func compressed(evs []agent.Event) (out []agent.Compressed) {
	for _, ev := range evs {
		if c, ok := ev.Body.(agent.Compressed); ok {
			out = append(out, c)
		}
	}
	return out
}

// When the conversation passes a share of the window, its older part becomes a summary,
// in the middle of a turn too; what is new and every call with its response stay.
func TestCompression(t *testing.T) {
	read := func(name string) geminitest.Step {
		return geminitest.Do(geminitest.NewCall("read_file", map[string]any{"path": name}))
	}
	o := newOver(t, func(o *agent.Options) { o.Window = 9500 },
		read("big1.txt"),
		geminitest.Say("seen the first"),
		geminitest.Step{Chunks: []geminitest.Chunk{{Call: ptr(geminitest.NewCall("read_file", map[string]any{"path": "big2.txt"})), Signature: "c2lnbmF0dXJl"}}},
		geminitest.Step{When: "Write the snapshot", Chunks: []geminitest.Chunk{{Text: "Here you are:\n"}, {Text: snapshot + "\nanything else?"}}},
		geminitest.Say("seen the second"),
		geminitest.Say("five"),
	)
	o.write("big1.txt", long("FIRST", 10))
	o.write("big2.txt", long("SECOND", 12))
	o.turn("read the first, and remember the word xylophone")
	if end := o.turn("now the second: " + strings.Repeat("please ", 10)); end.Status != agent.Completed {
		t.Fatalf("ended %+v", end)
	}
	o.turn("and then?")

	reqs := o.srv.Requests()
	if n := len(reqs); n != 6 {
		t.Fatalf("%d requests; %s; %+v", n, o.notices(), o.Spending())
	}
	ask := reqs[3]
	if len(ask.Functions()) != 0 || !strings.Contains(o.system(3), "state_snapshot") || !strings.Contains(string(ask.Raw), "xylophone") || strings.Contains(string(ask.Raw), "SECOND lorem") {
		t.Errorf("the request for a summary: %.300s", ask.Raw)
	}
	after := reqs[4].Body.Contents
	if first := after[0].Texts(); !strings.Contains(first, snapshot) || strings.Contains(first, "anything else") || !strings.Contains(first, "Workspace root") {
		t.Errorf("it begins with %.600s", first)
	}
	if first := after[0].Texts(); !strings.Contains(first, "now the second: please") {
		t.Errorf("the last prompt is gone: %.600s", first)
	}
	if len(after) != 3 || len(after[1].Calls()) != 1 || after[1].Parts[0].Signature != "c2lnbmF0dXJl" || len(after[2].Responses()) != 1 {
		t.Errorf("what stays: %+v", after[1:])
	}
	if strings.Contains(string(reqs[4].Raw), "xylophone") || !strings.Contains(string(reqs[4].Raw), "SECOND lorem") {
		t.Error("the old part is still there, or the new one is not")
	}
	if err := samePrefix(t, reqs[4], reqs[5]); err != nil && !strings.Contains(err.Error(), "contents") {
		t.Errorf("after that: %v", err)
	}
	cs := compressed(o.seen())
	if len(cs) != 1 || !cs[0].Auto || cs[0].After >= cs[0].Before || cs[0].After == 0 {
		t.Errorf("events: %+v", cs)
	}
	if n := len(o.srv.TokenCounts()); n != 2 {
		t.Errorf("tokens were counted %d times", n)
	}
}

// A summary that fails, is empty or makes nothing shorter changes nothing.
func TestCompressionFails(t *testing.T) {
	for name, tt := range map[string]struct {
		answer geminitest.Step
		told   string
	}{
		"refused":    {geminitest.Fail(400, "INVALID_ARGUMENT", "no summary today"), "no summary today"},
		"empty":      {geminitest.Say(" "), "gave no summary"},
		"too long":   {geminitest.Say("<state_snapshot>" + long("", 60) + "</state_snapshot>"), "would not make it shorter"},
		"cut":        {geminitest.Step{Chunks: []geminitest.Chunk{{Text: "<state_snapshot>half of it, and no more"}}, Finish: "MAX_TOKENS"}, "MAX_TOKENS"},
		"blocked":    {geminitest.Step{Block: "SAFETY"}, "SAFETY"},
		"broken off": {geminitest.Step{Chunks: []geminitest.Chunk{{Text: "<state_snap"}}, Fault: geminitest.Cut}, "could not be compressed"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.answer.When = "Write the snapshot"
			o := newOver(t, small, geminitest.Say(long("one", 20)), tt.answer, geminitest.Say("two"), geminitest.Say("three"))
			o.turn("first")
			if end := o.turn("second"); end.Status != agent.Completed {
				t.Fatalf("ended %+v", end)
			}
			o.turn("third")
			last := o.srv.Requests()[3]
			if len(last.Body.Contents) != 5 || !strings.Contains(string(last.Raw), "one lorem") {
				t.Errorf("%d contents: the history is not what it was", len(last.Body.Contents))
			}
			if !strings.Contains(o.notices(), tt.told) || len(compressed(o.seen())) != 0 {
				t.Errorf("told: %s", o.notices())
			}
		})
	}
}

// A prompt /compress, or Compress, does it when it is asked for.
func TestCompressOnDemand(t *testing.T) {
	o := newOver(t, nil, geminitest.Say(long("one", 20)), geminitest.Step{When: "Write the snapshot", Chunks: []geminitest.Chunk{{Text: snapshot}}}, geminitest.Say("two"))
	if end := o.turn(" /compress\n"); end.Status != agent.Completed || !strings.Contains(o.notices(), "nothing to compress") {
		t.Errorf("at the start: %+v, %s", end, o.notices())
	}
	o.turn("first")
	c, err := o.Compress(context.Background())
	if err != nil || c.Before < 4000 || c.After > 1000 || c.After == 0 {
		t.Fatalf("got %+v (%v)", c, err)
	}
	<-o.ended
	o.turn("go on")
	last := o.srv.Requests()[2]
	if text := last.Body.Contents[0].Texts(); len(last.Body.Contents) != 1 || !strings.Contains(text, snapshot) || !strings.Contains(text, "go on") {
		t.Errorf("then: %.300s", last.Raw)
	}
}

// Where the service refuses a request for its length, the conversation is compressed
// and the step tried again.
func TestCompressedWhenRefused(t *testing.T) {
	o := newOver(t, nil, geminitest.Say(long("one", 20)),
		geminitest.Fail(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
		geminitest.Step{When: "Write the snapshot", Chunks: []geminitest.Chunk{{Text: snapshot}}},
		geminitest.Say("two"))
	o.turn("first")
	if end := o.turn("second"); end.Status != agent.Completed || len(compressed(o.seen())) != 1 {
		t.Errorf("ended %+v", end)
	}
	if text := o.srv.Requests()[3].Last().Texts(); !strings.HasSuffix(text, "second") {
		t.Errorf("then: %.200s", text)
	}
}

// Cancelled in the middle of it, nothing is lost.
func TestCompressionIsCancelled(t *testing.T) {
	o := newOver(t, small, geminitest.Say(long("one", 20)), geminitest.Step{When: "Write the snapshot", Fault: geminitest.HangBeforeHeaders},
		geminitest.Step{When: "Write the snapshot", Chunks: []geminitest.Chunk{{Text: snapshot}}}, geminitest.Say("three"))
	o.turn("first")
	if _, err := o.Prompt(t.Context(), agent.Message{Text: "second"}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.srv.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	o.Cancel("")
	if end := <-o.ended; end.Status != agent.Cancelled {
		t.Errorf("ended %+v", end)
	}
	o.turn("third")
	if text := string(o.srv.Requests()[2].Raw); !strings.Contains(text, "one lorem") {
		t.Errorf("what is summarised then: %.300s", text)
	}
	if text := o.srv.Requests()[3].Last().Texts(); !strings.Contains(text, "second") || !strings.Contains(text, "third") {
		t.Errorf("what is asked then: %.300s", text)
	}
}
