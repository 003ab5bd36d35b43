//go:build unix

package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"redline/tools"
	"redline/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// discover runs a discovery command and returns what it brought and what was logged.
func discover(t *testing.T, opt Options) (*tools.Registry, string) {
	t.Helper()
	reg := tools.NewRegistry(tools.Builtin()...)
	var mu sync.Mutex
	var log []string
	opt.Log = func(s string) { mu.Lock(); defer mu.Unlock(); log = append(log, s) }
	if opt.Dir == "" {
		opt.Dir = t.TempDir()
	}
	c := New(reg, opt)
	c.Run(t.Context())
	c.Ready(t.Context())
	reg.Remove(func() (names []string) {
		for _, b := range tools.Builtin() {
			names = append(names, b.Spec().Name)
		}
		return
	}()...)
	return reg, strings.Join(log, "\n")
}

func names(reg *tools.Registry) string {
	var out []string
	for _, t := range reg.All() {
		out = append(out, t.Spec().Name)
	}
	return strings.Join(out, " ")
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, " t%d", i)
	}
	return b.String()
}

func TestDiscover(t *testing.T) {
	long := strings.Repeat("n", 100)
	for _, c := range []struct {
		name   string
		output string // of the command; a command line when line is set
		line   string
		names  string
		log    string // part of it
	}{
		{name: "declarations", output: `[{"name":"a","description":"A."},{"name":"b"}]`, names: "a b"},
		{name: "wrapped", output: `[{"functionDeclarations":[{"name":"a"},{"name":"b"}]},{"function_declarations":[{"name":"c"}]},{"name":"d"}]`, names: "a b c d"},
		{name: "nothing", output: `[]`},
		{name: "odd names", output: `[{"name":"my tool/x"},{"name":"1st"},{"name":"ünï"},{"name":"` + long + `"}]`, names: "my_tool_x _1st _n_ " + functionName(long)},
		{name: "names that are taken", output: `[{"name":"glob"},{"name":"x"},{"name":"x"},{"name":"x"}]`, names: "discovered_tool_glob x discovered_tool_x discovered_tool_x_2"},
		{name: "some are no good", output: `[7,{"description":"no name"},{"name":"a"},{"functionDeclarations":[{},{"name":"b"}]}]`, names: "a b", log: "entry 1 is no function declaration"},
		{name: "no array", output: `{"name":"a"}`, log: "must print a JSON array"},
		{name: "no JSON", output: `hello`, log: "must print a JSON array"},
		{name: "it fails", line: "echo no >&2; exit 3", log: "exit code 3; it says: no"},
		{name: "it is killed", line: "kill -9 $$", log: "ended by a signal (killed)"},
		{name: "it hangs", line: "sleep 1000", log: "ended after 300ms"},
		{name: "too much", line: "yes '[' | head -c 11000000", log: "printed more than 10 MB"},
		{name: "too many", line: `printf '['; for i in $(seq 600); do printf '{"name":"t%d"},' $i; done; printf '{"name":"last"}]'`, names: "t1" + numbered(2, 500), log: "has 601 tools; the first 500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			opt := Options{Discover: c.line, Call: "true", Dir: dir, Timeout: time.Minute}
			if c.line == "" {
				if err := os.WriteFile(filepath.Join(dir, "out"), []byte(c.output), 0o600); err != nil {
					t.Fatal(err)
				}
				opt.Discover = "cat out"
			}
			if strings.Contains(c.log, "300ms") {
				opt.Timeout = 300 * time.Millisecond
			}
			reg, log := discover(t, opt)
			if got := names(reg); got != c.names {
				t.Errorf("tools %q, want %q", got, c.names)
			}
			if (c.log == "") != (log == "") || !strings.Contains(log, c.log) {
				t.Errorf("logged %q, want %q", log, c.log)
			}
		})
	}
}

func TestDiscoverNeedsACallCommand(t *testing.T) {
	dir := t.TempDir()
	reg, log := discover(t, Options{Discover: "touch ran; echo '[]'", Dir: dir})
	if !strings.Contains(log, "tools.callCommand is not") || len(reg.All()) > 0 {
		t.Errorf("logged %q", log)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the discovery command ran")
	}
}

