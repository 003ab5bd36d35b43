package lsp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.lsp.dev/protocol"

	"redline/workspace"
	"redline/workspace/text"
)

// bigFile returns 5 MB of lines, and n edits spread over it.
func bigFile(n int) (base string, edits []workspace.Edit) {
	var b strings.Builder
	for i := range 150_000 {
		if i%(150_000/n) == 7 {
			edits = append(edits, workspace.Edit{Start: b.Len(), End: b.Len() + 4, New: "LINE"})
		}
		fmt.Fprintf(&b, "line %d of a file of five megabytes\n", i)
	}
	return b.String(), edits
}

// open returns a server with a document, and a view of it with the edits staged, each
// by a call of its own.
func openBig(b *testing.B, base string) *Server {
	ws, err := workspace.New()
	if err != nil {
		b.Fatal(err)
	}
	s := &Server{ws: ws, lines: &lineCache{}}
	s.client.encoding = protocol.PositionEncodingKindUTF16
	ws.Put(&workspace.Document{Key: "/x.txt", Path: "/x.txt", URI: "file:///x.txt", Version: 1, Text: base})
	return s
}

func stageBig(b *testing.B, s *Server, edits []workspace.Edit) *workspace.View {
	v := workspace.NewView(s.ws.Snapshot())
	f, err := v.Read("/x.txt")
	if err != nil {
		b.Fatal(err)
	}
	f.Format = text.Plain
	for i, e := range edits {
		if err := v.Stage(fmt.Sprint("c", i), f, []workspace.Edit{e}); err != nil {
			b.Fatal(err)
		}
	}
	return v
}

// BenchmarkPreview is what lies between the last of 200 edits in a file of 5 MB and
// the preview on the wire; the budget is 30 ms.
func BenchmarkPreview(b *testing.B) {
	base, edits := bigFile(200)
	s := openBig(b, base)
	v := stageBig(b, s, edits)
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		s.lines = &lineCache{} // nothing is known of the text
		p := v.Propose()
		s.rebase(p)
		data, err := json.Marshal(s.encoder().proposal(p.Clone()))
		if err != nil || len(data) == 0 || len(p.Files[0].Hunks) != 200 {
			b.Fatal(err, len(p.Files[0].Hunks))
		}
	}
}

// BenchmarkStage stages 200 edits in a file of 5 MB, one after the other.
func BenchmarkStage(b *testing.B) {
	base, edits := bigFile(200)
	s := openBig(b, base)
	defer cpu(b)()
	for b.Loop() {
		stageBig(b, s, edits)
	}
}

// BenchmarkTyping types in a document of 5 MB in which 50 hunks are open, one above
// and one below others in turn; the budget for moving them along is 2 ms a change.
func BenchmarkTyping(b *testing.B) {
	base, edits := bigFile(50)
	s := openBig(b, base)
	p := stageBig(b, s, edits).Propose()
	s.rebase(p)
	version := int32(1)
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		version++
		line := uint32(20)
		if version%2 == 0 {
			line = 140_000
		}
		change := didChangeParams{}
		change.TextDocument.URI, change.TextDocument.Version = "file:///x.txt", version
		at := protocol.Position{Line: line, Character: 3}
		change.ContentChanges = append(change.ContentChanges, struct {
			Range *protocol.Range `json:"range"`
			Text  string          `json:"text"`
		}{&protocol.Range{Start: at, End: at}, "x"})
		if err := s.didChange(b.Context(), &change); err != nil {
			b.Fatal(err)
		}
		s.rebase(p)
	}
	if !p.Pending() {
		b.Fatal("nothing is open")
	}
}

// cpu reports the process's own time beside the clock's, which other programs on a
// busy machine have their share of.
func cpu(b *testing.B) func() {
	start := processTime()
	return func() { b.ReportMetric(float64((processTime()-start).Microseconds())/1000/float64(b.N), "cpu-ms/op") }
}
