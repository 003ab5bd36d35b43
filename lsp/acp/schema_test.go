package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"redline/lsp/rpc"
)

// installed returns a path below what testenv/install.sh installs, and whether it is
// there.
func installed(t testing.TB, path ...string) (string, bool) {
	t.Helper()
	prefix := os.Getenv("REDLINE_EDITORS")
	if prefix == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		prefix = filepath.Join(cache, "redline-editors")
	}
	p := filepath.Join(append([]string{prefix, "acp", "node_modules"}, path...)...)
	if _, err := os.Stat(p); err != nil {
		if os.Getenv("REDLINE_CI") != "" {
			t.Fatalf("%v; run lsp/acp/testenv/install.sh", err)
		}
		return "", false
	}
	return p, true
}

// schema checks messages against the protocol's own JSON schema.
type schema struct {
	requests map[string]string // definition of the parameters, by method
	results  map[string]string // definition of the answer
	// all is of an object with a member of each definition's name.
	all *jsonschema.Resolved
}

// theSchema is read once; nil where it is not installed.
var theSchema = struct {
	sync.Once
	*schema
	err error
}{}

func loadSchema(t testing.TB) *schema {
	t.Helper()
	file, ok := installed(t, "@agentclientprotocol", "sdk", "schema", "v1", "schema.json")
	if !ok {
		return nil
	}
	theSchema.Do(func() { theSchema.schema, theSchema.err = readSchema(file) })
	if theSchema.err != nil {
		t.Fatal(theSchema.err)
	}
	return theSchema.schema
}

func readSchema(file string) (*schema, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	s := &schema{requests: map[string]string{}, results: map[string]string{}}
	root := &jsonschema.Schema{Defs: map[string]*jsonschema.Schema{}, Properties: map[string]*jsonschema.Schema{}}
	for name, raw := range doc.Defs {
		var about struct {
			Method string `json:"x-method"`
		}
		def := new(jsonschema.Schema)
		if err := json.Unmarshal(raw, def); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := json.Unmarshal(raw, &about); err != nil {
			return nil, err
		}
		root.Defs[name] = def
		root.Properties[name] = &jsonschema.Schema{Ref: "#/$defs/" + name}
		switch {
		case about.Method == "":
		case len(name) > 8 && name[len(name)-8:] == "Response":
			s.results[about.Method] = name
		default:
			s.requests[about.Method] = name
		}
	}
	s.all, err = root.Resolve(nil)
	return s, err
}

// check reports how a value differs from a definition.
func (s *schema) check(def string, raw json.RawMessage) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	return s.all.Validate(map[string]any{def: v})
}

// watch checks the messages of one connection in both directions.
type watch struct {
	*schema
	t testing.TB

	mu    sync.Mutex
	asked map[string]string // method by direction and id
	lax   bool              // the client's own messages are not checked
	seen  map[string]int
}

// watches are the running checks, by test, so that a test can ask what was seen.
var watches sync.Map

func tap(t testing.TB) func(rpc.Direction, []byte) {
	if _, measured := t.(*testing.B); measured {
		return nil
	}
	s := loadSchema(t)
	if s == nil {
		return nil
	}
	w := &watch{schema: s, t: t, asked: map[string]string{}, seen: map[string]int{}}
	watches.Store(t.Name(), w)
	return w.message
}

// lax has what the test itself sends not checked.
func lax(t *testing.T) {
	if w, ok := watches.Load(t.Name()); ok {
		w := w.(*watch)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lax = true
	}
}

// message is a message as the client's side sees it: what it sends is the client's.
func (w *watch) message(d rpc.Direction, body []byte) {
	var m struct {
		JSONRPC string
		ID      json.RawMessage
		Method  string
		Params  json.RawMessage
		Result  json.RawMessage
		Error   json.RawMessage
	}
	if err := json.Unmarshal(body, &m); err != nil {
		w.t.Errorf("%s: no JSON: %s", d, body)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	def, value := "", m.Params
	switch {
	case m.Method != "":
		if def = w.requests[m.Method]; def == "" {
			if d == rpc.Received {
				w.t.Errorf("redline calls the method %q, which the schema does not know", m.Method)
			}
			return
		}
		if len(m.ID) > 0 {
			w.asked[fmt.Sprint(d, string(m.ID))] = m.Method
		}
	case len(m.Error) > 0:
		def, value = "Error", m.Error
	default:
		asker := rpc.Sent
		if d == rpc.Sent {
			asker = rpc.Received
		}
		if def, value = w.results[w.asked[fmt.Sprint(asker, string(m.ID))]], m.Result; def == "" {
			return
		}
	}
	w.seen[def]++
	if d == rpc.Sent && w.lax {
		return
	}
	if err := w.check(def, value); err != nil {
		w.t.Errorf("%s by the schema's %s:\n%s\n%v", d, def, body, err)
	}
}

// What fits no definition must be found out, or the checks mean nothing.
func TestSchemaRefuses(t *testing.T) {
	s := loadSchema(t)
	if s == nil {
		t.Skip("lsp/acp/testenv/install.sh installs the schema")
	}
	for def, bad := range map[string]string{
		"SessionNotification":      `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text"}}}`,
		"RequestPermissionRequest": `{"sessionId":"s","toolCall":{"toolCallId":"c","kind":"edit"},"options":[{"optionId":"a","name":"A","kind":"maybe"}]}`,
		"PromptResponse":           `{"stopReason":"tired"}`,
		"NewSessionResponse":       `{"modes":{"currentModeId":"default","availableModes":[]}}`,
		"CreateTerminalRequest":    `{"sessionId":"s","command":"bash","args":"-c"}`,
		"Error":                    `{"code":"x","message":"m"}`,
	} {
		if err := s.check(def, json.RawMessage(bad)); err == nil {
			t.Errorf("%s lets %s through", def, bad)
		}
	}
	if !slices.Contains([]string{"SessionNotification"}, s.requests["session/update"]) || s.results["session/prompt"] != "PromptResponse" {
		t.Error("methods are not read from the schema")
	}
}
