package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/agent/model"
	"redline/agent/models"
	"redline/lsp"
	"redline/lsp/acp"
	"redline/tools/mcp"
)

// choose returns the answer that picks the option whose name begins so.
func (p permission) choose(t *testing.T, name string) any {
	i := slices.IndexFunc(p.Options, func(o option) bool { return strings.HasPrefix(o.Name, name) })
	if i < 0 {
		t.Errorf("there is no option %q in %+v", name, p.Options)
		return outcome("cancelled", "")
	}
	return outcome("selected", p.Options[i].OptionID)
}

// names are the names of the options.
func (p permission) names() (out []string) {
	for _, o := range p.Options {
		out = append(out, o.Name)
	}
	return out
}

const threeHunks = "one\n2\n3\n4\n5\n6\n7\n8\nnine\n10\n11\n12\n13\n14\n15\n16\nseventeen\n"

// script runs a turn with three hunks in two files, whose questions are answered with
// the options that begin so, in this order.
func script(t *testing.T, caps map[string]any, form func(json.RawMessage) (any, error), before func(*client, string), answers ...string) (*client, *agenttest.Model, string) {
	t.Helper()
	c := &client{dir: t.TempDir()}
	m := agenttest.NewModel(
		calls(c.replace("f", "one\n", "eins\n"), c.replace("f", "nine\n", "neun\n"), c.replace("g", "one\n", "uno\n")),
		say("Done."),
	)
	c = start(t, setup{model: m, dir: c.dir, caps: caps, files: map[string]string{"f": threeHunks, "g": "one\n"}})
	c.permit = func(ctx context.Context, p permission) (any, error) {
		c.mu.Lock()
		n := len(c.permissions)
		c.mu.Unlock()
		if n > len(answers) {
			t.Errorf("one question too many: %+v", p)
			return p.pick("none"), nil
		}
		switch a := answers[n-1]; a {
		case "close":
			return outcome("cancelled", ""), nil
		case "cancel":
			if err := c.conn.Notify(context.WithoutCancel(ctx), "session/cancel", map[string]any{"sessionId": p.SessionID}); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return outcome("cancelled", ""), nil
		default:
			return p.choose(t, a), nil
		}
	}
	c.form = form
	o := c.open()
	if before != nil {
		before(c, o.SessionID)
	}
	stop := c.prompt(o.SessionID, text("In other languages"))
	if len(c.permissions) != len(answers) {
		t.Errorf("%d questions, want %d", len(c.permissions), len(answers))
	}
	return c, m, stop
}

var formCaps = map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}

// A proposal is decided hunk by hunk: each is a question with its own diff, a reason
// reaches the model, and only what was accepted is in the files.
func TestHunkByHunk(t *testing.T) {
	form := func(raw json.RawMessage) (any, error) {
		if !strings.Contains(string(raw), `2 of 3: f, line 9`) || !strings.Contains(string(raw), `"mode":"form"`) {
			t.Errorf("form %s", raw)
		}
		return map[string]any{"action": "accept", "content": map[string]any{"answer": "nine stays English"}}, nil
	}
	c, m, _ := script(t, formCaps, form, nil, "Decide hunk by hunk (3)", "Accept this hunk", "Reject it, and say why", "Accept this hunk")
	if f, g := c.disk("f"), c.disk("g"); f != strings.Replace(threeHunks, "one", "eins", 1) || g != "uno\n" {
		t.Errorf("the files are %q and %q", f, g)
	}
	rs := m.Responses(1)
	if rs[0].Error != "" || !strings.Contains(rs[1].Error, "nine stays English") || rs[2].Error != "" {
		t.Errorf("the model was told %+v", rs)
	}
	second := c.permissions[2]
	if second.ToolCall.Title != "2 of 3: f, line 9" || len(second.ToolCall.Content) != 1 || len(second.ToolCall.Locations) != 1 {
		t.Fatalf("the second question: %+v", second.ToolCall)
	}
	if d := second.ToolCall.Content[0]; d.OldText == nil || *d.OldText != threeHunks || d.NewText != strings.Replace(threeHunks, "nine", "neun", 1) {
		t.Errorf("it shows %+v", d)
	}
	if last := c.permissions[3].names(); len(last) != 3 {
		t.Errorf("the last question offers %q", last)
	}
}

