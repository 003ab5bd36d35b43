package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"redline/tools/secret"
	"redline/tools/shell"
	"redline/workspace"
	"redline/workspace/diff"
	"redline/workspace/text"
)

// Limits of one read.
const (
	maxReadLines = 2000 // lines without a limit of the model's own
	maxLineRunes = 2000 // characters of one line
	maxReadBytes = 120 << 10
)

// ReadFile is the tool read_file.
var ReadFile = define(Spec{
	Name:        "read_file",
	DisplayName: "ReadFile",
	Kind:        KindRead,
	Description: `Reads one file: text (as the user's editor shows it, unsaved changes included), images, audio, or PDF. ` +
		`For a long text file read parts of it with offset and limit.`,
	Schema: json.RawMessage(`{"type":"object","properties":{
"path":{"type":"string","description":"Path of the file, absolute or relative to the workspace root."},
"offset":{"type":"integer","minimum":0,"description":"0-based number of the first line to read; needs limit."},
"limit":{"type":"integer","minimum":1,"description":"Number of lines to read; 2000 by default."}},
"required":["path"]}`),
	Aliases: map[string]string{"absolute_path": "path", "file_path": "path"},
}, prepareReadFile)

type readFileParams struct {
	Path   string `json:"path"`
	Offset *int   `json:"offset"`
	Limit  *int   `json:"limit"`
}

func prepareReadFile(v *workspace.View, p readFileParams) (*Call, error) {
	if p.Offset != nil && *p.Offset > 0 && p.Limit == nil {
		return nil, errors.New("offset needs limit: say how many lines to read from there")
	}
	if strings.TrimSpace(p.Path) == "" {
		return nil, errors.New("the path is empty")
	}
	path, err := v.ResolveRead(p.Path)
	if err != nil {
		return nil, err
	}
	call := &Call{Title: v.Rel(path), Locations: []Location{{Path: path}}}
	if p.Offset != nil {
		call.Locations[0].Line = *p.Offset + 1
		call.Title = fmt.Sprintf("%s from line %d", call.Title, *p.Offset+1)
	}
	call.Run = func(ctx context.Context) (*Result, error) { return readFile(ctx, v, path, p) }
	return call, nil
}

func readFile(ctx context.Context, v *workspace.View, path string, p readFileParams) (*Result, error) {
	if v.Withholds(path) {
		return nil, readError(path, workspace.ErrWithheld)
	}
	if mime := mediaType(path); mime != "" {
		data, _, err := v.Disk().ReadBytes(path)
		if err != nil {
			return nil, readError(path, err)
		}
		return &Result{
			Text:    fmt.Sprintf("Read %s file: %s", mime, path),
			Media:   []Media{{mime, data}},
			Display: fmt.Sprintf("Read %s (%s, %d bytes)", v.Rel(path), mime, len(data)),
		}, nil
	}
	f, err := v.Read(path)
	if errors.Is(err, text.ErrBinary) {
		return &Result{
			Text:    "Cannot display content of binary file: " + path,
			Display: "Skipped binary file: " + v.Rel(path),
		}, nil
	}
	if err != nil {
		return nil, readError(path, err)
	}
	if f.Text != "" && outside(v, path) {
		// What a command wrote: it may be meant for a terminal, and show keys.
		f.Text = secret.Redact(shell.Clean(f.Text))
	}
	t, first, last, total, cut := page(f.Text, p)
	if total == 0 {
		return &Result{Text: "File is empty: " + path, Display: "Read " + v.Rel(path) + " (empty)"}, nil
	}
	if first >= total {
		return nil, fmt.Errorf("%s has %d lines; offset %d is past its end", path, total, first)
	}
	var head string
	if first > 0 || last < total || cut > 0 {
		head = fmt.Sprintf("[File content truncated: showing lines %d-%d of %d total lines...]\n", first+1, last, total)
	}
	if cut > 0 {
		head += fmt.Sprintf("[%d of them are longer than %d characters and were cut]\n", cut, maxLineRunes)
	}
	display := fmt.Sprintf("Read %d lines of %s", last-first, v.Rel(path))
	if f.Open {
		display += " (as in the editor)"
	}
	if rule := hiddenBy(ctx, v, path); rule != "" {
		head = "[This file is ignored by " + rule + ", so searches and listings leave it out.]\n" + head
		display += ", which is ignored"
	}
	return &Result{Text: head + t, Display: display}, nil
}

// outside reports whether path is none of the workspace's: one that the session
// itself made.
func outside(v *workspace.View, path string) bool {
	_, err := v.Resolve(path)
	return err != nil
}

// page returns the lines [first, last) of s that p asks for, how many there are in
// all, and how many of those returned were cut.
func page(s string, p readFileParams) (out string, first, last, total, cut int) {
	limit := maxReadLines
	if p.Limit != nil {
		limit = *p.Limit
	}
	if p.Offset != nil {
		first = *p.Offset
	}
	var b strings.Builder
	full := false // no further line fits
	for rest := s; rest != ""; total++ {
		n := diff.NextLine(rest)
		line := rest[:n]
		rest = rest[n:]
		if total < first || total-first >= limit {
			continue
		}
		if full = full || b.Len()+min(n, 4*maxLineRunes) > maxReadBytes && b.Len() > 0; full {
			continue
		}
		last = total + 1
		if len(line) > maxLineRunes {
			if short, ok := cutLine(line); ok {
				line = short
				cut++
			}
		}
		b.WriteString(line)
	}
	return b.String(), first, last, total, cut
}

// cutLine shortens a line of more than maxLineRunes characters and marks it.
func cutLine(line string) (string, bool) {
	body := strings.TrimRight(line, "\r\n")
	if utf8.RuneCountInString(body) <= maxLineRunes {
		return line, false
	}
	n := 0
	for i := range body {
		if n == maxLineRunes {
			return body[:i] + "... [truncated]" + line[len(body):], true
		}
		n++
	}
	return line, false
}

// resolve is [workspace.Snapshot.Resolve] for a parameter.
func resolve(v *workspace.View, p string) (string, error) {
	if strings.TrimSpace(p) == "" {
		return "", errors.New("the path is empty")
	}
	return v.Resolve(p)
}

// readError words an error of reading path for the model.
func readError(path string, err error) error {
	path = printable(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("file not found: %s; use glob or list_directory to find the right path", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission to read %s", path)
	case errors.Is(err, workspace.ErrTooLarge):
		return fmt.Errorf("%s is larger than 20 MB and cannot be read as a whole; use grep_search on it", path)
	case errors.Is(err, workspace.ErrNotRegular):
		return fmt.Errorf("%s is no regular file (a directory or device); use list_directory for a directory", path)
	case errors.Is(err, text.ErrBinary):
		return fmt.Errorf("%s is a binary file", path)
	case errors.Is(err, workspace.ErrWithheld):
		return fmt.Errorf("%s may hold secrets, and the user has not allowed it to be read; go on without it", path)
	}
	return fmt.Errorf("cannot read %s: %w", path, err)
}

// mediaType returns the MIME type of a file that models take as it is, by its
// name; empty for everything else.
func mediaType(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".svg":
		return "image/svg+xml"
	case ".bmp":
		return "image/bmp"
	case ".mp3":
		return "audio/mpeg"
	case ".wav":
		return "audio/wav"
	case ".aiff", ".aif":
		return "audio/aiff"
	case ".aac":
		return "audio/aac"
	case ".ogg":
		return "audio/ogg"
	case ".flac":
		return "audio/flac"
	case ".pdf":
		return "application/pdf"
	}
	return ""
}
