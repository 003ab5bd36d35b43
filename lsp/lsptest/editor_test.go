package lsptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestDocuments plays a user at work in each encoding and checks that the
// server's mirror follows.
func TestDocuments(t *testing.T) {
	for _, enc := range []string{UTF8, UTF16, UTF32} {
		for _, kind := range []int{1, 2} {
			e := &bench{s: newTiny(enc)}
			e.s.sync = map[string]any{"openClose": true, "change": kind, "save": true}
			e.Editor = NewEditor(t, e.s.serve, Options{Encodings: []string{enc}, Files: map[string]string{"a.txt": "x😀y\r\nz\r\n"}})
			e.Open("a.txt")
			e.Replace("a.txt", "y", "Y1\nY2")
			e.Type("a.txt", e.Find("a.txt", "z").End, "é")
			if got := e.Text("a.txt"); got != "x😀Y1\r\nY2\r\nzé\r\n" {
				t.Errorf("%s: %q", enc, got)
			}
			if disk, _ := e.Disk("a.txt"); disk != "x😀y\r\nz\r\n" || !e.Dirty("a.txt") || e.Version("a.txt") != 3 {
				t.Errorf("%s: disk %q, version %d", enc, disk, e.Version("a.txt"))
			}
			e.inSync()
			steps := 0
			for e.Undo("a.txt") {
				steps++
			}
			if steps != 2 {
				t.Errorf("%s: %d undo steps, want 2", enc, steps)
			}
			e.SetText("a.txt", "new")
			e.Save("a.txt")
			if disk, _ := e.Disk("a.txt"); disk != "new" || e.Dirty("a.txt") {
				t.Errorf("%s: saved %q", enc, disk)
			}
			e.OpenText("untitled:u", "scratch")
			e.inSync()
			e.Close("untitled:u")
			e.Close("a.txt")
			e.inSync()
			want := []string{"initialized", "didOpen", "didChange", "didChange", "didChange", "didChange", "didChange", "didSave", "didOpen", "didClose", "didClose"}
			if got := e.mirror().Seen; !slices.Equal(got, want) {
				t.Errorf("%s: sent %v, want %v", enc, got, want)
			}
		}
	}
}

// TestLoadedText checks what an editor makes of a file's bytes.
func TestLoadedText(t *testing.T) {
	for _, tt := range []struct {
		p    Personality
		disk string
		text string
		save string // after inserting "+\n" in front
	}{
		{VSCode(), "\uFEFFa\r\nb\r\nc\n", "a\r\nb\r\nc\r\n", "\uFEFF+\r\na\r\nb\r\nc\r\n"},
		{Helix2507(), "\uFEFFa\r\nb\nc", "a\r\nb\nc", "\uFEFF+\na\r\nb\nc"},
		{Neovim012(), "a\r\nb\nc", "a\r\nb\nc", "+\na\r\nb\nc"},
		{Neovim012(), "a\r\nb\r\n", "a\r\nb\r\n", "+\r\na\r\nb\r\n"},
	} {
		e := start(t, tt.p, Options{Files: map[string]string{"f.go": tt.disk}})
		e.Open("f.go")
		if got := e.Text("f.go"); got != tt.text {
			t.Errorf("%s: %q, want %q", tt.p.Name, got, tt.text)
		}
		e.Type("f.go", Position{}, "+\n")
		e.Save("f.go")
		if got, _ := e.Disk("f.go"); got != tt.save {
			t.Errorf("%s: saved %q, want %q", tt.p.Name, got, tt.save)
		}
		e.inSync()
	}
}

// TestUndoOfEdit checks that one workspace edit is one undo step a file, however
// many parts it has.
func TestUndoOfEdit(t *testing.T) {
	e := start(t, VSCode(), Options{Files: map[string]string{"a.txt": "abc", "b.txt": "bcd"}})
	e.Open("a.txt")
	e.Open("b.txt")
	first := edit(e, "a.txt", 1, 0, 1, "A", "")
	first["edits"] = append(first["edits"].([]any), TextEdit{Range: Range{Position{0, 2}, Position{0, 3}}, NewText: "C"})
	e.request("workspace/applyEdit", changes(first, edit(e, "b.txt", 1, 0, 1, "B", ""), edit(e, "a.txt", 1, 1, 1, "+", "")))
	if got := e.Text("a.txt") + e.Text("b.txt"); got != "A+bCBcd" {
		t.Errorf("applied: %q", got)
	}
	if !e.Undo("a.txt") || e.Undo("a.txt") || e.Text("a.txt") != "abc" || e.Text("b.txt") != "Bcd" {
		t.Errorf("after undo: %q %q", e.Text("a.txt"), e.Text("b.txt"))
	}
	e.inSync()
}

