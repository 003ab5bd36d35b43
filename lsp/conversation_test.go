package lsp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/agent/gemini"
	"redline/agent/geminitest"
	"redline/agent/model"
	"redline/agent/models"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// overHTTP makes a server's sessions talk to the fake Gemini.
func overHTTP(t *testing.T, modelName string, steps ...geminitest.Step) (*geminitest.Server, func(*lsp.Options)) {
	t.Helper()
	srv := geminitest.New(t, steps...)
	client, err := gemini.New(context.Background(), gemini.Options{APIKey: geminitest.DefaultKey, BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return srv, func(o *lsp.Options) {
		plain := o.Settings
		o.Settings = func(dirs []string) (lsp.Settings, error) {
			set, err := plain(dirs)
			set.Model = modelName
			set.Generator = func(context.Context) (model.ContentGenerator, error) { return client, nil }
			set.Conversation.Fallback = models.Flash
			return set, err
		}
	}
}

func TestUsageAndModels(t *testing.T) {
	_, change := overHTTP(t, "flash", geminitest.Step{Model: "gemini-2.5-flash", Chunks: []geminitest.Chunk{{Text: "hi"}}, Usage: &geminitest.Usage{Prompt: 1000, Candidates: 100}})
	e := lsptest.NewEditor(t, server(agenttest.NewModel(), change), lsptest.Options{})
	session := newSession(e)
	var usage lsp.UsageInfo
	e.MustCall("agent/usage/get", map[string]any{"sessionId": session}, &usage)
	if usage.Requests != 0 || usage.CostUSD != nil || usage.ContextWindow != 1_048_576 {
		t.Errorf("before the first turn: %+v", usage)
	}
	ended(e, prompt(e, session, "hello"))
	e.MustCall("agent/usage/get", map[string]any{"sessionId": session}, &usage)
	if usage.TotalTokens != 1100 || usage.CostUSD == nil || *usage.CostUSD != (1000*0.3+100*2.5)/1e6 || usage.ContextTokens != 1100 ||
		len(usage.Models) != 1 || usage.Models[0].Model != "gemini-2.5-flash" || usage.PricesOf == "" {
		t.Errorf("after it: %+v", usage)
	}
	var list lsp.ModelList
	e.MustCall("agent/model/list", map[string]any{}, &list)
	if list.Current != "flash" || list.Aliases["pro"] != "gemini-2.5-pro" || list.Message != "" || len(list.Models) != 3 {
		t.Fatalf("models: %+v", list)
	}
	for _, m := range list.Models {
		if m.InputTokenLimit != 1_048_576 || !m.Thinking || (m.Price != nil) == (m.Name == "gemini-test") {
			t.Errorf("model %+v", m)
		}
	}
}

// Without a list of the service's, or credentials, the models that are known are told.
func TestModelsWithoutAList(t *testing.T) {
	e := lsptest.NewEditor(t, server(agenttest.NewModel(), nil), lsptest.Options{})
	var list lsp.ModelList
	e.MustCall("agent/model/list", map[string]any{}, &list)
	if len(list.Models) < 5 || list.Current != "gemini-test" {
		t.Errorf("models: %+v", list)
	}
}

func TestCompressSession(t *testing.T) {
	var story strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&story, "and then %d ", i)
	}
	_, change := overHTTP(t, "gemini-test", geminitest.Say(story.String()),
		geminitest.Step{When: "Write the snapshot", Chunks: []geminitest.Chunk{{Text: "<state_snapshot>a story of letters</state_snapshot>"}}},
		geminitest.Step{When: "a story of letters", Chunks: []geminitest.Chunk{{Text: "ok"}}})
	e := lsptest.NewEditor(t, server(agenttest.NewModel(), change), lsptest.Options{})
	session := newSession(e)
	var res lsp.CompressResult
	e.MustCall("agent/session/compress", map[string]any{"sessionId": session}, &res)
	if res.Compressed {
		t.Errorf("an empty session: %+v", res)
	}
	ended(e, prompt(e, session, "tell me a story"))
	e.MustCall("agent/session/compress", map[string]any{"sessionId": session}, &res)
	if !res.Compressed || res.TokensAfter == 0 || res.TokensAfter >= res.TokensBefore {
		t.Errorf("got %+v", res)
	}
	e.WaitEvent(lsptest.OfType("history/compressed"))
	if status, err := ended(e, prompt(e, session, "go on")); status != "completed" {
		t.Errorf("then: %s %+v", status, err)
	}
	if err := e.Call("agent/session/compress", map[string]any{"sessionId": "nonsense"}, nil); err == nil {
		t.Error("a session that is not there")
	}
}

