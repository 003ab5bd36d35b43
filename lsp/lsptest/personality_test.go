package lsptest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// edit builds a TextDocumentEdit that replaces the characters a to b of line 0.
func edit(e *bench, path string, version any, a, b int, text, annotation string) map[string]any {
	ed := map[string]any{"range": Range{Position{0, a}, Position{0, b}}, "newText": text}
	if annotation != "" {
		ed["annotationId"] = annotation
	}
	return map[string]any{
		"textDocument": map[string]any{"uri": URI(e.Path(path)), "version": version},
		"edits":        []any{ed},
	}
}

func changes(list ...any) map[string]any {
	return map[string]any{"label": "test", "edit": map[string]any{"documentChanges": list}}
}

func annotated(list ...any) map[string]any {
	p := changes(list...)
	p["edit"].(map[string]any)["changeAnnotations"] = map[string]any{"ask": map[string]any{"label": "Ask", "needsConfirmation": true}}
	return p
}

func (o outcome) String() string {
	switch {
	case o.None:
		return "none"
	case o.Code != 0:
		return fmt.Sprint(o.Code)
	}
	var r applyResult
	if json.Unmarshal(o.Result, &r) == nil && strings.HasPrefix(string(o.Result), `{"applied"`) {
		s := fmt.Sprint(r.Applied)
		if r.FailedChange != nil {
			s += fmt.Sprintf(" failed %d", *r.FailedChange)
		}
		return s
	}
	return string(o.Result)
}