// TestOrderOfChanges checks which editors send didChange after the answer.
func TestOrderOfChanges(t *testing.T) {
	for _, p := range Personalities() {
		e := start(t, p, Options{Files: map[string]string{"a.txt": "abc"}})
		e.Open("a.txt")
		e.request("workspace/applyEdit", changes(edit(e, "a.txt", p.FirstVersion, 0, 1, "A", "")))
		want := []string{"initialized", "didOpen", "didChange", "answer"}
		if p.LateChanges {
			want = []string{"initialized", "didOpen", "answer", "didChange"}
		}
		if got := e.mirror().Seen; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", p.Name, got, want)
		}
		if err := e.Shutdown(); err != nil {
			t.Error(err)
		}
	}
	// What was held back goes out before anything else but the answer.
	e := start(t, Neovim012(), Options{Files: map[string]string{"a.txt": "abc", "b.txt": "bcd"}})
	e.Open("a.txt")
	e.request("workspace/applyEdit", changes(edit(e, "a.txt", 0, 0, 1, "A", ""), edit(e, "b.txt", nil, 0, 1, "B", "")))
	want := []string{"initialized", "didOpen", "didChange", "didOpen", "answer", "didChange"}
	if got := e.mirror().Seen; !slices.Equal(got, want) {
		t.Errorf("two documents: %v, want %v", got, want)
	}
}

// TestFileEvents checks what the server hears of created files.
func TestFileEvents(t *testing.T) {
	e := start(t, VSCode(), Options{})
	e.request("client/registerCapability", map[string]any{"registrations": []any{
		map[string]any{"id": "w", "method": "workspace/didChangeWatchedFiles"},
	}})
	uri := URI(e.Path("é n#.txt"))
	if PathOf(uri) != e.Path("é n#.txt") || strings.ContainsAny(uri, "# é") {
		t.Errorf("URI %q", uri)
	}
	e.request("workspace/applyEdit", changes(map[string]any{"kind": "create", "uri": uri}))
	seen := e.mirror().Seen
	if !slices.Contains(seen, "workspace/didCreateFiles") || !slices.Contains(seen, "workspace/didChangeWatchedFiles") {
		t.Errorf("sent %v", seen)
	}
	e.OpenText("untitled:x", "")
	var buffers struct{ Buffers []struct{ URI string } }
	if err := json.Unmarshal(e.request("editor/openBuffers", nil).Result, &buffers); err != nil || len(buffers.Buffers) != 1 || buffers.Buffers[0].URI != "untitled:x" {
		t.Errorf("open buffers %v %v", buffers, err)
	}
	e.Open("n.txt")
	if got := e.request("editor/save", map[string]any{"uris": []string{URI(e.Path("n.txt")), "untitled:x"}}).String(); got != `{"failed":["untitled:x"],"saved":["`+URI(e.Path("n.txt"))+`"]}` {
		t.Errorf("saved %s", got)
	}
}

// TestRenameOpen checks that an open document follows its file.
func TestRenameOpen(t *testing.T) {
	e := start(t, VSCode(), Options{Files: map[string]string{"d/a.txt": "abc", "gone.txt": "x"}})
	e.Open("d/a.txt")
	e.Open("gone.txt")
	e.Type("d/a.txt", Position{}, "new ")
	e.request("workspace/applyEdit", changes(
		map[string]any{"kind": "rename", "oldUri": URI(e.Path("d")), "newUri": URI(e.Path("e"))},
		map[string]any{"kind": "delete", "uri": URI(e.Path("gone.txt"))}))
	if e.IsOpen("d/a.txt") || e.IsOpen("gone.txt") || e.Text("e/a.txt") != "new abc" || !e.Dirty("e/a.txt") {
		t.Errorf("after the rename: %q", e.Text("e/a.txt"))
	}
	e.inSync()
}

func (b *bench) notify(method string, params any) {
	b.t.Helper()
	b.MustCall("do/notify", map[string]any{"method": method, "params": params}, nil)
}

func event(session string, seq int, turn, typ string) map[string]any {
	return map[string]any{"sessionId": session, "seq": seq, "turnId": turn, "event": map[string]any{"type": typ, "text": "t"}}
}

