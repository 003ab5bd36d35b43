package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"redline/workspace"
)

// RenameFile is the tool rename_file, for sessions in an editor: there a new name is
// reviewed and undone like an edit. Elsewhere a command does it.
var RenameFile = define(Spec{
	Name:        "rename_file",
	DisplayName: "RenameFile",
	Kind:        KindEdit,
	Description: `Renames or moves a file; the user reviews it like an edit. Use it instead of a command such as mv. Edits of the file in the same step are kept.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"file_path":{"type":"string","description":"Path of the file, absolute or relative to the workspace root."},
"new_path":{"type":"string","description":"The path it gets; nothing may be there."}},
"required":["file_path","new_path"]}`),
	Aliases: map[string]string{"path": "file_path", "absolute_path": "file_path", "old_path": "file_path"},
}, func(v *workspace.View, p renameFileParams) (*Call, error) {
	from, err := resolve(v, p.FilePath)
	if err != nil {
		return nil, err
	}
	to, err := resolve(v, p.NewPath)
	if err != nil {
		return nil, err
	}
	return &Call{
		Title: "Rename " + v.Rel(from) + " to " + v.Rel(to), Locations: []Location{{Path: from}},
		Run: func(context.Context) (*Result, error) {
			if err := isFile(v, from); err != nil {
				return nil, err
			}
			if v.Exists(to) {
				return nil, fmt.Errorf("%s exists already; choose another name, or delete that file first", to)
			}
			return &Result{Change: &Change{Rename: &NewName{from, to}, Done: fmt.Sprintf("Successfully renamed %s to %s", from, to)}}, nil
		},
	}, nil
})

type renameFileParams struct {
	FilePath string `json:"file_path"`
	NewPath  string `json:"new_path"`
}

// DeleteFile is the tool delete_file, for sessions in an editor.
var DeleteFile = define(Spec{
	Name:        "delete_file",
	DisplayName: "DeleteFile",
	Kind:        KindEdit,
	Description: `Deletes a file; the user reviews it like an edit. Use it instead of a command such as rm.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"file_path":{"type":"string","description":"Path of the file, absolute or relative to the workspace root."}},
"required":["file_path"]}`),
	Aliases: map[string]string{"path": "file_path", "absolute_path": "file_path"},
}, func(v *workspace.View, p deleteFileParams) (*Call, error) {
	path, err := resolve(v, p.FilePath)
	if err != nil {
		return nil, err
	}
	return &Call{
		Title: "Delete " + v.Rel(path), Locations: []Location{{Path: path}},
		Run: func(context.Context) (*Result, error) {
			if err := isFile(v, path); err != nil {
				return nil, err
			}
			return &Result{Change: &Change{Delete: path, Done: "Successfully deleted " + path}}, nil
		},
	}, nil
})

type deleteFileParams struct {
	FilePath string `json:"file_path"`
}

// isFile says why path cannot be renamed or deleted, if it cannot.
func isFile(v *workspace.View, path string) error {
	if !v.Exists(path) {
		return fmt.Errorf("File not found: %s", path)
	}
	if workspace.Untitled(path) {
		return fmt.Errorf("%s was never saved, so there is no file to rename or delete; its text can be changed with replace or write_file, and the user can save or close it", path)
	}
	if _, err := v.Read(path); err != nil {
		switch {
		case errors.Is(err, workspace.ErrNotRegular):
			return fmt.Errorf("%s is no regular file; only files can be renamed or deleted here, one by one", path)
		case errors.Is(err, fs.ErrPermission):
			return readError(path, err)
		}
	}
	return nil
}