// TestTable is the table of EDITORS.md: for each situation what every editor
// answers, and what is in its buffers afterwards.
func TestTable(t *testing.T) {
	type row struct {
		name string
		// do brings the situation about and returns the answer and the text.
		do   func(e *bench) (answer, text string)
		want [6]string // VS Code, Neovim 0.10, 0.12, Helix 25.01, 25.07, eglot
	}
	open := func(e *bench) { e.Open("a.txt"); e.Open("b.txt") }
	v := func(e *bench) int { return e.p.FirstVersion }
	rows := []row{
		{"documentChanges", func(e *bench) (string, string) {
			open(e)
			o := e.request("workspace/applyEdit", changes(edit(e, "a.txt", v(e), 0, 1, "A", "")))
			return o.String(), e.Text("a.txt")
		}, [6]string{"true Abc", "true Abc", "true Abc", "true Abc", "true Abc", "true Abc"}},
		{"changes", func(e *bench) (string, string) {
			open(e)
			o := e.request("workspace/applyEdit", map[string]any{"edit": map[string]any{"changes": map[string]any{
				URI(e.Path("a.txt")): []any{TextEdit{NewText: "x"}},
			}}})
			if got := e.found(); !strings.Contains(got, "supports documentChanges") {
				e.t.Errorf("changes: %s", got)
			}
			return o.String(), e.Text("a.txt")
		}, [6]string{"true xabc", "true xabc", "true xabc", "true xabc", "true xabc", "true xabc"}},
		{"stale version", func(e *bench) (string, string) {
			open(e)
			e.Type("a.txt", Position{0, 3}, "!")
			late := edit(e, "a.txt", e.Version("a.txt"), 0, 1, "A", "")
			e.Type("a.txt", Position{0, 4}, "!")
			o := e.request("workspace/applyEdit", changes(late))
			return o.String(), e.Text("a.txt")
		}, [6]string{"false abc!!", "true abc!!", "true abc!!", "false failed 0 abc!!", "false failed 0 abc!!", "-32603 abc!!"}},
		{"stale first version", func(e *bench) (string, string) {
			open(e)
			e.Type("a.txt", Position{0, 0}, "!")
			o := e.request("workspace/applyEdit", changes(edit(e, "a.txt", v(e), 0, 1, "A", "")))
			return o.String(), e.Text("a.txt")
		}, [6]string{"false !abc", "true Aabc", "true Aabc", "false failed 0 !abc", "false failed 0 !abc", "-32603 !abc"}},
		{"stale second document", func(e *bench) (string, string) {
			open(e)
			e.Type("b.txt", Position{0, 0}, "?")
			late := edit(e, "b.txt", e.Version("b.txt"), 0, 1, "B", "")
			e.Type("b.txt", Position{0, 0}, "!")
			o := e.request("workspace/applyEdit", changes(edit(e, "a.txt", v(e), 0, 1, "A", ""), late))
			return o.String(), e.Text("a.txt") + e.Text("b.txt")
		}, [6]string{"false abc!?bcd", "true AbcB?bcd", "true AbcB?bcd", "false failed 1 Abc!?bcd", "false failed 1 Abc!?bcd", "-32603 Abc!?bcd"}},
		{"version from the future", func(e *bench) (string, string) {
			open(e)
			o := e.request("workspace/applyEdit", changes(edit(e, "a.txt", v(e)+7, 0, 1, "A", "")))
			if got := e.found(); !strings.Contains(got, "never was") {
				e.t.Errorf("future version: %s", got)
			}
			return o.String(), e.Text("a.txt")
		}, [6]string{"false abc", "true Abc", "true Abc", "false failed 0 abc", "false failed 0 abc", "-32603 abc"}},
		{"create, rename, delete", func(e *bench) (string, string) {
			o := e.request("workspace/applyEdit", changes(
				map[string]any{"kind": "create", "uri": URI(e.Path("n.txt"))},
				map[string]any{"kind": "rename", "oldUri": URI(e.Path("a.txt")), "newUri": URI(e.Path("sub/r.txt"))},
				map[string]any{"kind": "delete", "uri": URI(e.Path("b.txt"))}))
			unoffered := strings.Contains(e.found(), "does not offer")
			if unoffered != (len(e.p.ResourceOperations) == 0) {
				e.t.Errorf("%s: operations reported as not offered: %v", e.p.Name, unoffered)
			}
			disk := ""
			for _, f := range []string{"n.txt", "a.txt", "sub/r.txt", "b.txt"} {
				if _, ok := e.Disk(f); ok {
					disk += f[:1]
				}
			}
			return o.String(), disk
		}, [6]string{"true ns", "true ns", "true ns", "true ns", "true ns", "-32603 ab"}},
		{"failure in the middle", func(e *bench) (string, string) {
			open(e)
			o := e.request("workspace/applyEdit", changes(edit(e, "a.txt", v(e), 0, 1, "A", ""),
				map[string]any{"kind": "rename", "oldUri": URI(e.Path("no")), "newUri": URI(e.Path("no2"))}))
			e.found()
			return o.String(), e.Text("a.txt")
		}, [6]string{"false Abc", "true Abc", "true Abc", "false failed 1 Abc", "true Abc", "-32603 Abc"}},
		{"bad delete in the middle", func(e *bench) (string, string) {
			open(e)
			o := e.request("workspace/applyEdit", changes(map[string]any{"kind": "delete", "uri": URI(e.Path("no"))},
				edit(e, "a.txt", v(e), 0, 1, "A", "")))
			e.found()
			return o.String(), e.Text("a.txt")
		}, [6]string{"false abc", "false abc", "false abc", "false failed 0 abc", "false failed 0 abc", "-32603 abc"}},
		{"needsConfirmation, the user says yes", func(e *bench) (string, string) {
			e.opt.Preview = func(c []Change) ([]int, bool) { return []int{0, 1}, !c[0].Ticked }
			e.opt.Confirm = func(Change) bool { return true }
			open(e)
			o := e.request("workspace/applyEdit", annotated(edit(e, "a.txt", v(e), 0, 1, "A", "ask"), edit(e, "b.txt", v(e), 0, 1, "B", "ask")))
			e.found()
			return o.String(), e.Text("a.txt") + e.Text("b.txt")
		}, [6]string{"true AbcBcd", "true AbcBcd", "true AbcBcd", "true AbcBcd", "true AbcBcd", "true AbcBcd"}},
		{"needsConfirmation, some", func(e *bench) (string, string) {
			e.opt.Preview = func([]Change) ([]int, bool) { return []int{1}, true }
			e.opt.Confirm = func(c Change) bool { return strings.HasSuffix(c.URI, "b.txt") }
			open(e)
			o := e.request("workspace/applyEdit", annotated(edit(e, "a.txt", v(e), 0, 1, "A", "ask"), edit(e, "b.txt", v(e), 0, 1, "B", "ask")))
			e.found()
			return o.String(), e.Text("a.txt") + e.Text("b.txt")
		}, [6]string{"true abcBcd", "true AbcBcd", "true abcBcd", "true AbcBcd", "true AbcBcd", "true abcbcd"}},
		{"needsConfirmation, the user says no", func(e *bench) (string, string) {
			e.opt.Preview = func([]Change) ([]int, bool) { return nil, false }
			e.opt.Confirm = func(Change) bool { return false }
			open(e)
			o := e.request("workspace/applyEdit", annotated(edit(e, "a.txt", v(e), 0, 1, "A", "ask")))
			e.found()
			return o.String(), e.Text("a.txt")
		}, [6]string{"false abc", "true Abc", "true abc", "true Abc", "true Abc", "true abc"}},
		{"needsConfirmation, no user", func(e *bench) (string, string) {
			open(e)
			o := e.request("workspace/applyEdit", annotated(edit(e, "a.txt", v(e), 0, 1, "A", "ask")))
			if unsupported := strings.Contains(e.found(), "does not support them"); unsupported == e.p.Annotations {
				e.t.Errorf("%s: annotations reported as not supported: %v", e.p.Name, unsupported)
			}
			return o.String(), e.Text("a.txt")
		}, [6]string{"false abc", "true Abc", "true Abc", "true Abc", "true Abc", "true Abc"}},
		{"unopened file", func(e *bench) (string, string) {
			o := e.request("workspace/applyEdit", changes(edit(e, "a.txt", nil, 0, 1, "A", "")))
			disk, _ := e.Disk("a.txt")
			return o.String(), fmt.Sprint(e.Text("a.txt"), disk, e.Dirty("a.txt"))
		}, [6]string{"true Abcabctrue", "true Abcabctrue", "true Abcabctrue", "true Abcabctrue", "true Abcabctrue", "true Abcabctrue"}},
		{"create over a file", func(e *bench) (string, string) {
			o := e.request("workspace/applyEdit", changes(map[string]any{"kind": "create", "uri": URI(e.Path("a.txt"))}))
			e.found()
			return o.String(), e.Text("a.txt")
		}, [6]string{"false abc", "true ", "true ", "false failed 0 abc", "false failed 0 abc", "-32603 abc"}},
		{"showMessageRequest", func(e *bench) (string, string) {
			e.opt.Message = func(_ context.Context, text string, actions []string) (string, bool) {
				return actions[1], text == "Apply?"
			}
			return e.request("window/showMessageRequest", map[string]any{"type": 3, "message": "Apply?", "actions": []any{
				map[string]any{"title": "Yes"}, map[string]any{"title": "No"},
			}}).String(), ""
		}, [6]string{`{"title":"No"} `, `{"title":"No"} `, `{"title":"No"} `, "-32601 ", `{"title":"No"} `, `{"title":"No"} `}},
		{"unknown request", func(e *bench) (string, string) {
			return e.request("no/such", nil).String(), ""
		}, [6]string{"-32601 ", "-32601 ", "-32601 ", "-32601 ", "-32601 ", "null "}},
		{"custom request", func(e *bench) (string, string) {
			o := e.request("agent/ask", map[string]any{"sessionId": "s", "question": "?"})
			if undeclared := strings.Contains(e.found(), "did not declare"); undeclared == e.p.Plugin {
				e.t.Errorf("%s: agent/ask reported as not declared: %v", e.p.Name, undeclared)
			}
			return o.String(), ""
		}, [6]string{`{"answer":""} `, `{"answer":""} `, `{"answer":""} `, "-32601 ", "-32601 ", "null "}},
	}
	for i, p := range Personalities() {
		for _, r := range rows {
			t.Run(p.Name+"/"+r.name, func(t *testing.T) {
				e := start(t, p, Options{Files: map[string]string{"a.txt": "abc", "b.txt": "bcd"}})
				answer, text := r.do(e)
				if got := answer + " " + text; got != r.want[i] {
					t.Errorf("got %q, want %q", got, r.want[i])
				}
				e.inSync()
				if got := e.found(); got != "" {
					t.Errorf("violations: %s", got)
				}
			})
		}
	}
}

