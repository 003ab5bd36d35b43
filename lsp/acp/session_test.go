package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/agent"
	"redline/agent/agenttest"
	"redline/agent/journal"
	"redline/agent/model"
	"redline/lsp"
	"redline/lsp/acp"
	"redline/lsp/rpc"
	"redline/tools/mcp"
)

func TestInitialize(t *testing.T) {
	c := start(t, setup{model: agenttest.NewModel(), raw: true})
	lax(t)
	c.refused("session/new", map[string]any{"cwd": c.dir, "mcpServers": []any{}}, rpc.CodeInvalidRequest)
	c.refused("initialize", map[string]any{}, rpc.CodeInvalidParams)
	var res struct {
		ProtocolVersion   int
		AgentInfo         struct{ Name, Version string }
		AuthMethods       []struct{ ID, Type string }
		AgentCapabilities struct {
			LoadSession        bool
			PromptCapabilities struct{ Image, Audio, EmbeddedContext bool }
		}
	}
	c.must("initialize", map[string]any{"protocolVersion": 7, "clientCapabilities": map[string]any{"auth": map[string]any{"terminal": true}}}, &res)
	if res.ProtocolVersion != 1 || res.AgentInfo.Name != "redline" || !res.AgentCapabilities.LoadSession || !res.AgentCapabilities.PromptCapabilities.EmbeddedContext {
		t.Errorf("answer %+v", res)
	}
	if len(res.AuthMethods) != 2 || res.AuthMethods[1].Type != "terminal" {
		t.Errorf("ways to sign in: %+v", res.AuthMethods)
	}
	// A second one is refused, and what is open goes on.
	o := c.open()
	e := c.refused("initialize", map[string]any{"protocolVersion": 1}, rpc.CodeInvalidRequest)
	if !strings.Contains(e.Message, "already") {
		t.Errorf("the second initialize is answered %q", e.Message)
	}
	c.must("session/set_mode", map[string]any{"sessionId": o.SessionID, "modeId": "plan"}, nil)
}