func TestSchema(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"name":"a"}`, `{"type":"object","properties":{}}`},
		{`{"name":"a","parameters":{"type":"OBJECT","properties":{"type":{"type":"STRING","enum":["X"]},"n":{"type":"ARRAY","items":{"type":"INTEGER"}}},"required":["n"]}}`, `{"properties":{"n":{"items":{"type":"integer"},"type":"array"},"type":{"enum":["X"],"type":"string"}},"required":["n"],"type":"object"}`},
		{`{"name":"a","parametersJsonSchema":{"$schema":"x","properties":{"b":{"type":"boolean"}}},"parameters":{"type":"OBJECT"}}`, `{"properties":{"b":{"type":"boolean"}},"type":"object"}`},
		{`{"name":"a","parameters":{"type":"STRING"}}`, `{"type":"object","properties":{}}`},
		{`{"name":"a","parameters":["no"]}`, `{"type":"object","properties":{}}`},
	} {
		var d declaration
		if err := json.Unmarshal([]byte(c.in), &d); err != nil {
			t.Fatal(err)
		}
		if got := string(schema(d)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
}

// What a call brings: output, or all there is to tell of a failure.
func TestCall(t *testing.T) {
	for _, c := range []struct {
		name, tool, call string
		args             string
		want, err        string
	}{
		{name: "name and arguments", tool: "greet", call: `f() { echo "$1: $(cat)"; }; f`, args: `{"who": "you"}`, want: "greet: {\"who\":\"you\"}\n"},
		{name: "a name to be quoted", tool: "it's $HOME", call: `f() { echo "$1"; }; f`, args: `{}`, want: "it's $HOME\n"},
		{name: "colours are taken out", tool: "a", call: `printf '\033[1mbold\033[0m'; true`, args: `{}`, want: "bold"},
		{name: "nothing", tool: "a", call: "true", args: `{}`, want: "(no output)"},
		{name: "complaints", tool: "a", call: "echo out; echo beware >&2; true", args: `{}`, want: "out\n\nStderr: beware\n"},
		{name: "exit code", tool: "a", call: "echo out; echo bad >&2; exit 3;", args: `{}`, err: "Stdout: out\nStderr: bad\nError: (none)\nExit Code: 3\nSignal: (none)"},
		{name: "signal", tool: "a", call: "kill -9 $$;", args: `{}`, err: "Stdout: (empty)\nStderr: (empty)\nError: (none)\nExit Code: (none)\nSignal: killed"},
		{name: "too slow", tool: "a", call: "sleep 1000;", args: `{}`, err: "Error: ended after 400ms\nExit Code: (none)\nSignal: terminated"},
		{name: "no such command", tool: "a", call: "no-such-command-here", args: `{}`, err: "Exit Code: 127"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			decl, err := json.Marshal([]map[string]string{{"name": c.tool}})
			if err != nil {
				t.Fatal(err)
			}
			opt := Options{Discover: "printf %s '" + strings.ReplaceAll(string(decl), "'", `'\''`) + "'", Call: c.call}
			if c.name == "too slow" {
				opt.CallTimeout = 400 * time.Millisecond
			}
			reg, log := discover(t, opt)
			if log != "" || len(reg.All()) != 1 {
				t.Fatalf("tools %s, logged %s", names(reg), log)
			}
			ws, err := workspace.New(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			call, err := reg.Prepare(workspace.NewView(ws.Snapshot()), reg.All()[0].Spec().Name, json.RawMessage(c.args))
			if err != nil {
				t.Fatal(err)
			}
			if p := call.Permission; p == nil || p.Subject != "tool" || len(p.Keys) != 1 {
				t.Errorf("permission %+v", p)
			}
			r, err := call.Run(t.Context())
			switch {
			case c.err != "":
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
			case err != nil || r.Text != c.want:
				t.Errorf("got %+v, %v, want %q", r, err, c.want)
			}
		})
	}
}

func TestCallCancelled(t *testing.T) {
	reg, _ := discover(t, Options{Discover: `echo '[{"name":"a"}]'`, Call: "sleep 1000;"})
	call, err := reg.All()[0].Prepare(nil, json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := call.Run(ctx); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// FuzzParse checks that whatever the command prints makes usable declarations.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"name":"a","parameters":{"type":"OBJECT"}},{"functionDeclarations":[{"name":"b"}]}]`))
	f.Add([]byte(`[null,[],"x",{"functionDeclarations":{}}]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		decls, _, _ := parse(in)
		for _, d := range decls {
			name := functionName(d.Name)
			if name == "" || len(name) > maxName || !json.Valid(schema(d)) {
				t.Errorf("declaration %+v becomes %q, %s", d, name, schema(d))
			}
		}
	})
}
