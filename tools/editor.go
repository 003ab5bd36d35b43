package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"redline/workspace"
)

// Editor is what an editor can tell of code, by its language servers. A function that
// is nil is not offered. Offsets are bytes of the text as the editor has it.
type Editor struct {
	Definition func(ctx context.Context, path string, offset int) ([]Location, error)
	References func(ctx context.Context, path string, offset int) ([]Location, error)
	Hover      func(ctx context.Context, path string, offset int) (string, error)
	// Symbols returns those of a file, or of the workspace that fit a query when path
	// is empty.
	Symbols func(ctx context.Context, path, query string) ([]Symbol, error)
	Rename  func(ctx context.Context, path string, offset int, newName string) ([]FileEdit, error)
}

// Symbol is something with a name in the code.
type Symbol struct {
	Name, Kind, Container string
	Location
}

// FileEdit is what a renaming does to one file: edits of its text as the editor has
// it, or one operation on the file.
type FileEdit struct {
	Path    string
	Edits   []workspace.Edit // in order, not overlapping
	Create  bool
	Delete  bool
	NewPath string // it is renamed
}

// EditorTools returns the tools that e makes possible.
func EditorTools(e Editor) []Tool {
	var out []Tool
	places := func(name, display, description, title string, find func(context.Context, string, int) ([]Location, error)) {
		if find == nil {
			return
		}
		out = append(out, define(Spec{
			Name: name, DisplayName: display, Kind: KindSearch, Description: description, Schema: json.RawMessage(atSchema), Aliases: atAliases,
		}, func(v *workspace.View, p atParams) (*Call, error) {
			at, err := p.find(v)
			if err != nil {
				return nil, err
			}
			return &Call{Title: title + " " + p.Symbol, Locations: []Location{{Path: at.path, Line: at.line}}, Run: func(ctx context.Context) (*Result, error) {
				found, err := find(ctx, at.path, at.offset)
				if err != nil {
					return nil, err
				}
				return &Result{Text: listPlaces(v, found), Display: fmt.Sprintf("Found %d places", len(found))}, nil
			}}, nil
		}))
	}
	places("find_definition", "Definition", "Finds where the symbol at a place in a file is defined, by the editor's language server. More exact than searching for text.", "Definition of", e.Definition)
	places("find_references", "References", "Finds every use of the symbol at a place in a file, by the editor's language server.", "References to", e.References)
	if e.Hover != nil {
		out = append(out, define(Spec{
			Name: "get_hover", DisplayName: "Hover", Kind: KindRead,
			Description: "Returns the type and documentation of the symbol at a place in a file, by the editor's language server.",
			Schema:      json.RawMessage(atSchema), Aliases: atAliases,
		}, func(v *workspace.View, p atParams) (*Call, error) {
			at, err := p.find(v)
			if err != nil {
				return nil, err
			}
			return &Call{Title: "What is " + p.Symbol, Locations: []Location{{Path: at.path, Line: at.line}}, Run: func(ctx context.Context) (*Result, error) {
				text, err := e.Hover(ctx, at.path, at.offset)
				if err != nil {
					return nil, err
				}
				if strings.TrimSpace(text) == "" {
					text = "The editor knows nothing about it."
				}
				return &Result{Text: text}, nil
			}}, nil
		}))
	}
	if e.Symbols != nil {
		out = append(out, symbolsTool(e))
	}
	if e.Rename != nil {
		out = append(out, renameTool(e))
	}
	return out
}

const atSchema = `{"type":"object","properties":{
"file_path":{"type":"string","description":"Path of the file, absolute or relative to the workspace root."},
"line":{"type":"integer","minimum":1,"description":"Number of the line the symbol is on, from 1."},
"symbol":{"type":"string","description":"The symbol as it stands on that line."}},
"required":["file_path","line","symbol"]}`

var atAliases = map[string]string{"path": "file_path", "absolute_path": "file_path", "name": "symbol"}

type atParams struct {
	FilePath string `json:"file_path"`
	Line     int    `json:"line"`
	Symbol   string `json:"symbol"`
}