// TestTypingDuringPreview checks that VS Code refuses an edit whose document
// changed while its preview was open.
func TestTypingDuringPreview(t *testing.T) {
	var e *bench
	p := VSCode()
	e = start(t, p, Options{
		Files: map[string]string{"a.txt": "abc"},
		Preview: func([]Change) ([]int, bool) {
			e.Type("a.txt", Position{}, "typed ")
			return []int{0}, true
		},
	})
	e.Open("a.txt")
	o := e.request("workspace/applyEdit", annotated(edit(e, "a.txt", 1, 0, 1, "A", "ask")))
	if o.String() != "false" || e.Text("a.txt") != "typed abc" {
		t.Errorf("answered %v, text %q", o, e.Text("a.txt"))
	}
	e.inSync()
}

// TestCapabilities checks what initialize says for each editor.
func TestCapabilities(t *testing.T) {
	for _, p := range Personalities() {
		e := start(t, p, Options{})
		edits := e.caps["workspace"].(map[string]any)["workspaceEdit"].(map[string]any)
		if _, ops := edits["resourceOperations"]; ops != (p.Name != "eglot") {
			t.Errorf("%s: resourceOperations %v", p.Name, ops)
		}
		if _, ann := edits["changeAnnotationSupport"]; ann != (p.Name == "VS Code" || p.Name == "Neovim 0.12") {
			t.Errorf("%s: changeAnnotationSupport %v", p.Name, ann)
		}
		if got := e.offers("experimental", "redline"); got != p.Plugin {
			t.Errorf("%s: redline %v", p.Name, got)
		}
		if e.Encoding != p.Encodings[0] {
			t.Errorf("%s: encoding %s", p.Name, e.Encoding)
		}
	}
	p := VSCode()
	e := start(t, p, Options{Plain: true, Capabilities: map[string]any{
		"workspace": map[string]any{"applyEdit": false, "configuration": nil},
	}})
	if e.offers("experimental") || e.offers("workspace", "applyEdit") || e.offers("workspace", "configuration") || !e.offers("workspace", "workspaceFolders") {
		t.Errorf("merged capabilities: %v", e.caps)
	}
	if e := start(t, Eglot().WithPlugin(), Options{}); !e.offers("experimental", "redline", "approve") {
		t.Error("eglot with a plugin does not declare it")
	}
}

