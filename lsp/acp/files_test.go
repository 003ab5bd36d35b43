package acp_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"redline/agent/agenttest"
	"redline/lsp/acp"
	"redline/lsp/rpc"
)

var noMethod = &rpc.Error{Code: rpc.CodeMethodNotFound, Message: "method not found"}

// What clients do with files, and what has to be in the file and told to the model
// afterwards, for the edit "two" → "TWO" of a file of three lines.
func TestFilesOfClients(t *testing.T) {
	const before, after = "one\ntwo\nthree\n", "one\nTWO\nthree\n"
	bom := "\xef\xbb\xbf"
	for name, tt := range map[string]struct {
		caps   map[string]any // fsCaps when nil
		disk   string         // before when empty
		setup  func(c *client)
		asked  func(c *client) // while the question is open
		want   string          // after when empty
		buffer string          // the unsaved text afterwards; empty: none
		told   string          // "Successfully modified file" when empty
		writes int             // requests to write
	}{
		"the client writes":  {writes: 1},
		"no files":           {caps: map[string]any{}},
		"it only reads":      {caps: map[string]any{"fs": map[string]any{"readTextFile": true}}},
		"it only writes":     {caps: map[string]any{"fs": map[string]any{"writeTextFile": true}}},
		"it refuses to read": {setup: func(c *client) { c.fs = func(m, _ string) error { return refuse(m, "fs/read_text_file", noMethod) } }},
		"it refuses to write": {setup: func(c *client) { c.fs = func(m, _ string) error { return refuse(m, "fs/write_text_file", noMethod) } },
			writes: 1},
		"reading fails": {setup: func(c *client) {
			c.fs = func(m, _ string) error { return refuse(m, "fs/read_text_file", errors.New("boom")) }
		},
			writes: 1},
		"writing fails": {setup: func(c *client) { c.onWrite = func(string, string) (string, bool) { return "", false } }, writes: 1},
		"unsaved text":  {setup: func(c *client) { c.buffers[c.path("f")] = "zero\n" + before }, want: "zero\n" + after, writes: 1},
		"unsaved text, and it does not write": {
			setup: func(c *client) {
				c.buffers[c.path("f")] = "zero\n" + before
				c.onWrite = func(string, string) (string, bool) { return "", false }
			},
			want: before, buffer: "zero\n" + before, told: "not saved", writes: 1,
		},
		"typed elsewhere meanwhile": {asked: func(c *client) { c.buffers[c.path("f")] = "zero\n" + before }, want: "zero\n" + after, writes: 1},
		"typed there meanwhile": {asked: func(c *client) { c.buffers[c.path("f")] = "one\nzwei\nthree\n" },
			want: before, buffer: "one\nzwei\nthree\n", told: "edited these lines meanwhile"},
		"changed on disk elsewhere": {caps: map[string]any{}, asked: func(c *client) { c.write("f", before+"four\n") }, want: after + "four\n"},
		"changed on disk there":     {caps: map[string]any{}, asked: func(c *client) { c.write("f", "one\nzwei\nthree\n") }, want: "one\nzwei\nthree\n", told: "edited these lines meanwhile"},
		"deleted meanwhile":         {caps: map[string]any{}, asked: func(c *client) { _ = os.Remove(c.path("f")) }, want: "-", told: "not there any more"},
		"it says yes and does nothing": {setup: func(c *client) {
			c.onWrite = func(string, string) (string, bool) { return before, true }
		}, writes: 1},
		"it formats": {setup: func(c *client) {
			c.onWrite = func(_, text string) (string, bool) { return strings.ReplaceAll(text, "TWO", "TWO;"), true }
		}, want: "one\nTWO;\nthree\n", told: "In the file now stands:\n+TWO;", writes: 1},
		"CRLF, shown as it is": {disk: crlf(before), want: crlf(after), writes: 1},
		"CRLF, and it knows LF only": {disk: crlf(before), setup: func(c *client) {
			c.buffers[c.path("f")] = before
			c.onWrite = func(_, text string) (string, bool) { return strings.ReplaceAll(text, "\r", ""), true }
		}, want: crlf(after), writes: 1},
		"CRLF, unsaved, and it knows LF only": {disk: crlf(before), setup: func(c *client) {
			c.buffers[c.path("f")] = "zero\n" + before
			c.onWrite = func(_, text string) (string, bool) { return strings.ReplaceAll(text, "\r", ""), true }
		}, want: crlf("zero\n" + after), writes: 1},
		"mixed line ends":   {disk: "one\r\ntwo\nthree\r\n", want: "one\r\nTWO\nthree\r\n", writes: 1},
		"a byte order mark": {disk: bom + before, want: bom + after},
		"a byte order mark, unsaved": {disk: bom + before, setup: func(c *client) { c.buffers[c.path("f")] = "zero\n" + before },
			want: bom + "zero\n" + after, writes: 1},
		"Latin-1": {disk: "\xe9\n" + before, setup: func(c *client) { c.buffers[c.path("f")] = "\uFFFD\n" + before }, want: "\xe9\n" + after},
		"Latin-1, unsaved": {disk: "\xe9\n" + before, setup: func(c *client) { c.buffers[c.path("f")] = "é\nzero\n" + before },
			want: "\xe9\nzero\n" + after, writes: 1},
		"it leaves out the last newline": {setup: func(c *client) { c.buffers[c.path("f")] = strings.TrimSuffix(before, "\n") }, writes: 1},
		"it leaves out the last newline, unsaved": {setup: func(c *client) { c.buffers[c.path("f")] = "zero\n" + strings.TrimSuffix(before, "\n") },
			want: "zero\n" + after, writes: 1},
		"the last newline is taken out, unsaved": {asked: func(c *client) { c.buffers[c.path("f")] = strings.TrimSuffix(before, "\n") },
			want: strings.TrimSuffix(after, "\n"), writes: 1},
		"it writes past an unsaved buffer, and fails": {
			setup: func(c *client) {
				c.buffers[c.path("f")] = "zero\n" + before
				c.onWrite = func(path, text string) (string, bool) {
					_ = os.WriteFile(path, []byte(text), 0o644)
					return "", false
				}
			},
			want: "zero\n" + after, buffer: "zero\n" + before, writes: 1,
		},
		"no final newline": {disk: "one\ntwo", want: "one\nTWO", writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &client{dir: t.TempDir()}
			m := agenttest.NewModel(calls(c.replace("f", "two", "TWO")), say("Done."))
			s := setup{model: m, dir: c.dir, caps: fsCaps, files: map[string]string{"f": before}}
			if tt.caps != nil {
				s.caps = tt.caps
			}
			if tt.disk != "" {
				s.files["f"] = tt.disk
			}
			c = start(t, s)
			if tt.setup != nil {
				tt.setup(c)
			}
			if tt.asked != nil {
				c.permit = func(_ context.Context, p permission) (any, error) {
					c.mu.Lock()
					tt.asked(c)
					c.mu.Unlock()
					return p.pick("allow_once"), nil
				}
			}
			o := c.open()
			if got := c.prompt(o.SessionID, text("shout")); got != "end_turn" {
				t.Fatalf("stop reason %s", got)
			}
			want := tt.want
			if want == "" {
				want = after
			}
			if want == "-" {
				if _, err := os.Stat(c.path("f")); !os.IsNotExist(err) {
					t.Errorf("the file is there (%v)", err)
				}
			} else if got := c.disk("f"); got != want {
				t.Errorf("the file is %q, want %q", got, want)
			}
			if got := c.buffers[c.path("f")]; got != tt.buffer && tt.buffer != "" {
				t.Errorf("the buffer is %q, want %q", got, tt.buffer)
			}
			told := tt.told
			if told == "" {
				told = "Successfully modified file"
			}
			if r := m.Responses(1)[0]; !strings.Contains(r.Output+r.Error, told) {
				t.Errorf("the model was told %q, want %q", r.Output+r.Error, told)
			}
			if got := c.calledTimes("fs/write_text_file"); got != tt.writes {
				t.Errorf("%d requests to write, want %d", got, tt.writes)
			}
		})
	}
}

