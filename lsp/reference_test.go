package lsp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

var updateReference = flag.Bool("update", false, "write METHODS.md and schema.json")

// What the methods are for. The types say the rest.
var requestSummaries = map[string]string{
	"agent/session/new":        "Starts a session.",
	"agent/session/list":       "Lists the sessions, saved ones too, the latest first.",
	"agent/session/resume":     "Goes on with a session, a saved one too; its events after a number come again.",
	"agent/session/fork":       "Copies a session up to a turn.",
	"agent/session/configure":  "Changes mode, model or time of review; what is absent stays.",
	"agent/session/compress":   "Puts a summary in the place of the older part of the conversation.",
	"agent/session/close":      "Ends a session; it stays saved.",
	"agent/session/delete":     "Deletes a session for good.",
	"agent/prompt":             "Starts a turn; while one runs it is refused (-32803). The answer is an acknowledgement, what happens comes as events.",
	"agent/steer":              "Says something to the running turn.",
	"agent/cancel":             "Ends the running turn.",
	"agent/proposal/list":      "Lists the proposals of a session.",
	"agent/proposal/new":       "Has changes of the user's own reviewed like the model's, such as a piece of an answer; the model is told.",
	"agent/proposal/get":       "Returns a proposal.",
	"agent/proposal/resolve":   "Decides hunks. The answer comes when the decisions are applied and settled; an older rev is refused (-32801).",
	"agent/proposal/revert":    "Takes back what still stands of a proposal.",
	"agent/proposal/confirm":   "Has the editor's own preview of a workspace edit decide on what is pending; answers when the user has.",
	"agent/checkpoint/list":    "Lists the checkpoints of a session, one before each turn.",
	"agent/checkpoint/preview": "Returns what a restore would change.",
	"agent/checkpoint/restore": "Goes back to a checkpoint: files, conversation or both. A restore can be undone by restoring undoCheckpointId.",
	"agent/auth/status":        "Says how the model is reached as things are. Nothing is tried for it.",
	"agent/auth/login":         "Signs the user in; the answer comes when that is done.",
	"agent/auth/complete":      "Hands over the code that the browser ended with.",
	"agent/auth/logout":        "Removes the saved credentials.",
	"agent/model/list":         "Lists the models.",
	"agent/tool/list":          "Lists the tools.",
	"agent/command/list":       "Lists the custom prompts.",
	"agent/usage/get":          "Returns what a session has used.",
	"agent/memory/list":        "Lists the instructions (GEMINI.md and the like) that a session works with.",
	"agent/process/list":       "Lists what commands of a session have left running.",
	"agent/process/stop":       "Stops one of them.",
	"agent/trust/set":          "Tells that the editor's own trust of the workspace has changed.",
}

// asked is a request of the server's.
type asked struct {
	summary        string
	params, result any
}

var serverRequests = map[string]asked{
	methodApprove:     {"Asks whether something other than an edit may be done. No answer is no.", ApproveParams{}, ApproveResult{}},
	methodAsk:         {"Asks the user a question.", AskParams{}, AskResult{}},
	methodSave:        {"Asks the editor to save documents.", SaveParams{}, SaveResult{}},
	methodDiagnostics: {"Asks for the problems that the editor shows.", DiagnosticsParams{}, diagnosed{}},
	methodDefinition:  {"Asks for definitions. The answer is LSP's: Location, Location[], LocationLink[] or null.", EditorAt{}, json.RawMessage{}},
	methodReferences:  {"Asks for references. The answer is Location[] or null.", EditorAt{}, json.RawMessage{}},
	methodHover:       {"Asks for what is shown at a place. The answer is LSP's Hover or null.", EditorAt{}, json.RawMessage{}},
	methodSymbols:     {"Asks for the symbols of a file, or of the workspace by name. The answer is DocumentSymbol[], SymbolInformation[] or null.", EditorSymbols{}, json.RawMessage{}},
	methodRename:      {"Asks for the edit that renames a symbol; the editor does not apply it.", EditorAt{}, protocol.WorkspaceEdit{}},
}

type event struct {
	summary string
	body    any
}

