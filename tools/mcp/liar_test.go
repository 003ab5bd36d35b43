//go:build unix

package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/tools"
	"redline/tools/mcp"
)

// lie is a server that speaks the protocol and keeps none of its rules.
func lie(in io.Reader, out io.Writer) {
	r := bufio.NewReader(in)
	say := func(id json.RawMessage, result string) {
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, strings.NewReplacer("\n", "", "\t", "").Replace(result))
	}
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name, Cursor string }
		}
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		// Answers to what nobody asked, requests that nobody serves, and news that is none.
		fmt.Fprintln(out, `{"jsonrpc":"2.0","id":987654,"result":{}}`)
		fmt.Fprintln(out, `{"jsonrpc":"2.0","id":"nobody's","error":{"code":1,"message":"x"}}`)
		fmt.Fprintln(out, `{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)
		fmt.Fprintln(out, `{"jsonrpc":"2.0","id":6,"method":"no/such","params":{}}`)
		if m.Method == "notifications/initialized" {
			for range 200 {
				fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/no/such"}`)
			}
		}
		switch m.Method {
		case "initialize":
			say(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{}},"serverInfo":{"name":"liar","version":"0"}}`)
		case "tools/list":
			say(m.ID, `{"tools":[null,
				{"name":"twice","inputSchema":{"type":"object"}},{"name":"twice","inputSchema":{"type":"object"}},
				{"name":"a b","inputSchema":{"type":"object"}},{"name":"a_b","inputSchema":{"type":"object"}},
				{"name":"array","inputSchema":{"type":"array"}},
				{"name":"wrong","inputSchema":{"type":"object","properties":{"x":{"type":"no such type","minimum":"many"}}}},
				{"name":"lost","inputSchema":{"type":"object","properties":{"x":{"$ref":"http://127.0.0.1:1/schema"}}}},
				{"name":"deep","inputSchema":`+strings.Repeat(`{"items":`, 50)+`{}`+strings.Repeat(`}`, 50)+`},
				{"name":"wide","inputSchema":{"type":"object","description":"`+strings.Repeat("x", 100_000)+`"}},
				{"name":"","inputSchema":{}},
				{"name":"large","description":"`+strings.Repeat("d", 50_000)+`","inputSchema":{"type":"object"}},
				{"name":"heavy","inputSchema":{"type":"object"}},{"name":"odd","inputSchema":{"type":"object"}},{"name":"none","inputSchema":{"type":"object"}},
				{"name":"stall","inputSchema":{"type":"object"}}
			]}`)
		case "prompts/list":
			say(m.ID, `{"prompts":[{"name":"again`+m.Params.Cursor+`"}],"nextCursor":"`+m.Params.Cursor+`i"}`) // for ever
		case "resources/list":
			say(m.ID, `{"resources":"none"}`)
		case "tools/call":
			switch m.Params.Name {
			case "large":
				say(m.ID, `{"content":[{"type":"text","text":"`+strings.Repeat("long ", 1<<20)+`"}]}`)
			case "heavy": // 2 images of 9 MB
				image := `{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("QUJD", 3<<20) + `"}`
				say(m.ID, `{"content":[`+image+`,`+image+`]}`)
			case "odd":
				say(m.ID, `{"content":[{"type":"no such type"}],"isError":"perhaps"}`)
			case "none":
				say(m.ID, `{}`)
			case "stall":
				time.Sleep(time.Hour) // and reads no more
			default:
				say(m.ID, `{"content":[{"type":"text","text":"called `+m.Params.Name+`"}]}`)
			}
		default:
			if len(m.ID) > 0 {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
			}
		}
	}
}

// What a lying server declares is made fit for the API or left out, and said; what
// it answers hurts only its own calls.
func TestLyingServer(t *testing.T) {
	servers, reg := start(t, map[string]any{"liar": program("liar"), "s": program("good")}, nil)
	st := servers.States()[0]
	if st.Status != mcp.Ready {
		t.Fatalf("%s: %v", st.Status, st.Err)
	}
	want := "liar__twice liar__a_b liar__a_b_* liar__array liar__wrong liar__lost liar__deep liar__wide liar__large liar__heavy liar__odd liar__none liar__stall"
	got := strings.Join(st.Tools, " ")
	if i := strings.Index(got, "liar__a_b_"); i > 0 {
		got = got[:i+10] + "*" + got[i+18:]
	}
	if got != want {
		t.Errorf("tools\n%s, want\n%s", got, want)
	}
	notes := strings.Join(st.Notes, "\n")
	for _, want := range []string{
		`"twice" is declared twice`, `"array" are not declared as they should be (its type is array)`, `"wrong" are`, `"lost" are`,
		`"deep" are`, `"wide" are not declared as they should be (it has 97 KB)`, "its prompts cannot be listed", "its resources cannot be listed",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note about %s in\n%s", want, notes)
		}
	}
	for _, x := range reg.All() {
		if spec := x.Spec(); len(spec.Description) > 2100 || len(spec.Schema) > 64<<10 || !json.Valid(spec.Schema) {
			t.Errorf("%s: %d bytes of description, %d of schema", spec.Name, len(spec.Description), len(spec.Schema))
		}
	}
	if r, err := call(t, t.Context(), reg, st.Tools[2], `{}`); err != nil || r.Text != "called a_b" {
		t.Errorf("the second of two names that look the same: %+v, %v", r, err)
	}
	if r, err := call(t, t.Context(), reg, "liar__wrong", `{"x":[1]}`); err != nil || r.Text != "called wrong" {
		t.Errorf("a tool with a wrong schema: %+v, %v", r, err)
	}
	if r, err := call(t, t.Context(), reg, "liar__large", `{}`); err != nil || len(r.Text) != 5<<20 {
		t.Errorf("a large result: %v", err) // shortened by whoever tells the model
	}
	if r, err := call(t, t.Context(), reg, "liar__heavy", `{}`); err != nil || len(r.Media) != 1 || !strings.Contains(r.Text, "left out: more than 12 MB") {
		t.Errorf("two large images: %v", err)
	}
	if _, err := call(t, t.Context(), reg, "liar__odd", `{}`); err == nil {
		t.Error("a result that is none was taken")
	}
	if r, err := call(t, t.Context(), reg, "liar__none", `{}`); err != nil || r.Text != "(no content)" {
		t.Errorf("an empty result: %+v, %v", r, err)
	}
	if r, err := call(t, t.Context(), reg, "s__echo", `{"word":"hi"}`); err != nil || r.Text != "you said hi" {
		t.Errorf("the other server: %+v, %v", r, err)
	}
}

