//go:build unix

package lsp_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"redline/agent/agenttest"
	"redline/lsp"
	"redline/lsp/lsptest"
)

// How a command is asked for, by client and answer.
func TestApprove(t *testing.T) {
	say := func(label string) func(context.Context, string, []string) (string, bool) {
		return func(_ context.Context, _ string, actions []string) (string, bool) {
			for _, a := range actions {
				if strings.HasPrefix(a, label) {
					return a, true
				}
			}
			return "", false
		}
	}
	hang := func(ctx context.Context, _ json.RawMessage) (any, error) {
		<-ctx.Done()
		return nil, lsptest.ErrNoAnswer
	}
	for _, c := range []struct {
		name        string
		personality lsptest.Personality
		opt         lsptest.Options
		ran         string // the commands that ran
		asked       int
		told        string // the model, of the first command
	}{
		{"plugin, once", lsptest.VSCode(), lsptest.Options{Handlers: map[string]lsptest.Handler{"agent/approve": lsptest.Approve("once")}}, "12", 2, "Exit Code: 0"},
		{"plugin, session", lsptest.VSCode(), lsptest.Options{Handlers: map[string]lsptest.Handler{"agent/approve": lsptest.Approve("session")}}, "12", 1, "Exit Code: 0"},
		{"plugin, reject", lsptest.VSCode(), lsptest.Options{Handlers: map[string]lsptest.Handler{"agent/approve": lsptest.Approve("reject")}}, "", 2, "did not allow this"},
		{"plugin, an error", lsptest.VSCode(), lsptest.Options{Handlers: map[string]lsptest.Handler{"agent/approve": func(context.Context, json.RawMessage) (any, error) {
			return nil, &lsptest.ResponseError{Code: -32603, Message: "the panel is gone"}
		}}}, "", 2, "could not ask the user, so this was not done; go on without it: the panel is gone"},
		{"plugin, garbage", lsptest.VSCode(), lsptest.Options{Handlers: map[string]lsptest.Handler{"agent/approve": func(context.Context, json.RawMessage) (any, error) {
			return map[string]any{"optionId": "yes, everything"}, nil
		}}}, "", 2, "did not allow this"},
		{"plugin, no answer", lsptest.VSCode(), lsptest.Options{Handlers: map[string]lsptest.Handler{"agent/approve": hang}}, "", 2, "did not answer in time"},
		{"no plugin, once", lsptest.VSCode(), lsptest.Options{Plain: true, Message: say("Run once")}, "12", 2, "Exit Code: 0"},
		{"no plugin, session", lsptest.VSCode(), lsptest.Options{Plain: true, Message: say("Allow")}, "12", 1, "Exit Code: 0"},
		{"no plugin, reject", lsptest.VSCode(), lsptest.Options{Plain: true, Message: say("Reject")}, "", 2, "did not allow this"},
		{"no plugin, dismissed", lsptest.VSCode(), lsptest.Options{Plain: true, Message: say("nothing")}, "", 2, "did not allow this"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := func(n string) agenttest.Step {
				return agenttest.Step{Calls: []agenttest.Call{{Name: "run_shell_command", Args: map[string]any{"command": "touch ran" + n}}}}
			}
			m := agenttest.NewModel(cmd("1"), cmd("2"), agenttest.Step{Text: []string{"That is it."}})
			opt := c.opt
			opt.Personality = &c.personality
			asked := 0
			if h := opt.Handlers["agent/approve"]; h != nil {
				opt.Handlers["agent/approve"] = func(ctx context.Context, p json.RawMessage) (any, error) { asked++; return h(ctx, p) }
			}
			if f := opt.Message; f != nil {
				opt.Message = func(ctx context.Context, text string, actions []string) (string, bool) {
					asked++
					if !strings.Contains(text, "touch ran") {
						t.Errorf("the message does not show the command: %q", text)
					}
					return f(ctx, text, actions)
				}
			}
			e := lsptest.NewEditor(t, server(m, func(o *lsp.Options) {
				if strings.Contains(c.name, "no answer") {
					o.Timing.Review = 50 * time.Millisecond
				}
			}), opt)
			if opt.Plain {
				e.MustCall("workspace/executeCommand", map[string]any{"command": "redline.ask", "arguments": []any{map[string]any{"text": "x"}}}, nil)
				e.WaitNotification("window/showMessage", func(raw json.RawMessage) bool { return strings.Contains(string(raw), "That is it.") })
			} else if status, err := ended(e, prompt(e, newSession(e), "x")); status != "completed" {
				t.Fatalf("turn %s: %+v", status, err)
			}
			ran := ""
			for _, n := range []string{"1", "2"} {
				if _, err := os.Stat(e.Path("ran" + n)); err == nil {
					ran += n
				}
			}
			r := m.Responses(1)[0]
			if ran != c.ran || asked != c.asked || !strings.Contains(r.Output+r.Error, c.told) {
				t.Errorf("ran %q, asked %d times, the model is told %+v", ran, asked, r)
			}
		})
	}
}

// An accepted edit is a changed buffer: it is saved before a command of the same
// step runs, and the output of that comes as events.
func TestCommandAfterEdit(t *testing.T) {
	m := agenttest.NewModel()
	p := lsptest.VSCode()
	var subject lsp.ApproveSubject
	e := lsptest.NewEditor(t, server(m, nil), lsptest.Options{
		Personality: &p, Files: map[string]string{"main.go": greeting},
		Handlers: map[string]lsptest.Handler{"agent/approve": func(ctx context.Context, raw json.RawMessage) (any, error) {
			var got lsp.ApproveParams
			if err := json.Unmarshal(raw, &got); err != nil {
				return nil, err
			}
			subject = got.Subject
			return lsptest.Approve("once")(ctx, raw)
		}},
	})
	session := newSession(e)
	*m = *agenttest.NewModel(
		agenttest.Step{Calls: []agenttest.Call{
			replaceCall(e, "main.go", `"hello"`, `"hi"`),
			{Name: "run_shell_command", Args: map[string]any{"command": "grep return main.go"}},
		}},
		agenttest.Step{Text: []string{"ok"}},
	)
	turn := prompt(e, session, "x")
	accept(e, proposal(e, "open"))
	ended(e, turn)
	if r := m.Responses(1)[1]; !strings.Contains(r.Output, `return "hi"`) || strings.Contains(r.Output, "unsaved") {
		t.Errorf("the command saw the file before the edit: %+v", r)
	}
	if len(subject.Unsaved) != 1 || subject.Command != "grep return main.go" || subject.Type != "command" || strings.Join(subject.Roots, " ") != "grep" {
		t.Errorf("asked about %+v", subject)
	}
	ev := e.WaitEvent(func(ev lsptest.Event) bool { return ev.Type == "tool/output" })
	var out struct{ CallID, Text string }
	if err := ev.Decode(&out); err != nil || out.CallID == "" || !strings.Contains(out.Text, `return "hi"`) {
		t.Errorf("tool/output %+v, %v", out, err)
	}
}