// The ways out of the questions in the middle.
func TestHunksRest(t *testing.T) {
	byHunk := func(c *client, session string) {
		var res opened
		c.must("session/set_config_option", map[string]any{"sessionId": session, "configId": "reviewBy", "value": "hunk"}, &res)
		if v := res.ConfigOptions[len(res.ConfigOptions)-1]; v.ID != "reviewBy" || v.CurrentValue != "hunk" || len(v.Options) != 2 {
			t.Errorf("the option is %+v", v)
		}
	}
	one := strings.Replace(threeHunks, "one", "eins", 1)
	both := strings.Replace(one, "nine", "neun", 1)
	for name, tt := range map[string]struct {
		answers  []string
		f, g     string
		told     []string // of each call; empty: it was done
		stop     string
		noChoice bool // by the first question, not the option
	}{
		"the rest":          {answers: []string{"Reject this hunk", "Accept this one and the rest"}, f: strings.Replace(threeHunks, "nine", "neun", 1), g: "uno\n", told: []string{"was rejected", "", ""}},
		"none of the rest":  {answers: []string{"Accept this hunk", "Reject this one and the rest"}, f: one, g: "one\n", told: []string{"", "was rejected", "was rejected"}},
		"closed":            {answers: []string{"Accept this hunk", "close"}, f: one, g: "one\n", told: []string{"", "closed the question", "closed the question"}},
		"cancelled":         {answers: []string{"Accept this hunk", "cancel"}, f: threeHunks, g: "one\n", stop: "cancelled"},
		"from the question": {answers: []string{"Decide hunk by hunk", "Accept this hunk", "Accept this hunk", "Reject this hunk"}, f: both, g: "one\n", told: []string{"", "", "was rejected"}, noChoice: true},
		"all at once":       {answers: []string{"Accept"}, f: both, g: "uno\n", told: []string{"", "", ""}, noChoice: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := byHunk
			if tt.noChoice {
				before = nil
			}
			c, m, stop := script(t, nil, nil, before, tt.answers...)
			if f, g := c.disk("f"), c.disk("g"); f != tt.f || g != tt.g {
				t.Errorf("the files are %q and %q", f, g)
			}
			if tt.stop != "" {
				if stop != tt.stop {
					t.Errorf("it stopped with %s", stop)
				}
				return
			}
			for i, r := range m.Responses(1) {
				if (tt.told[i] == "") != (r.Error == "") || !strings.Contains(r.Error, tt.told[i]) {
					t.Errorf("of call %d the model was told %+v", i, r)
				}
			}
			if slices.ContainsFunc(c.permissions[0].names(), func(n string) bool { return strings.Contains(n, "say why") }) {
				t.Error("a reason is offered to a client without forms")
			}
		})
	}
	c := start(t, setup{model: agenttest.NewModel(), change: func(o *acp.Options) {
		plain := o.Settings
		o.Settings = func(folders []string, servers []mcp.Server) (lsp.Settings, error) {
			set, err := plain(folders, servers)
			set.ReviewBy = "hunk"
			return set, err
		}
	}})
	lax(t)
	o := c.open()
	if v := o.ConfigOptions[len(o.ConfigOptions)-1]; v.ID != "reviewBy" || v.CurrentValue != "hunk" {
		t.Errorf("by the settings the option is %+v", v)
	}
	c.refused("session/set_config_option", map[string]any{"sessionId": o.SessionID, "configId": "reviewBy", "value": "letter"}, -32602)
}