var events = map[string]event{
	"turn/started":       {"A turn has begun.", evTurnStarted{}},
	"turn/ended":         {"A turn has ended; the session is idle.", evTurnEnded{}},
	"message/user":       {"A prompt, as it went to the model.", evText{}},
	"message/delta":      {"A piece of the answer.", evText{}},
	"thought/delta":      {"A piece of the model's reasoning.", evText{}},
	"tool/updated":       {"How far a tool call has come; each one replaces the one before.", evTool{}},
	"tool/output":        {"A piece of what a running command prints.", evToolOutput{}},
	"proposal/updated":   {"A proposal as it is now.", evProposal{}},
	"proposal/changed":   {"What has changed in a proposal since the last event about it; to clients with the capability proposals.changes.", evProposalChanged{}},
	"checkpoint/created": {"A checkpoint was made.", evCheckpoint{}},
	"plan/updated":       {"The model's plan; each one replaces the one before.", evPlan{}},
	"usage/updated":      {"What the session has used so far.", evUsage{}},
	"retry":              {"A request failed; when it is tried again.", evRetry{}},
	"model/changed":      {"The session goes on with another model.", evModelChanged{}},
	"loop/detected":      {"The model repeats itself.", evLoopDetected{}},
	"history/compressed": {"A summary took the place of the older part of the conversation.", evCompressed{}},
	"notice":             {"Something the user should know.", evNotice{}},
}

// TestReference makes METHODS.md and schema.json from the types and compares them with
// what is there; with -update it writes them.
func TestReference(t *testing.T) {
	r := newReference(t)
	doc := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "redline: the methods and events beyond LSP",
		"version": extVersion,
	}
	requests, server, event := map[string]any{}, map[string]any{}, []*jsonschema.Schema{}
	routes := (&Server{}).routes()
	names, _ := routes.Methods()
	for _, m := range names {
		if !strings.HasPrefix(m, "agent/") {
			continue
		}
		summary, ok := requestSummaries[m]
		if !ok {
			t.Errorf("say in reference_test.go what %s is for", m)
		}
		params, result := routes.Types(m)
		requests[m] = map[string]any{"description": summary, "params": r.ref(params), "result": r.ref(result)}
	}
	for m := range requestSummaries {
		if requests[m] == nil {
			t.Errorf("%s is no method any more", m)
		}
	}
	for m, a := range serverRequests {
		server[m] = map[string]any{"description": a.summary, "params": r.ref(reflect.TypeOf(a.params)), "result": r.ref(reflect.TypeOf(a.result))}
	}
	for _, name := range sortedKeys(events) {
		s := r.schemaOf(reflect.TypeOf(events[name].body))
		s.Description = events[name].summary
		s.Properties["type"] = &jsonschema.Schema{Const: jsonschema.Ptr[any](name)}
		event = append(event, s)
	}
	r.ref(reflect.TypeFor[EventParams]())
	r.defs["EventParams"].Properties["event"] = &jsonschema.Schema{Ref: "#/$defs/Event"}
	r.defs["Event"] = &jsonschema.Schema{Description: "Something that happened in a session.", OneOf: event}
	doc["clientRequests"], doc["serverRequests"] = requests, server
	doc["clientCapabilities"] = r.ref(reflect.TypeFor[clientExt]())
	doc["serverNotifications"] = map[string]any{methodEvent: map[string]any{"description": "Everything that happens, in order and without a gap.", "params": r.ref(reflect.TypeFor[EventParams]())}}
	doc["$defs"] = r.defs
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(doc); err != nil {
		t.Fatal(err)
	}
	r.compare("schema.json", out.Bytes())
	r.compare("METHODS.md", r.markdown(names))
}

// Every event that is sent is in the reference, and no other.
func TestReferenceHasAllEvents(t *testing.T) {
	sent := regexp.MustCompile(`\bev[A-Z]\w*\{\s*(?:Type: )?"([a-z]+(?:/[a-z]+)?)"`)
	found := map[string]bool{}
	for _, file := range sources(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range sent.FindAllSubmatch(data, -1) {
			found[string(m[1])] = true
			if _, ok := events[string(m[1])]; !ok {
				t.Errorf("%s sends the event %s, which reference_test.go does not have", file, m[1])
			}
		}
	}
	for name := range events {
		if !found[name] {
			t.Errorf("the event %s is never sent", name)
		}
	}
}

// The clients' mirrors know every method and event: a thin client may ignore one, but
// not by having forgotten it.
func TestMirror(t *testing.T) {
	data, err := os.ReadFile("../editors/vscode/src/ext.ts")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for m := range requestSummaries {
		all = append(all, m)
	}
	all = append(all, sortedKeys(serverRequests)...)
	all = append(all, sortedKeys(events)...)
	for _, name := range all {
		if !bytes.Contains(data, []byte(`"`+name+`"`)) {
			t.Errorf("editors/vscode/src/ext.ts does not have %s", name)
		}
	}
}

func sources(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
}

// reference collects schemas of types.
type reference struct {
	t      *testing.T
	defs   map[string]*jsonschema.Schema
	names  map[reflect.Type]string
	docs   map[string]string // of a type, or TYPE.FIELD
	lookup map[reflect.Type]*jsonschema.Schema
}

