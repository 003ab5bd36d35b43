package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"redline/workspace"
	"redline/workspace/match"
)

// Replace is the tool replace.
var Replace = define(Spec{
	Name:        "replace",
	DisplayName: "Edit",
	Kind:        KindEdit,
	Description: `Replaces text in a file; the user reviews the difference before it is applied. ` +
		`old_string must be the exact text of the file, with at least 3 lines of context around the change so that it is unique; read the file first. ` +
		`An empty old_string creates a new file with new_string as its content. Set expected_replacements to change several occurrences.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"file_path":{"type":"string","description":"Absolute path of the file."},
"old_string":{"type":"string","description":"The exact literal text to replace, whitespace and indentation included."},
"new_string":{"type":"string","description":"The exact literal text to put there."},
"expected_replacements":{"type":"integer","minimum":1,"description":"Number of occurrences to replace; 1 by default."}},
"required":["file_path","old_string","new_string"]}`),
	// Models trained with newer Gemini CLIs say what an edit is for, and that all occurrences are meant.
	Aliases: map[string]string{"path": "file_path", "absolute_path": "file_path", "instruction": "instruction", "allow_multiple": "allow_multiple"},
}, prepareReplace)

type replaceParams struct {
	FilePath  string `json:"file_path"`
	OldString string `json:"old_string"`
	NewString string `json:"new_string"`
	Expected  *int   `json:"expected_replacements"`

	Instruction any `json:"instruction"`
	All         any `json:"allow_multiple"`
}

func prepareReplace(v *workspace.View, p replaceParams) (*Call, error) {
	if strings.TrimSpace(p.FilePath) == "" {
		return nil, errors.New("file_path is empty")
	}
	if !filepath.IsAbs(workspace.Unquoted(p.FilePath)) && !workspace.Untitled(p.FilePath) {
		abs, err := v.Resolve(p.FilePath)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("file_path must be absolute; did you mean %s?", abs)
	}
	path, err := resolve(v, p.FilePath)
	if err != nil {
		return nil, err
	}
	call := &Call{Title: "Edit " + v.Rel(path), Locations: []Location{{Path: path}}}
	if p.OldString == "" {
		call.Title = "Create " + v.Rel(path)
	}
	call.Run = func(context.Context) (*Result, error) { return replace(v, path, p) }
	if p.OldString != "" {
		call.RunCorrected = func(ctx context.Context, c Corrector) (*Result, error) { return replaceCorrected(ctx, v, path, p, c) }
	}
	return call, nil
}

// want is the number of occurrences that are to be there.
func (p replaceParams) want(text string) int {
	switch {
	case p.Expected != nil:
		return *p.Expected
	case p.All == true:
		return max(1, strings.Count(text, p.OldString))
	}
	return 1
}

func replace(v *workspace.View, path string, p replaceParams) (*Result, error) {
	if p.OldString == "" {
		if v.Exists(path) {
			return nil, fmt.Errorf("Failed to edit. Attempted to create a file that already exists: %s; to change it, give the text to replace in old_string", path)
		}
		return create(v, path, p.NewString, fmt.Sprintf("Created new file: %s with provided content.", path))
	}
	f, err := readToReplace(v, path)
	if err != nil {
		return nil, err
	}
	found, err := match.Find(f.Text, p.OldString, p.NewString, p.want(f.Text))
	if err != nil {
		return nil, replaceError(path, err)
	}
	return replaced(path, f, found), nil
}

// readToReplace returns the file that is to be changed as it is in the view now.
func readToReplace(v *workspace.View, path string) (*workspace.File, error) {
	f, err := v.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("File not found: %s. Cannot apply edit. Use an empty old_string to create a new file", path)
	}
	if err != nil {
		return nil, readError(path, err)
	}
	return f, nil
}

// replaced is the result of a replacement whose places are known.
func replaced(path string, f *workspace.File, found match.Result) *Result {
	edits := make([]workspace.Edit, len(found.Edits))
	for i, e := range found.Edits {
		edits[i] = workspace.Edit(e)
	}
	done := fmt.Sprintf("Successfully modified file: %s (%d replacements).", path, len(edits))
	switch found.Stage {
	case match.StageExact:
	case match.StageCorrected:
		done += " old_string was not what the file has; it was corrected. What was replaced is:\n" + quoted(f.Text[edits[0].Start:edits[0].End])
	default:
		done += fmt.Sprintf(" old_string was not exact; it was matched ignoring %s.", found.Stage)
	}
	return &Result{Change: &Change{File: f, Edits: edits, Done: done}}
}

// quoted returns the first lines of a text for a message.
func quoted(text string) string {
	const maxLines, maxBytes = 20, 1000
	text = strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\r\n", "\n")
	lines := strings.SplitN(text, "\n", maxLines+1)
	short := strings.Join(lines[:min(len(lines), maxLines)], "\n")
	if len(short) > maxBytes {
		short = strings.ToValidUTF8(short[:maxBytes], "")
	}
	if len(short) < len(text) {
		short += "\n…"
	}
	return short
}

// replaceError words a refusal for the model, in the seeds' words first, then with
// the real text that lets the next try succeed.
func replaceError(path string, err error) error {
	var e *match.Error
	if !errors.As(err, &e) {
		return err
	}
	var b strings.Builder
	switch e.Kind {
	case match.NotFound:
		fmt.Fprintf(&b, "Failed to edit, 0 occurrences found for old_string in %s. Nothing was changed.", path)
		if len(e.Excerpts) > 0 {
			b.WriteString(" Copy the text exactly as it is in the file. The nearest text there is:")
		} else {
			b.WriteString(" Read the file again and copy the text exactly, with its whitespace and indentation.")
		}
	case match.Count:
		found := fmt.Sprint(e.Found)
		if e.Many {
			found = "more than " + found
		}
		todo := "Add lines of context until it is unique, or set expected_replacements."
		if e.Found < e.Expected && !e.Many {
			todo = "Set expected_replacements to what is there, or read the file again."
		}
		fmt.Fprintf(&b, "Failed to edit, expected %d occurrences but found %s for old_string in %s. Nothing was changed. %s They are at:", e.Expected, found, path, todo)
	case match.Ambiguous:
		fmt.Fprintf(&b, "Failed to edit, expected %d occurrences but found several alike for old_string in %s, and none exactly. Nothing was changed. Copy the text exactly, with lines of context that make it unique. The candidates are:", e.Expected, path)
	case match.NoChange:
		fmt.Fprintf(&b, "No changes to apply. new_string would leave %s exactly as it is", path)
	case match.Placeholder:
		fmt.Fprintf(&b, "Failed to edit %s: new_string leaves something out (%q). Nothing was changed. Give the complete text", path, e.Line)
	default:
		fmt.Fprintf(&b, "Failed to edit %s: %s", path, e.Error())
	}
	for _, x := range e.Excerpts {
		fmt.Fprintf(&b, "\n--- %s ---\n%s", x.Title(), x.Text)
		if x.More {
			b.WriteString("\n…")
		}
	}
	return errors.New(b.String())
}