// However a form ends, the rejection stands.
func TestFormTrouble(t *testing.T) {
	for name, tt := range map[string]struct {
		form func(json.RawMessage) (any, error)
		told string
	}{
		"why": {func(json.RawMessage) (any, error) {
			return map[string]any{"action": "accept", "content": map[string]any{"answer": " too long "}}, nil
		}, "too long"},
		"declined":  {func(json.RawMessage) (any, error) { return map[string]any{"action": "decline"}, nil }, "was rejected"},
		"cancelled": {func(json.RawMessage) (any, error) { return map[string]any{"action": "cancel"}, nil }, "was rejected"},
		"an error":  {func(json.RawMessage) (any, error) { return nil, errors.New("no window") }, "was rejected"},
		"nothing":   {func(json.RawMessage) (any, error) { return map[string]any{"action": "accept"}, nil }, "was rejected"},
		"a number": {func(json.RawMessage) (any, error) {
			return map[string]any{"action": "accept", "content": map[string]any{"answer": 7}}, nil
		}, "was rejected"},
		"an odd way": {func(json.RawMessage) (any, error) { return map[string]any{"action": "_shrug"}, nil }, "was rejected"},
		"null":       {func(json.RawMessage) (any, error) { return nil, nil }, "was rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &client{dir: t.TempDir()}
			m := agenttest.NewModel(calls(c.replace("f", "one", "two")), say("Done."))
			c = start(t, setup{model: m, dir: c.dir, caps: formCaps, files: map[string]string{"f": "one\n"}})
			lax(t)
			c.form = tt.form
			c.permit = func(_ context.Context, p permission) (any, error) { return p.choose(t, "Reject, and say why"), nil }
			o := c.open()
			if got := c.prompt(o.SessionID, text("x")); got != "end_turn" {
				t.Errorf("stop reason %s", got)
			}
			if r := m.Responses(1)[0]; !strings.Contains(r.Error, tt.told) || !strings.Contains(r.Error, "rejected") {
				t.Errorf("the model was told %+v", r)
			}
			if got := c.disk("f"); got != "one\n" {
				t.Errorf("the file is %q", got)
			}
		})
	}
}

// A question of the agent's own is a form where there are forms, and a permission where the
// form fails or there is none.
func TestQuestionByForm(t *testing.T) {
	const yes = "Change to gemini-2.5-flash"
	for name, tt := range map[string]struct {
		caps  map[string]any
		form  func(json.RawMessage) (any, error)
		byAsk int    // questions for permission
		model string // afterwards
	}{
		"form": {formCaps, func(raw json.RawMessage) (any, error) {
			if !strings.Contains(string(raw), `{"const":"`+yes+`","title":"`+yes+`"}`) || !strings.Contains(string(raw), "is used up") {
				t.Errorf("form %s", raw)
			}
			return map[string]any{"action": "accept", "content": map[string]any{"answer": yes}}, nil
		}, 0, "gemini-2.5-flash"},
		"declined": {formCaps, func(json.RawMessage) (any, error) { return map[string]any{"action": "decline"}, nil }, 0, "gemini-2.5-pro"},
		"broken":   {formCaps, func(json.RawMessage) (any, error) { return nil, errors.New("no forms after all") }, 1, "gemini-2.5-flash"},
		"none":     {nil, nil, 1, "gemini-2.5-flash"},
	} {
		t.Run(name, func(t *testing.T) {
			m := agenttest.NewModel(agenttest.Step{Err: &model.Error{Kind: model.KindQuota, Status: 429, Message: "no more today"}})
			c := start(t, setup{model: m, caps: tt.caps, change: func(o *acp.Options) {
				plain := o.Settings
				o.Settings = func(folders []string, servers []mcp.Server) (lsp.Settings, error) {
					set, err := plain(folders, servers)
					set.Model, set.Conversation.Fallback = "gemini-2.5-pro", models.Flash
					return set, err
				}
			}})
			lax(t)
			c.form = tt.form
			o := c.open()
			_ = c.call("session/prompt", map[string]any{"sessionId": o.SessionID, "prompt": []any{text("x")}}, nil) // ends with the quota either way
			if len(c.permissions) != tt.byAsk {
				t.Errorf("%d questions for permission", len(c.permissions))
			}
			var res opened
			c.must("session/set_config_option", map[string]any{"sessionId": o.SessionID, "configId": "reviewAt", "value": "turn"}, &res)
			for _, v := range res.ConfigOptions {
				if v.ID == "model" && v.CurrentValue != tt.model {
					t.Errorf("the model is %s", v.CurrentValue)
				}
			}
		})
	}
}