func TestEvents(t *testing.T) {
	e := start(t, VSCode(), Options{})
	e.notify("agent/event", event("s", 1, "t1", "turn/started"))
	e.notify("agent/event", event("r", 1, "t9", "turn/started"))
	e.notify("agent/event", event("s", 2, "t1", "turn/ended"))
	n := e.EventCount()
	e.notify("agent/event", event("s", 3, "t2", "turn/ended"))
	if ev := e.WaitEvent(InTurn("t1", "turn/ended")); ev.Seq != 2 {
		t.Errorf("event %v", ev)
	}
	if ev := e.WaitEventAfter(n, OfType("turn/ended")); ev.TurnID != "t2" {
		t.Errorf("event %v", ev)
	}
	var body struct{ Text string }
	if err := e.Events("r")[0].Decode(&body); err != nil || body.Text != "t" || len(e.Events("")) != 4 {
		t.Errorf("events %v, %v", e.Events(""), err)
	}
	if got := e.found(); got != "" {
		t.Errorf("violations: %s", got)
	}
	// What is replayed after resume is no gap.
	if err := e.Call("agent/session/resume", map[string]any{"sessionId": "s", "afterSeq": 1}, nil); err == nil {
		t.Error("the tiny server knows no sessions")
	}
	e.notify("agent/event", event("s", 2, "t1", "turn/ended"))
	if got := e.found(); got != "" {
		t.Errorf("violations: %s", got)
	}
	e.notify("window/logMessage", map[string]any{"message": "m"})
	e.WaitNotification("window/logMessage", func(p json.RawMessage) bool { return strings.Contains(string(p), `"m"`) })
	if len(e.Notifications("window/logMessage")) != 1 {
		t.Error("notifications are not kept")
	}
}