func TestBadRequests(t *testing.T) {
	c := start(t, setup{model: agenttest.NewModel(), files: map[string]string{"file": ""}})
	lax(t) // what is bad is bad by the schema too
	o := c.open()
	block := func(b ...any) map[string]any { return map[string]any{"sessionId": o.SessionID, "prompt": b} }
	for name, tt := range map[string]struct {
		method string
		params any
		code   int
		says   string
	}{
		"unknown method":       {"session/dance", map[string]any{}, rpc.CodeMethodNotFound, "session/dance"},
		"relative folder":      {"session/new", map[string]any{"cwd": "here", "mcpServers": []any{}}, rpc.CodeInvalidParams, "absolute"},
		"no folder":            {"session/new", map[string]any{"mcpServers": []any{}}, rpc.CodeInvalidParams, "cwd"},
		"folder is not there":  {"session/new", map[string]any{"cwd": c.path("none"), "mcpServers": []any{}}, rpc.CodeInvalidParams, "none"},
		"folder is a file":     {"session/new", map[string]any{"cwd": c.path("file"), "mcpServers": []any{}}, rpc.CodeInvalidParams, "not a folder"},
		"server without name":  {"session/new", map[string]any{"cwd": c.dir, "mcpServers": []any{map[string]any{"command": "x"}}}, rpc.CodeInvalidParams, "mcpServers[0].name"},
		"server of odd type":   {"session/new", map[string]any{"cwd": c.dir, "mcpServers": []any{map[string]any{"name": "n", "type": "pigeon"}}}, rpc.CodeInvalidParams, "pigeon"},
		"server at no address": {"session/new", map[string]any{"cwd": c.dir, "mcpServers": []any{map[string]any{"name": "n", "type": "http", "url": "file:///x"}}}, rpc.CodeInvalidParams, "url"},
		"parameters a string":  {"session/new", "x", rpc.CodeInvalidParams, ""},
		"no such session":      {"session/prompt", map[string]any{"sessionId": "s-none", "prompt": []any{text("x")}}, -32002, "s-none"},
		"no session":           {"session/prompt", map[string]any{"prompt": []any{text("x")}}, rpc.CodeInvalidParams, "sessionId"},
		"empty prompt":         {"session/prompt", block(), rpc.CodeInvalidParams, "empty"},
		"blank prompt":         {"session/prompt", block(text(" \n")), rpc.CodeInvalidParams, "empty"},
		"odd content":          {"session/prompt", block(map[string]any{"type": "smell"}), rpc.CodeInvalidParams, "prompt[0].type"},
		"no base64":            {"session/prompt", block(map[string]any{"type": "image", "data": "??", "mimeType": "image/png"}), rpc.CodeInvalidParams, "prompt[0].data"},
		"image that is none":   {"session/prompt", block(map[string]any{"type": "image", "data": "AAAA", "mimeType": "text/html"}), rpc.CodeInvalidParams, "mimeType"},
		"link to nowhere":      {"session/prompt", block(map[string]any{"type": "resource_link", "name": "x"}), rpc.CodeInvalidParams, "prompt[0].uri"},
		"empty resource":       {"session/prompt", block(map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///x"}}), rpc.CodeInvalidParams, "neither"},
		"unknown command":      {"session/prompt", block(text("/dance now")), rpc.CodeInvalidParams, "dance"},
		"odd mode":             {"session/set_mode", map[string]any{"sessionId": o.SessionID, "modeId": "wild"}, rpc.CodeInvalidParams, "wild"},
		"odd option":           {"session/set_config_option", map[string]any{"sessionId": o.SessionID, "configId": "colour", "value": "red"}, rpc.CodeInvalidParams, "colour"},
		"odd value":            {"session/set_config_option", map[string]any{"sessionId": o.SessionID, "configId": "mode", "value": "wild"}, rpc.CodeInvalidParams, "wild"},
		"value of a kind":      {"session/set_config_option", map[string]any{"sessionId": o.SessionID, "configId": "mode", "type": "boolean", "value": true}, rpc.CodeInvalidParams, "value"},
		"load what is not":     {"session/load", map[string]any{"sessionId": "s-none", "cwd": c.dir, "mcpServers": []any{}}, -32002, "s-none"},
		"resume what is not":   {"session/resume", map[string]any{"sessionId": "../../etc/passwd", "cwd": c.dir}, -32002, ""},
		"close what is not":    {"session/close", map[string]any{"sessionId": "s-none"}, -32002, "s-none"},
		"delete what is not":   {"session/delete", map[string]any{"sessionId": "s-none"}, -32002, "s-none"},
		"list from an odd one": {"session/list", map[string]any{"cursor": "x"}, rpc.CodeInvalidParams, "cursor"},
		"sign in oddly":        {"authenticate", map[string]any{"methodId": "smile"}, rpc.CodeInvalidParams, "smile"},
	} {
		t.Run(name, func(t *testing.T) {
			if e := c.refused(tt.method, tt.params, tt.code); !strings.Contains(e.Message, tt.says) {
				t.Errorf("message %q, want %q in it", e.Message, tt.says)
			}
		})
	}
	// What encoders of Lua and the schema's nulls make of what is not there.
	for _, params := range []string{
		`{"cwd":%q,"mcpServers":{}}`, `{"cwd":%q,"mcpServers":[],"additionalDirectories":{}}`, `{"cwd":%q,"mcpServers":null,"additionalDirectories":null,"_meta":null}`,
		`{"cwd":%q,"mcpServers":[{"name":"n","command":"true","args":{},"env":{}}]}`,
	} {
		c.must("session/new", json.RawMessage(fmt.Sprintf(params, c.dir)), nil)
	}
	c.must("session/list", json.RawMessage(`{"cwd":null,"cursor":null}`), nil)
	c.refused("session/new", json.RawMessage(fmt.Sprintf(`{"cwd":%q,"mcpServers":{"a":1}}`, c.dir)), rpc.CodeInvalidParams)
	// Notifications are never answered.
	for _, method := range []string{"session/cancel", "session/dance", "$/wave"} {
		if err := c.conn.Notify(t.Context(), method, map[string]any{"sessionId": "s-none"}); err != nil {
			t.Fatal(err)
		}
	}
	c.open()
}

// Without credentials a session is refused in the protocol's way.
func TestAuthRequired(t *testing.T) {
	missing := errors.New("GEMINI_API_KEY environment variable not found")
	c := start(t, setup{model: agenttest.NewModel(), change: func(o *acp.Options) {
		o.Settings = func([]string, []mcp.Server) (lsp.Settings, error) {
			return lsp.Settings{Auth: func() (string, error) { return "", missing }}, nil
		}
	}})
	e := c.refused("session/new", map[string]any{"cwd": c.dir, "mcpServers": []any{}}, -32000)
	if e.Message != missing.Error() {
		t.Errorf("message %q", e.Message)
	}
}

// A turn's failure is an error with its reason; credentials have the protocol's code.
func TestTurnErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		step   agenttest.Step
		code   int
		stop   string
		says   string
		chunks string
	}{
		"bad key":  {step: agenttest.Step{Err: &model.Error{Kind: model.KindAuth, Status: 401, Message: "bad key"}}, code: -32000, says: "bad key"},
		"no model": {step: agenttest.Step{Err: &model.Error{Status: 404, Message: "no such model"}}, code: -32603, says: "no such model"},
		"refused":  {step: agenttest.Step{Finish: "SAFETY"}, stop: "refusal", chunks: "SAFETY"},
		"cut":      {step: agenttest.Step{Text: []string{"So"}, Finish: "MAX_TOKENS"}, stop: "max_tokens", chunks: "continue"},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, setup{model: agenttest.NewModel(tt.step)})
			o := c.open()
			if tt.stop != "" {
				if got := c.prompt(o.SessionID, text("x")); got != tt.stop {
					t.Errorf("stop reason %s, want %s", got, tt.stop)
				}
				if got := c.said("agent_message_chunk"); !strings.Contains(got, tt.chunks) {
					t.Errorf("said %q, want %q in it", got, tt.chunks)
				}
				return
			}
			e := c.refused("session/prompt", map[string]any{"sessionId": o.SessionID, "prompt": []any{text("x")}}, tt.code)
			if !strings.Contains(e.Message, tt.says) {
				t.Errorf("message %q", e.Message)
			}
		})
	}
}

