//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"redline/tools"
	"redline/tools/mcp"
	"redline/workspace"
)

// TestMain is also the server that the tests start as a program.
func TestMain(m *testing.M) {
	switch os.Getenv("MCP_TEST_SERVER") {
	case "":
		goleak.VerifyTestMain(m)
	case "noisy":
		fmt.Println("npm notice: hello\n\nWARN [x]")
		fmt.Fprintln(os.Stderr, "starting")
		fallthrough
	case "good":
		_ = newServer(nil).Run(context.Background(), &sdk.StdioTransport{})
	case "flood": // of both outputs, before and while it serves
		line := strings.Repeat("noise ", 100)
		for range 20_000 {
			fmt.Println(line)
			fmt.Fprintln(os.Stderr, line)
		}
		go func() {
			for {
				fmt.Fprintln(os.Stderr, line)
				time.Sleep(time.Millisecond)
			}
		}()
		_ = newServer(nil).Run(context.Background(), &sdk.StdioTransport{})
	case "dead":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(1)
	case "liar":
		lie(os.Stdin, os.Stdout)
	case "deaf":
		select {}
	case "garbage":
		for {
			fmt.Println("{not json")
		}
	}
	os.Exit(0)
}

type word struct {
	Word string `json:"word"`
}

// newServer returns a server; its tool hang also ends when stop is closed, because a
// server may lose the word that a call was given up.
func newServer(stop <-chan struct{}) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	text := func(t string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: t}}}
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *sdk.CallToolRequest, w word) (*sdk.CallToolResult, any, error) {
		return text("you said " + w.Word), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "picture"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("PNG")}, &sdk.ImageContent{MIMEType: "image/x-odd", Data: []byte("ODD")},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "mem://a", MIMEType: "text/plain", Text: "inside"}},
			&sdk.ResourceLink{URI: "mem://b", Name: "b"},
		}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("out of paper")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "hang"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		select {
		case <-ctx.Done():
		case <-stop:
		}
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(s, &sdk.Tool{Name: "crash"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return text("new"), nil, nil
		})
		s.RemoveTools("echo")
		s.RemovePrompts("greet")
		s.RemoveResources("mem://b")
		s.RemoveResourceTemplates("mem://any/{name}")
		return text("done"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "env"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return text(strings.Join(os.Environ(), "\n")), nil, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "greet", Description: "Says hello.", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
				{Role: "user", Content: &sdk.TextContent{Text: "Greet " + req.Params.Arguments["who"] + "."}},
				{Role: "assistant", Content: &sdk.TextContent{Text: "Loudly?"}},
				{Role: "user", Content: &sdk.ImageContent{MIMEType: "image/png", Data: []byte("PNG")}},
			}}, nil
		})
	read := func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{
			{URI: req.Params.URI, MIMEType: "text/plain", Text: "the text of " + req.Params.URI},
			{URI: req.Params.URI + "#b", MIMEType: "image/png", Blob: []byte("PNG")},
			{URI: req.Params.URI + "#c", MIMEType: "text/css", Blob: []byte("a{}")},
		}}, nil
	}
	s.AddResource(&sdk.Resource{URI: "mem://b", Name: "b", Description: "What there\nis."}, read)
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "mem://any/{name}", Name: "any"}, read)
	return s
}

// program is this very test as a server.
func program(kind string) map[string]any {
	return map[string]any{"command": os.Args[0], "env": map[string]any{"MCP_TEST_SERVER": kind}}
}

// start runs servers until the test ends.
func start(t *testing.T, servers map[string]any, change func(*mcp.Options)) (*mcp.Servers, *tools.Registry) {
	t.Helper()
	list, problems := mcp.ParseServers(servers, func(string) string { return "" })
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	reg := tools.NewRegistry(tools.ReadFile)
	opt := mcp.Options{Folders: []string{t.TempDir()}, Connect: 20 * time.Second, Retry: 10 * time.Millisecond}
	if change != nil {
		change(&opt)
	}
	s := mcp.New(list, reg, opt)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	t.Cleanup(func() {
		began := time.Now()
		cancel()
		<-done
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("the servers took %v to end", d)
		}
		if got := names(reg); got != "read_file" {
			t.Errorf("tools are left: %s", got)
		}
	})
	s.Ready(ctx)
	return s, reg
}

func names(reg *tools.Registry) string {
	var out []string
	for _, x := range reg.All() {
		out = append(out, x.Spec().Name)
	}
	return strings.Join(out, " ")
}

func call(t *testing.T, ctx context.Context, reg *tools.Registry, name, args string) (*tools.Result, error) {
	t.Helper()
	ws, err := workspace.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := reg.Prepare(workspace.NewView(ws.Snapshot()), name, json.RawMessage(args))
	if err != nil {
		return nil, err
	}
	return c.Run(ctx)
}

// until waits for what another process or goroutine is about to do.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain for " + what)
		}
	}
}