// TestViolations checks that each kind of mistake of a server is found.
func TestViolations(t *testing.T) {
	uri := func(e *bench) string { return URI(e.Path("a.txt")) }
	text := func(e *bench, version any, edits ...TextEdit) map[string]any {
		return changes(map[string]any{"textDocument": map[string]any{"uri": uri(e), "version": version}, "edits": edits})
	}
	r := func(a, b int) Range { return Range{Position{0, a}, Position{0, b}} }
	for _, tt := range []struct {
		name, want string
		do         func(e *bench)
	}{
		{"gap", "event 3 (x) where 1 was due", func(e *bench) { e.notify("agent/event", event("s", 3, "", "x")) }},
		{"repeated", "event 1 (x) where 2 was due", func(e *bench) {
			e.notify("agent/event", event("s", 1, "", "x"))
			e.notify("agent/event", event("s", 1, "", "x"))
		}},
		{"event without type", "without a type", func(e *bench) {
			e.notify("agent/event", map[string]any{"sessionId": "s", "seq": 1, "event": map[string]any{}})
		}},
		{"overlap", "overlap", func(e *bench) {
			e.request("workspace/applyEdit", text(e, 1, TextEdit{Range: r(0, 2)}, TextEdit{Range: r(1, 3)}))
		}},
		{"beyond", "beyond the end", func(e *bench) { e.request("workspace/applyEdit", text(e, 1, TextEdit{Range: r(0, 99)})) }},
		{"inside a character", "inside", func(e *bench) { e.request("workspace/applyEdit", text(e, 1, TextEdit{Range: r(4, 4)})) }},
		{"stale, yet out of its own text", "beyond the end", func(e *bench) {
			e.SetText("a.txt", "a long line of text")
			e.request("workspace/applyEdit", text(e, 1, TextEdit{Range: r(0, 15)}))
		}},
		{"no version", "is missing, want", func(e *bench) {
			e.request("workspace/applyEdit", changes(map[string]any{"textDocument": map[string]any{"uri": uri(e)}, "edits": []TextEdit{}}))
		}},
		{"null version of an open document", "without a version", func(e *bench) { e.request("workspace/applyEdit", text(e, nil)) }},
		{"no kind", `without a valid kind: ""`, func(e *bench) {
			e.request("workspace/applyEdit", changes(map[string]any{"uri": URI(e.Path("n"))}))
		}},
		{"operation without file", "which is no file", func(e *bench) {
			e.request("workspace/applyEdit", changes(map[string]any{"kind": "create", "uri": "n.txt"}))
		}},
		{"empty edit", "nothing to apply", func(e *bench) { e.request("workspace/applyEdit", changes()) }},
		{"unknown annotation", "not among the changeAnnotations", func(e *bench) {
			e.request("workspace/applyEdit", text(e, 1, TextEdit{Range: r(0, 0), AnnotationID: "no"}))
		}},
		{"unused annotation", "is not used", func(e *bench) {
			e.request("workspace/applyEdit", annotated(edit(e, "a.txt", 1, 0, 1, "A", "")))
		}},
		{"undeclared request", "did not declare", func(e *bench) { e.request("editor/unheardOf", nil) }},
		{"progress without begin", `"report" for token 1, which is created`, func(e *bench) {
			e.request("window/workDoneProgress/create", map[string]any{"token": 1})
			e.notify("$/progress", map[string]any{"token": 1, "value": map[string]any{"kind": "report"}})
		}},
		{"token used twice", "was used before", func(e *bench) {
			e.request("window/workDoneProgress/create", map[string]any{"token": "t"})
			e.request("window/workDoneProgress/create", map[string]any{"token": "t"})
		}},
		{"diagnostic beyond", "does not exist", func(e *bench) {
			e.notify("textDocument/publishDiagnostics", map[string]any{"uri": uri(e), "version": 1, "diagnostics": []any{
				map[string]any{"range": Range{Position{7, 0}, Position{7, 0}}, "message": "m"},
			}})
		}},
		{"diagnostics null", "publishDiagnostics with", func(e *bench) {
			e.notify("textDocument/publishDiagnostics", map[string]any{"uri": uri(e), "diagnostics": nil})
		}},
		{"answer nobody asked for", "not open", func(e *bench) {
			e.s.write(&message{ID: json.RawMessage("99"), Result: json.RawMessage("1")})
		}},
		{"no jsonrpc", `without "jsonrpc"`, func(e *bench) {
			_, _ = e.s.out.Write(frame([]byte(`{"method":"window/logMessage"}`)))
		}},
		{"not JSON", "not JSON", func(e *bench) { _, _ = e.s.out.Write(frame([]byte(`{`))) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := start(t, VSCode(), Options{Files: map[string]string{"a.txt": "abc😀"}})
			e.Open("a.txt")
			tt.do(e)
			e.mirror()
			if got := e.found(); !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// TestOneGap checks that a gap is reported once.
func TestOneGap(t *testing.T) {
	e := start(t, VSCode(), Options{})
	for _, seq := range []int{1, 5, 6, 7} {
		e.notify("agent/event", event("s", seq, "", "x"))
	}
	e.mirror()
	if got := e.found(); strings.Count(got, "was due") != 1 {
		t.Errorf("found %s", got)
	}
}

// TestBadFraming checks that the editor is strict about what servers write.
func TestBadFraming(t *testing.T) {
	for _, tt := range []struct{ out, want string }{
		{"hello\n", "without CR LF"},
		{"Content-Length: x\r\n\r\n", "bad Content-Length"},
		{"Content-Type: x\r\n\r\n", "without Content-Length"},
		{"X: y\r\n\r\n", "unknown header"},
		{"log line\r\n\r\n", "not a header field"},
		{"Content-Length: 5\r\n\r\n{}", "within a message"},
		{"Content-Length: 5", "within a header"},
		{string(frame([]byte(`{"jsonrpc":"2.0","method":"m"}`))), "before the answer to initialize"},
		{string(frame([]byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`))), "before the answer to initialize"},
	} {
		var found []string
		e := NewEditor(t, func(_ context.Context, _ io.Reader, out io.Writer) error {
			_, err := io.WriteString(out, tt.out)
			return err
		}, Options{NoInitialize: true, Violation: func(v string) { found = append(found, v) }})
		<-e.read
		if got := strings.Join(found, "; "); !strings.Contains(got, tt.want) {
			t.Errorf("%q: found %q, want %q", tt.out, got, tt.want)
		}
	}
}

// TestHandlers checks overriding, approving and cancelling.
func TestHandlers(t *testing.T) {
	started := make(chan struct{})
	e := start(t, VSCode(), Options{
		Settings: map[string]any{"redline": map[string]any{"review": "auto"}},
		Handlers: map[string]Handler{
			"agent/approve": Approve("session"),
			"editor/hover": func(ctx context.Context, _ json.RawMessage) (any, error) {
				close(started)
				<-ctx.Done()
				return nil, &ResponseError{Code: -32800, Message: "cancelled"}
			},
			"editor/rename": func(context.Context, json.RawMessage) (any, error) { return nil, os.ErrInvalid },
		},
	})
	options := map[string]any{"options": []any{
		map[string]any{"optionId": "o", "kind": "once"}, map[string]any{"optionId": "s", "kind": "session"}, map[string]any{"optionId": "r", "kind": "reject"},
	}}
	if o := e.request("agent/approve", options); o.String() != `{"optionId":"s"}` {
		t.Errorf("approve: %v", o)
	}
	if o := e.request("editor/rename", nil); o.Code != -32603 {
		t.Errorf("rename: %v", o)
	}
	if o := e.request("workspace/configuration", map[string]any{"items": []any{map[string]any{"section": "redline"}, map[string]any{"section": "x"}}}); o.String() != `[{"review":"auto"},null]` {
		t.Errorf("configuration: %v", o)
	}
	e.MustCall("do/giveup", map[string]any{"method": "editor/hover"}, nil)
	<-started
	plain := start(t, VSCode(), Options{})
	if o := plain.request("agent/approve", options); o.String() != `{"optionId":"r"}` {
		t.Errorf("default of approve: %v", o)
	}
}

// TestErrors checks how error answers reach the test.
func TestErrors(t *testing.T) {
	e := start(t, VSCode(), Options{})
	err := e.Call("no/such", map[string]any{}, nil)
	var re *ResponseError
	if re, _ = err.(*ResponseError); re == nil || re.Code != -32601 || re.Kind() != "" { //nolint:errorlint // it is not wrapped
		t.Errorf("got %v", err)
	}
	if k := (&ResponseError{Data: json.RawMessage(`{"kind":"stale"}`)}).Kind(); k != "stale" {
		t.Errorf("kind %q", k)
	}
	e.SendRaw(frame([]byte(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"x:y","version":1,"text":"raw"}}}`)))
	if got := e.mirror().Docs["x:y"]; got != "raw" {
		t.Errorf("raw message: %q", got)
	}
}

// failing is a testing.TB that records a failure instead of failing.
type failing struct {
	testing.TB
	msg     string
	cleanup []func()
}

type failNow struct{}

func (f *failing) Fatalf(format string, args ...any) {
	f.msg = fmt.Sprintf(format, args...)
	panic(failNow{})
}
func (f *failing) Errorf(format string, args ...any) { f.msg = fmt.Sprintf(format, args...) }
func (f *failing) Cleanup(c func())                  { f.cleanup = append(f.cleanup, c) }

// TestTimesOut checks that waiting in vain fails the test with the transcript.
func TestTimesOut(t *testing.T) {
	for _, vanish := range []bool{false, true} {
		f := &failing{TB: t}
		e := NewEditor(f, newTiny(UTF16).serve, Options{Timeout: 50 * time.Millisecond})
		if vanish {
			e.Vanish()
		}
		func() {
			defer func() {
				if recover() != (failNow{}) {
					t.Error("the wait did not fail")
				}
			}()
			e.WaitEvent(OfType("never"))
		}()
		want := "timed out waiting for an event"
		if vanish {
			want = "the server ended while waiting for an event"
		}
		if !strings.Contains(f.msg, want) || !strings.Contains(f.msg, `"method":"initialize"`) {
			t.Errorf("failed with %s", f.msg)
		}
		for _, c := range f.cleanup {
			c()
		}
	}
}

// TestBubble checks that the editor works where time is simulated, and that a wait
// in vain ends there at once.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{TB: t}
		e := NewEditor(f, newTiny(UTF16).serve, Options{Root: "/nowhere", Timeout: time.Hour})
		e.OpenText("untitled:x", "text")
		e.Type("untitled:x", Position{}, "more ")
		var m struct{ Docs map[string]string }
		e.MustCall("get", nil, &m)
		if m.Docs["untitled:x"] != "more text" {
			t.Errorf("the server has %v", m.Docs)
		}
		func() {
			defer func() { _ = recover() }()
			e.WaitEvent(OfType("never"))
		}()
		if !strings.Contains(f.msg, "timed out") {
			t.Errorf("failed with %q", f.msg)
		}
		for _, c := range f.cleanup {
			c()
		}
	})
}

// TestProcess drives a process: this test binary, as a tiny server.
func TestProcess(t *testing.T) {
	if os.Getenv("LSPTEST_SERVE") != "" {
		if err := newTiny(UTF16).serve(t.Context(), os.Stdin, os.Stdout); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestProcess$")
	cmd.Env = append(os.Environ(), "LSPTEST_SERVE=1")
	e := NewEditor(t, Process(cmd), Options{Files: map[string]string{"a.txt": "abc"}})
	e.Open("a.txt")
	e.Type("a.txt", Position{}, "x")
	var m struct{ Docs map[string]string }
	e.MustCall("get", nil, &m)
	if got := m.Docs[URI(e.Path("a.txt"))]; got != "xabc" {
		t.Errorf("the process has %q", got)
	}
	if err := e.Shutdown(); err != nil {
		t.Error(err)
	}
}