func TestModesAndOptions(t *testing.T) {
	m := agenttest.NewModel(say("a"), say("b"))
	c := start(t, setup{model: m})
	o := c.open()
	if o.Modes.CurrentModeID != "default" || len(o.Modes.AvailableModes) != 4 {
		t.Errorf("modes %+v", o.Modes)
	}
	c.await("commands", func(u update) bool { return u.Update.SessionUpdate == "available_commands_update" })
	value := func(o opened, id string) string {
		for _, c := range o.ConfigOptions {
			if c.ID == id {
				return c.CurrentValue
			}
		}
		return ""
	}
	if value(o, "mode") != "default" || value(o, "model") != "gemini-test" || value(o, "reviewAt") != "step" {
		t.Errorf("options %+v", o.ConfigOptions)
	}
	c.must("session/set_mode", map[string]any{"sessionId": o.SessionID, "modeId": "plan"}, nil)
	c.await("the option", func(u update) bool {
		return u.Update.SessionUpdate == "config_option_update" && strings.Contains(string(u.raw), `"currentValue":"plan"`)
	})
	var res opened
	c.must("session/set_config_option", map[string]any{"sessionId": o.SessionID, "configId": "mode", "value": "autoEdit"}, &res)
	if value(res, "mode") != "autoEdit" {
		t.Errorf("options %+v", res.ConfigOptions)
	}
	c.await("the mode", func(u update) bool { return u.Update.CurrentModeID == "autoEdit" })
	c.must("session/set_config_option", map[string]any{"sessionId": o.SessionID, "configId": "model", "value": "gemini-2.5-flash"}, &res)
	c.must("session/set_config_option", map[string]any{"sessionId": o.SessionID, "configId": "reviewAt", "value": "turn"}, &res)
	if value(res, "model") != "gemini-2.5-flash" || value(res, "reviewAt") != "turn" {
		t.Errorf("options %+v", res.ConfigOptions)
	}
	c.prompt(o.SessionID, text("x"))
	if got := m.Requests()[0].Model; got != "gemini-2.5-flash" {
		t.Errorf("the model asked is %s", got)
	}
}

// "Always" changes the mode: the next proposal is not asked for.
func TestAcceptAlways(t *testing.T) {
	c := &client{dir: t.TempDir()}
	m := agenttest.NewModel(calls(c.replace("f", "one", "two")), calls(c.replace("f", "two", "three")), say("Done."))
	c = start(t, setup{model: m, dir: c.dir, caps: fsCaps, files: map[string]string{"f": "one\n"}})
	c.permit = func(_ context.Context, p permission) (any, error) { return p.pick("allow_always"), nil }
	o := c.open()
	c.prompt(o.SessionID, text("x"))
	if got := c.disk("f"); got != "three\n" || len(c.permissions) != 1 {
		t.Errorf("the file is %q after %d questions", got, len(c.permissions))
	}
	c.await("the mode", func(u update) bool { return u.Update.CurrentModeID == "autoEdit" })
}