// TestMessagesReplaced checks Helix 25.07: the second message takes the first
// one's place, and the first is never answered.
func TestMessagesReplaced(t *testing.T) {
	shown := make(chan string)
	release := map[string]chan struct{}{"one": make(chan struct{}), "two": make(chan struct{})}
	e := start(t, Helix2507(), Options{Message: func(_ context.Context, text string, actions []string) (string, bool) {
		shown <- text
		<-release[text]
		return actions[0], true
	}})
	ask := func(text string) *Pending {
		return e.Go("do/request", map[string]any{"method": "window/showMessageRequest", "params": map[string]any{
			"type": 3, "message": text, "actions": []any{map[string]any{"title": text}},
		}})
	}
	first := ask("one")
	<-shown
	second := ask("two")
	<-shown
	close(release["one"])
	close(release["two"])
	var o outcome
	if err := second.Wait(&o); err != nil || o.String() != `{"title":"two"}` {
		t.Errorf("second: %v %v", o, err)
	}
	if got := e.found(); !strings.Contains(got, "another is open") {
		t.Errorf("violations: %s", got)
	}
	e.mirror()
	if first.Answered() {
		t.Error("the first message was answered")
	}
}

func TestMessageDismissed(t *testing.T) {
	for _, tt := range []struct {
		p    Personality
		want string
	}{{VSCode(), "null"}, {Neovim012(), "null"}, {Helix2507(), "null"}} {
		e := start(t, tt.p, Options{})
		o := e.request("window/showMessageRequest", map[string]any{"type": 3, "message": "m"})
		if o.String() != tt.want {
			t.Errorf("%s: %v", tt.p.Name, o)
		}
	}
	e := start(t, Eglot(), Options{})
	p := e.Go("do/request", map[string]any{"method": "window/showMessageRequest", "params": map[string]any{"type": 3, "message": "m"}})
	e.mirror()
	if p.Answered() {
		t.Error("eglot: C-g was answered")
	}
	// A server that has given up on it may ask again.
	e = start(t, Eglot(), Options{})
	for range 2 {
		e.MustCall("do/giveup", map[string]any{"method": "window/showMessageRequest", "params": map[string]any{"type": 3, "message": "m"}}, nil)
	}
	e.mirror()
	if got := e.found(); got != "" {
		t.Errorf("violations: %s", got)
	}
}

