package telemetry

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"

	"redline/agent"
	"redline/agent/model"
	"redline/agent/record"
	"redline/tools/secret"
	"redline/workspace"
)

// tell runs a little turn past the log.
func tell(l *Log) {
	contents := []model.Content{model.UserText("the prompt")}
	l.Exchange(record.Line{Kind: record.KindRequest, N: 1, Method: record.MethodStream, Request: &record.Request{Model: "m", PromptID: "p", Contents: contents}})
	l.Exchange(record.Line{Kind: record.KindResponse, N: 1, DurationMS: 12, Chunks: []record.Chunk{{
		Parts: []model.Part{model.Text("the answer")}, FinishReason: genai.FinishReasonStop, Usage: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 5, TotalTokenCount: 7},
	}}})
	l.Exchange(record.Line{Kind: record.KindResponse, N: 2, DurationMS: 3, Error: &record.Error{Kind: "rate", Status: 429, Message: "you said: the prompt; key-0123456789"}})
	l.Session(agent.Event{SessionID: "s", TurnID: "t", Body: agent.UserMessage{Text: "the prompt"}})
	l.Session(agent.Event{SessionID: "s", TurnID: "t", Body: agent.ToolUpdated{Name: "f", Status: agent.CallRunning}})
	l.Session(agent.Event{SessionID: "s", TurnID: "t", Body: agent.ToolUpdated{Name: "f", Status: agent.CallCompleted, Input: json.RawMessage(`{"a":"the argument"}`), Output: "the file's text"}})
	p := &workspace.Proposal{ID: "p1", State: workspace.Open, Files: []*workspace.FileChange{{Hunks: []*workspace.Hunk{{}, {}}}}}
	l.Session(agent.Event{SessionID: "s", TurnID: "t", Body: agent.ProposalUpdated{Proposal: p}})
	l.Session(agent.Event{SessionID: "s", TurnID: "t", Body: agent.ProposalUpdated{Proposal: p}})
	settled := &workspace.Proposal{ID: "p1", State: workspace.Settled, Files: []*workspace.FileChange{{Hunks: []*workspace.Hunk{{State: workspace.Accepted}, {State: workspace.Rejected}}}}}
	l.Session(agent.Event{SessionID: "s", TurnID: "t", Body: agent.ProposalUpdated{Proposal: settled}})
	l.Session(agent.Event{SessionID: "s", TurnID: "t", Body: agent.TurnEnded{Status: agent.Completed}})
}

func TestFile(t *testing.T) {
	for _, withPrompts := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "sub", "events.jsonl")
		redact := new(secret.Redactor)
		redact.Add("key-0123456789")
		l := Start(Options{Enabled: true, File: file, AuthType: "gemini-api-key", LogPrompts: withPrompts, Redact: redact, Problem: func(err error) { t.Error(err) }})
		tell(l)
		if n := l.Close(); n != 0 {
			t.Errorf("%d dropped", n)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(string(data)) {
			var ev map[string]any
			if err := json.Unmarshal([]byte(line), &ev); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			at, _ := ev["event.timestamp"].(string)
			if _, err := time.Parse(time.RFC3339, at); err != nil {
				t.Errorf("time %q", at)
			}
			name, _ := ev["event.name"].(string)
			names = append(names, name)
			switch name {
			case "api_request":
				if ev["model"] != "m" || ev["prompt_id"] != "p" || ev["auth_type"] != "gemini-api-key" {
					t.Errorf("%v", ev)
				}
			case "api_response":
				if ev["duration_ms"] != 12.0 || ev["input_token_count"] != 5.0 || ev["finish_reason"] != "STOP" {
					t.Errorf("%v", ev)
				}
			case "api_error":
				if ev["error_type"] != "rate" || ev["status_code"] != 429.0 {
					t.Errorf("%v", ev)
				}
			case "edit_settled":
				if ev["hunks_accepted"] != 1.0 || ev["hunks_rejected"] != 1.0 || ev["state"] != "settled" {
					t.Errorf("%v", ev)
				}
			}
		}
		if got := strings.Join(names, " "); got != "api_request api_response api_error user_prompt tool_call edit_proposed edit_settled turn_ended" {
			t.Errorf("events %s", got)
		}
		for _, text := range []string{"the prompt", "the answer", "the argument", "the file's text"} {
			if strings.Contains(string(data), text) != withPrompts {
				t.Errorf("with prompts %v, but %q:\n%s", withPrompts, text, data)
			}
		}
		if strings.Contains(string(data), "key-0123456789") {
			t.Errorf("the key is told:\n%s", data)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v (%v)", info.Mode(), err)
		}
	}
}

func TestCollector(t *testing.T) {
	var mu sync.Mutex
	var bodies []string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, r.URL.Path+" "+r.Header.Get("Content-Type")+" "+string(raw))
	}))
	defer srv.Close()
	l := Start(Options{Enabled: true, OTLPEndpoint: srv.URL + "/", Version: "1", Problem: func(err error) { t.Error(err) }})
	tell(l)
	l.Close()
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(bodies, "\n")
	for _, want := range []string{
		"/v1/logs application/json {", `"resourceLogs":[`, `{"key":"service.name","value":{"stringValue":"redline"}}`, `"body":{"stringValue":"api_request"}`,
		`{"key":"duration_ms","value":{"intValue":"12"}}`, `{"key":"success","value":{"boolValue":true}}`, `"severityNumber":17`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s lacks %s", all, want)
		}
	}
}

// Off, or with nowhere to write, nothing is done and nothing is disturbed.
func TestTrouble(t *testing.T) {
	if Start(Options{File: "x"}) != nil || Start(Options{Enabled: true}) != nil {
		t.Error("a log although it is off")
	}
	tell(nil)
	dir := t.TempDir() // a folder is no file
	var told []error
	var mu sync.Mutex
	l := Start(Options{Enabled: true, File: dir, OTLPEndpoint: "http://127.0.0.1:9", Problem: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, err)
	}})
	tell(l)
	l.Close()
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 1 {
		t.Errorf("told %v", errors.Join(told...))
	}
	l.Add("late", nil) // after the end
}

// A collector that hangs holds up nobody; what does not fit is counted.
func TestHangs(t *testing.T) {
	hang := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer srv.Close()
	defer close(hang)
	l := Start(Options{Enabled: true, OTLPEndpoint: srv.URL})
	for range 3 * queue {
		l.Add("x", nil)
	}
	if n := l.Close(); n < queue {
		t.Errorf("%d dropped", n)
	}
}