// CodeCompanion.nvim reads files from the disk and writes into buffers, where unsaved text
// would be lost; of two options of a kind it shows one label.
func TestCodeCompanion(t *testing.T) {
	c := &client{dir: t.TempDir()}
	m := agenttest.NewModel(calls(c.replace("f", "one", "two"), c.replace("g", "one", "two")), shellStep("true"), say("Done."))
	c = start(t, setup{model: m, dir: c.dir, caps: fsCaps, name: "CodeCompanion.nvim", files: map[string]string{"f": "one\n", "g": "one\n"}})
	c.permit = func(_ context.Context, p permission) (any, error) {
		if p.ToolCall.Title == "edit g" {
			return p.pick("reject_once"), nil
		}
		return p.pick("allow_once"), nil
	}
	o := c.open()
	c.prompt(o.SessionID, text("x"))
	if f, g := c.disk("f"), c.disk("g"); f != "two\n" || g != "one\n" || len(c.called) != 0 {
		t.Errorf("the files are %q and %q after %v", f, g, c.called)
	}
	if rs := m.Responses(1); rs[0].Error != "" || !strings.Contains(rs[1].Error, "was rejected") {
		t.Errorf("the model was told %+v", rs)
	}
	kinds := map[string]int{}
	for _, o := range c.permissions[2].Options {
		kinds[o.Kind]++
	}
	if kinds["allow_once"] != 1 || kinds["allow_always"] != 1 || kinds["reject_once"] != 1 {
		t.Errorf("options %+v", c.permissions[2].Options)
	}
}

// How a question ends, and what the model is told.
func TestVerdicts(t *testing.T) {
	for name, tt := range map[string]struct {
		permit func(context.Context, permission) (any, error)
		told   string
	}{
		"reject":       {func(_ context.Context, p permission) (any, error) { return p.pick("reject_once"), nil }, "was rejected; nothing of it is in the file"},
		"closed":       {func(_ context.Context, p permission) (any, error) { return p.pick("none"), nil }, "closed the question"},
		"error":        {func(context.Context, permission) (any, error) { return nil, errors.New("no window") }, "no window"},
		"odd option":   {func(context.Context, permission) (any, error) { return outcome("selected", "yes please"), nil }, "not offered"},
		"odd outcome":  {func(context.Context, permission) (any, error) { return outcome("perhaps", ""), nil }, "not offered"},
		"never":        {func(ctx context.Context, _ permission) (any, error) { <-ctx.Done(); return nil, ctx.Err() }, "did not answer in time"},
		"no answer":    {func(context.Context, permission) (any, error) { return nil, nil }, "not offered"},
		"a wrong type": {func(context.Context, permission) (any, error) { return []int{1}, nil }, "could not ask"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &client{dir: t.TempDir()}
			m := agenttest.NewModel(calls(c.replace("f", "one", "two")), say("Done."))
			c = start(t, setup{model: m, dir: c.dir, files: map[string]string{"f": "one\n"}, change: func(o *acp.Options) {
				if name == "never" {
					o.Timing.Review = 300 * time.Millisecond
				}
			}})
			lax(t)
			c.permit = tt.permit
			o := c.open()
			if got := c.prompt(o.SessionID, text("x")); got != "end_turn" {
				t.Errorf("stop reason %s", got)
			}
			if r := m.Responses(1)[0]; !strings.Contains(r.Error, tt.told) {
				t.Errorf("the model was told %+v, want %q", r, tt.told)
			}
			if got := c.disk("f"); got != "one\n" {
				t.Errorf("the file is %q", got)
			}
			us := c.of(c.callNamed("replace"))
			if last := us[len(us)-1]; last.Update.Status != "failed" {
				t.Errorf("the call ended %s", last.raw)
			}
		})
	}
}

func outcome(kind, option string) any {
	return map[string]any{"outcome": map[string]any{"outcome": kind, "optionId": option}}
}

