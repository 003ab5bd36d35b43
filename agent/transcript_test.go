package agent_test

import (
	"testing"

	"redline/agent"
)

func TestTranscript(t *testing.T) {
	var a agent.Transcript
	all := ""
	for _, d := range []agent.MessageDelta{{MessageID: "1", Text: "one "}, {MessageID: "1", Text: "more"}, {MessageID: "2", Text: "two\n"}, {MessageID: "3", Text: "three\n\n"}, {MessageID: "4", Text: "four"}} {
		all += a.Add(d)
	}
	const want = "one more\n\ntwo\n\nthree\n\nfour"
	if a.String() != want || all != want {
		t.Errorf("got %q, appended %q", a.String(), all)
	}
}