func refuse(method, which string, err error) error {
	if method == which {
		return err
	}
	return nil
}

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// Creating a file works whatever the client answers when it is asked for it before, and
// never takes the place of one that has come meanwhile.
func TestCreate(t *testing.T) {
	for name, tt := range map[string]struct {
		setup func(c *client)
		asked func(c *client)
		want  string
		told  string
	}{
		"the client writes": {want: "new\n"},
		"reading fails": {setup: func(c *client) {
			c.fs = func(m, _ string) error { return refuse(m, "fs/read_text_file", errors.New("no such file")) }
		}, want: "new\n"},
		"it shows an empty buffer": {setup: func(c *client) { c.buffers[c.path("a/b.txt")] = "" }, want: "new\n"},
		"writing fails":            {setup: func(c *client) { c.onWrite = func(string, string) (string, bool) { return "", false } }, want: "new\n"},
		"it is there meanwhile":    {asked: func(c *client) { c.write("a/b.txt", "mine\n") }, want: "mine\n", told: "created meanwhile"},
		"it is in a buffer":        {asked: func(c *client) { c.buffers[c.path("a/b.txt")] = "mine\n" }, want: "", told: "created meanwhile"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := agenttest.NewModel(calls(call("write_file", map[string]any{"file_path": "a/b.txt", "content": "new\n"})), say("Done."))
			c := start(t, setup{model: m, caps: fsCaps})
			if tt.setup != nil {
				tt.setup(c)
			}
			c.permit = func(_ context.Context, p permission) (any, error) {
				if tt.asked != nil {
					c.mu.Lock()
					tt.asked(c)
					c.mu.Unlock()
				}
				return p.pick("allow_once"), nil
			}
			o := c.open()
			c.prompt(o.SessionID, text("make it"))
			data, err := os.ReadFile(c.path("a/b.txt"))
			if string(data) != tt.want {
				t.Errorf("the file is %q (%v), want %q", data, err, tt.want)
			}
			told := tt.told
			if told == "" {
				told = "Successfully created and wrote to new file"
			}
			if r := m.Responses(1)[0]; !strings.Contains(r.Output+r.Error, told) {
				t.Errorf("the model was told %q, want %q", r.Output+r.Error, told)
			}
		})
	}
}