// The fallback is put to the user by what their editor has: agent/ask, or a message.
func TestFallbackIsAsked(t *testing.T) {
	for _, tt := range []struct {
		name   string
		plain  bool
		answer string
		model  string
	}{
		{"yes", false, "Change to gemini-2.5-flash", "gemini-2.5-flash"},
		{"no", false, "Stay", "gemini-2.5-pro"},
		{"by a message", true, "Change to gemini-2.5-flash", "gemini-2.5-flash"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			steps := []geminitest.Step{{Model: "gemini-2.5-pro", Error: &geminitest.Error{Status: 429, QuotaID: "RequestsPerDay", Message: "no more today"}}}
			_, change := overHTTP(t, "gemini-2.5-pro", steps...)
			asked := make(chan string, 3)
			opt := lsptest.Options{Plain: tt.plain}
			if tt.plain {
				opt.Message = func(_ context.Context, text string, _ []string) (string, bool) { asked <- text; return tt.answer, true }
			} else {
				opt.Handlers = map[string]lsptest.Handler{"agent/ask": func(_ context.Context, raw json.RawMessage) (any, error) {
					asked <- string(raw)
					return map[string]any{"answer": tt.answer}, nil
				}}
			}
			e := lsptest.NewEditor(t, server(agenttest.NewModel(), change), opt)
			if tt.plain {
				e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.ask", "arguments": []any{map[string]any{"text": "x"}}}, nil)
				if q := <-asked; !strings.Contains(q, "quota for gemini-2.5-pro is used up") {
					t.Errorf("asked %q", q)
				}
				return
			}
			session := newSession(e)
			status, end := ended(e, prompt(e, session, "hello"))
			if q := <-asked; !strings.Contains(q, "Stay") || !strings.Contains(q, "no more today") {
				t.Errorf("asked %q", q)
			}
			var list lsp.SessionList
			e.MustCall("agent/session/list", map[string]any{}, &list)
			if list.Sessions[0].Model != tt.model || status != "failed" {
				t.Errorf("%s, model %s", status, list.Sessions[0].Model)
			}
			if tt.model == "gemini-2.5-flash" {
				e.WaitEvent(lsptest.OfType("model/changed"))
				if end.Message != "Please submit a new query to continue with the Flash model." {
					t.Errorf("ended with %+v", end)
				}
			} else if end.Kind != "quota" || end.Status != 429 {
				t.Errorf("ended with %+v", end)
			}
		})
	}
}

func TestLoopIsReported(t *testing.T) {
	same := geminitest.Do(geminitest.NewCall("list_directory", map[string]any{"path": "."}))
	same.Times = 10
	_, change := overHTTP(t, "gemini-test", same)
	e := lsptest.NewEditor(t, server(agenttest.NewModel(), change), lsptest.Options{})
	status, err := ended(e, prompt(e, newSession(e), "go"))
	ev := e.WaitEvent(lsptest.OfType("loop/detected"))
	var loop struct{ Kind string }
	if ev.Decode(&loop) != nil || loop.Kind != "call" || status != "limit" || err.Kind != "limit" {
		t.Errorf("%s %+v, loop %+v", status, err, loop)
	}
}

func TestMemoryList(t *testing.T) {
	m := agenttest.NewModel(agenttest.Step{Text: []string{"ok"}})
	e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{Files: map[string]string{"GEMINI.md": "Be kind. @more.md\n@../out.md\n", "more.md": "And short."}})
	for _, params := range []map[string]any{{}, {"sessionId": newSession(e)}} {
		var list lsp.MemoryList
		e.MustCall("agent/memory/list", params, &list)
		if len(list.Files) != 2 || list.Files[0].Level != "project" || list.Files[1].ImportedBy == "" || len(list.Notes) != 1 || !strings.Contains(list.Text, "Be kind. And short.") {
			t.Errorf("%v: %+v", params, list)
		}
	}
}

func TestUnknownContextIsRefused(t *testing.T) {
	e := lsptest.NewEditor(t, server(agenttest.NewModel(), nil), lsptest.Options{})
	session := newSession(e)
	for _, method := range []string{"agent/prompt", "agent/steer"} {
		err := e.Call(method, map[string]any{"sessionId": session, "text": "x", "context": []any{map[string]any{"kind": "text", "text": "a"}, map[string]any{"kind": "vibe"}}}, nil)
		if err == nil || !strings.Contains(err.Error(), "context[1].kind") {
			t.Errorf("%s: got %v", method, err)
		}
	}
}

// A plan of the model is shown as a whole each time, and nothing is asked for it, not
// even in plan mode.
func TestPlanIsShown(t *testing.T) {
	plan := func(status string) geminitest.Call {
		return geminitest.NewCall("write_todos", map[string]any{"todos": []map[string]string{{"description": "Look", "status": status}, {"description": "Leap", "status": "pending"}}})
	}
	_, change := overHTTP(t, "flash", geminitest.Do(plan("in_progress")), geminitest.Do(plan("completed")), geminitest.Say("Planned."))
	e := lsptest.NewEditor(t, server(agenttest.NewModel(), change), lsptest.Options{})
	session := newSession(e)
	e.MustCall("agent/session/configure", map[string]any{"sessionId": session, "mode": "plan"}, nil)
	ended(e, prompt(e, session, "plan it"))
	var got []string
	for _, ev := range e.Events(session) {
		if ev.Type == "plan/updated" {
			got = append(got, string(ev.Raw))
		}
	}
	want := []string{
		`{"type":"plan/updated","entries":[{"content":"Look","status":"in_progress"},{"content":"Leap","status":"pending"}]}`,
		`{"type":"plan/updated","entries":[{"content":"Look","status":"completed"},{"content":"Leap","status":"pending"}]}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("plans:\n%s", strings.Join(got, "\n"))
	}
}
