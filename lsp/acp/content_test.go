package acp_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"redline/agent/agenttest"
	"redline/agent/model"
)

// Every kind of content reaches the model: text as it is, links with what they point
// to, media as such.
func TestContent(t *testing.T) {
	m := agenttest.NewModel(say("ok"))
	c := start(t, setup{model: m, caps: fsCaps, files: map[string]string{"src/a.go": "package a\n\nfunc A() {}\n", "b.txt": "on disk\n", "dir/x": ""}})
	c.buffers[c.path("b.txt")] = "unsaved\n"
	o := c.open()
	data := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	link := func(uri, name string) any {
		return map[string]any{"type": "resource_link", "uri": uri, "name": name}
	}
	got := c.prompt(o.SessionID,
		text("Compare "), link("file://"+c.path("src/a.go")+"#L3:3", "a.go"), text(" with "), link("file://"+c.path("b.txt"), "b.txt"),
		text(" and "), link("https://example.com/doc", "the docs"), text(" in "), link("file://"+c.path("dir"), "dir"), text("."),
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "file://" + c.path("c.txt"), "text": "sent along\n", "mimeType": "text/plain"}},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "mem://thread/1", "text": "a thread"}},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///x.pdf", "blob": data("%PDF"), "mimeType": "application/pdf"}},
		map[string]any{"type": "image", "data": data("pixels"), "mimeType": "image/png"},
		map[string]any{"type": "audio", "data": data("waves"), "mimeType": "audio/wav"},
		link("file:///etc/hostname", "outside"),
	)
	if got != "end_turn" {
		t.Fatalf("stop reason %s", got)
	}
	var said []string
	media := map[string]string{}
	contents := m.Requests()[0].Contents
	last := contents[len(contents)-1]
	if last.Role != model.RoleUser {
		t.Fatalf("the last message is of %s", last.Role)
	}
	for _, p := range last.Parts {
		v := p.Value()
		if v.InlineData != nil {
			media[v.InlineData.MIMEType] = string(v.InlineData.Data)
			continue
		}
		said = append(said, v.Text)
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{
		"Compare `src/a.go` (lines 3-3) with `b.txt` and the docs <https://example.com/doc> in `dir`.", "`c.txt`", "`/etc/hostname`",
		"[selection src/a.go, lines 3-3]\n```\nfunc A() {}\n```", "[file b.txt]\n```\nunsaved\n```", "[file c.txt]\n```\nsent along\n```", "a thread",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the model does not get %q; it gets\n%s", want, all)
		}
	}
	if media["image/png"] != "pixels" || media["audio/wav"] != "waves" || media["application/pdf"] != "%PDF" {
		t.Errorf("media %v", media)
	}
}

// What the client is shown of a turn: thoughts, text, calls of every kind, live output,
// the plan, usage, notices.
func TestUpdates(t *testing.T) {
	m := agenttest.NewModel(
		agenttest.Step{Thought: "**Looking** around", Text: []string{"Let me ", "see."}, Calls: []agenttest.Call{
			call("read_file", map[string]any{"path": "f"}), call("grep_search", map[string]any{"pattern": "one"}),
			call("read_file", map[string]any{"path": "none"}),
			call("write_todos", map[string]any{"todos": []any{map[string]any{"description": "look", "status": "in_progress"}, map[string]any{"description": "no", "status": "cancelled"}}}),
		}},
		calls(call("run_shell_command", map[string]any{"command": "echo live; read x < fifo; echo end; exit 4"})),
		calls(call("rename_file", map[string]any{"file_path": "f", "new_path": "g"}), call("delete_file", map[string]any{"file_path": "h"})),
		say("Done."),
	)
	c := start(t, setup{model: m, files: map[string]string{"f": "one\n", "h": "gone\n"}, caps: map[string]any{"session": map[string]any{"notices": map[string]any{}}}})
	mkfifo(t, c.path("fifo"))
	o := c.open()
	done := make(chan string, 1)
	go func() { done <- c.prompt(o.SessionID, text("go")) }()
	run := c.callNamed("run_shell_command")
	c.await("live output", func(u update) bool {
		return u.Update.ToolCallID == run && u.Update.Status == "" && len(u.items()) == 1 && strings.Contains(u.items()[0].Content.Text, "live")
	})
	c.write("fifo", "x\n")
	if got := <-done; got != "end_turn" {
		t.Errorf("stop reason %s", got)
	}
	if got := c.said("agent_thought_chunk"); got != "**Looking** around\n\n" {
		t.Errorf("thoughts %q", got)
	}
	if got := c.said("agent_message_chunk"); got != "Let me see.Done." {
		t.Errorf("said %q", got)
	}
	last := func(id string) update { us := c.of(id); return us[len(us)-1] }
	for tool, want := range map[string]struct{ kind, status, text string }{
		"read_file":         {"read", "completed", "f"},
		"grep_search":       {"search", "completed", "one"},
		"run_shell_command": {"execute", "completed", "Exit Code: 4"},
		"rename_file":       {"move", "completed", ""},
		"delete_file":       {"delete", "completed", ""},
	} {
		u := last(c.callNamed(tool))
		if u.Update.Kind != want.kind || u.Update.Status != want.status || !strings.Contains(string(u.raw), want.text) {
			t.Errorf("%s ends as %s", tool, u.raw)
		}
	}
	plan := c.await("the plan", func(u update) bool { return u.Update.SessionUpdate == "plan" })
	if len(plan.Update.Entries) != 1 || plan.Update.Entries[0].Status != "in_progress" {
		t.Errorf("plan %s", plan.raw)
	}
	c.await("usage", func(u update) bool {
		return u.Update.SessionUpdate == "usage_update" && u.Update.Size > 0 && u.Update.Used > 0
	})
	failed := c.await("the failed call", func(u update) bool { return u.Update.Status == "failed" })
	if !strings.Contains(failed.items()[0].Content.Text, "none") {
		t.Errorf("the failure is shown as %s", failed.raw)
	}
	located := slices.IndexFunc(c.all(), func(u update) bool {
		return u.Update.ToolCallID == c.callNamed("read_file") && strings.Contains(string(u.raw), `"path":"`+c.path("f")+`"`)
	})
	if located < 0 {
		t.Error("read_file has no location")
	}
	if got, err := json.Marshal(c.permissions[len(c.permissions)-1].ToolCall); err != nil || !strings.Contains(string(got), "Rename") || !strings.Contains(string(got), `"OldText":"gone\n"`) {
		t.Errorf("the question about files is %s", got)
	}
	if c.disk("g") != "one\n" {
		t.Error("the file was not renamed")
	}
}