// A client that never answers about files costs two answers' time, once.
func TestDeafClient(t *testing.T) {
	c := &client{dir: t.TempDir()}
	m := agenttest.NewModel(
		calls(call("read_file", map[string]any{"path": "f"})),
		calls(call("read_file", map[string]any{"path": "f"})),
		calls(c.replace("f", "two", "TWO")),
		say("Done."),
	)
	c = start(t, setup{model: m, dir: c.dir, caps: fsCaps, files: map[string]string{"f": "two\n"}, change: func(o *acp.Options) { o.Timing.Files = 200 * time.Millisecond }})
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	c.fs = func(string, string) error { <-never; return errors.New("late") }
	o := c.open()
	begin := time.Now()
	if got := c.prompt(o.SessionID, text("shout")); got != "end_turn" {
		t.Errorf("stop reason %s", got)
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("it took %v", d)
	}
	if got := c.disk("f"); got != "TWO\n" {
		t.Errorf("the file is %q", got)
	}
	if got := c.calledTimes("fs/read_text_file"); got != 2 {
		t.Errorf("the client was asked %d times", got)
	}
}

// Reading tools of one step run side by side, and so do the questions to the client.
func TestReadsSideBySide(t *testing.T) {
	m := agenttest.NewModel(
		calls(call("read_file", map[string]any{"path": "a"}), call("read_file", map[string]any{"path": "b"}), call("read_file", map[string]any{"path": "c"})),
		say("Done."),
	)
	c := start(t, setup{model: m, caps: fsCaps, files: map[string]string{"a": "1\n", "b": "2\n", "c": "3\n"}})
	all := make(chan struct{})
	n := 0
	c.fs = func(string, string) error {
		c.mu.Lock()
		if n++; n == 3 {
			close(all)
		}
		c.mu.Unlock()
		select {
		case <-all:
			return nil
		case <-time.After(patience):
			return errors.New("alone")
		}
	}
	o := c.open()
	c.prompt(o.SessionID, text("read"))
	if n != 3 {
		t.Errorf("%d questions", n)
	}
	for i, r := range m.Responses(1) {
		if !strings.Contains(r.Output, string(rune('1'+i))) {
			t.Errorf("response %d: %+v", i, r)
		}
	}
}

// What is unsaved is written by the client before a command runs.
func TestSaveBeforeCommand(t *testing.T) {
	m := agenttest.NewModel(
		calls(call("read_file", map[string]any{"path": "f"})),
		calls(call("run_shell_command", map[string]any{"command": "cat f"})),
		say("Done."),
	)
	c := start(t, setup{model: m, caps: fsCaps, files: map[string]string{"f": "old\n"}})
	c.buffers[c.path("f")] = "unsaved\n"
	o := c.open()
	c.prompt(o.SessionID, text("run"))
	if got := m.Responses(2)[0].Output; !strings.Contains(got, "unsaved") {
		t.Errorf("the command printed %q", got)
	}
	if p := c.permissions[0]; !strings.Contains(p.ToolCall.Content[0].Content.Text, "Saved first: f") {
		t.Errorf("the question is %+v", p.ToolCall)
	}
}