// A server that floods its outputs works all the same, and fills no log.
func TestFlood(t *testing.T) {
	var mu sync.Mutex
	logged := 0
	_, reg := start(t, map[string]any{"f": program("flood")}, func(o *mcp.Options) {
		o.Log = func(_, text string) { mu.Lock(); defer mu.Unlock(); logged += len(text) }
	})
	if r, err := call(t, t.Context(), reg, "f__echo", `{"word":"hi"}`); err != nil || r.Text != "you said hi" {
		t.Errorf("echo: %+v, %v", r, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if logged == 0 || logged > 20_000 {
		t.Errorf("%d bytes were logged", logged)
	}
}

// A server that no longer reads is ended when the call's time is over, although the
// arguments are stuck on their way.
func TestServerThatStopsReading(t *testing.T) {
	quick := program("liar")
	quick["timeout"] = 3000
	servers, reg := start(t, map[string]any{"liar": quick}, nil)
	if servers.States()[0].Status != mcp.Ready {
		t.Fatal(servers.States()[0].Err)
	}
	if _, err := call(t, t.Context(), reg, "liar__stall", `{}`); err == nil || !strings.Contains(err.Error(), "did not answer within 3s") {
		t.Errorf("stall: %v", err)
	}
	began := time.Now()
	if _, err := call(t, t.Context(), reg, "liar__twice", `{"x":"`+strings.Repeat("x", 1<<20)+`"}`); err == nil {
		t.Error("a server that does not read answered")
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("the call took %v", d)
	}
	until(t, "the server to be back", func() bool {
		r, err := call(t, t.Context(), reg, "liar__twice", `{}`)
		return err == nil && r.Text == "called twice"
	})
}

// Two servers whose tools would be called the same, and settings that leave tools
// out.
func TestNamesOfServers(t *testing.T) {
	servers, reg := start(t, map[string]any{"a b": program("good"), "a_b": program("good")}, func(o *mcp.Options) {
		o.Offer = func(s *tools.Spec) bool { return !strings.HasSuffix(s.Name, "__env") && s.Name != "read_mcp_resource" }
	})
	seen := map[string]bool{}
	for _, st := range servers.States() {
		for _, n := range st.Tools {
			if seen[n] || strings.Contains(n, "env") {
				t.Errorf("tool %s", n)
			}
			seen[n] = true
			if strings.HasPrefix(n, "a_b__echo") {
				if r, err := call(t, t.Context(), reg, n, `{"word":"hi"}`); err != nil || r.Text != "you said hi" {
					t.Errorf("%s: %+v, %v", n, r, err)
				}
			}
		}
	}
	if len(seen) != 12 && len(seen) != 13 { // the odd env of the two has a hash behind it
		t.Errorf("%d tools: %v", len(seen), seen)
	}
}

// A server that wants a sign-in says so once, with what to do, and no secret.
func TestSignIn(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	t.Cleanup(srv.Close)
	var mu sync.Mutex
	var logged []string
	servers, _ := start(t, map[string]any{
		"h": map[string]any{"httpUrl": srv.URL + "/mcp?key=topsecretkey", "headers": map[string]any{"Authorization": "Bearer wrongtoken"}},
	}, func(o *mcp.Options) {
		o.Log = func(_, text string) { mu.Lock(); defer mu.Unlock(); logged = append(logged, text) }
	})
	err := servers.States()[0].Err
	if err == nil || !strings.Contains(err.Error(), "wants a sign-in") || !strings.Contains(err.Error(), `mcpServers.h, as "headers"`) {
		t.Errorf("error %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if text := fmt.Sprint(err, logged); strings.Contains(text, "topsecret") || strings.Contains(text, "wrongtoken") {
		t.Errorf("a secret is shown: %s", text)
	}
}

// An HTTP server that was started anew knows nothing of the old session: one call
// fails, and then all is well again.
func TestHTTPServerComesBack(t *testing.T) {
	stop := make(chan struct{})
	swap := make(chan http.Handler, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		current := <-swap
		swap <- current
		current.ServeHTTP(w, r)
	}))
	swap <- streamable(t, stop)
	t.Cleanup(func() { close(stop); srv.Close() })
	_, reg := start(t, map[string]any{"h": map[string]any{"httpUrl": srv.URL}}, nil)
	if _, err := call(t, t.Context(), reg, "h__echo", `{"word":"hi"}`); err != nil {
		t.Fatal(err)
	}
	<-swap
	swap <- streamable(t, stop)
	srv.CloseClientConnections()
	until(t, "the server", func() bool {
		r, err := call(t, t.Context(), reg, "h__echo", `{"word":"again"}`)
		return err == nil && r.Text == "you said again"
	})
}
