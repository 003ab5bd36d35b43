package rpc

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/protocol"
)

// TestOwnStrings checks that no decoded string shares memory with another, which
// is how protocol's decoders leave them, and that cloning changes no value.
func TestOwnStrings(t *testing.T) {
	type ours struct {
		Name string                  `json:"name"`
		Edit *protocol.WorkspaceEdit `json:"edit"`
	}
	text := strings.Repeat("text", 100)
	edit := `{"changes":{"file:///a":[{"range":{},"newText":"` + text + `"}]},"documentChanges":[
		{"kind":"create","uri":"file:///b"},
		{"textDocument":{"uri":"file:///c","version":3},"edits":[{"range":{},"newText":"n","annotationId":"x"}]}],
		"changeAnnotations":{"x":{"label":"l","needsConfirmation":true,"description":"d"}}}`
	for _, tt := range []struct {
		data string
		v    func() any
	}{
		{`{"textDocument":{"uri":"file:///a","languageId":"go","version":1,"text":"` + text + `"}}`, func() any { return new(protocol.DidOpenTextDocumentParams) }},
		{`{"textDocument":{"uri":"file:///a","version":2},"contentChanges":[{"range":{},"text":"x"},{"text":"all"}]}`, func() any { return new(protocol.DidChangeTextDocumentParams) }},
		{`{"processId":null,"rootUri":"file:///r","clientInfo":{"name":"n","version":"v"},"capabilities":{"experimental":{"redline":{"version":1}}},"initializationOptions":{"a":["b"]}}`, func() any { return new(protocol.InitializeParams) }},
		{`{"command":"redline.ask","arguments":[{"text":"t"},"s",1]}`, func() any { return new(protocol.ExecuteCommandParams) }},
		{`{"name":"n","edit":` + edit + `}`, func() any { return new(ours) }},
		{edit, func() any { return new(protocol.WorkspaceEdit) }},
	} {
		plain, owned := tt.v(), tt.v()
		if err := protocol.Unmarshal([]byte(tt.data), plain); err != nil {
			t.Fatalf("%s: %v", tt.data, err)
		}
		if err := (codec{}).Unmarshal([]byte(tt.data), owned); err != nil {
			t.Fatalf("%s: %v", tt.data, err)
		}
		a, err := protocol.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		b, err := protocol.Marshal(owned)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(a), string(b)); diff != "" {
			t.Errorf("%T changed: %s", owned, diff)
		}
		var spans []span
		collect(reflect.ValueOf(owned).Elem(), &spans)
		if len(spans) == 0 {
			t.Errorf("%T: no strings found", owned)
		}
		for i, s := range spans {
			for _, o := range spans[:i] {
				// One allocation may be cut in size classes: neighbours within
				// a message are what sharing looks like.
				if s.at >= o.at && s.at < o.at+uintptr(o.n) {
					t.Errorf("%T: %q and %q share memory", owned, s.text, o.text)
				}
			}
		}
	}
	var raw json.RawMessage
	in := []byte(`{"a":1}`)
	if err := (codec{}).Unmarshal(in, &raw); err != nil || &raw[0] == &in[0] {
		t.Errorf("raw message shared: %v", err)
	}
}

type span struct {
	at   uintptr
	n    int
	text string
}

// collect lists where the strings below v live.
func collect(v reflect.Value, out *[]span) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); len(s) > 0 {
			*out = append(*out, span{uintptr(unsafe.Pointer(unsafe.StringData(s))), len(s), s})
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			collect(v.Elem(), out)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			collect(v.Index(i), out)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			collect(it.Key(), out)
			collect(it.Value(), out)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			collect(v.Field(i), out)
		}
	}
}
