package agent

import (
	"fmt"
	"mime"
	"path/filepath"
	"strings"

	"google.golang.org/genai"

	"redline/agent/model"
	"redline/workspace"
)

// ContextKinds are the kinds of [ContextItem]. What an item lacks in text or data is
// read from where it points: lines of a selection or symbol, a whole file, an image.
var ContextKinds = []string{"selection", "file", "symbol", "diagnostics", "diff", "terminal", "url", "image", "text"}

// maxAttached is how much text of one item the model is given, in bytes. It can read
// on with its tools.
const maxAttached = 64 << 10

// part returns the item as the model gets it.
func (c ContextItem) part(s *workspace.Snapshot) model.Part {
	where := c.URI
	if c.Path != "" {
		where = s.Rel(c.Path)
	}
	if c.FromLine > 0 {
		where += fmt.Sprintf(", lines %d-%d", c.FromLine, max(c.FromLine, c.ToLine))
	}
	head := strings.TrimSpace(c.Kind + " " + where)
	text, remark := c.Text, ""
	if text == "" && where != "" {
		switch c.Kind {
		case "selection", "symbol", "file":
			text, remark = c.read(s)
		case "image":
			if len(c.Data) == 0 && c.Path != "" {
				c.Data, remark = c.bytes(s)
			}
		}
	}
	if len(c.Data) > 0 {
		if kind := c.mimeType(); kind != "" {
			return model.NewPart(&genai.Part{InlineData: &genai.Blob{MIMEType: kind, Data: c.Data}})
		}
		remark = "its type is not known"
	}
	if len(text) > maxAttached {
		text = strings.ToValidUTF8(text[:maxAttached], "")
		remark = fmt.Sprintf("only the first %d KB", maxAttached>>10)
	}
	if remark != "" {
		head += ": " + remark
	}
	out := "[" + head + "]"
	if text != "" {
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		out += "\n" + fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
	}
	return model.Text(out)
}

// read returns the lines the item is about, as the editor shows them.
func (c ContextItem) read(s *workspace.Snapshot) (text, remark string) {
	if c.Path == "" { // a document that is no file
		d, ok := s.DocumentByKey(c.URI)
		if !ok {
			return "", ""
		}
		text = d.Text
	} else {
		f, err := s.Read(c.Path)
		if err != nil {
			return "", fmt.Sprintf("it cannot be read (%v)", err)
		}
		text = f.Text
	}
	if c.FromLine == 0 {
		return text, ""
	}
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		if n++; n >= c.FromLine && n <= max(c.FromLine, c.ToLine) {
			b.WriteString(line)
		}
	}
	if n < c.FromLine {
		return "", fmt.Sprintf("the file has only %d lines", n)
	}
	return b.String(), ""
}

func (c ContextItem) bytes(s *workspace.Snapshot) (data []byte, remark string) {
	data, _, err := s.Disk().ReadBytes(c.Path)
	if err != nil {
		return nil, fmt.Sprintf("it cannot be read (%v)", err)
	}
	return data, ""
}

// mimeType returns the type of the item's data, without parameters.
func (c ContextItem) mimeType() string {
	kind := c.MIMEType
	if kind == "" {
		kind = mime.TypeByExtension(strings.ToLower(filepath.Ext(c.Path)))
	}
	kind, _, _ = mime.ParseMediaType(kind)
	return kind
}
