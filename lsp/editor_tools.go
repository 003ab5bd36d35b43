package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"redline/lsp/rpc"
	"redline/tools"
	"redline/workspace"
)

// What the server asks of an editor's own language servers (WIRE.md §4).
const (
	methodDefinition  = "editor/definition"
	methodReferences  = "editor/references"
	methodHover       = "editor/hover"
	methodSymbols     = "editor/symbols"
	methodRename      = "editor/rename"
	methodDiagnostics = "editor/diagnostics"
)

// askEditor is how long a question to the editor may take.
const askEditor = 15 * time.Second

// EditorAt is a place in a document.
type EditorAt struct {
	URI      uri.URI           `json:"uri"`
	Position protocol.Position `json:"position"`
	NewName  string            `json:"newName,omitempty"` // of editor/rename
}

// EditorSymbols asks for the symbols of a file, or of the workspace by name.
type EditorSymbols struct {
	URI   uri.URI `json:"uri,omitempty"`
	Query *string `json:"query,omitempty"`
}

// offerTools adds the tools to r that an editor makes possible: operations on files,
// and what its language servers know, as far as the client offers it.
func (s *Server) offerTools(r *tools.Registry) {
	list := []tools.Tool{tools.RenameFile, tools.DeleteFile}
	var e tools.Editor
	if s.client.editor.Definition != nil {
		e.Definition = func(ctx context.Context, path string, offset int) ([]tools.Location, error) {
			return s.places(ctx, methodDefinition, path, offset)
		}
	}
	if s.client.editor.References != nil {
		e.References = func(ctx context.Context, path string, offset int) ([]tools.Location, error) {
			return s.places(ctx, methodReferences, path, offset)
		}
	}
	if s.client.editor.Hover != nil {
		e.Hover = s.hover
	}
	if s.client.editor.Symbols != nil {
		e.Symbols = s.symbols
	}
	if s.client.editor.Rename != nil {
		e.Rename = s.renameSymbol
	}
	for _, t := range append(list, tools.EditorTools(e)...) {
		if r.Admits(t) {
			r.Add(t)
		}
	}
}

// at returns the wire form of a place in a file as it is in the editor.
func (s *Server) at(path string, offset int) (EditorAt, error) {
	snap := s.ws.Snapshot()
	f, err := snap.Read(path)
	if err != nil {
		return EditorAt{}, err
	}
	return EditorAt{URI: s.encoder().uriOf(path), Position: s.lines.mapper(f.Text, s.client.encoding).position(offset)}, nil
}

// askAbout sends a question about a place in a file.
func (s *Server) askAbout(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, askEditor)
	defer cancel()
	err := s.conn.Call(ctx, method, params, result)
	var peer *rpc.Error
	switch {
	case err == nil:
		return nil
	case asError(err, &peer):
		return fmt.Errorf("the editor cannot answer: %s", peer.Message)
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the editor did not answer in time; search for the text instead")
	}
	return err
}

// location is LSP's Location or LocationLink.
type location struct {
	URI         string          `json:"uri"`
	Range       *protocol.Range `json:"range"`
	TargetURI   string          `json:"targetUri"`
	TargetRange *protocol.Range `json:"targetSelectionRange"`
}

func (s *Server) places(ctx context.Context, method, path string, offset int) ([]tools.Location, error) {
	at, err := s.at(path, offset)
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	if err := s.askAbout(ctx, method, &at, &raw); err != nil {
		return nil, err
	}
	var list []location
	if err := json.Unmarshal(raw, &list); err != nil {
		var one location
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, fmt.Errorf("the editor's answer to %s cannot be read: %w", method, err)
		}
		list = []location{one}
	}
	var out []tools.Location
	for _, l := range list {
		u, r := l.URI, l.Range
		if u == "" {
			u, r = l.TargetURI, l.TargetRange
		}
		if p, ok := pathOf(u); ok && r != nil {
			if place := (tools.Location{Path: p, Line: int(r.Start.Line) + 1}); !slices.Contains(out, place) {
				out = append(out, place)
			}
		}
	}
	return out, nil
}

func (s *Server) hover(ctx context.Context, path string, offset int) (string, error) {
	at, err := s.at(path, offset)
	if err != nil {
		return "", err
	}
	var res struct {
		Contents json.RawMessage `json:"contents"`
	}
	if err := s.askAbout(ctx, methodHover, &at, &res); err != nil {
		return "", err
	}
	return markup(res.Contents), nil
}

