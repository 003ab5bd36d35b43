package rpc

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/protocol"
)

// TestOwnStrings checks that giving strings memory of their own changes no value.
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
	}
	var raw json.RawMessage
	in := []byte(`{"a":1}`)
	if err := (codec{}).Unmarshal(in, &raw); err != nil || &raw[0] == &in[0] {
		t.Errorf("raw message shared: %v", err)
	}
}

// TestOwnMemory checks that keeping a URI does not keep the text it came with.
func TestOwnMemory(t *testing.T) {
	const messages, size = 200, 100_000
	text := strings.Repeat("x", size)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	kept := make([]protocol.DidOpenTextDocumentParams, messages)
	before := heap()
	for i := range kept {
		data := fmt.Sprintf(`{"textDocument":{"uri":"file:///%d","languageId":"go","version":1,"text":"%s"}}`, i, text)
		p, err := decodeParams[protocol.DidOpenTextDocumentParams]([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		kept[i].TextDocument.URI = p.TextDocument.URI
	}
	if grown := heap() - before; grown > messages*size/10 {
		t.Errorf("%d URIs keep %d bytes", messages, grown)
	}
	runtime.KeepAlive(kept)
}
