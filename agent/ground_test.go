package agent_test

import (
	"strings"
	"testing"

	"google.golang.org/genai"

	"redline/agent"
	"redline/agent/agenttest"
)

// The web tools ask the model apart from the conversation, with its own tools.
func TestWebTools(t *testing.T) {
	u := &user{kinds: []agent.OptionKind{agent.OptionSession}}
	fetch := agenttest.Call{Name: "web_fetch", Args: map[string]any{"prompt": "sum up https://example.com/a"}}
	b := newBench(t, agent.Options{Approver: u},
		agenttest.Step{Calls: []agenttest.Call{{Name: "google_web_search", Args: map[string]any{"query": "how high"}}, fetch, fetch}},
		agenttest.Step{Text: []string{"Größe", " 5 ü."}, Grounding: &genai.GroundingMetadata{
			GroundingChunks:   []*genai.GroundingChunk{{Web: &genai.GroundingChunkWeb{Title: "One", URI: "https://one"}}},
			GroundingSupports: []*genai.GroundingSupport{{GroundingChunkIndices: []int32{0}, Segment: &genai.Segment{EndIndex: 13}}},
		}},
		agenttest.Step{Text: []string{"A page."}, URLContext: &genai.URLContextMetadata{URLMetadata: []*genai.URLMetadata{{RetrievedURL: "https://example.com/a", URLRetrievalStatus: genai.URLRetrievalStatusSuccess}}}},
		agenttest.Step{Text: []string{"The page again."}, URLContext: &genai.URLContextMetadata{URLMetadata: []*genai.URLMetadata{{RetrievedURL: "https://example.com/a", URLRetrievalStatus: genai.URLRetrievalStatusSuccess}}}},
		agenttest.Step{Text: []string{"ok"}})
	if end := b.turn("x"); end.Status != agent.Completed || end.Usage.Requests != 5 {
		t.Fatalf("turn %s: %v, usage %+v", end.Status, end.Err, end.Usage)
	}
	rs := b.m.Responses(4)
	for i, want := range []string{"Größe 5 ü.[1]\n\nSources:\n[1] One (https://one)", "A page.", "The page again."} {
		if len(rs) != 3 || !strings.Contains(rs[i].Output, want) {
			t.Errorf("response %d: %+v, want %q", i, rs, want)
		}
	}
	reqs := b.m.Requests()
	if x := reqs[1]; len(x.Contents) != 1 || x.Contents[0].Text() != "how high" || x.Config.Tools[0].GoogleSearch == nil {
		t.Errorf("search request: %+v", x)
	}
	if x := reqs[2]; x.Contents[0].Text() != "sum up https://example.com/a" || x.Config.Tools[0].URLContext == nil {
		t.Errorf("fetch request: %+v", x)
	}
	if len(u.asked) != 1 || u.asked[0].Subject.Type != "network" || strings.Join(u.asked[0].Subject.Keys, " ") != "example.com" {
		t.Errorf("asked: %+v", u.asked)
	}
	if n := len(reqs[4].Contents); n != 3 {
		t.Errorf("the conversation has %d messages, want 3", n)
	}
}

// Without consent nothing leaves.
func TestWebFetchIsAsked(t *testing.T) {
	b := newBench(t, agent.Options{},
		agenttest.Step{Calls: []agenttest.Call{{Name: "web_fetch", Args: map[string]any{"prompt": "https://example.com/?secret"}}}},
		agenttest.Step{Text: []string{"ok"}})
	b.turn("x")
	if r := b.m.Responses(1)[0]; !strings.Contains(r.Error, "needs the user's consent") {
		t.Errorf("response %+v", r)
	}
}