func newReference(t *testing.T) *reference {
	str := func(format, description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Format: format, Description: description}
	}
	r := &reference{t: t, defs: map[string]*jsonschema.Schema{}, names: map[reflect.Type]string{}, docs: map[string]string{}}
	number := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)} }
	r.defs["Position"] = &jsonschema.Schema{Type: "object", Description: "LSP's Position, 0-based, in units of the negotiated encoding.",
		Properties: map[string]*jsonschema.Schema{"line": number(), "character": number()}, Required: []string{"line", "character"}}
	r.defs["Range"] = &jsonschema.Schema{Type: "object", Description: "LSP's Range; the end is exclusive.",
		Properties: map[string]*jsonschema.Schema{"start": {Ref: "#/$defs/Position"}, "end": {Ref: "#/$defs/Position"}}, Required: []string{"start", "end"}}
	r.defs["WorkspaceEdit"] = &jsonschema.Schema{Type: "object", Description: "LSP's WorkspaceEdit."}
	r.defs["Target"] = &jsonschema.Schema{Description: "Everything, a file or a hunk of a proposal.", OneOf: []*jsonschema.Schema{
		{Const: jsonschema.Ptr[any]("all")},
		{Type: "object", Properties: map[string]*jsonschema.Schema{"fileId": {Type: "string"}}, Required: []string{"fileId"}},
		{Type: "object", Properties: map[string]*jsonschema.Schema{"hunkId": {Type: "string"}}, Required: []string{"hunkId"}},
	}}
	r.lookup = map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[uri.URI]():                str("uri", ""),
		reflect.TypeFor[json.RawMessage]():        {},
		reflect.TypeFor[[]byte]():                 str("", "base64"),
		reflect.TypeFor[protocol.Position]():      {Ref: "#/$defs/Position"},
		reflect.TypeFor[protocol.Range]():         {Ref: "#/$defs/Range"},
		reflect.TypeFor[protocol.WorkspaceEdit](): {Ref: "#/$defs/WorkspaceEdit"},
		reflect.TypeFor[Target]():                 {Ref: "#/$defs/Target"},
	}
	fset := token.NewFileSet()
	for _, file := range sources(t) {
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			d, ok := n.(*ast.GenDecl)
			if !ok || d.Tok != token.TYPE {
				return true
			}
			for _, spec := range d.Specs {
				ts := spec.(*ast.TypeSpec)
				doc := ts.Doc
				if doc == nil && len(d.Specs) == 1 {
					doc = d.Doc
				}
				r.docs[ts.Name.Name] = oneLine(doc.Text())
				if st, ok := ts.Type.(*ast.StructType); ok {
					for _, field := range st.Fields.List {
						for _, name := range field.Names {
							r.docs[ts.Name.Name+"."+name.Name] = oneLine(cmp.Or(field.Doc.Text(), field.Comment.Text()))
						}
					}
				}
			}
			return false
		})
	}
	return r
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ref returns a reference to the schema of a type, or the schema itself where it has no name.
func (r *reference) ref(t reflect.Type) *jsonschema.Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := r.lookup[t]; ok {
		return s.CloneSchemas()
	}
	if t.Kind() != reflect.Struct || t.Name() == "" {
		return r.schemaOf(t)
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	s := &jsonschema.Schema{Ref: "#/$defs/" + name}
	r.lookup[t] = s // before its fields, which may be of its own type
	r.defs[name] = r.schemaOf(t)
	return s.CloneSchemas()
}

// schemaOf returns the schema of a type, with references for the structs in it.
func (r *reference) schemaOf(t reflect.Type) *jsonschema.Schema {
	r.inner(t)
	known := make(map[reflect.Type]*jsonschema.Schema, len(r.lookup))
	for k, v := range r.lookup {
		if k != t {
			known[k] = v
		}
	}
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if f := t.Field(i); f.Anonymous {
			delete(known, f.Type) // its members are t's
		}
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known, IgnoreInvalidTypes: true})
	if err != nil {
		r.t.Fatalf("%v: %v", t, err)
	}
	s.AdditionalProperties = nil // the wire is extended
	s.PropertyOrder = nil
	if t.Kind() == reflect.Struct {
		s.Description = r.docs[t.Name()]
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if p := s.Properties[name]; p != nil && p.Ref != "" {
				p.Types = nil // a pointer to a struct is left out, not null
			} else if p != nil && p.Items != nil && p.Items.Ref != "" {
				p.Items.Types = nil
			}
			if p := s.Properties[name]; p != nil && p.Ref == "" && p.Description == "" {
				p.Description = r.docs[t.Name()+"."+f.Name]
			} else if p != nil && p.Ref != "" {
				if doc := r.docs[t.Name()+"."+f.Name]; doc != "" {
					p.Description = doc
				}
			}
		}
	}
	return s
}

