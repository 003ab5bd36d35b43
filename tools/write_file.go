package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"redline/workspace"
	"redline/workspace/match"
	"redline/workspace/text"
)

// WriteFile is the tool write_file.
var WriteFile = define(Spec{
	Name:        "write_file",
	DisplayName: "WriteFile",
	Kind:        KindEdit,
	Description: `Writes a whole file, new or existing; the user reviews the difference before anything is written. ` +
		`Give the complete content, never a placeholder such as "rest unchanged"; for a change to a part of a file use replace.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"file_path":{"type":"string","description":"Path of the file, absolute or relative to the workspace root."},
"content":{"type":"string","description":"The complete content."}},
"required":["file_path","content"]}`),
	Aliases: map[string]string{"path": "file_path", "absolute_path": "file_path"},
}, prepareWriteFile)

type writeFileParams struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

func prepareWriteFile(v *workspace.View, p writeFileParams) (*Call, error) {
	path, err := resolve(v, p.FilePath)
	if err != nil {
		return nil, err
	}
	if line, ok := match.PlaceholderLine(p.Content); ok {
		return nil, fmt.Errorf("the content leaves something out (%q); give the complete content of the file, or use replace to change a part of it", line)
	}
	return &Call{
		Title:     "Write " + v.Rel(path),
		Locations: []Location{{Path: path}},
		Run: func(context.Context) (*Result, error) {
			if !v.Exists(path) {
				return create(v, path, p.Content, "Successfully created and wrote to new file: "+path)
			}
			f, err := v.Read(path)
			if errors.Is(err, text.ErrBinary) {
				return nil, fmt.Errorf("%s is a binary file; it cannot be written as text", path)
			}
			if err != nil {
				return nil, readError(path, err)
			}
			content := p.Content
			if f.Format.BOM {
				content = strings.TrimPrefix(content, "\ufeff")
			}
			edits := workspace.Rewrite(f.Text, content)
			if len(edits) == 0 {
				return &Result{Text: fmt.Sprintf("The file already has exactly this content, nothing to change: %s", path), Display: "No change to " + v.Rel(path)}, nil
			}
			return &Result{Change: &Change{File: f, Edits: edits, Done: "Successfully overwrote file: " + path}}, nil
		},
	}, nil
}

// create returns the change that makes a new file, if its folder can be one.
func create(v *workspace.View, path, content, done string) (*Result, error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err == nil {
			if !info.IsDir() {
				return nil, fmt.Errorf("cannot create %s: %s is a file, not a directory", path, dir)
			}
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return &Result{Change: &Change{Create: &NewFile{path, content}, Done: done}}, nil
}