// place is where a symbol stands in the editor's text.
type place struct {
	path   string
	line   int // 1-based, as the tools number lines
	offset int
}

// nearLines is how far from the line that was named a symbol is looked for: models
// count badly.
const nearLines = 5

// find returns where the symbol stands.
func (p atParams) find(v *workspace.View) (place, error) {
	path, err := resolve(v, p.FilePath)
	if err != nil {
		return place{}, err
	}
	symbol := strings.TrimSpace(p.Symbol)
	if symbol == "" {
		return place{}, errors.New("symbol is empty")
	}
	f, err := v.Read(path)
	if err != nil {
		return place{}, readError(path, err)
	}
	lines := strings.SplitAfter(f.Text, "\n")
	starts := make([]int, len(lines)+1)
	for i, l := range lines {
		starts[i+1] = starts[i] + len(l)
	}
	for d := 0; d <= nearLines; d++ {
		for _, n := range []int{p.Line - d, p.Line + d} {
			if n < 1 || n > len(lines) {
				continue
			}
			i := wordIn(lines[n-1], symbol)
			if i < 0 {
				continue
			}
			offset, ok := v.Unstaged(path, starts[n-1]+i)
			if !ok {
				return place{}, fmt.Errorf("line %d of %s is part of an edit that waits for its review; the editor does not know it yet. Search for the text instead", n, path)
			}
			return place{path, n, offset}, nil
		}
	}
	return place{}, fmt.Errorf("there is no %q on or near line %d of %s; read the file for the right line", symbol, p.Line, path)
}

// wordIn returns where word stands in line, as a whole word if it can; -1 when it
// does not.
func wordIn(line, word string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], word)
		if i < 0 {
			return strings.Index(line, word)
		}
		i += from
		if !isWord(line, i-1) && !isWord(line, i+len(word)) {
			return i
		}
		from = i + 1
	}
}