// markup returns the text of a MarkupContent, a MarkedString or a list of them.
func markup(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var value struct {
		Value string `json:"value"`
	}
	if json.Unmarshal(raw, &value) == nil {
		return value.Value
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var parts []string
	for _, m := range list {
		parts = append(parts, markup(m))
	}
	return strings.Join(parts, "\n\n")
}

// symbol is LSP's DocumentSymbol, SymbolInformation or WorkspaceSymbol.
type symbol struct {
	Name           string          `json:"name"`
	Kind           int             `json:"kind"`
	ContainerName  string          `json:"containerName"`
	Location       *location       `json:"location"`
	SelectionRange *protocol.Range `json:"selectionRange"`
	Children       []symbol        `json:"children"`
}

// symbolKinds are LSP's, from 1.
var symbolKinds = strings.Fields("file module namespace package class method property field constructor enum interface function variable constant string number boolean array object key null enum-member struct event operator type-parameter")

func (s *Server) symbols(ctx context.Context, path, query string) ([]tools.Symbol, error) {
	p := EditorSymbols{Query: &query}
	if path != "" {
		p = EditorSymbols{URI: s.encoder().uriOf(path)}
	}
	var list []symbol
	if err := s.askAbout(ctx, methodSymbols, &p, &list); err != nil {
		return nil, err
	}
	var out []tools.Symbol
	var walk func(list []symbol, container string)
	walk = func(list []symbol, container string) {
		for _, x := range list {
			t := tools.Symbol{Name: x.Name, Kind: "symbol", Container: container, Location: tools.Location{Path: path, Line: 1}}
			if x.Kind >= 1 && x.Kind <= len(symbolKinds) {
				t.Kind = symbolKinds[x.Kind-1]
			}
			if x.ContainerName != "" {
				t.Container = x.ContainerName
			}
			switch {
			case x.Location != nil:
				p, ok := pathOf(x.Location.URI)
				if !ok {
					continue
				}
				t.Path = p
				if x.Location.Range != nil {
					t.Line = int(x.Location.Range.Start.Line) + 1
				}
			case x.SelectionRange != nil:
				t.Line = int(x.SelectionRange.Start.Line) + 1
			}
			out = append(out, t)
			walk(x.Children, x.Name)
		}
	}
	walk(list, "")
	return out, nil
}

func (s *Server) renameSymbol(ctx context.Context, path string, offset int, newName string) ([]tools.FileEdit, error) {
	at, err := s.at(path, offset)
	if err != nil {
		return nil, err
	}
	at.NewName = newName
	var w wireEdit
	if err := s.askAbout(ctx, methodRename, &at, &w); err != nil {
		return nil, err
	}
	return s.fileEdits(&w)
}

// wireEdit is a WorkspaceEdit as an editor sends it, both forms.
type wireEdit struct {
	Changes         map[string][]protocol.TextEdit `json:"changes"`
	DocumentChanges []struct {
		TextDocument *struct {
			URI     string `json:"uri"`
			Version *int32 `json:"version"`
		} `json:"textDocument"`
		Edits  []protocol.TextEdit `json:"edits"`
		Kind   string              `json:"kind"`
		URI    string              `json:"uri"`
		OldURI string              `json:"oldUri"`
		NewURI string              `json:"newUri"`
	} `json:"documentChanges"`
}

// fileEdits turns an editor's WorkspaceEdit into edits of the texts as they are.
func (s *Server) fileEdits(w *wireEdit) ([]tools.FileEdit, error) {
	var out []tools.FileEdit
	for _, u := range sortedKeys(w.Changes) {
		e, err := s.textEdits(u, nil, w.Changes[u])
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	for _, c := range w.DocumentChanges {
		if c.TextDocument != nil {
			e, err := s.textEdits(c.TextDocument.URI, c.TextDocument.Version, c.Edits)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
			continue
		}
		u := c.URI
		if c.Kind == "rename" {
			u = c.OldURI
		}
		path, ok := pathOf(u)
		if !ok {
			return nil, fmt.Errorf("the editor's answer names %q, which is no file", u)
		}
		e := tools.FileEdit{Path: path}
		switch c.Kind {
		case "create":
			e.Create = true
		case "delete":
			e.Delete = true
		case "rename":
			if e.NewPath, ok = pathOf(c.NewURI); !ok {
				return nil, fmt.Errorf("the editor's answer names %q, which is no file", c.NewURI)
			}
		default:
			return nil, fmt.Errorf("the editor's answer holds an operation %q", c.Kind)
		}
		out = append(out, e)
	}
	return out, nil
}

// textEdits turns the edits of one document into byte offsets of its text.
func (s *Server) textEdits(u string, version *int32, edits []protocol.TextEdit) (tools.FileEdit, error) {
	path, ok := pathOf(u)
	if !ok {
		return tools.FileEdit{}, fmt.Errorf("the editor's answer names %q, which is no file", u)
	}
	f, err := s.ws.Snapshot().Read(filepath.Clean(path))
	if err != nil {
		return tools.FileEdit{}, err
	}
	if version != nil && f.Open && *version != f.Version {
		return tools.FileEdit{}, fmt.Errorf("%s was changed while the editor worked; try again", path)
	}
	out := tools.FileEdit{Path: path}
	m := s.lines.mapper(f.Text, s.client.encoding)
	for _, e := range edits {
		out.Edits = append(out.Edits, workspace.Edit{Start: m.offset(e.Range.Start), End: m.offset(e.Range.End), New: strings.Clone(e.NewText)})
	}
	slices.SortStableFunc(out.Edits, func(a, b workspace.Edit) int { return a.Start - b.Start })
	return out, nil
}