// Cancelling ends the question that is open; the prompt is answered with "cancelled",
// and the next one can follow at once.
func TestCancel(t *testing.T) {
	c := &client{dir: t.TempDir()}
	m := agenttest.NewModel(calls(c.replace("f", "one", "two"), call("run_shell_command", map[string]any{"command": "true"})), say("Next."))
	c = start(t, setup{model: m, dir: c.dir, files: map[string]string{"f": "one\n"}})
	ended := make(chan struct{})
	c.permit = func(ctx context.Context, p permission) (any, error) {
		if err := c.conn.Notify(context.WithoutCancel(ctx), "session/cancel", map[string]any{"sessionId": p.SessionID}); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		close(ended)
		return outcome("cancelled", ""), nil
	}
	o := c.open()
	if got := c.prompt(o.SessionID, text("x")); got != "cancelled" {
		t.Errorf("stop reason %s", got)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the question was not taken back")
	}
	if len(c.permissions) != 1 || c.disk("f") != "one\n" {
		t.Errorf("%d questions; the file is %q", len(c.permissions), c.disk("f"))
	}
	if got := c.prompt(o.SessionID, text("y")); got != "end_turn" {
		t.Errorf("stop reason %s", got)
	}
}

// Prompts in one session run one after the other: a second one is refused while the
// first is at work, and waits when that was cancelled. A cancel that comes right behind
// a prompt counts.
func TestPromptsTogether(t *testing.T) {
	asked := make(chan struct{})
	m := agenttest.NewModel(agenttest.Step{Hang: true, Asked: asked}, say("Second."))
	c := start(t, setup{model: m})
	o := c.open()
	first := make(chan string, 1)
	go func() {
		var res struct{ StopReason string }
		if err := c.call("session/prompt", map[string]any{"sessionId": o.SessionID, "prompt": []any{text("one")}}, &res); err != nil {
			first <- err.Error()
			return
		}
		first <- res.StopReason
	}()
	<-asked
	e := c.refused("session/prompt", map[string]any{"sessionId": o.SessionID, "prompt": []any{text("two")}}, rpc.CodeInvalidRequest)
	if !strings.Contains(e.Message, "at work") {
		t.Errorf("message %q", e.Message)
	}
	if err := c.conn.Notify(t.Context(), "session/cancel", map[string]any{"sessionId": o.SessionID}); err != nil {
		t.Fatal(err)
	}
	if got := c.prompt(o.SessionID, text("two")); got != "end_turn" {
		t.Errorf("the second stopped with %s", got)
	}
	if got := <-first; got != "cancelled" {
		t.Errorf("the first stopped with %s", got)
	}
}