func isWord(s string, i int) bool {
	return i >= 0 && i < len(s) && (s[i] == '_' || s[i] >= 0x80 || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' || s[i] >= '0' && s[i] <= '9')
}

// maxPlaces is how many places the model is shown.
const maxPlaces = 100

// listPlaces shows places with their lines.
func listPlaces(v *workspace.View, found []Location) string {
	if len(found) == 0 {
		return "The editor found nothing. Its language server may not be ready, or not know this kind of file; search for the text instead."
	}
	var b strings.Builder
	texts := map[string][]string{}
	for i, l := range found {
		if i == maxPlaces {
			fmt.Fprintf(&b, "[%d more]\n", len(found)-i)
			break
		}
		lines, ok := texts[l.Path]
		if !ok {
			if f, err := v.Snapshot.Read(l.Path); err == nil {
				lines = strings.Split(f.Text, "\n")
			}
			texts[l.Path] = lines
		}
		fmt.Fprintf(&b, "%s:%d", v.Rel(l.Path), l.Line)
		if l.Line >= 1 && l.Line <= len(lines) {
			b.WriteString(": " + shortLine(strings.TrimSpace(lines[l.Line-1])))
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func shortLine(s string) string {
	const limit = 200
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

func symbolsTool(e Editor) Tool {
	return define(Spec{
		Name: "find_symbols", DisplayName: "Symbols", Kind: KindSearch,
		Description: "Lists the symbols of a file (its outline), or those of the whole workspace whose name fits a query, by the editor's language server. Give one of both.",
		Schema: json.RawMessage(`{"type":"object","properties":{
"query":{"type":"string","description":"A part of the name."},
"file_path":{"type":"string","description":"Path of the file whose outline is wanted."}}}`),
		Aliases: map[string]string{"path": "file_path", "absolute_path": "file_path", "name": "query"},
	}, func(v *workspace.View, p symbolsParams) (*Call, error) {
		var path string
		switch {
		case (p.Query == "") == (p.FilePath == ""):
			return nil, errors.New("give either query or file_path")
		case p.FilePath != "":
			var err error
			if path, err = resolve(v, p.FilePath); err != nil {
				return nil, err
			}
		}
		title := fmt.Sprintf("Symbols %q", p.Query)
		if path != "" {
			title = "Symbols of " + v.Rel(path)
		}
		return &Call{Title: title, Run: func(ctx context.Context) (*Result, error) {
			found, err := e.Symbols(ctx, path, p.Query)
			if err != nil {
				return nil, err
			}
			if len(found) == 0 {
				return &Result{Text: "The editor found no symbols. Its language server may not be ready, or not know this kind of file."}, nil
			}
			var b strings.Builder
			for i, s := range found {
				if i == 2*maxPlaces {
					fmt.Fprintf(&b, "[%d more; make the query narrower]\n", len(found)-i)
					break
				}
				name := s.Name
				if s.Container != "" {
					name = s.Container + "." + name
				}
				fmt.Fprintf(&b, "%s:%d: %s %s\n", v.Rel(s.Path), s.Line, s.Kind, name)
			}
			return &Result{Text: strings.TrimSuffix(b.String(), "\n"), Display: fmt.Sprintf("Found %d symbols", len(found))}, nil
		}}, nil
	})
}

type symbolsParams struct {
	Query    string `json:"query"`
	FilePath string `json:"file_path"`
}

func renameTool(e Editor) Tool {
	return define(Spec{
		Name: "rename_symbol", DisplayName: "Rename", Kind: KindEdit,
		Description: "Renames a symbol everywhere, by the editor's language server; the user reviews the change like an edit. More exact than replacing text.",
		Schema: json.RawMessage(`{"type":"object","properties":{
"file_path":{"type":"string","description":"Path of the file, absolute or relative to the workspace root."},
"line":{"type":"integer","minimum":1,"description":"Number of the line the symbol is on, from 1."},
"symbol":{"type":"string","description":"The symbol as it stands on that line."},
"new_name":{"type":"string","description":"The name it gets."}},
"required":["file_path","line","symbol","new_name"]}`),
		Aliases: atAliases,
	}, func(v *workspace.View, p renameParams) (*Call, error) {
		at, err := p.find(v)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(p.NewName) == "" {
			return nil, errors.New("new_name is empty")
		}
		return &Call{Title: "Rename " + p.Symbol + " to " + p.NewName, Locations: []Location{{Path: at.path, Line: at.line}}, Run: func(ctx context.Context) (*Result, error) {
			edits, err := e.Rename(ctx, at.path, at.offset, p.NewName)
			if err != nil {
				return nil, err
			}
			return renameResult(v, p, edits)
		}}, nil
	})
}

type renameParams struct {
	atParams
	NewName string `json:"new_name"`
}

// renameResult makes one change of what the editor's renaming does to files.
func renameResult(v *workspace.View, p renameParams, edits []FileEdit) (*Result, error) {
	var all []*Change
	for _, e := range edits {
		if _, err := v.Resolve(e.Path); err != nil {
			return nil, fmt.Errorf("the renaming would change %s, which is outside of the workspace; nothing was changed", e.Path)
		}
		switch {
		case e.Create:
			all = append(all, &Change{Create: &NewFile{Path: e.Path}})
		case e.Delete:
			all = append(all, &Change{Delete: e.Path})
		case e.NewPath != "":
			if _, err := v.Resolve(e.NewPath); err != nil {
				return nil, err
			}
			all = append(all, &Change{Rename: &NewName{e.Path, e.NewPath}})
		case len(e.Edits) > 0:
			f, err := v.Read(e.Path)
			if err != nil {
				return nil, readError(e.Path, err)
			}
			if now, err := v.Snapshot.Read(e.Path); err != nil || now.Text != f.Text {
				return nil, fmt.Errorf("%s has edits that wait for their review, which the editor does not know yet; rename before editing, or after the review", e.Path)
			}
			all = append(all, &Change{File: f, Edits: e.Edits})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the editor cannot rename %q there; its language server may not be ready, or not know this kind of file. Nothing was changed", p.Symbol)
	}
	first := all[0]
	first.More = all[1:]
	first.Done = fmt.Sprintf("Successfully renamed %s to %s in %d files.", p.Symbol, p.NewName, len(all))
	return &Result{Change: first}, nil
}