// Each way to reach a server gives the same tools and results.
func TestTransports(t *testing.T) {
	mux := http.NewServeMux()
	stop := make(chan struct{})
	get := func(*http.Request) *sdk.Server { return newServer(stop) }
	mux.Handle("/mcp", sdk.NewStreamableHTTPHandler(get, nil))
	mux.Handle("/sse", sdk.NewSSEHandler(get, nil))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Token") != "t" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { close(stop); srv.Close() }) // after the clients are gone
	token := map[string]any{"X-Token": "t"}
	for name, s := range map[string]map[string]any{
		"stdio": program("noisy"),
		"http":  {"httpUrl": srv.URL + "/mcp", "headers": token},
		"sse":   {"url": srv.URL + "/sse", "headers": token},
	} {
		t.Run(name, func(t *testing.T) {
			servers, reg := start(t, map[string]any{"my srv": s}, nil)
			st := servers.States()[0]
			if st.Status != "ready" || st.Err != nil || st.Server.Transport() != name || len(st.Prompts) != 1 || st.Prompts[0].Name != "greet" || len(st.Resources) != 2 {
				t.Fatalf("state %+v", st)
			}
			r, err := call(t, t.Context(), reg, "my_srv__echo", `{"word":"hi"}`)
			if err != nil || r.Text != "you said hi" {
				t.Errorf("echo: %+v, %v", r, err)
			}
			r, err = call(t, t.Context(), reg, "my_srv__picture", `{}`)
			if err != nil || len(r.Media) != 1 || r.Media[0].MIMEType != "image/png" || string(r.Media[0].Data) != "PNG" ||
				!strings.Contains(r.Text, "image/x-odd, 3 bytes, which cannot be shown") || !strings.Contains(r.Text, "[resource mem://a]\ninside") || !strings.Contains(r.Text, "[resource b: mem://b]") {
				t.Errorf("picture: %+v, %v", r, err)
			}
			r, err = servers.Prompt(t.Context(), "my srv", "greet", map[string]string{"who": "Ada"})
			if err != nil || r.Text != "Greet Ada.\n[the assistant says] Loudly?\n[image, image/png]" || len(r.Media) != 1 {
				t.Errorf("prompt: %+v, %v", r, err)
			}
			if _, err := servers.Prompt(t.Context(), "my srv", "nope", nil); err == nil || !strings.Contains(err.Error(), "nope") {
				t.Errorf("unknown prompt: %v", err)
			}
			server, uri, ok := servers.Resource("my srv:mem://any/x")
			if _, _, file := servers.Resource("my srv:x"); !ok || file || server != "my srv" || uri != "mem://any/x" {
				t.Errorf("mention of a resource: %q, %q, %t", server, uri, ok)
			}
			r, err = call(t, t.Context(), reg, "read_mcp_resource", `{"server":"my srv","uri":"mem://any/x"}`)
			if err != nil || r.Text != "[resource mem://any/x]\nthe text of mem://any/x\n[resource mem://any/x#b, image/png]\n[resource mem://any/x#c]\na{}" || len(r.Media) != 1 {
				t.Errorf("resource: %+v, %v", r, err)
			}
			r, err = call(t, t.Context(), reg, "read_mcp_resource", `{}`)
			if err != nil || r.Text != "2 resources:\nmy srv mem://b - What there is.\nmy srv mem://any/{name} (template: fill in what is in braces) - any\n" {
				t.Errorf("resources: %+v, %v", r, err)
			}
			if _, err := call(t, t.Context(), reg, "my_srv__fail", `{}`); err == nil || err.Error() != "out of paper" {
				t.Errorf("fail: %v", err)
			}
			if _, err := call(t, t.Context(), reg, "my_srv__echo", `{"word":7}`); err == nil {
				t.Error("a wrong type was taken")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := call(t, ctx, reg, "my_srv__hang", `{}`); err == nil {
				t.Error("a call that was given up gave something")
			}
		})
	}
}

// A server that is broken in any way hurts no other, and says what it has.
func TestBrokenServers(t *testing.T) {
	t.Setenv("GEMINI_API_KEY", "very-secret")
	limited := program("good")
	limited["timeout"] = 2500 // for starting too
	limited["includeTools"] = []any{"echo", "hang", "env(x)"}
	limited["excludeTools"] = []any{"echo"}
	servers, reg := start(t, map[string]any{
		"a dead":    program("dead"),
		"b deaf":    program("deaf"),
		"c garbage": program("garbage"),
		"d missing": map[string]any{"command": filepath.Join(t.TempDir(), "none")},
		"e refused": map[string]any{"httpUrl": "http://127.0.0.1:1/mcp"},
		"f good":    program("good"),
	}, func(o *mcp.Options) { o.Connect = 3 * time.Second })
	sts := servers.States()
	for i, want := range []string{"no licence found", "not ready within 3s", "", "no such file", "connection refused", ""} {
		if (sts[i].Status == "ready") != (i == 5) || i < 5 && sts[i].Err != nil && !strings.Contains(sts[i].Err.Error(), want) {
			t.Errorf("%s: %s, %v; want %q", sts[i].Server.Name, sts[i].Status, sts[i].Err, want)
		}
	}
	if r, err := call(t, t.Context(), reg, "f_good__echo", `{"word":"hi"}`); err != nil || r.Text != "you said hi" {
		t.Errorf("the good server: %+v, %v", r, err)
	}
	if r, err := call(t, t.Context(), reg, "f_good__env", `{}`); err != nil || strings.Contains(r.Text, "very-secret") {
		t.Errorf("its environment: %v", err)
	}
	t.Run("limited", func(t *testing.T) {
		_, reg := start(t, map[string]any{"l": limited}, nil)
		if got := names(reg); got != "read_file l__env l__hang read_mcp_resource" && got != "read_file l__hang l__env read_mcp_resource" {
			t.Errorf("tools %q", got)
		}
		if _, err := call(t, t.Context(), reg, "l__hang", `{}`); err == nil || !strings.Contains(err.Error(), "did not answer within 2.5s") {
			t.Errorf("hang: %v", err)
		}
	})
}

// A server that crashes comes back, and tools that change are picked up.
func TestChange(t *testing.T) {
	servers, reg := start(t, map[string]any{"s": program("good")}, nil)
	if _, err := call(t, t.Context(), reg, "s__grow", `{}`); err != nil {
		t.Fatal(err)
	}
	until(t, "the new tool", func() bool {
		n, st := names(reg), servers.States()[0]
		return strings.Contains(n, "s__grown") && !strings.Contains(n, "s__echo") && !strings.Contains(n, "read_mcp_resource") &&
			len(st.Prompts) == 0 && len(st.Resources) == 0
	})
	if r, err := call(t, t.Context(), reg, "s__grown", `{}`); err != nil || r.Text != "new" {
		t.Errorf("grown: %+v, %v", r, err)
	}
	if _, err := call(t, t.Context(), reg, "s__crash", `{}`); err == nil || !strings.Contains(err.Error(), "started again by itself") {
		t.Errorf("a crash: %v", err)
	}
	until(t, "the server", func() bool {
		return servers.States()[0].Status == "ready" && strings.Contains(names(reg), "s__echo")
	})
	if r, err := call(t, t.Context(), reg, "s__echo", `{"word":"again"}`); err != nil || r.Text != "you said again" {
		t.Errorf("after the crash: %+v, %v", r, err)
	}
}

// Whatever a server is called, and unless it is trusted, its tools are asked for.
func TestPermission(t *testing.T) {
	trusted := program("good")
	trusted["trust"] = true
	_, reg := start(t, map[string]any{strings.Repeat("long name ", 12): program("good"), "9t": trusted}, nil)
	ws, _ := workspace.New(t.TempDir())
	seen := 0
	for _, x := range reg.All() {
		name := x.Spec().Name
		if len(name) > 63 || strings.ContainsAny(name, " /") {
			t.Errorf("name %q", name)
		}
		if name == "read_file" || name == "read_mcp_resource" {
			continue
		}
		seen++
		c, err := x.Prepare(workspace.NewView(ws.Snapshot()), json.RawMessage(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if asked := c.Permission != nil && c.Permission.Subject == "mcp"; asked == strings.HasPrefix(name, "_9t__") {
			t.Errorf("%s: permission %+v", name, c.Permission)
		}
	}
	if seen != 14 {
		t.Errorf("%d tools", seen)
	}
}

func TestParseServers(t *testing.T) {
	var v map[string]any
	_ = json.Unmarshal([]byte(`{
		"a": {"command": "$BIN/x", "args": ["${ARG}"], "env": {"K": "$VAL"}, "cwd": "/tmp", "timeout": 5000, "trust": true},
		"b": {"httpUrl": "http://h/$ARG", "headers": {"Authorization": "Bearer $VAL"}},
		"c": {"command": "x", "url": "http://y"},
		"d": {},
		"e": {"command": 7},
		"f": "x",
		"g": {"url": "http://y", "timeout": -1}
	}`), &v)
	got, problems := mcp.ParseServers(v, func(n string) string { return map[string]string{"BIN": "/bin", "ARG": "arg", "VAL": "val"}[n] })
	if len(got) != 2 || got[0].Command != "/bin/x" || got[0].Args[0] != "arg" || got[0].Env["K"] != "val" || got[1].HTTPURL != "http://h/arg" || got[1].Headers["Authorization"] != "Bearer val" {
		t.Errorf("servers %+v", got)
	}
	if len(problems) != 5 || !strings.Contains(problems[0].Error(), "mcpServers.c: needs exactly one of command, url and httpUrl") {
		t.Errorf("problems %v", problems)
	}
}

// streamable returns a new server by streamable HTTP.
func streamable(t *testing.T, stop <-chan struct{}) http.Handler {
	s := newServer(stop)
	t.Cleanup(func() {
		for session := range s.Sessions() { // one may have been left without a goodbye
			_ = session.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
}