// $/cancel_request of a prompt cancels its turn.
func TestCancelRequest(t *testing.T) {
	asked := make(chan struct{})
	m := agenttest.NewModel(agenttest.Step{Hang: true, Asked: asked}, say("Next."))
	c := start(t, setup{model: m})
	o := c.open()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if err := c.conn.Call(ctx, "session/prompt", map[string]any{"sessionId": o.SessionID, "prompt": []any{text("one")}}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	for {
		var res struct{ StopReason string }
		err := c.call("session/prompt", map[string]any{"sessionId": o.SessionID, "prompt": []any{text("two")}}, &res)
		var peer *rpc.Error
		if errors.As(err, &peer) && peer.Code == rpc.CodeInvalidRequest {
			continue // the turn is ending
		}
		if err != nil || res.StopReason != "end_turn" {
			t.Fatalf("%v, %+v", err, res)
		}
		return
	}
}

// Sessions are saved as they happen: another process lists and loads them, shows what
// was said in them, and goes on; resume shows nothing again.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	store := &journal.Store{Dir: t.TempDir()}
	c := &client{dir: dir}
	change := func(o *acp.Options) { o.Journal = store }
	m := agenttest.NewModel(
		agenttest.Step{Thought: "**Hm** I think", Text: []string{"I ", "look."}, Calls: []agenttest.Call{call("read_file", map[string]any{"path": "f"})}},
		calls(c.replace("f", "one", "two"), call("write_todos", map[string]any{"todos": []any{map[string]any{"description": "cut", "status": "completed"}}})),
		say("Done."),
	)
	a := start(t, setup{model: m, dir: dir, change: change, files: map[string]string{"f": "one\n"}})
	o := a.open()
	a.prompt(o.SessionID, text("shorten it"))
	a.until("the title", func() bool {
		return slices.ContainsFunc(a.updates, func(u update) bool { return u.Update.Title == "shorten it" })
	})
	live := a.log()
	_ = live
	a.must("session/close", map[string]any{"sessionId": o.SessionID}, nil)

	m2 := agenttest.NewModel(say("Still here."), say("And here."))
	b := start(t, setup{model: m2, dir: dir, change: change})
	var list struct {
		Sessions   []struct{ SessionID, Cwd, Title, UpdatedAt string }
		NextCursor string
	}
	b.must("session/list", map[string]any{"cwd": dir}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != o.SessionID || list.Sessions[0].Title != "shorten it" || list.Sessions[0].Cwd != dir {
		t.Fatalf("list %+v", list)
	}
	b.must("session/list", map[string]any{"cwd": filepath.Join(dir, "other")}, &list)
	if len(list.Sessions) != 0 {
		t.Errorf("of another folder: %+v", list)
	}
	var res opened
	b.must("session/load", map[string]any{"sessionId": o.SessionID, "cwd": dir, "mcpServers": []any{}}, &res)
	if res.Modes.CurrentModeID != "default" {
		t.Errorf("answer %+v", res)
	}
	if got := b.said("user_message_chunk"); got != "shorten it" {
		t.Errorf("the user said %q", got)
	}
	if got := b.said("agent_message_chunk"); got != "I look.Done." {
		t.Errorf("the model said %q", got)
	}
	us := b.of(b.callNamed("replace"))
	if last := us[len(us)-1]; last.Update.Status != "completed" {
		t.Errorf("the edit ends as %s", last.raw)
	}
	if its := shownLast(us); len(its) != 1 || its[0].NewText != "two\n" || *its[0].OldText != "one\n" {
		t.Errorf("the edit is shown as %+v", its)
	}
	b.await("the plan", func(u update) bool {
		return u.Update.SessionUpdate == "plan" && u.Update.Entries[0].Status == "completed"
	})
	if got := b.prompt(o.SessionID, text("go on")); got != "end_turn" {
		t.Errorf("stop reason %s", got)
	}
	if got := len(m2.Requests()[0].Contents); got < 5 {
		t.Errorf("the model sees %d messages", got)
	}
	b.must("session/close", map[string]any{"sessionId": o.SessionID}, nil)

	m3 := agenttest.NewModel(say("Yes."))
	d := start(t, setup{model: m3, dir: dir, change: change})
	d.must("session/resume", map[string]any{"sessionId": o.SessionID, "cwd": dir}, &res)
	d.await("commands", func(u update) bool { return u.Update.SessionUpdate == "available_commands_update" })
	if got := d.said("user_message_chunk") + d.said("agent_message_chunk"); got != "" {
		t.Errorf("resume said %q", got)
	}
	d.prompt(o.SessionID, text("still?"))
	d.must("session/delete", map[string]any{"sessionId": o.SessionID}, nil)
	d.must("session/list", map[string]any{}, &list)
	if len(list.Sessions) != 0 {
		t.Errorf("after deletion: %+v", list)
	}
	d.refused("session/load", map[string]any{"sessionId": o.SessionID, "cwd": dir, "mcpServers": []any{}}, -32002)
}

// Many sessions come in pages.
func TestListPages(t *testing.T) {
	dir := t.TempDir()
	store := &journal.Store{Dir: t.TempDir()}
	for i := range 120 {
		log, err := store.Create([]string{dir}, agent.NewID("s"))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Format(time.RFC3339)
		for _, line := range []map[string]any{
			{"t": "session", "v": 1, "session": fmt.Sprint("s-", i), "folders": []string{dir}, "at": at},
			{"t": "end", "turns": 1, "title": fmt.Sprint(i), "at": at},
		} {
			if err := log.Append(line); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c := start(t, setup{model: agenttest.NewModel(), dir: dir, change: func(o *acp.Options) { o.Journal = store }})
	seen := map[string]bool{}
	cursor := ""
	for pages := 1; ; pages++ {
		var list struct {
			Sessions   []struct{ SessionID string }
			NextCursor string
		}
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		c.must("session/list", params, &list)
		for _, s := range list.Sessions {
			if seen[s.SessionID] {
				t.Errorf("%s comes twice", s.SessionID)
			}
			seen[s.SessionID] = true
		}
		if cursor = list.NextCursor; cursor == "" {
			if pages != 3 || len(seen) != 120 {
				t.Errorf("%d sessions on %d pages", len(seen), pages)
			}
			return
		}
	}
}