// inner makes the schemas of the structs that t is made of.
func (r *reference) inner(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if _, ok := r.lookup[t]; !ok {
			r.inner(t.Elem())
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i).Type
			for f.Kind() == reflect.Pointer || f.Kind() == reflect.Slice && r.lookup[f] == nil || f.Kind() == reflect.Map {
				f = f.Elem()
			}
			if f.Kind() == reflect.Struct && f.Name() != "" && f != t {
				r.ref(f)
			} else if f.Kind() == reflect.Struct && f.Name() == "" {
				r.inner(f)
			}
		}
	}
}

func (r *reference) compare(file string, want []byte) {
	r.t.Helper()
	if *updateReference {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		r.t.Errorf("lsp/%s is stale (%v): run go generate ./lsp", file, err)
	}
}

// markdown is the readable form.
func (r *reference) markdown(names []string) []byte {
	var b bytes.Buffer
	b.WriteString("# Methods\n\n<!-- made by go generate ./lsp; do not edit -->\n\n" +
		"redline's own methods and events, beside LSP. `redline schema` prints the same as JSON Schema. A `?` marks what may be absent. " +
		"Unknown members are ignored. Errors carry `data.kind`; -32801: what you speak of has changed since, -32802: too busy, -32803: failed, -32602: a parameter is wrong.\n")
	var used []string
	mention := func(s *jsonschema.Schema) string {
		if s.Ref != "" {
			used = append(used, s.Ref)
			return "`" + strings.TrimPrefix(s.Ref, "#/$defs/") + "`"
		}
		return "as said"
	}
	fmt.Fprintf(&b, "\n## Capabilities of the client\n\n`capabilities.experimental.redline` of `initialize` is %s; a client that sends none of it is served as one without a plugin.\n", mention(r.ref(reflect.TypeFor[clientExt]())))
	fmt.Fprintf(&b, "\n## Requests of the client\n\n| method | params | result | |\n|---|---|---|---|\n")
	routes := (&Server{}).routes()
	for _, m := range names {
		if requestSummaries[m] != "" {
			params, result := routes.Types(m)
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m, mention(r.ref(params)), mention(r.ref(result)), requestSummaries[m])
		}
	}
	fmt.Fprintf(&b, "\n## Requests of the server\n\nEach has a deadline and a default answer; an error is never fatal. `experimental.redline` of the client's capabilities says which it takes.\n\n| method | params | result | |\n|---|---|---|---|\n")
	for _, m := range sortedKeys(serverRequests) {
		a := serverRequests[m]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m, mention(r.ref(reflect.TypeOf(a.params))), mention(r.ref(reflect.TypeOf(a.result))), a.summary)
	}
	fmt.Fprintf(&b, "\n## Events\n\n`%s` is a notification with `EventParams`; its `event` is one of these, by `type`.\n\n| type | members | |\n|---|---|---|\n", methodEvent)
	for _, name := range sortedKeys(events) {
		s := r.schemaOf(reflect.TypeOf(events[name].body))
		delete(s.Properties, "type")
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, strings.Join(r.members(s), ", "), events[name].summary)
	}
	b.WriteString("\n## Types\n")
	for _, name := range sortedKeys(r.defs) {
		s := r.defs[name]
		if name == "Event" || len(s.Properties) == 0 && s.Description == "" {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", name, s.Description)
		if len(s.Properties) > 0 {
			b.WriteString("\n| member | type | |\n|---|---|---|\n")
			for _, p := range sortedKeys(s.Properties) {
				fmt.Fprintf(&b, "| `%s%s` | %s | %s |\n", p, optional(s, p), strings.ReplaceAll(typeName(s.Properties[p]), "|", `\|`), s.Properties[p].Description)
			}
		}
	}
	return b.Bytes()
}

func (r *reference) members(s *jsonschema.Schema) []string {
	var out []string
	for _, p := range sortedKeys(s.Properties) {
		out = append(out, fmt.Sprintf("`%s%s`: %s", p, optional(s, p), strings.ReplaceAll(typeName(s.Properties[p]), "|", `\|`)))
	}
	return out
}

func optional(s *jsonschema.Schema, name string) string {
	if slices.Contains(s.Required, name) {
		return ""
	}
	return "?"
}

// typeName is a type as TypeScript has it.
func typeName(s *jsonschema.Schema) string {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	var out []string
	for _, t := range types {
		switch t {
		case "array":
			out = append(out, typeName(s.Items)+"[]")
		case "integer":
			out = append(out, "number")
		case "null":
		default:
			out = append(out, t)
		}
	}
	switch {
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/$defs/")
	case len(out) > 0:
		return strings.Join(out, " | ")
	}
	return "any"
}