// TestFaults checks the ways to misbehave.
func TestFaults(t *testing.T) {
	files := map[string]string{"a.txt": "abc", "b.txt": "bcd"}
	both := func(e *bench) map[string]any {
		return changes(edit(e, "a.txt", 1, 0, 1, "A", ""), edit(e, "b.txt", 1, 0, 1, "B", ""))
	}
	begin := func(t *testing.T, f Fault, opt Options) *bench {
		opt.Files = files
		e := start(t, VSCode().WithFault(f), opt)
		e.Open("a.txt")
		e.Open("b.txt")
		return e
	}
	t.Run("silent", func(t *testing.T) {
		e := begin(t, Silent, Options{})
		p := e.Go("do/request", map[string]any{"method": "workspace/applyEdit", "params": both(e)})
		q := e.Go("do/request", map[string]any{"method": "agent/approve", "params": map[string]any{}})
		e.mirror()
		if p.Answered() || q.Answered() || e.Text("a.txt") != "abc" {
			t.Errorf("answered %v %v, text %q", p.Answered(), q.Answered(), e.Text("a.txt"))
		}
	})
	t.Run("late", func(t *testing.T) {
		e := begin(t, Late, Options{})
		e.MustCall("do/giveup", map[string]any{"method": "workspace/applyEdit", "params": both(e)}, nil)
		e.WaitFor("the late edit", func() bool { return e.Text("b.txt") == "Bcd" })
		e.WaitFor("the late answer", func() bool {
			var m struct{ Late int }
			return e.Call("get", nil, &m) == nil && m.Late == 1
		})
		e.inSync()
	})
	t.Run("half", func(t *testing.T) {
		e := begin(t, Half, Options{})
		if o := e.request("workspace/applyEdit", both(e)); o.String() != "true" || e.Text("a.txt")+e.Text("b.txt") != "Abcbcd" {
			t.Errorf("%v %q %q", o, e.Text("a.txt"), e.Text("b.txt"))
		}
		e.inSync()
	})
	t.Run("formats", func(t *testing.T) {
		e := begin(t, Formats, Options{Format: func(_, text string) string { return text + "\n" }})
		if o := e.request("workspace/applyEdit", both(e)); o.String() != "true" || e.Text("a.txt") != "Abc\n" {
			t.Errorf("%v %q", o, e.Text("a.txt"))
		}
		e.inSync()
	})
	t.Run("vanishes", func(t *testing.T) {
		e := begin(t, Vanishes, Options{})
		e.Go("do/request", map[string]any{"method": "workspace/applyEdit", "params": both(e)})
		if err := e.WaitEnd(); err != nil {
			t.Error(err)
		}
	})
}
